"""Alibaba Cloud in the sandbox: every market up, unchanged on a second plan, away again; and the ways to fall back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.sandbox.faults import Fault
from tests.end_to_end.build_cli_runs import Gpuorch, a_gpuorch

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

# Prices in the currency of the list, as an importer brings them; dear zone last.
PRICES = """\
cloud,instance_type,region,zone,gpu,gpu_count,gpu_memory_gib,vcpus,memory_gib,market,price_per_hour,currency,observed_at
alibaba,ecs.gn6v-c8g1.2xlarge,cn-shanghai,cn-shanghai-f,V100-16GB,1,16,8,32,spot,5.00,CNY,2026-11-01
alibaba,ecs.gn6v-c8g1.2xlarge,cn-shanghai,cn-shanghai-g,V100-16GB,1,16,8,32,spot,5.50,CNY,2026-11-01
alibaba,ecs.gn6v-c8g1.2xlarge,cn-beijing,cn-beijing-h,V100-16GB,1,16,8,32,spot,6.00,CNY,2026-11-01
alibaba,ecs.gn6v-c8g1.2xlarge,cn-beijing,,V100-16GB,1,16,8,32,on-demand,26.46,CNY,2026-11-01
"""
RATES = {"GPUORCH_EXCHANGE_RATES": "CNY=0.14"}
UP = ("up", "--cloud", "alibaba", "--profile", "v100x1", "--sandbox", "--yes", "--name", "train")
PLAIN = ["alicloud_instance", "alicloud_security_group", "alicloud_vpc", "alicloud_vswitch"]


def alibaba(folder: Path, *, settings: str = "") -> Gpuorch:
    config = folder / "gpuorch.toml"
    config.write_text(settings)
    gpuorch = a_gpuorch(folder, None, environment={**RATES, "GPUORCH_CONFIG": str(config)})
    file = folder / "prices.csv"
    file.write_text(PRICES)
    gpuorch("prices", "import", str(file), "--replace")
    return gpuorch


def planned(gpuorch: Gpuorch) -> str:
    (root,) = gpuorch.roots()
    return gpuorch.terraform(root, "plan", "-detailed-exitcode", "-no-color", "-input=false")


def machine(gpuorch: Gpuorch) -> dict[str, Any]:
    (found,) = (each for each in gpuorch.cloud.resources() if each.type == "alicloud_instance")
    return dict(found.values)


def gone(gpuorch: Gpuorch) -> bool:
    assert gpuorch("down", "train", "--yes").out == "train is gone\n"
    return gpuorch.existing() == []


def test_spot_from_up_over_a_lost_machine_to_down(tmp_path: Path) -> None:
    gpuorch = alibaba(tmp_path)
    made = gpuorch.json(*UP, "--spot").data["deployment"]
    assert (made["state"], made["zone"], made["market"]) == ("ready", "cn-shanghai-f", "spot")
    assert (made["price_per_hour"], made["currency"]) == ("5.00", "CNY")
    assert gpuorch.existing() == PLAIN
    values = machine(gpuorch)
    assert (values["spot_strategy"], values["spot_duration"], values["auto_release_time"]) == ("SpotAsPriceGo", 1, None)
    assert "No changes" in planned(gpuorch)

    gpuorch.cloud.preempt(made["id"], reason="Instance:PreemptibleInstanceInterruption")
    lost = gpuorch.deployment()
    assert (lost["state"], lost["problem"]) == (
        "lost",
        "the machine is gone (Instance:PreemptibleInstanceInterruption)",
    )
    assert gone(gpuorch)


def test_a_price_limit_is_in_the_currency_of_the_account(tmp_path: Path) -> None:
    said = '[cloud_settings.alibaba]\nprice_limit_rate = "7.1"\nspot_protected_hours = "0"\n'
    gpuorch = alibaba(tmp_path, settings=said)
    gpuorch(*UP, "--spot", "--max-price", "0.9999")
    values = machine(gpuorch)
    # 0.9999 × 7.1 = 7.09929, and never more than was said.
    assert (values["spot_strategy"], values["spot_price_limit"]) == ("SpotWithPriceLimit", 7.099)
    assert values["spot_duration"] == 0
    assert "No changes" in planned(gpuorch)


def test_a_capacity_failure_goes_on_to_the_next_zone(tmp_path: Path) -> None:
    gpuorch = alibaba(tmp_path)
    gpuorch.cloud.exhaust("alibaba", "cn-shanghai-f")
    attempts = gpuorch.json(*UP, "--spot").data["attempts"]
    assert [(each["offer"]["zone"], each["result"]) for each in attempts] == [
        ("cn-shanghai-f", "failed"),
        ("cn-shanghai-g", "created"),
    ]
    assert attempts[0]["kind"] == "capacity"
    assert "OperationDenied.NoStock" in attempts[0]["reason"]
    assert gone(gpuorch)


def test_on_demand_with_an_end_a_key_and_checkpoints(tmp_path: Path) -> None:
    gpuorch = alibaba(tmp_path)
    key = tmp_path / "key.pub"
    key.write_text("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3D0tlGm6ZlEWTxGWpS7zdTRDMCq6l2OFOrAE7fVsYx ada@example\n")
    ways = ("--access", "ssh", "--ssh-key", str(key), "--ssh-from", "203.0.113.7/32")
    words = ("--ttl", "2h", *ways, "--checkpoint", "oss://models/run")
    before = datetime.now(UTC)
    made = gpuorch.json(*UP, "--on-demand", *words).data["deployment"]
    assert (made["region"], made["zone"], made["market"]) == ("cn-beijing", "cn-beijing-a", "on-demand")
    rights = ["alicloud_ecs_ram_role_attachment", "alicloud_ram_policy", "alicloud_ram_role"]
    rights += ["alicloud_ram_role_policy_attachment", "alicloud_security_group_rule"]
    assert set(gpuorch.existing()) >= {*PLAIN, *rights}
    # The cloud ends it as well, forty minutes after it should have ended itself.
    released = datetime.fromisoformat(machine(gpuorch)["auto_release_time"])
    assert timedelta(minutes=38) < released - before - timedelta(hours=2) < timedelta(minutes=43)
    assert "No changes" in planned(gpuorch)
    assert gone(gpuorch)


def test_a_month_up_and_down(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path, None, environment=RATES)
    dry = gpuorch(*UP, "--market", "subscription-monthly", "--dry-run")
    assert "CNY 10.44/h, CNY 7,620.00 for a month of 730 h" in dry.out + dry.err
    made = gpuorch.json(*UP, "--market", "subscription-monthly").data["deployment"]
    assert (made["state"], made["market"]) == ("ready", "subscription-monthly")
    values = machine(gpuorch)
    wanted = {"instance_charge_type": "PrePaid", "period": 1, "period_unit": "Month", "renewal_status": "Normal"}
    assert {name: values[name] for name in wanted} == wanted
    assert values["force_delete"] is True
    assert "No changes" in planned(gpuorch)
    assert gone(gpuorch)


def test_a_month_is_not_released_by_the_cloud(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path, None, environment=RATES)
    gpuorch(*UP, "--market", "subscription-monthly", "--ttl", "8h")
    assert machine(gpuorch)["auto_release_time"] is None
    assert gone(gpuorch)


def test_without_a_rate_the_prices_are_not_compared_and_that_is_said(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path, None)
    refused = gpuorch(*UP, "--on-demand", code=None)
    assert refused.code != 0
    assert "exchange" in refused.err


def test_a_refused_removal_keeps_the_deployment(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path, None, environment=RATES)
    gpuorch(*UP, "--market", "subscription-monthly")
    words = "Resource i-0 ModifyInstanceChargeType Failed!!! Message: the refund quota of this month is used up"
    gpuorch.cloud.order_fault(Fault(operation="delete", type="alicloud_instance", error=words, times=1))
    refused = gpuorch("down", "train", "--yes", code=1)
    assert "the refund quota of this month is used up" in refused.err
    assert gone(gpuorch)
