"""Azure in the sandbox, by the command and the real terraform: what its rules and settings make of the common story."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.sandbox.faults import Fault
from tests.end_to_end.build_cli_runs import Gpuorch, a_gpuorch

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

PRICES = """\
cloud,instance_type,region,zone,gpu,gpu_count,gpu_memory_gib,vcpus,memory_gib,market,price_per_hour,currency,observed_at
azure,Standard_ND96asr_v4,eastus,,A100-40GB,8,40,96,900,spot,5.98,USD,2026-11-01
azure,Standard_ND96amsr_A100_v4,eastus,2,A100-80GB,8,80,96,1800,spot,8.52,USD,2026-11-01
azure,Standard_ND96asr_v4,westeurope,,A100-40GB,8,40,96,900,on-demand,27.20,USD,2026-11-01
azure,Standard_ND96isr_MI300X_v5,eastus2,,MI300X,8,192,96,1850,on-demand,48,USD,2026-11-01
azure,Standard_NV6ads_A10_v5,eastus,,A10,0.167,24,6,55,on-demand,0.454,USD,2026-11-01
"""
UP = ("up", "--cloud", "azure", "--sandbox", "--yes", "--name", "train")
CHECKPOINTS = "https://acct123.blob.core.windows.net/ckpt/run/1"
SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"
PLAIN = [
    "azurerm_linux_virtual_machine",
    "azurerm_network_interface",
    "azurerm_network_interface_security_group_association",
    "azurerm_network_security_group",
    "azurerm_public_ip",
    "azurerm_resource_group",
    "azurerm_subnet",
    "azurerm_virtual_network",
]


def azure(folder: Path, **environment: str) -> Gpuorch:
    gpuorch = a_gpuorch(folder, None, environment=environment)
    file = folder / "prices.csv"
    file.write_text(PRICES)
    gpuorch("prices", "import", str(file), "--replace")
    return gpuorch


def unchanged(gpuorch: Gpuorch) -> None:
    (root,) = gpuorch.roots()
    gpuorch.terraform(root, "plan", "-detailed-exitcode", "-no-color", "-input=false")


def values_of(gpuorch: Gpuorch, type_: str) -> list[dict[str, Any]]:
    return [dict(each.values) for each in gpuorch.cloud.resources() if each.type == type_]


def test_a_machine_ends_itself_and_what_it_left_is_removed(tmp_path: Path) -> None:
    gpuorch = azure(tmp_path)
    gpuorch.json(*UP, "--profile", "a100x8", "--spot", "--ttl", "4h", "--max-price", "9.123456789")
    assert gpuorch.existing() == sorted([*PLAIN, "azurerm_role_assignment"])
    (machine,) = values_of(gpuorch, "azurerm_linux_virtual_machine")
    assert (machine["priority"], machine["eviction_policy"]) == ("Spot", "Delete")
    assert float(machine["max_bid_price"]) == 9.12345
    (right,) = values_of(gpuorch, "azurerm_role_assignment")
    assert (right["scope"], right["role_definition_name"]) == (machine["id"], "Virtual Machine Contributor")
    unchanged(gpuorch)
    gpuorch.cloud.advance(timedelta(hours=5))
    lost = gpuorch.deployment()
    assert (lost["state"], "its time was over" in lost["problem"]) == ("lost", True)
    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []


def test_without_limit_checkpoints_and_key_the_machine_may_do_nothing(tmp_path: Path) -> None:
    gpuorch = azure(tmp_path)
    gpuorch.json(*UP, "--gpu", "A100-40GB:8", "--on-demand", "--access", "none")
    assert gpuorch.existing() == PLAIN
    (machine,) = values_of(gpuorch, "azurerm_linux_virtual_machine")
    assert (machine["priority"], machine["identity"], machine["allow_extension_operations"]) == ("Regular", [], False)
    (rules,) = values_of(gpuorch, "azurerm_network_security_group")
    assert rules["security_rule"] == []
    unchanged(gpuorch)


def test_checkpoints_by_roles_of_ones_own(tmp_path: Path) -> None:
    settings = {"GPUORCH_AZURE_END_ROLE": "gpuorch machine", "GPUORCH_AZURE_CHECKPOINT_ROLE": "gpuorch checkpoints"}
    config = tmp_path / "gpuorch.toml"
    config.write_text(
        f'[cloud_settings.azure]\nsubscription_id = "{SUBSCRIPTION}"\nend_role = "gpuorch machine"\n'
        'checkpoint_role = "gpuorch checkpoints"\nencryption_at_host = "true"\n'
    )
    gpuorch = azure(tmp_path, GPUORCH_CONFIG=str(config), **settings)
    made = gpuorch.json(*UP, "--profile", "mi300x8", "--on-demand", "--ttl", "8h", "--checkpoint", CHECKPOINTS).data
    assert made["deployment"]["machine_id"].startswith(f"/subscriptions/{SUBSCRIPTION}/resourceGroups/gpuorch-")
    rights = {each["role_definition_name"]: each for each in values_of(gpuorch, "azurerm_role_assignment")}
    assert rights.keys() == {"gpuorch machine", "gpuorch checkpoints"}
    (group,) = values_of(gpuorch, "azurerm_resource_group")
    assert rights["gpuorch machine"]["scope"] == group["id"]
    assert rights["gpuorch checkpoints"]["scope"].endswith(
        "/storageAccounts/acct123/blobServices/default/containers/ckpt"
    )
    assert "StringStartsWith 'run/1/'" in rights["gpuorch checkpoints"]["condition"]
    (machine,) = values_of(gpuorch, "azurerm_linux_virtual_machine")
    assert machine["encryption_at_host_enabled"] is True
    unchanged(gpuorch)
    # With the state lost, both rights and everything else are found again, and gone after down.
    (root,) = gpuorch.roots()
    (root / "terraform.tfstate").unlink()
    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []


def test_a_creation_that_fails_late_is_cleaned_up_before_the_next(tmp_path: Path) -> None:
    """Azure keeps the half-made machine; the next offer is in the same region and of the same name."""
    gpuorch = azure(tmp_path)
    gpuorch.cloud.order_fault(
        Fault(
            operation="create",
            type="azurerm_linux_virtual_machine",
            times=1,
            error='creating Linux Virtual Machine: polling failed: Status: "AllocationFailed"\nMessage: "Allocation '
            'failed."',
        )
    )
    made = gpuorch.json(*UP, "--profile", "a100x8", "--spot").data
    assert [(attempt["kind"], attempt["offer"]["zone"]) for attempt in made["attempts"]] == [
        ("capacity", ""),
        ("", "2"),
    ]
    groups = [call for call in gpuorch.cloud.calls() if call.type == "azurerm_resource_group"]
    assert [call.operation for call in groups] == ["create", "delete", "create"]
    assert gpuorch.machines() == [("2", "spot")]


def test_a_share_of_a_gpu(tmp_path: Path) -> None:
    gpuorch = azure(tmp_path)
    made = gpuorch.json(*UP, "--gpu", "A10:0.167", "--on-demand").data["deployment"]
    assert (made["instance_type"], made["gpu_count"]) == ("Standard_NV6ads_A10_v5", 0.167)
    (root,) = gpuorch.roots()
    assert "linkid=874272" in (root / "cloud-init.yaml").read_text()


def test_no_sandbox_needs_no_subscription_and_the_real_cloud_one(tmp_path: Path) -> None:
    without = {"ARM_SUBSCRIPTION_ID": "", "AZURE_SUBSCRIPTION_ID": "", "GPUORCH_AZURE_SUBSCRIPTION_ID": ""}
    gpuorch = azure(tmp_path, **without)
    real = [word for word in UP if word != "--sandbox"]
    run = gpuorch(*real, "--profile", "a100x8", "--spot", code=None)
    assert run.code not in (0, 64)
    assert "subscription_id" in run.err
