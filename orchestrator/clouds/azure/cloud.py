"""Microsoft Azure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.assets import asset
from orchestrator.clouds.azure.caller import caller_address
from orchestrator.clouds.azure.check import check
from orchestrator.clouds.azure.credentials import no_credentials
from orchestrator.clouds.azure.failures import FAILURES
from orchestrator.clouds.azure.images import image, own_image
from orchestrator.clouds.contract import Cloud, CloudSetting, Machines, SandboxCloud
from orchestrator.model.launch import Launch, ProviderPin
from orchestrator.model.machine import Finding

__all__ = ["CLOUD"]

_PROVIDER = """\
provider "azurerm" {
  subscription_id = var.subscription_id

  # Registering resource providers is an administrator's right and done once a subscription; gpuorch doctor looks.
  resource_provider_registrations = "none"

  features {
    resource_group {
      # The group is the deployment's own. What an interrupted creation left in it (a disk, a half-made machine) must
      # not keep it from going.
      prevent_deletion_if_contains_resources = false
    }

    virtual_machine {
      delete_os_disk_on_deletion = true
      # A machine that is to go need not be shut down first; it would be paid for meanwhile.
      skip_shutdown_and_force_delete = true
    }
  }
}
"""

_SETTINGS = {
    "subscription_id": CloudSetting(
        help="the subscription in which machines are made: az account show --query id",
        variables=("ARM_SUBSCRIPTION_ID", "AZURE_SUBSCRIPTION_ID"),
        required=True,
        sandbox="00000000-0000-0000-0000-000000000000",
    ),
    "end_role": CloudSetting(
        help="name of a role of your own by which a machine removes its whole resource group when its time is over; "
        "without it, the machine alone goes"
    ),
    "checkpoint_role": CloudSetting(
        help="name of a role of your own for the checkpoint prefix, instead of Storage Blob Data Contributor"
    ),
    "encryption_at_host": CloudSetting(
        help="true: temporary disks and caches are encrypted on the host too; the subscription must have the feature",
        default="false",
        sandbox="false",
    ),
}


def _module_variables(launch: Launch) -> Mapping[str, Any]:
    settings = launch.cloud_settings
    return {
        "subscription_id": settings.get("subscription_id", ""),
        "ends_itself": launch.ttl is not None,
        "end_role": settings.get("end_role", ""),
        "checkpoint_role": settings.get("checkpoint_role", ""),
        "encryption_at_host": settings.get("encryption_at_host") == "true",
    }


def _machines(region: str) -> Machines:
    from orchestrator.clouds.azure.signin import subscription_of_environment

    return _machines_with(region, {"subscription_id": subscription_of_environment()})


def _machines_with(region: str, settings: Mapping[str, str]) -> Machines:
    from orchestrator.clouds.azure.machines import open_machines

    return open_machines(region, settings.get("subscription_id", ""))


def _findings() -> list[Finding]:
    from orchestrator.clouds.azure.signin import subscription_of_environment

    return _findings_with({"subscription_id": subscription_of_environment()})


def _findings_with(settings: Mapping[str, str]) -> list[Finding]:
    from orchestrator.clouds.azure.findings import findings

    return findings(settings)


CLOUD = Cloud(
    name="azure",
    title="Azure",
    provider=ProviderPin(local_name="azurerm", source="hashicorp/azurerm", constraint="~> 4.55"),
    module=asset("terraform", "modules", "azure"),
    provider_files={"providers.tf": _PROVIDER},
    failures=FAILURES,
    image=image,
    own_image=own_image,
    check=check,
    machines=_machines,
    findings=_findings,
    machines_with=_machines_with,
    findings_with=_findings_with,
    caller_address=caller_address,
    # learn.microsoft.com/azure/virtual-machines/custom-data: 65,535 bytes before they are base64-encoded; the API takes
    # 87,380 characters.
    user_data_limit_bytes=65535,
    module_variables=_module_variables,
    settings=_SETTINGS,
    no_credentials=no_credentials,
    sandbox=SandboxCloud(
        schema=Path(__file__).parent / "sandbox" / "schema.json",
        rules="orchestrator.clouds.azure.sandbox.rules",
        version="4.55.0",
    ),
)
