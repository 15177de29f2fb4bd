"""OCI's part of ``gpuorch doctor``: credentials, home region, compartment, rights, GPU limits."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from orchestrator.clouds.oci.calls import Clients, Limits, failure, oci_call, sdk
from orchestrator.clouds.probing import Check, all_at_once
from orchestrator.errors import CloudCallFailed
from orchestrator.model.machine import Finding, Level

__all__ = ["LIMITS", "GpuLimit", "findings"]

DEFAULT_REGION: Final = "us-ashburn-1"
# doctor is to be quick: without a network the whole of this takes less than ten seconds.
_LIMITS: Final = Limits(connect_seconds=2, read_seconds=3, attempts=1)
_STEP_SECONDS: Final = 4.5


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuLimit:
    """A limit of the service ``compute``, in GPUs, per availability domain. ``enough`` is what the named shape has."""

    name: str
    enough: int
    shape: str


# Names: docs.oracle.com/iaas/Content/General/Concepts/servicelimits.htm and .../Quotas/Concepts/resourcequotas.htm
LIMITS: Final = (
    GpuLimit(name="gpu3-count", enough=1, shape="VM.GPU3.1 (1 V100)"),
    GpuLimit(name="gpu-a10-count", enough=1, shape="VM.GPU.A10.1 (1 A10)"),
    GpuLimit(name="gpu4-count", enough=8, shape="BM.GPU4.8 (8 A100-40GB)"),
    GpuLimit(name="gpu-a100-v2-count", enough=8, shape="BM.GPU.A100-v2.8 (8 A100-80GB)"),
    GpuLimit(name="gpu-h100-count", enough=8, shape="BM.GPU.H100.8 (8 H100)"),
    GpuLimit(name="gpu-mi300x-count", enough=8, shape="BM.GPU.MI300X.8 (8 MI300X)"),
)


def findings(
    settings: Mapping[str, str],
    *,
    clients: Clients | None = None,
    step_seconds: float = _STEP_SECONDS,
) -> list[Finding]:
    """What stands in the way of using OCI from here, and its fix; never an exception for what OCI or the network does.

    Three steps of at most ``step_seconds`` each: who we are, where the compartment is, then everything else at once.
    """
    region = settings.get("home_region") or os.environ.get("OCI_REGION") or DEFAULT_REGION
    used = clients or Clients(region, limits=_LIMITS)
    found = _all_at_once([("credentials", partial(_credentials, used))], step_seconds, region)
    compartment = settings.get("compartment_id", "")
    if not compartment:
        fix = "set cloud_settings.oci.compartment_id, or OCI_COMPARTMENT_ID, to the compartment's OCID"
        found.append(_finding("compartment", Level.ERROR, "no compartment is named in the settings", fix))
    if any(finding.level is Level.ERROR for finding in found):
        return found
    found += _all_at_once(
        [
            ("home region", partial(_home_region, used, settings.get("home_region", ""))),
            ("compartment", partial(_compartment, used, compartment)),
        ],
        step_seconds,
        region,
    )
    if any(finding.level is Level.ERROR for finding in found):
        return found
    limits = [(f"limit {limit.name}", partial(_limit, used, compartment, limit)) for limit in LIMITS]
    rights = [
        (f"permission {action}", partial(_permission, used, action, service, operation, compartment))
        for action, service, operation in _PROBES
    ]
    return [*found, *_all_at_once([*rights, *limits], step_seconds, region)]


# OCI has no dry runs: what can be tried is reading. The rights to make things stand in docs/clouds/oci.md.
_PROBES: Final = (
    ("ListInstances", "compute", "list_instances"),
    ("ListVcns", "network", "list_vcns"),
    ("ListPolicies", "identity", "list_policies"),
)


def _all_at_once(checks: Sequence[Check], seconds: float, region: str) -> list[Finding]:
    silent = f"OCI did not answer in {region} within {seconds:g} s"
    fix = "check the network and the proxy settings"
    return all_at_once(checks, seconds, cloud="oci", silent=silent, fix=fix)


def _finding(check: str, level: Level, message: str, fix: str = "") -> Finding:
    return Finding(check=f"oci {check}", level=level, message=message, fix=fix)


def _credentials(clients: Clients) -> Finding:
    """Whether OCI knows us: the one call that needs no right at all tells the tenancy's namespace."""
    with oci_call("GetNamespace", clients.region):
        namespace = clients.client("objects").get_namespace().data
    tenancy = clients.tenancy() or "the tenancy"
    return _finding("credentials", Level.OK, f"accepted in {clients.region}; {tenancy}, object namespace {namespace}")


