"""What gpuorch knows of Homelab: the one name ``CLOUD``, to which the entry point leads.

It is imported whenever clouds are listed or chosen from, so nothing heavy may be imported at the top of these modules.
"""

from __future__ import annotations

from pathlib import Path

from homelab_cloud.api import caller_address, findings, no_credentials
from homelab_cloud.check import check
from homelab_cloud.failures import FAILURES
from homelab_cloud.images import image, own_image
from homelab_cloud.machines import HomelabMachines
from orchestrator.clouds.contract import Cloud, SandboxCloud
from orchestrator.model.launch import ProviderPin

__all__ = ["CLOUD"]

_FOLDER = Path(__file__).parent

CLOUD = Cloud(
    name="homelab",
    title="Homelab",
    provider=ProviderPin(local_name="homelab", source="example/homelab", constraint="~> 1.0"),
    module=_FOLDER / "module",
    # Address and token come from the environment, HOMELAB_URL and HOMELAB_TOKEN: nothing of them is written down.
    provider_files={"providers.tf": 'provider "homelab" {}\n'},
    failures=FAILURES,
    image=image,
    own_image=own_image,
    check=check,
    machines=HomelabMachines,
    findings=findings,
    caller_address=caller_address,
    user_data_limit_bytes=65536,  # README.md, POST /machines
    no_credentials=no_credentials,
    sandbox=SandboxCloud(
        schema=_FOLDER / "sandbox" / "schema.json", rules="homelab_cloud.sandbox.rules", version="1.0.0"
    ),
)
