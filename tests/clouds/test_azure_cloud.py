"""Azure as data: the cloud, its images and commands, and what is refused before anything is made."""

from __future__ import annotations

import subprocess
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.azure.cloud import CLOUD
from orchestrator.clouds.azure.commands import END_COMMAND, INSTALL_GRID, UPLOAD_COMMAND
from orchestrator.clouds.registry import cloud, cloud_names
from orchestrator.errors import UsageError
from orchestrator.model.demand import Access
from orchestrator.model.launch import Launch
from orchestrator.model.offer import Market, Offer
from orchestrator.stack.cloudinit import deployment_env
from tests.build import SSH_KEY, a_launch, an_offer

SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"
SUBNET = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/nets/providers/Microsoft.Network/virtualNetworks/n/subnets/s"


def on_azure(**changes: Any) -> Offer:
    values = {"cloud": "azure", "region": "eastus", "zone": "", "instance_type": "Standard_ND96asr_v4"}
    return an_offer(**(values | changes))


def a_launch_on(offer: Offer | None = None, **changes: Any) -> Launch:
    offer = offer or on_azure()
    values: dict[str, Any] = {
        "offer": offer,
        "image": CLOUD.image(offer),
        "cloud_settings": {"subscription_id": SUBSCRIPTION},
    }
    return a_launch(**(values | changes))


# --- the cloud itself ------------------------------------------------------------------------------------------------


def test_is_registered_and_complete() -> None:
    assert "azure" in cloud_names()
    assert cloud("azure") is CLOUD
    assert (CLOUD.module / "main.tf").is_file()
    assert CLOUD.user_data_limit_bytes == 65535
    assert CLOUD.provider.constraint == "~> 4.55"
    assert CLOUD.session_command is None
    assert CLOUD.settings["subscription_id"].required


def test_provider_files_hold_no_value() -> None:
    (text,) = CLOUD.provider_files.values()
    assert "subscription_id = var.subscription_id" in text
    assert 'resource_provider_registrations = "none"' in text
    assert "prevent_deletion_if_contains_resources = false" in text


def test_settings_reach_the_module() -> None:
    settings = {"subscription_id": SUBSCRIPTION, "end_role": "r", "checkpoint_role": "c", "encryption_at_host": "true"}
    assert CLOUD.module_variables(a_launch_on(cloud_settings=settings)) == {
        "subscription_id": SUBSCRIPTION,
        "ends_itself": True,
        "end_role": "r",
        "checkpoint_role": "c",
        "encryption_at_host": True,
    }
    plain = CLOUD.module_variables(a_launch_on(ttl=None))
    assert (plain["ends_itself"], plain["encryption_at_host"], plain["end_role"]) == (False, False, "")


# --- images ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instance_type", "accelerator", "reference", "driver"),
    [
        ("Standard_ND96asr_v4", "A100-40GB", "microsoft-dsvm:ubuntu-hpc:2204:latest", "nvidia"),
        ("Standard_NC4as_T4_v3", "T4", "microsoft-dsvm:ubuntu-hpc:2204:latest", "nvidia"),
        ("Standard_NC24ads_A100_v4", "A100-80GB", "microsoft-dsvm:ubuntu-hpc:2204:latest", "nvidia"),
        ("Standard_ND96isr_H200_v5", "H200", "microsoft-dsvm:ubuntu-hpc:2204:latest", "nvidia"),
        ("Standard_NC6s_v3", "V100-16GB", "microsoft-dsvm:ubuntu-hpc:2204-v100:latest", "nvidia"),
        ("Standard_NC24rs_v3", "V100-16GB", "microsoft-dsvm:ubuntu-hpc:2204-v100:latest", "nvidia"),
        ("Standard_ND40rs_v2", "V100-32GB", "microsoft-dsvm:ubuntu-hpc:2204-v100:latest", "nvidia"),
        ("Standard_ND96isr_MI300X_v5", "MI300X", "microsoft-dsvm:ubuntu-hpc:2204-rocm:latest", "rocm"),
    ],
)
def test_default_image(instance_type: str, accelerator: str, reference: str, driver: str) -> None:
    image = CLOUD.image(on_azure(instance_type=instance_type, accelerator=accelerator))
    assert (image.reference, image.driver, image.ssh_user) == (reference, driver, "azureuser")
    assert (image.python, image.scratch, image.install_driver) == ("", "", ())
    assert image.local_disks == ("nvme-Microsoft_NVMe_Direct_Disk_*",)
    assert (image.upload_command, image.end_command) == (UPLOAD_COMMAND, END_COMMAND)


@pytest.mark.parametrize("size", ["NV6ads", "NV12ads", "NV18ads", "NV36ads", "NV36adms", "NV72ads"])
def test_shares_of_an_a10_get_the_grid_driver(size: str) -> None:
    image = CLOUD.image(on_azure(instance_type=f"Standard_{size}_A10_v5", accelerator="A10"))
    assert image.reference.startswith("Canonical:")
    assert image.install_driver == INSTALL_GRID


