"""Google Cloud's part of ``gpuorch doctor``: credentials, project, permissions, GPU quotas."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from orchestrator.clouds.gcp.calls import Clients, Limits, google_call, refusal
from orchestrator.clouds.probing import Check, all_at_once
from orchestrator.model.machine import Finding, Level

__all__ = ["PERMISSIONS", "QUOTAS", "Quota", "findings"]

DEFAULT_REGION: Final = "us-central1"
_REGION_VARIABLES: Final = ("GOOGLE_REGION", "CLOUDSDK_COMPUTE_REGION")
# doctor is to be quick.
_LIMITS: Final = Limits(answer_seconds=4, call_seconds=4)
_STEP_SECONDS: Final = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A quota of Compute Engine in GPUs, per project and region. ``enough`` is what the named machine needs."""

    metric: str
    enough: int
    machine: str

    @property
    def id(self) -> str:
        """Its name in the Cloud Quotas API."""
        return f"{self.metric.replace('_', '-')}-per-project-region"


# cloud.google.com/compute/resource-usage#gpu_quota: a metric a model, and one more for spot.
QUOTAS: Final = tuple(
    Quota(metric=prefix + metric, enough=enough, machine=machine)
    for metric, enough, machine in (
        ("NVIDIA_A100_GPUS", 8, "a2-highgpu-8g (8 A100)"),
        ("NVIDIA_A100_80GB_GPUS", 8, "a2-ultragpu-8g (8 A100 80 GB)"),
        ("NVIDIA_L4_GPUS", 1, "g2-standard-4 (1 L4)"),
        ("NVIDIA_T4_GPUS", 1, "n1-standard-8 with 1 T4"),
    )
    for prefix in ("", "PREEMPTIBLE_")
)

# What terraform will do first; the role that has each.
PERMISSIONS: Final = {
    "compute.instances.create": "roles/compute.instanceAdmin.v1",
    "compute.disks.create": "roles/compute.instanceAdmin.v1",
    "compute.networks.create": "roles/compute.networkAdmin",
    "compute.subnetworks.create": "roles/compute.networkAdmin",
    "compute.firewalls.create": "roles/compute.securityAdmin",
}


def findings(project: str = "", limits: Limits = _LIMITS, step_seconds: float = _STEP_SECONDS) -> list[Finding]:
    """What stands in the way of using Google Cloud from here, and its fix; never an exception for what Google or the
    network does.

    Two steps of at most ``step_seconds`` each: who we are and in which project, then everything else at once.
    """
    clients = Clients(project, limits)
    region = next((os.environ[name] for name in _REGION_VARIABLES if os.environ.get(name)), DEFAULT_REGION)
    found = _all_at_once([("project", partial(_project, clients))], step_seconds)
    if any(finding.level is Level.ERROR for finding in found):
        return found
    checks: list[tuple[str, Callable[[], list[Finding]]]] = [
        ("permissions", partial(_permissions, clients)),
        ("quotas", partial(_quotas, clients, region)),
    ]
    return [*found, *_all_at_once(checks, step_seconds)]


def _all_at_once(checks: Sequence[Check], seconds: float) -> list[Finding]:
    silent = f"Google Cloud did not answer within {seconds:g} s"
    fix = "check the network and the proxy settings"
    return all_at_once(checks, seconds, cloud="gcp", silent=silent, fix=fix)


def _finding(check: str, level: Level, message: str, fix: str = "") -> Finding:
    return Finding(check=f"gcp {check}", level=level, message=message, fix=fix)


def _project(clients: Clients) -> list[Finding]:
    """Whether the credentials work in the project, and how many GPUs it may have in all."""
    with google_call("the credentials", "Google Cloud"):
        credentials = clients.credentials()
        project = clients.project
    with google_call("compute.projects.get", project):
        row = clients.compute("Projects").get(project=project, **clients.options())
    who = getattr(credentials, "service_account_email", "") or getattr(credentials, "account", "") or "a user's token"
    found = [_finding("project", Level.OK, f"project {project}, by {who}")]
    limits = {quota.metric: quota.limit for quota in row.quotas}
    every = limits.get("GPUS_ALL_REGIONS")
    if every is not None and every < 1:
        message = f"project {project} may have no GPU at all (GPUS_ALL_REGIONS is {every:g})"
        found.append(_finding("quota GPUS_ALL_REGIONS", Level.WARNING, message, _raise_quota(project, "", 8)))
    return found


def _permissions(clients: Clients) -> list[Finding]:
    project = clients.project
    with google_call("resourcemanager.projects.get", project):
        answer = clients.request(
            "resourcemanager",
            f"projects/{project}:testIamPermissions",
            method="POST",
            body={"permissions": sorted(PERMISSIONS)},
        )
    if answer.status_code != 200:
        said = refusal("resourcemanager.projects.get", project, answer.status_code, answer.text[:300])
        return [_finding("permissions", Level.WARNING, said.message, said.hint)]
    allowed: set[str] = set(answer.json().get("permissions", ()))
    found = []
    for permission, role in PERMISSIONS.items():
        if permission in allowed:
            found.append(_finding(f"permission {permission}", Level.OK, f"allowed in {project}"))
            continue
        fix = f"gcloud projects add-iam-policy-binding {project} --member=user:YOU --role={role}"
        found.append(_finding(f"permission {permission}", Level.ERROR, f"not allowed in {project}", fix))
    return found


def _quotas(clients: Clients, region: str) -> list[Finding]:
    project = clients.project
    with google_call("compute.regions.get", project):
        row = clients.compute("Regions").get(project=project, region=region, **clients.options())
    limits: dict[str, Any] = {quota.metric: quota.limit for quota in row.quotas}
    found = []
    for quota in QUOTAS:
        value = limits.get(quota.metric, 0)
        message = f"{value:g} in {region}; a {quota.machine} needs {quota.enough}"
        enough = value >= quota.enough
        fix = "" if enough else _raise_quota(project, region, quota.enough, quota.id)
        found.append(_finding(f"quota {quota.metric}", Level.OK if enough else Level.WARNING, message, fix))
    return found


def _raise_quota(project: str, region: str, value: int, quota_id: str = "GPUS-ALL-REGIONS-per-project") -> str:
    command = f"gcloud beta quotas preferences create --project={project} --service=compute.googleapis.com"
    command += f" --quota-id={quota_id} --preferred-value={value}"
    return f"{command} --dimensions=region={region}" if region else command