def _home_region(clients: Clients, said: str) -> Finding:
    """Whether the setting is right, and to which regions the tenancy is subscribed."""
    check, tenancy = "home region", clients.tenancy()
    if not tenancy:
        return _finding(
            check, Level.WARNING, "the credentials do not tell the tenancy, so its home region is not known"
        )
    try:
        with oci_call("ListRegionSubscriptions", clients.region):
            rows = clients.client("identity").list_region_subscriptions(tenancy).data
    except CloudCallFailed as error:
        return _finding(check, Level.WARNING, error.message, "let the group inspect tenancies in the tenancy")
    home = next((row.region_name for row in rows if row.is_home_region), "")
    others = ", ".join(sorted(row.region_name for row in rows))
    if said == home:
        return _finding(check, Level.OK, f"{home}; subscribed regions: {others}")
    fix = f'set home_region = "{home}" in [cloud_settings.oci], or OCI_HOME_REGION={home}'
    said = said or "not set"
    return _finding(check, Level.ERROR, f"the tenancy's home region is {home}, the setting home_region is {said}", fix)


def _compartment(clients: Clients, compartment: str) -> Finding:
    if compartment.startswith("ocid1.tenancy."):
        fix = "make a compartment for gpuorch: rights and quotas can be held to it"
        return _finding("compartment", Level.WARNING, "machines are made in the tenancy's root", fix)
    try:
        with oci_call("GetCompartment", clients.region):
            row = clients.client("identity").get_compartment(compartment).data
    except CloudCallFailed as error:
        fix = "check the setting compartment_id, and let the group inspect compartments"
        return _finding("compartment", Level.WARNING, error.message, fix)
    if row.lifecycle_state != "ACTIVE":
        fix = "name another compartment in cloud_settings.oci.compartment_id"
        return _finding("compartment", Level.ERROR, f"{row.name} is {str(row.lifecycle_state).lower()}", fix)
    return _finding("compartment", Level.OK, f"{row.name} ({compartment})")


def _permission(clients: Clients, action: str, service: str, operation: str, compartment: str) -> Finding:
    check = f"permission {action}"
    with oci_call(action, clients.region):
        getattr(clients.client(service), operation)(compartment, limit=1)
    return _finding(check, Level.OK, f"allowed in {clients.region}")


def _limit(clients: Clients, compartment: str, limit: GpuLimit) -> Finding:
    """The most GPUs that are left in one availability domain: a machine cannot stand in two."""
    check = f"limit {limit.name}"
    oci = sdk()
    try:
        domains = clients.client("identity").list_availability_domains(compartment).data
        left = [(domain.name, _left(clients, compartment, limit, domain.name)) for domain in domains]
    except (oci.exceptions.ServiceError, oci.exceptions.RequestException, oci.exceptions.ConnectTimeout) as error:
        said = failure(error, "GetResourceAvailability", clients.region)
        return _finding(
            check, Level.WARNING, said.message, "let the group inspect resource-availability in the tenancy"
        )
    domain, most = max(left, key=lambda pair: pair[1], default=("", 0))
    message = f"{most} GPUs left in {domain or clients.region}; {limit.shape} needs {limit.enough}"
    if most >= limit.enough:
        return _finding(check, Level.OK, message)
    fix = (
        "ask for more in the console: Governance, Limits, Quotas and Usage, "
        f"service Compute, {limit.name}, region {clients.region}"
    )
    return _finding(check, Level.WARNING, message, fix)


def _left(clients: Clients, compartment: str, limit: GpuLimit, domain: str) -> int:
    root = clients.tenancy() or compartment
    answer: Any = clients.client("limits").get_resource_availability(
        "compute", limit.name, root, availability_domain=domain
    )
    return int(answer.data.available or 0)
