"""A request, as typed, resolved into a demand that offers can be held against."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from decimal import Decimal

from orchestrator.errors import UsageError
from orchestrator.model.demand import Demand, GpuNeed, Request, Where
from orchestrator.model.offer import Market
from orchestrator.profiles.named import parse_gpu, parse_profile

__all__ = ["resolve"]

_MARKETS = {
    "spot": frozenset({Market.SPOT}),
    "on-demand": frozenset({Market.ON_DEMAND}),
    "subscription-monthly": frozenset({Market.SUBSCRIPTION_MONTHLY}),
    # Not the subscription: whoever wants a machine for an hour must not find themselves paying for a month.
    "auto": frozenset({Market.SPOT, Market.ON_DEMAND}),
}


def resolve(request: Request) -> Demand:
    """The demand behind ``request``; a market that is not named is ``auto``: spot and on-demand.

    ``origins`` of the demand has an entry for every field of the request: the given one, ``default`` where nothing was
    asked, ``request`` where a value came without one. Raises :class:`UsageError` for a value that means nothing.
    """
    if request.nodes != 1:
        raise UsageError(
            f"{request.nodes} nodes were asked for; gpuorch makes one machine per deployment for now",
            hint="leave --nodes out, or start several deployments under different names",
        )
    return Demand(
        gpu=_need(request),
        markets=_markets(request),
        where=Where(
            clouds=_globs(request.clouds),
            denied_clouds=_globs(request.denied_clouds),
            regions=_globs(request.regions),
            denied_regions=_globs(request.denied_regions),
        ),
        max_price_per_hour=_positive(request, "max_price_per_hour", "price cap", "12.50"),
        min_vcpus=_positive(request, "min_vcpus", "number of vCPU", "16"),
        min_memory_gib=_positive(request, "min_memory_gib", "memory in GiB", "64"),
        origins=_origins(request),
    )


def _need(request: Request) -> GpuNeed:
    profile, gpu = (request.profile or "").strip(), (request.gpu or "").strip()
    if profile and gpu:
        raise UsageError(
            f"both a profile ({profile}) and a GPU expression ({gpu}) were given; one says it all",
            hint="leave out --profile or --gpu",
        )
    if profile:
        return parse_profile(profile)
    if gpu:
        return parse_gpu(gpu)
    raise UsageError(
        "no GPU was asked for",
        hint="name a profile such as --profile a100x8, or write --gpu A100-80GB:8; `gpuorch profiles`",
    )


def _markets(request: Request) -> frozenset[Market]:
    word = "auto" if request.market is None else request.market.strip().lower()
    if word not in _MARKETS:
        raise UsageError(
            f"{request.market!r} is no market{_said(request, 'market')}", hint=f"markets: {', '.join(_MARKETS)} (both)"
        )
    return _MARKETS[word]


def _positive(request: Request, field: str, meaning: str, example: str) -> Decimal | None:
    value: Decimal | None = getattr(request, field)
    if value is not None and not (value.is_finite() and value > 0):
        raise UsageError(
            f"{value} is no {meaning}{_said(request, field)}: it must be a number above 0",
            hint=f"write {example}, for example",
        )
    return value


def _said(request: Request, field: str) -> str:
    origin = request.origins.get(field)
    return f" ({origin})" if origin else ""


def _globs(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in (word.strip().lower() for word in words) if word))


def _origins(request: Request) -> dict[str, str]:
    unsaid = {field.name: field.default for field in fields(request) if field.name != "origins"}
    return {
        name: request.origins.get(name, "default" if getattr(request, name) == default else "request")
        for name, default in unsaid.items()
    }