def test_a_machine_without_accelerator_gets_plain_ubuntu() -> None:
    image = CLOUD.image(on_azure(instance_type="Standard_D4s_v5", accelerator="", gpu_count=Decimal(0)))
    assert (image.reference.partition(":")[0], image.driver, image.install_driver) == ("Canonical", "none", ())


@pytest.mark.parametrize(
    ("instance_type", "accelerator"),
    [
        ("Standard_NV32as_v4", "MI25"),
        ("Standard_NG32ads_V620_v1", "V620"),
        ("Standard_NC6", "K80"),
        ("Standard_NC6s_v2", "P100"),
        ("Standard_ND6s", "P40"),
        ("Standard_NV12s_v3", "M60"),
        ("Standard_ND128isr_NDR_GB200_v6", "GB200"),
    ],
)
def test_no_default_image_for_other_accelerators(instance_type: str, accelerator: str) -> None:
    with pytest.raises(UsageError, match="no default image") as refused:
        CLOUD.image(on_azure(instance_type=instance_type, accelerator=accelerator))
    assert "--image" in refused.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "Canonical:ubuntu-24_04-lts:server:24.04.202511010",
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/images/providers/Microsoft.Compute/images/mine",
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/g/providers/Microsoft.Compute/galleries/x/images/y/versions/1.2.3",
        "/communityGalleries/x-y/images/z/versions/latest",
        "/sharedGalleries/x/images/z",
    ],
)
def test_own_image(text: str) -> None:
    image = CLOUD.own_image(text, on_azure())
    assert (image.reference, image.driver, image.install_driver) == (text, "nvidia", ())
    assert CLOUD.own_image(text, on_azure(instance_type="Standard_ND96isr_MI300X_v5")).driver == "rocm"


@pytest.mark.parametrize("text", ["", "a:b:c", "ami-01234567", "/subscriptions/x/y", 'a:b:c:d"; x', "a:b:c:d\n"])
def test_what_is_no_image(text: str) -> None:
    with pytest.raises(UsageError, match="no Azure image"):
        CLOUD.own_image(text, on_azure())


# --- what the machine runs -------------------------------------------------------------------------------------------

_CURL = """#!/bin/bash
input=$(cat)
for word in "$@"; do case "$word" in https://*|http://*) url=$word ;; esac; done
printf '%s|%s|%s\\n' "$url" "$*" "$input" >>"$FAKE/calls"
case "$url" in
*identity*) echo '{"access_token":"tok\\"en.x","expires_in":"1"}' ;;
*resourceId*)
  printf /subscriptions/s/resourceGroups/gpuorch-g1/providers/Microsoft.Compute/virtualMachines/gpuorch-g1 ;;
*virtualMachines/gpuorch-g1\\?*) [ ! -e "$FAKE/no-machine-right" ] ;;
*management.azure.com*) [ ! -e "$FAKE/no-group-right" ] ;;
esac
"""


