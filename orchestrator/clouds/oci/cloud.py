"""Oracle Cloud Infrastructure."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from orchestrator.assets import asset
from orchestrator.clouds.contract import Cloud, CloudSetting, Machines, SandboxCloud
from orchestrator.clouds.oci.caller import caller_address
from orchestrator.clouds.oci.check import check
from orchestrator.clouds.oci.credentials import no_credentials
from orchestrator.clouds.oci.failures import FAILURES
from orchestrator.clouds.oci.images import image, own_image
from orchestrator.clouds.oci.shapes import is_flexible
from orchestrator.model.launch import Launch, ProviderPin
from orchestrator.model.machine import Finding

__all__ = ["CLOUD"]

_PROVIDER = """\
provider "oci" {
  region = var.region

  # The provider repeats what it takes for passing faults for two minutes, throttled calls for ten; "Out of host
  # capacity" it does not repeat.
  retry_duration_seconds = 60
}

# Rights are written in the tenancy's home region only, wherever the machine is.
provider "oci" {
  alias  = "home"
  region = var.home_region == "" ? var.region : var.home_region

  retry_duration_seconds = 60
}
"""


def _machines(region: str, settings: Mapping[str, str]) -> Machines:
    from orchestrator.clouds.oci.machines import open_machines

    return open_machines(region, settings)


def _findings(settings: Mapping[str, str]) -> list[Finding]:
    from orchestrator.clouds.oci.findings import findings

    return findings(settings)


def _module_variables(launch: Launch) -> dict[str, Any]:
    offer, settings = launch.offer, launch.cloud_settings
    flexible = is_flexible(offer.instance_type)
    return {
        "compartment_id": settings.get("compartment_id", ""),
        "home_region": settings.get("home_region", ""),
        "machine_rights": settings.get("machine_rights", "policy"),
        # An OCPU of an x86 shape is two vCPUs: docs.oracle.com/iaas/Content/Compute/References/computeshapes.htm
        "flex_ocpus": _number(offer.vcpus / 2) if flexible and offer.vcpus else None,
        "flex_memory_gib": _number(offer.memory_gib) if flexible and offer.memory_gib else None,
    }


def _number(value: Decimal) -> float:
    return int(value) if value == value.to_integral_value() else float(value)


CLOUD = Cloud(
    name="oci",
    title="Oracle Cloud",
    provider=ProviderPin(local_name="oci", source="oracle/oci", constraint="~> 7.19", aliases=("home",)),
    module=asset("terraform", "modules", "oci"),
    provider_files={"providers.tf": _PROVIDER},
    failures=FAILURES,
    image=image,
    own_image=own_image,
    check=check,
    machines=lambda region: _machines(region, {}),
    findings=lambda: _findings({}),
    caller_address=caller_address,
    # LaunchInstanceDetails.metadata in OCI's API reference: 32,000 bytes in all, base64-encoded. The module sends it
    # packed, beside its own part; this much still fits where little can be packed.
    user_data_limit_bytes=24000,
    module_variables=_module_variables,
    settings={
        "compartment_id": CloudSetting(
            help="OCID of the compartment in which machines are made",
            variables=("OCI_COMPARTMENT_ID", "OCI_COMPARTMENT"),
            required=True,
            sandbox="ocid1.compartment.oc1..aaaaaaaasandboxsandboxsandbox",
        ),
        "home_region": CloudSetting(
            help="the tenancy's home region, the only one in which rights can be written",
            variables=("OCI_HOME_REGION",),
            required=True,
            sandbox="us-ashburn-1",
        ),
        "machine_rights": CloudSetting(
            help="policy: each machine gets a policy to end itself and use its checkpoints; none: it gets none",
            default="policy",
            sandbox="policy",
        ),
    },
    no_credentials=no_credentials,
    machines_with=_machines,
    findings_with=_findings,
    sandbox=SandboxCloud(
        schema=Path(__file__).parent / "sandbox" / "schema.json",
        rules="orchestrator.clouds.oci.sandbox.rules",
        version="7.19.0",
    ),
)
