"""Nouns to JSON-ready values and back. The names are the stable ones of ``-o json``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from orchestrator.model.offer import Market, Offer, Rejected
from orchestrator.model.placement import Placement, PriceBookId

__all__ = [
    "iso",
    "money",
    "number",
    "offer_from_record",
    "offer_record",
    "placement_from_record",
    "placement_record",
    "rejected_record",
    "time_from_iso",
]

# A placement keeps this many dropped offers by name; the rest only as counts by filter, so that a record stays small.
REJECTED_KEPT = 50


def iso(time: datetime) -> str:
    """``2026-11-30T12:00:00Z``, microseconds only where there are any."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def time_from_iso(text: str) -> datetime:
    """The reverse of :func:`iso`; ``ValueError`` for anything else."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return time.astimezone(UTC)


def number(value: Decimal | None) -> int | float | None:
    """A count or size as a JSON number (money is never one: it stays a decimal string)."""
    if value is None:
        return None
    return int(value) if value == value.to_integral_value() else float(value)


def offer_record(offer: Offer, *, now: datetime | None = None) -> dict[str, Any]:
    """An offer with money as decimal strings; with ``now`` also its age in seconds."""
    per_gpu = offer.price_per_gpu_hour
    record: dict[str, Any] = {
        "cloud": offer.cloud,
        "region": offer.region,
        "zone": offer.zone,
        "instance_type": offer.instance_type,
        "gpu": offer.accelerator,
        "gpu_count": number(offer.gpu_count),
        "gpu_memory_gib": number(offer.gpu_memory_gib),
        "vcpus": number(offer.vcpus),
        "memory_gib": number(offer.memory_gib),
        "market": str(offer.market),
        "price_per_hour": money(offer.price_per_hour),
        "currency": offer.currency,
        "price_per_gpu_hour": money(per_gpu.quantize(Decimal("0.000001")) if per_gpu is not None else None),
        "observed_at": iso(offer.observed_at),
        "source": offer.source,
    }
    if now is not None:
        record["price_age_seconds"] = offer.age_seconds(now)
    if offer.available is not None:
        record["available"] = offer.available
    if offer.seed:
        record["seed"] = True
    return record


def money(amount: Decimal | None) -> str | None:
    """A decimal string without exponent or trailing zeros beyond cents."""
    if amount is None:
        return None
    text = f"{amount:f}"
    if "." not in text:
        return text
    whole, fraction = text.split(".")
    return f"{whole}.{fraction.rstrip('0').ljust(2, '0')}"


def _decimal(value: Any) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def offer_from_record(record: Mapping[str, Any]) -> Offer:
    """The reverse of :func:`offer_record`; ``KeyError`` or ``ValueError`` for a damaged record."""
    return Offer(
        cloud=record["cloud"],
        region=record["region"],
        zone=record["zone"],
        instance_type=record["instance_type"],
        accelerator=record["gpu"],
        gpu_count=Decimal(str(record["gpu_count"])),
        gpu_memory_gib=_decimal(record["gpu_memory_gib"]),
        vcpus=_decimal(record["vcpus"]),
        memory_gib=_decimal(record["memory_gib"]),
        market=Market(record["market"]),
        price_per_hour=_decimal(record["price_per_hour"]),
        currency=record["currency"],
        available=record.get("available"),
        observed_at=time_from_iso(record["observed_at"]),
        source=record["source"],
        seed=record.get("seed", False),
    )


def rejected_record(rejected: Rejected) -> dict[str, Any]:
    return {**offer_record(rejected.offer), "filter": rejected.filter, "reason": rejected.reason}


def _rejected_from_record(record: Mapping[str, Any]) -> Rejected:
    return Rejected(offer=offer_from_record(record), filter=record["filter"], reason=record["reason"])


def placement_record(placement: Placement, *, now: datetime | None = None) -> dict[str, Any]:
    """A placement; of the dropped offers the first few by name and all as counts by filter."""
    book = placement.price_book
    return {
        "chosen": offer_record(placement.chosen, now=now),
        "fallbacks": [offer_record(offer, now=now) for offer in placement.fallbacks],
        "rejected": [rejected_record(rejected) for rejected in placement.rejected[:REJECTED_KEPT]],
        "rejected_by_filter": dict(sorted(Counter(rejected.filter for rejected in placement.rejected).items())),
        "reasons": list(placement.reasons),
        "price_book": {
            "revision": book.revision,
            "oldest": iso(book.oldest) if book.oldest else None,
            "newest": iso(book.newest) if book.newest else None,
        },
        "decided_at": iso(placement.decided_at),
    }


def placement_from_record(record: Mapping[str, Any]) -> Placement:
    """The reverse of :func:`placement_record`, with as many dropped offers as the record kept."""
    book = record["price_book"]
    return Placement(
        chosen=offer_from_record(record["chosen"]),
        fallbacks=tuple(offer_from_record(offer) for offer in record["fallbacks"]),
        rejected=tuple(_rejected_from_record(rejected) for rejected in record["rejected"]),
        reasons=tuple(record["reasons"]),
        price_book=PriceBookId(
            revision=book["revision"],
            oldest=time_from_iso(book["oldest"]) if book["oldest"] else None,
            newest=time_from_iso(book["newest"]) if book["newest"] else None,
        ),
        decided_at=time_from_iso(record["decided_at"]),
    )
