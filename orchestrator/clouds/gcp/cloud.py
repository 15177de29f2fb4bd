"""Google Cloud."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from orchestrator.assets import asset
from orchestrator.clouds.contract import Cloud, CloudSetting, Machines, SandboxCloud
from orchestrator.clouds.gcp.check import check, module_variables
from orchestrator.clouds.gcp.credentials import no_credentials
from orchestrator.clouds.gcp.failures import FAILURES
from orchestrator.clouds.gcp.images import image, own_image
from orchestrator.model.launch import ProviderPin
from orchestrator.model.machine import Finding

__all__ = ["CLOUD"]

# No bound on repeats is needed: that a zone has no such machine arrives as the error of an operation, and those the
# provider does not repeat.
_PROVIDER = """\
provider "google" {
  project = var.project
  region  = var.region
}
"""


def _machines(region: str) -> Machines:
    return _machines_with(region, {})


def _machines_with(region: str, settings: Mapping[str, str]) -> Machines:
    from orchestrator.clouds.gcp.machines import open_machines

    return open_machines(region, settings.get("project", ""))


def _findings() -> list[Finding]:
    return _findings_with({})


def _findings_with(settings: Mapping[str, str]) -> list[Finding]:
    from orchestrator.clouds.gcp.findings import findings

    return findings(settings.get("project", ""))


def _caller_address() -> str:
    from orchestrator.clouds.gcp.caller import caller_address

    return caller_address()


def _session_command(region: str, machine_id: str) -> tuple[str, ...]:
    # projects/PROJECT/zones/ZONE/instances/NAME
    _, project, _, zone, _, name = machine_id.split("/")
    return ("gcloud", "compute", "ssh", name, "--project", project, "--zone", zone, "--tunnel-through-iap")


CLOUD = Cloud(
    name="gcp",
    title="Google Cloud",
    provider=ProviderPin(local_name="google", source="hashicorp/google", constraint="~> 6.50"),
    module=asset("terraform", "modules", "gcp"),
    provider_files={"providers.tf": _PROVIDER},
    failures=FAILURES,
    image=image,
    own_image=own_image,
    check=check,
    machines=_machines,
    machines_with=_machines_with,
    findings=_findings,
    findings_with=_findings_with,
    caller_address=_caller_address,
    # cloud.google.com/compute/docs/metadata/overview: 256 KB for each value, 512 KB for all of them.
    user_data_limit_bytes=262144,
    module_variables=module_variables,
    settings={
        "project": CloudSetting(
            help="the id of the project in which machines are made",
            # In the order in which the Terraform provider looks: its configuration reference, project.
            variables=("GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"),
            required=True,
            sandbox="gpuorch-sandbox",
        ),
    },
    no_credentials=no_credentials,
    session_command=_session_command,
    sandbox=SandboxCloud(
        schema=Path(__file__).parent / "sandbox" / "schema.json",
        rules="orchestrator.clouds.gcp.sandbox.rules",
        version="6.50.0",
    ),
)
