"""Tencent Cloud in the sandbox: every way to pay up, unchanged on a second plan, away again; and falling back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.build_cli_runs import Gpuorch, a_gpuorch

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

# Prices in the currency of each site; the dear zone last.
PRICES = """\
cloud,instance_type,region,zone,gpu,gpu_count,gpu_memory_gib,vcpus,memory_gib,market,price_per_hour,currency,observed_at
tencent,GN7.5XLARGE80,ap-guangzhou,ap-guangzhou-3,T4,1,16,20,80,spot,0.40,USD,2026-11-01
tencent,GN7.5XLARGE80,ap-guangzhou,ap-guangzhou-4,T4,1,16,20,80,spot,0.45,USD,2026-11-01
tencent,GN7.5XLARGE80,ap-shanghai,,T4,1,16,20,80,spot,0.50,USD,2026-11-01
tencent,GN7.5XLARGE80,ap-shanghai,,T4,1,16,20,80,on-demand,2.01,USD,2026-11-01
"""
RATES = {"GPUORCH_EXCHANGE_RATES": "CNY=0.14"}
UP = ("up", "--cloud", "tencent", "--sandbox", "--yes", "--name", "train")
T4 = ("--profile", "t4x1")
PLAIN = [
    "tencentcloud_instance",
    "tencentcloud_security_group",
    "tencentcloud_security_group_rule_set",
    "tencentcloud_subnet",
    "tencentcloud_vpc",
]
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3D0tlGm6ZlEWTxGWpS7zdTRDMCq6l2OFOrAE7fVsYx ada@example\n"


def tencent(folder: Path, *, imported: bool = True, settings: str = "") -> Gpuorch:
    config = folder / "gpuorch.toml"
    config.write_text(settings)
    gpuorch = a_gpuorch(folder, None, environment={**RATES, "GPUORCH_CONFIG": str(config)})
    if imported:
        file = folder / "prices.csv"
        file.write_text(PRICES)
        gpuorch("prices", "import", str(file), "--replace")
    return gpuorch


def unchanged(gpuorch: Gpuorch) -> bool:
    (root,) = gpuorch.roots()
    return "No changes" in gpuorch.terraform(root, "plan", "-detailed-exitcode", "-no-color", "-input=false")


def values_of(gpuorch: Gpuorch, type_: str = "tencentcloud_instance") -> dict[str, Any]:
    (found,) = (each for each in gpuorch.cloud.resources() if each.type == type_)
    return dict(found.values)


def gone(gpuorch: Gpuorch) -> bool:
    assert gpuorch("down", "train", "--yes").out == "train is gone\n"
    return gpuorch.existing() == []


def test_spot_from_up_over_a_lost_machine_to_down(tmp_path: Path) -> None:
    gpuorch = tencent(tmp_path)
    made = gpuorch.json(*UP, *T4, "--spot").data["deployment"]
    assert (made["state"], made["zone"], made["market"]) == ("ready", "ap-guangzhou-3", "spot")
    # Without a time limit there is no timer, without a price limit Tencent bids its own price.
    assert gpuorch.existing() == PLAIN
    values = values_of(gpuorch)
    assert (values["instance_charge_type"], values["spot_instance_type"], values["spot_max_price"]) == (
        "SPOTPAID",
        None,
        None,
    )
    assert (values["system_disk_encrypt"], values["system_disk_type"]) == (True, "CLOUD_PREMIUM")
    assert values_of(gpuorch, "tencentcloud_security_group_rule_set")["ingress"] == []
    assert unchanged(gpuorch)

    gpuorch.cloud.preempt(made["id"], reason="the spot instance was reclaimed")
    lost = gpuorch.deployment()
    assert (lost["state"], lost["problem"]) == ("lost", "the machine is gone (the spot instance was reclaimed)")
    assert gone(gpuorch)


def test_a_price_limit_and_settings_reach_the_machine(tmp_path: Path) -> None:
    said = '[cloud_settings.tencent]\ndisk_type = "CLOUD_HSSD"\ndisk_encryption = "off"\n'
    gpuorch = tencent(tmp_path, settings=said)
    gpuorch(*UP, *T4, "--spot", "--max-price", "0.42")
    values = values_of(gpuorch)
    assert (values["spot_instance_type"], values["spot_max_price"]) == ("ONE-TIME", "0.42")
    assert (values["system_disk_type"], values["system_disk_encrypt"]) == ("CLOUD_HSSD", False)
    assert unchanged(gpuorch)
    assert gone(gpuorch)


def test_a_capacity_failure_goes_on_to_the_next_zone_and_region(tmp_path: Path) -> None:
    gpuorch = tencent(tmp_path)
    gpuorch.cloud.exhaust("tencent", "ap-guangzhou-3")
    gpuorch.cloud.exhaust("tencent", "ap-guangzhou-4")
    data = gpuorch.json(*UP, *T4, "--spot").data
    attempts = data["attempts"]
    assert [(each["offer"]["zone"] or each["offer"]["region"], each["result"]) for each in attempts] == [
        ("ap-guangzhou-3", "failed"),
        ("ap-guangzhou-4", "failed"),
        ("ap-shanghai", "created"),
    ]
    assert {each["kind"] for each in attempts[:2]} == {"capacity"}
    assert "ResourceInsufficient.SpecifiedInstanceType" in attempts[0]["reason"]
    # Nothing stays behind in the first region; the zone of the second one was found when it was planned.
    assert {resource.region for resource in gpuorch.cloud.resources()} == {"ap-shanghai"}
    assert data["deployment"]["zone"].startswith("ap-shanghai-")
    assert gone(gpuorch)


def test_on_demand_with_an_end_a_key_and_checkpoints(tmp_path: Path) -> None:
    gpuorch = tencent(tmp_path)
    key = tmp_path / "key.pub"
    key.write_text(KEY)
    words = ["--ttl", "2h", "--access", "ssh", "--ssh-key", str(key), "--ssh-from", "203.0.113.7/32"]
    words += ["--checkpoint", "cos://ckpt-1250000000/run", "--owner", 'a"b${c} <d>; 日本']
    before = datetime.now(UTC)
    made = gpuorch.json(*UP, *T4, "--on-demand", *words).data["deployment"]
    assert (made["region"], made["market"]) == ("ap-shanghai", "on-demand")
    rights = ["tencentcloud_cam_policy", "tencentcloud_cam_role", "tencentcloud_cam_role_policy_attachment"]
    assert gpuorch.existing() == sorted([*PLAIN, *rights, "tencentcloud_key_pair", "tencentcloud_cvm_action_timer"])
    # Powered off is not gone here: Tencent ends it, ten minutes after it should have ended itself.
    [timer] = values_of(gpuorch, "tencentcloud_cvm_action_timer")["action_timer"]
    ends = datetime.fromisoformat(timer["action_time"])
    assert timer["timer_action"] == "TerminateInstances"
    assert timedelta(minutes=8) < ends - before - timedelta(hours=2) < timedelta(minutes=13)
    [rule] = values_of(gpuorch, "tencentcloud_security_group_rule_set")["ingress"]
    assert (rule["cidr_block"], rule["protocol"], rule["port"]) == ("203.0.113.7/32", "TCP", "22")
    assert values_of(gpuorch)["cam_role_name"] == f"gpuorch-{made['id']}"
    assert values_of(gpuorch)["tags"]["gpuorch-owner"] == "a-b--c---d---日本"
    assert unchanged(gpuorch)
    assert gone(gpuorch)


def test_a_quarter_of_a_gpu_of_the_shipped_book(tmp_path: Path) -> None:
    gpuorch = tencent(tmp_path, imported=False)
    made = gpuorch.json(*UP, "--gpu", "T4:0.25").data["deployment"]
    assert (made["instance_type"], made["state"]) == ("GN7.LARGE20", "ready")
    (root,) = gpuorch.roots()
    text = (root / "cloud-init.yaml").read_text()
    # A share shows itself as one GPU, and wants NVIDIA's guest driver, which is in the image.
    assert "GPUS=1" in text
    assert "INSTALL_DRIVER=(" not in text
    assert unchanged(gpuorch)
    assert gone(gpuorch)


def test_a_profile_of_the_shipped_book(tmp_path: Path) -> None:
    gpuorch = tencent(tmp_path, imported=False)
    made = gpuorch.json(*UP, *T4).data["deployment"]
    assert (made["instance_type"], made["zone"], made["state"]) == ("GN7.2XLARGE32", "ap-guangzhou-3", "ready")
    (root,) = gpuorch.roots()
    assert "nvidia-headless-570-server" in (root / "cloud-init.yaml").read_text()
    assert gone(gpuorch)


def test_a_month_up_and_down(tmp_path: Path) -> None:
    gpuorch = tencent(tmp_path, imported=False)
    words = ("--gpu", "V100-32GB:1", "--market", "subscription-monthly", "--ttl", "8h")
    made = gpuorch.json(*UP, *words).data["deployment"]
    assert (made["market"], made["currency"]) == ("subscription-monthly", "CNY")
    values = values_of(gpuorch)
    assert (values["instance_charge_type"], values["instance_charge_type_prepaid_period"]) == ("PREPAID", 1)
    assert values["instance_charge_type_prepaid_renew_flag"] == "NOTIFY_AND_MANUAL_RENEW"
    assert values["force_delete"] is True
    # A subscription cannot be ended by a timer.
    assert gpuorch.existing() == PLAIN
    assert unchanged(gpuorch)
    assert gone(gpuorch)


def test_a_lost_state_with_everything_leaks_nothing(tmp_path: Path) -> None:
    gpuorch = tencent(tmp_path)
    key = tmp_path / "key.pub"
    key.write_text(KEY)
    words = ("--ttl", "2h", "--access", "ssh", "--ssh-key", str(key), "--ssh-from", "203.0.113.7/32")
    gpuorch(*UP, *T4, "--spot", *words, "--checkpoint", "cos://ckpt-1250000000/run")
    (root,) = gpuorch.roots()
    for path in root.glob("terraform.tfstate*"):
        path.unlink()
    assert gone(gpuorch)
