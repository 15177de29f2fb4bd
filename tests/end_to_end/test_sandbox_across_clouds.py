"""From cloud to cloud: each is sold out in its turn, and the last one has the machine."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.clouds.registry import cloud_names
from orchestrator.model.offer import Market, Offer
from tests.clouds.build_conformance import a_command, offers_of

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

# Every cloud sells one of these, alone in a machine.
GPUS = ("T4", "A10", "L4")


def one_offer_a_cloud() -> list[Offer]:
    """The cheapest small on-demand machine of each cloud, at prices that put the clouds in a known order."""
    found = []
    for number, name in enumerate(cloud_names()):
        offer = next(
            offer
            for offer in offers_of(name)
            if offer.market is Market.ON_DEMAND and offer.accelerator in GPUS and offer.gpu_count == 1
        )
        # Inside what one of these may cost an hour, so that no price is put aside.
        found.append(replace(offer, price_per_hour=Decimal("0.80") + Decimal(number) / 100, currency="USD"))
    return found


def test_sold_out_in_price_order_until_the_last_has_it(tmp_path: Path) -> None:
    offers = one_offer_a_cloud()
    command = a_command(tmp_path, offers)
    *sold_out, last = [offer.cloud for offer in offers]
    for name in sold_out:
        command.cloud.exhaust(name)
    up = ("up", "--gpu", f"{'|'.join(GPUS)}:1", "--on-demand", "--sandbox", "--yes", "--name", "far")
    made = command.json(*up).data
    assert [(attempt["offer"]["cloud"], attempt["result"]) for attempt in made["attempts"]] == [
        *((name, "failed") for name in sold_out),
        (last, "created"),
    ]
    assert {attempt["kind"] for attempt in made["attempts"][:-1]} == {"capacity"}
    assert made["deployment"]["cloud"] == last
    # Nothing of the failed attempts is left in any cloud.
    assert {resource.cloud for resource in command.cloud.resources()} == {last}
    # The next run, another process, knows.
    again = command.json("up", *up[1:-2], "--dry-run").data["placement"]
    assert again["chosen"]["cloud"] == last
    assert again["rejected_by_filter"] == {"cool-down": len(sold_out)}
    command("down", "far", "--yes")
    assert command.existing() == []


@pytest.mark.parametrize("words", [("--max-price", "0.815"), ("--deny-cloud", "[b-z]*")])
def test_limits_hold_from_cloud_to_cloud(tmp_path: Path, words: tuple[str, ...]) -> None:
    offers = one_offer_a_cloud()
    command = a_command(tmp_path, offers)
    command.cloud.exhaust("*")
    up = ("up", "--gpu", f"{'|'.join(GPUS)}:1", "--on-demand", "--sandbox", "--yes", "--name", "far")
    made = command.json(*up, *words, code=4).data
    tried = [Decimal(attempt["offer"]["price_per_hour"]) for attempt in made["attempts"]]
    assert 0 < len(tried) < len(offers)
    if words[0] == "--max-price":
        assert max(tried) <= Decimal(words[1])
    else:
        assert all(attempt["offer"]["cloud"].startswith("a") for attempt in made["attempts"])
    assert command.existing() == []
