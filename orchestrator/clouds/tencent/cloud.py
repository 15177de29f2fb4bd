"""Tencent Cloud."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.assets import asset
from orchestrator.clouds.contract import Cloud, CloudSetting, Machines, SandboxCloud
from orchestrator.clouds.tencent.caller import caller_address
from orchestrator.clouds.tencent.check import check
from orchestrator.clouds.tencent.credentials import no_credentials
from orchestrator.clouds.tencent.failures import FAILURES
from orchestrator.clouds.tencent.images import image, own_image
from orchestrator.model.launch import Launch, ProviderPin
from orchestrator.model.machine import Finding

__all__ = ["CLOUD"]

_PROVIDER = """\
provider "tencentcloud" {
  region = var.region
}
"""

_DISK_TYPE = "CLOUD_PREMIUM"


def _machines(region: str) -> Machines:
    from orchestrator.clouds.tencent.machines import open_machines

    return open_machines(region)


def _findings() -> list[Finding]:
    from orchestrator.clouds.tencent.findings import findings

    return findings()


def _module_variables(launch: Launch) -> Mapping[str, Any]:
    said = launch.cloud_settings
    return {
        "disk_type": said.get("disk_type") or _DISK_TYPE,
        "disk_encrypted": said.get("disk_encryption", "on") != "off",
    }


CLOUD = Cloud(
    name="tencent",
    title="Tencent Cloud",
    provider=ProviderPin(local_name="tencentcloud", source="tencentcloudstack/tencentcloud", constraint="~> 1.83"),
    module=asset("terraform", "modules", "tencent"),
    provider_files={"providers.tf": _PROVIDER},
    failures=FAILURES,
    image=image,
    own_image=own_image,
    check=check,
    machines=_machines,
    findings=_findings,
    caller_address=caller_address,
    # The provider's documentation of user_data: 16 KB in base64. The module compresses it, to a half or less.
    user_data_limit_bytes=16384,
    module_variables=_module_variables,
    settings={
        "disk_type": CloudSetting(
            help="kind of the root disk, such as CLOUD_PREMIUM, CLOUD_BSSD or CLOUD_HSSD", default=_DISK_TYPE
        ),
        "disk_encryption": CloudSetting(
            help="on, or off where the account or the region has no encrypted system disks", default="on"
        ),
    },
    no_credentials=no_credentials,
    sandbox=SandboxCloud(
        schema=Path(__file__).parent / "sandbox" / "schema.json",
        rules="orchestrator.clouds.tencent.sandbox.rules",
        version="1.83.25",
    ),
)
