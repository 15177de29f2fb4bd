"""What the conformance suite knows of a cloud: its module, its shipped prices, and a command that plays its story."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import orchestrator
from orchestrator.catalog.shipped import shipped_offers
from orchestrator.model.offer import Market, Offer
from tests.end_to_end.build_cli_runs import Gpuorch, a_gpuorch

__all__ = ["Case", "a_command", "cases", "offers_of"]

PACKAGE = Path(orchestrator.__file__).parent
# Currencies of the shipped book; the rate only has to be there, the sandbox bills nobody.
RATES = "CNY=0.14"


@cache
def offers_of(name: str) -> tuple[Offer, ...]:
    """The cloud's priced GPU offers in the shipped book, cheapest first."""
    offers = [offer for offer in shipped_offers() if offer.cloud == name and offer.price_per_hour and offer.accelerator]
    return tuple(sorted(offers, key=lambda offer: (offer.price_per_hour or 0, offer.key)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Offers of one machine in one market, so that the later ones are fallbacks of the first."""

    cloud: str
    market: Market
    offers: tuple[Offer, ...]

    @property
    def gpu(self) -> str:
        return f"{self.offers[0].accelerator}:{self.offers[0].gpu_count.normalize():f}"

    def __str__(self) -> str:
        return f"{self.cloud}-{self.market}"


@cache
def cases(name: str) -> tuple[Case, ...]:
    """For each market that the cloud's shipped prices have: the machine with the most places."""
    found = []
    for market in Market:
        groups: dict[tuple[str, str], list[Offer]] = {}
        for offer in offers_of(name):
            if offer.market is market:
                groups.setdefault((offer.accelerator, str(offer.gpu_count)), []).append(offer)
        if groups:
            most = max(groups.values(), key=len)
            found.append(Case(cloud=name, market=market, offers=tuple(most)))
    return tuple(found)


def a_command(folder: Path, offers: Iterable[Offer]) -> Gpuorch:
    """`gpuorch` over a book of just these offers."""
    file = folder / "prices.csv"
    columns = (
        *("cloud", "instance_type", "region", "zone", "gpu", "gpu_count", "gpu_memory_gib", "vcpus", "memory_gib"),
        *("market", "price_per_hour", "currency", "observed_at"),
    )
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        for offer in offers:
            writer.writerow(
                (
                    *(offer.cloud, offer.instance_type, offer.region, offer.zone, offer.accelerator, offer.gpu_count),
                    *(offer.gpu_memory_gib, offer.vcpus, offer.memory_gib, offer.market, offer.price_per_hour),
                    *(offer.currency, offer.observed_at.isoformat()),
                )
            )
    command = a_gpuorch(folder, None, environment={"GPUORCH_EXCHANGE_RATES": RATES})
    command("prices", "import", str(file), "--replace")
    return command
