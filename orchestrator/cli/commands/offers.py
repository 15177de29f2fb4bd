"""`gpuorch offers`: everything that fits, cheapest first."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.asked import request_from
from orchestrator.cli.options import listing_options, request_options
from orchestrator.cli.result import Result
from orchestrator.cli.session import Session
from orchestrator.errors import NoOffer

if TYPE_CHECKING:
    from rich.console import Console

    from orchestrator.operations.decide import View
    from orchestrator.placement.choose import Ranking

__all__ = ["offers"]

_SHOWN_IN_TABLE = 20


@click.command()
@request_options
@click.option("--explain", is_flag=True, help="Also list every offer that was dropped, and why.")
@click.option("--limit", type=click.IntRange(min=1), help="Show so many; default: all, 20 in the table.")
@click.option("--all-providers", is_flag=True, help="Also providers that gpuorch has prices of but cannot use.")
@listing_options
@click.pass_obj
def offers(session: Session, /, explain: bool, limit: int | None, all_providers: bool, **typed: Any) -> Result:
    """List every offer that fits, cheapest first.

    \b
    gpuorch offers --profile a100x8 --spot
    gpuorch offers --gpu 'L4|A10G:1' --region 'us-*,eu-*' --max-price 1.50 --explain
    """
    from orchestrator.operations.decide import view

    request = request_from(typed, session.settings, any_market=True)
    seen = view(
        session.world,
        request,
        sandbox=typed["sandbox"],
        foreign=all_providers,
        ignore_failures=typed["ignore_failures"],
        max_price_age=typed["max_price_age"],
        everything=explain,
    )
    ranking = seen.ranking()
    return _result(seen, ranking, explain=explain, limit=limit)


def _result(seen: View, ranking: Ranking, *, explain: bool, limit: int | None) -> Result:
    from orchestrator.model.codec import offer_record, rejected_record
    from orchestrator.placement.choose import share_of_on_demand

    now = seen.context.now
    shares = share_of_on_demand(seen.offers)
    shown = ranking.fitting[:limit] if limit else ranking.fitting
    records = [
        {**offer_record(offer, now=now), "share_of_on_demand": _rounded(shares.get(offer.key))} for offer in shown
    ]
    data: dict[str, Any] = {
        "offers": records,
        "total": len(ranking.fitting),
        "rejected_by_filter": dict(sorted(Counter(rejected.filter for rejected in ranking.rejected).items())),
    }
    if explain:
        data["rejected"] = [rejected_record(rejected) for rejected in ranking.rejected]
        data["without_accelerator"] = seen.without_accelerator
    error = None if ranking.fitting else _nothing(seen)

    def human(console: Console) -> None:
        _draw(console, seen, ranking, limit=limit, explain=explain)

    return Result(command="offers", data=data, human=human, rows=records, errors=[error] if error else [])


def _rounded(share: Decimal | None) -> str | None:
    return None if share is None else str(share.quantize(Decimal("0.0001")))


def _nothing(seen: View) -> NoOffer:
    try:
        seen.placement()
    except NoOffer as error:
        return error
    return NoOffer("no offer fits")


def _draw(console: Console, seen: View, ranking: Ranking, *, limit: int | None, explain: bool) -> None:
    from orchestrator.cli.figures import money_text, offer_columns, offer_row
    from orchestrator.cli.tables import draw
    from orchestrator.placement.choose import share_of_on_demand

    shares = share_of_on_demand(seen.offers)
    shown = ranking.fitting[: limit or _SHOWN_IN_TABLE]
    if shown:
        rows = [offer_row(offer, seen.context.now, shares) for offer in shown]
        draw(console, offer_columns, rows, right=("VCPU", "MEMORY", "$/H", "$/GPU-H", "OF OD", "AGE", "GPU MEM"))
    more = len(ranking.fitting) - len(shown)
    if more:
        console.print(f"… and {more} more: --limit N, or -o json for all", style="dim")
    foreign = sum(rejected.filter == "no-module" for rejected in ranking.rejected)
    if foreign and not explain:
        console.print(f"{foreign} more from providers that gpuorch cannot use: --all-providers", style="dim")
    if explain:
        console.print()
        draw(
            console,
            ("DROPPED", "PRICE", "FILTER", "WHY"),
            [
                (
                    str(rejected.offer.key),
                    money_text(rejected.offer.price_per_hour, rejected.offer.currency),
                    rejected.filter,
                    rejected.reason,
                )
                for rejected in ranking.rejected
            ],
        )
        console.print(f"{seen.without_accelerator} machines without an accelerator are not listed", style="dim")