def run(folder: Path, command: tuple[str, ...], *more: str) -> tuple[int, list[str]]:
    """The exit status, and the calls of curl: address, arguments, standard input."""
    fakes = folder / "bin"
    fakes.mkdir(exist_ok=True)
    curl = fakes / "curl"
    curl.write_text(_CURL)
    curl.chmod(0o755)
    (folder / "calls").unlink(missing_ok=True)
    environment = {"PATH": f"{fakes}:/usr/bin:/bin", "FAKE": str(folder)}
    done = subprocess.run(
        [*command, *more], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return done.returncode, (folder / "calls").read_text().splitlines()


def test_a_machine_has_its_whole_group_removed_where_it_may(tmp_path: Path) -> None:
    status, calls = run(tmp_path, END_COMMAND)
    assert status == 0
    address, arguments, given = calls[-1].split("|")
    assert address.startswith("https://management.azure.com/subscriptions/s/resourceGroups/gpuorch-g1?api-version=")
    assert "forceDeletionTypes=Microsoft.Compute/virtualMachines" in address
    assert "-X DELETE" in arguments
    assert given == "Authorization: Bearer tok\\"
    # Arguments of a program can be read by everybody on the machine.
    assert all("Bearer" not in call.split("|")[1] for call in calls)
    assert "Metadata:true" in calls[0] and "http://169.254.169.254/metadata/identity" in calls[0]


def test_and_itself_alone_where_it_may_not(tmp_path: Path) -> None:
    (tmp_path / "no-group-right").touch()
    status, calls = run(tmp_path, END_COMMAND)
    assert status == 0
    assert "/virtualMachines/gpuorch-g1?api-version=2024-07-01&forceDeletion=true" in calls[-1]
    (tmp_path / "no-machine-right").touch()
    status, calls = run(tmp_path, END_COMMAND)
    assert status != 0  # the timer tries again in a minute
    assert len(calls) == 4


def test_the_status_is_uploaded_by_the_machines_identity(tmp_path: Path) -> None:
    file = tmp_path / "status.json"
    file.write_text("{}")
    words = [word.format(file=file, uri="https://a.blob.core.windows.net/c/x") for word in UPLOAD_COMMAND[3:]]
    status, calls = run(tmp_path, UPLOAD_COMMAND[:3], *words)
    assert status == 0
    address, arguments, given = calls[-1].split("|")
    assert address == "https://a.blob.core.windows.net/c/x"
    assert f"-T {file}" in arguments and "x-ms-blob-type: BlockBlob" in arguments and " GMT" in arguments
    assert given.startswith("Authorization: Bearer ")
    assert "resource=https://storage.azure.com/" in calls[0]


def test_the_way_to_end_is_data_of_machines_with_a_time_limit() -> None:
    assert "\nEND=(bash -c " in deployment_env(a_launch_on(ttl=timedelta(hours=1)))
    assert "\nEND=" not in deployment_env(a_launch_on(ttl=None))


@pytest.mark.parametrize("command", [END_COMMAND, UPLOAD_COMMAND, INSTALL_GRID])
def test_commands_are_one_line_of_valid_bash(command: tuple[str, ...]) -> None:
    assert "\n" not in command[2] and "'" not in command[2]
    done = subprocess.run(["bash", "-n", "-c", command[2]], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"offer": on_azure(zone="2")},
        {"offer": on_azure(zone="eastus-2")},
        {"offer": on_azure(market=Market.ON_DEMAND)},
        {"subnet": SUBNET},
        {"checkpoint_uri": "https://acct123.blob.core.windows.net/ckpt/run 1/x@y"},
        {"labels": {"team": "vision ü", "cost:centre": ""}},
        {"disk_gib": 4095},
        {"ssh_public_key": "", "access": Access.NONE, "ssh_allowed_cidrs": ()},
        {"ssh_public_key": f"{SSH_KEY}\n"},
    ],
)
def test_accepted(changes: dict[str, Any]) -> None:
    CLOUD.check(a_launch_on(**changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"offer": on_azure(region="East US")}, "no Azure region"),
        ({"offer": on_azure(region="us-east-1")}, "no Azure region"),
        ({"offer": on_azure(zone="us-east-1a")}, "no zone of eastus"),
        ({"offer": on_azure(zone="westeurope-1")}, "no zone of eastus"),
        ({"offer": on_azure(instance_type="p4d.24xlarge")}, "no size of machine"),
        ({"offer": on_azure(market=Market.SUBSCRIPTION_MONTHLY)}, "by the month"),
        ({"access": Access.SESSION}, "no session service"),
        ({"ssh_public_key": "ecdsa-sha2-nistp256 AAAA"}, "no SSH key of type 'ecdsa-sha2-nistp256'"),
        ({"ssh_allowed_cidrs": ("0.0.0.0/0",)}, "whole internet"),
        ({"ssh_allowed_cidrs": ("203.0.113.7/24",)}, "no block of addresses"),
        ({"subnet": "subnet-0123456789abcdef0"}, "no Azure subnet"),
        ({"checkpoint_uri": "s3://bucket/x"}, "no place for checkpoints"),
        ({"checkpoint_uri": "https://acct123.blob.core.windows.net"}, "no place for checkpoints"),
        ({"checkpoint_uri": "https://acct123.blob.core.windows.net/ckpt/x'"}, "no place for checkpoints"),
        ({"checkpoint_uri": "https://acct123.blob.core.windows.net/ckpt/*"}, "no place for checkpoints"),
        ({"disk_gib": 29}, "disk of 29 GiB"),
        ({"disk_gib": 4096}, "disk of 4096 GiB"),
        ({"labels": {"a/b": "c"}}, "takes no tag"),
        ({"labels": {"a": "c" * 257}}, "takes no tag"),
        ({"labels": {"a": "b\n"}}, "takes no tag"),
        ({"labels": {"Microsoft.x": "c"}}, "reserved"),
        ({"labels": {"gpuorch:owner": "c"}}, "reserved"),
        ({"labels": {"team": "a", "Team": "b"}}, "upper and lower case"),
        ({"labels": {f"l{number}": "x" for number in range(45)}}, "45 labels are too many"),
        ({"cloud_settings": {}}, "no id of an Azure subscription"),
        ({"cloud_settings": {"subscription_id": SUBSCRIPTION, "encryption_at_host": "yes"}}, "encryption_at_host"),
    ],
)
def test_refused_in_a_sentence_with_a_way_out(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as refused:
        CLOUD.check(a_launch_on(**changes))
    assert refused.value.hint
    assert "\n" not in refused.value.message
