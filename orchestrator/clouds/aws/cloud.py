"""Amazon Web Services."""

from __future__ import annotations

from pathlib import Path

from orchestrator.assets import asset
from orchestrator.clouds.aws.check import check
from orchestrator.clouds.aws.credentials import no_credentials
from orchestrator.clouds.aws.failures import FAILURES
from orchestrator.clouds.aws.images import image, own_image
from orchestrator.clouds.contract import Cloud, Machines, SandboxCloud
from orchestrator.model.launch import ProviderPin
from orchestrator.model.machine import Finding

__all__ = ["CLOUD"]

_PROVIDER = """\
provider "aws" {
  region = var.region

  # The provider takes "no capacity" for a passing fault and repeats the launch with growing pauses: eleven calls in the
  # first 150 seconds, and no end in sight. Three calls take five seconds and still outlast two throttled ones.
  max_retries = 3
}
"""


def _machines(region: str) -> Machines:
    from orchestrator.clouds.aws.machines import open_machines

    return open_machines(region)


def _findings() -> list[Finding]:
    from orchestrator.clouds.aws.findings import findings

    return findings()


def _caller_address() -> str:
    from orchestrator.clouds.aws.caller import caller_address

    return caller_address()


def _session_command(region: str, machine_id: str) -> tuple[str, ...]:
    return ("aws", "ssm", "start-session", "--region", region, "--target", machine_id)


CLOUD = Cloud(
    name="aws",
    title="AWS",
    provider=ProviderPin(local_name="aws", source="hashicorp/aws", constraint="~> 5.100"),
    module=asset("terraform", "modules", "aws"),
    provider_files={"providers.tf": _PROVIDER},
    failures=FAILURES,
    image=image,
    own_image=own_image,
    check=check,
    machines=_machines,
    findings=_findings,
    caller_address=_caller_address,
    # docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html: 16 KB, before it is base64-encoded.
    user_data_limit_bytes=16384,
    no_credentials=no_credentials,
    session_command=_session_command,
    sandbox=SandboxCloud(
        schema=Path(__file__).parent / "sandbox" / "schema.json",
        rules="orchestrator.clouds.aws.sandbox.rules",
        version="5.100.0",
    ),
)
