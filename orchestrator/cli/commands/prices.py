"""`gpuorch prices`: the price book."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import common_options, listing_options
from orchestrator.cli.result import Result
from orchestrator.cli.session import Session
from orchestrator.errors import UsageError
from orchestrator.model.codec import iso

if TYPE_CHECKING:
    from rich.console import Console

    from orchestrator.catalog.report import QuarantinedRow

__all__ = ["prices"]

_SHOWN = 20


@click.group()
@common_options
def prices() -> None:
    """Look into the price book and import into it."""


@prices.command()
@click.argument("instance_type", required=False)
@click.option("--cloud", help="Only this cloud.")
@click.option("--region", help="Only this region.")
@listing_options
@click.pass_obj
def show(session: Session, instance_type: str | None, cloud: str | None, region: str | None) -> Result:
    """Show every price of an instance type, or, without one, what the book holds by cloud and source."""
    if instance_type is None:
        return _sources(session, cloud)
    from orchestrator.model.codec import offer_record

    world = session.world
    now = world.clock.now()
    found = world.book.find(instance_type=instance_type, cloud=cloud or "*", region=region or "*")
    if not found:
        place = f"{f' of {cloud}' if cloud else ''}{f' in {region}' if region else ''}"
        raise UsageError(
            f"the price book has no {instance_type!r}{place}",
            hint="gpuorch offers --gpu NAME:COUNT lists what it has",
        )
    records = [offer_record(offer, now=now) for offer in found]

    def human(console: Console) -> None:
        from orchestrator.cli.figures import offer_columns, offer_row
        from orchestrator.cli.tables import draw
        from orchestrator.placement.choose import share_of_on_demand

        shares = share_of_on_demand(found)
        rows = [(*offer_row(offer, now, shares), offer.source) for offer in found]
        draw(console, (*offer_columns, "SOURCE"), rows, right=("$/H", "$/GPU-H", "AGE"))

    return Result(command="prices show", data={"offers": records}, human=human, rows=records)


def _sources(session: Session, cloud: str | None) -> Result:
    world = session.world
    now = world.clock.now()
    rows: list[dict[str, Any]] = [
        {
            "cloud": source.cloud,
            "source": source.source,
            "shipped": source.seed,
            "offers": source.offers,
            "oldest": iso(source.oldest) if source.oldest else None,
            "newest": iso(source.newest) if source.newest else None,
            "newest_age_seconds": int((now - source.newest).total_seconds()) if source.newest else None,
            "imported_at": iso(source.last_import) if source.last_import else None,
            "quarantined": source.quarantined,
        }
        for source in world.book.sources()
        if cloud in (None, source.cloud)
    ]

    def human(console: Console) -> None:
        from orchestrator.cli.figures import age_text
        from orchestrator.cli.tables import draw

        def age(row: dict[str, Any]) -> str:
            seconds = row["newest_age_seconds"]
            return "?" if seconds is None else age_text(seconds)

        columns = ("CLOUD", "SOURCE", "OFFERS", "NEWEST", "QUARANTINED")
        cells = [(r["cloud"], r["source"], str(r["offers"]), age(r), str(r["quarantined"])) for r in rows]
        draw(console, columns, cells, right=("OFFERS", "NEWEST", "QUARANTINED"))

    return Result(command="prices show", data={"sources": rows}, human=human, rows=rows)


@prices.command(name="import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--cloud", help="The cloud of a file that does not name it.")
@click.option(
    "--observed-at", metavar="TIME", help="When prices without a time were observed; default: the file's own time."
)
@click.option("--replace", is_flag=True, help="Empty the book first.")
@click.option("--force", is_flag=True, help="Take what can be read of a cut or shrunk file.")
@common_options
@click.pass_obj
def import_(
    session: Session, file: Path, cloud: str | None, observed_at: str | None, replace: bool, force: bool
) -> Result:
    """Import prices: our own CSV, SkyPilot's v8 or gpuhunt's catalogue; also .gz, .xz and .zip.

    Rows that cannot be right are put aside and reported; they are never chosen.
    """
    from orchestrator.catalog.importers import import_file

    world = session.world
    with session.conversation.stage("import prices") as stage:
        report = import_file(
            world.book,
            file,
            now=world.clock.now(),
            cloud=cloud,
            observed_at=_time(observed_at) if observed_at else None,
            force=force,
            replace=replace,
        )
        stage.detail(f"{report.rows} rows")
    for warning in report.warnings:
        session.conversation.warn(warning)
    merged = report.merged
    counts = {
        "new": merged.new,
        "changed": merged.changed,
        "same": merged.same,
        "kept_newer": merged.kept_newer,
        "gone": merged.gone,
        "shipped_dropped": merged.shipped_dropped,
    }
    data = {
        "file": report.file,
        "format": report.format,
        "source": report.source,
        "time_basis": report.time_basis,
        "rows": report.rows,
        **counts,
        "quarantined": {str(reason): count for reason, count in report.quarantined.items()},
        "examples": [_example(row) for row in report.examples],
        "revision": merged.revision,
    }

    def human(console: Console) -> None:
        words = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count) or "no offers"
        console.print(f"{report.file}: {report.rows} rows of {report.format}: {words}", markup=False, soft_wrap=True)
        console.print(f"times come from the {report.time_basis}", markup=False)
        for reason, count in report.quarantined.items():
            console.print(f"  put aside: {count} {reason}", markup=False)
        for row in report.examples[:_SHOWN]:
            example = _example(row)
            console.print(f"    line {example['line']}: {example['message']}", markup=False, soft_wrap=True)

    return Result(command="prices import", data=data, human=human)


def _example(row: QuarantinedRow) -> dict[str, Any]:
    return {"line": row.line, "reason": str(row.reason), "message": row.sentence}


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--observed-at {text!r} is no time", hint="write 2026-11-30 or 2026-11-30T12:00Z") from error
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time
