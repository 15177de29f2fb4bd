"""Alibaba Cloud."""

from __future__ import annotations

from pathlib import Path

from orchestrator.assets import asset
from orchestrator.clouds.alibaba.caller import caller_address
from orchestrator.clouds.alibaba.check import check
from orchestrator.clouds.alibaba.credentials import no_credentials
from orchestrator.clouds.alibaba.failures import FAILURES
from orchestrator.clouds.alibaba.images import image, own_image
from orchestrator.clouds.alibaba.options import SETTINGS, module_variables
from orchestrator.clouds.contract import Cloud, Machines, SandboxCloud
from orchestrator.model.launch import ProviderPin
from orchestrator.model.machine import Finding

__all__ = ["CLOUD"]

_PROVIDER = """\
provider "alicloud" {
  region = var.region
}
"""


def _machines(region: str) -> Machines:
    from orchestrator.clouds.alibaba.machines import open_machines

    return open_machines(region)


def _findings() -> list[Finding]:
    from orchestrator.clouds.alibaba.findings import findings

    return findings()


def _session_command(region: str, machine_id: str) -> tuple[str, ...]:
    # help.aliyun.com/zh/ecs/user-guide/connect-to-an-instance-by-using-the-session-manager-cli
    return ("ali-instance-cli", "session", "--region", region, "--instance", machine_id)


CLOUD = Cloud(
    name="alibaba",
    title="Alibaba Cloud",
    provider=ProviderPin(local_name="alicloud", source="aliyun/alicloud", constraint="~> 1.289"),
    module=asset("terraform", "modules", "alibaba"),
    provider_files={"providers.tf": _PROVIDER},
    failures=FAILURES,
    image=image,
    own_image=own_image,
    check=check,
    machines=_machines,
    findings=_findings,
    caller_address=caller_address,
    # RunInstances, parameter UserData: 32 KB, before it is base64-encoded.
    user_data_limit_bytes=32768,
    module_variables=module_variables,
    settings=SETTINGS,
    no_credentials=no_credentials,
    session_command=_session_command,
    sandbox=SandboxCloud(
        schema=Path(__file__).parent / "sandbox" / "schema.json",
        rules="orchestrator.clouds.alibaba.sandbox.rules",
        version="1.289.0",
    ),
)
