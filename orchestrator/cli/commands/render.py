"""`gpuorch render`: the Terraform root, to keep and run by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.commands.up import order_options
from orchestrator.cli.options import common_options, request_options
from orchestrator.cli.result import Result
from orchestrator.cli.session import Session

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["render"]


@click.command()
@order_options
@request_options
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write; new, empty or ours.",
)
@common_options
@click.pass_obj
def render(session: Session, /, out: Path, **typed: Any) -> Result:
    """Write the Terraform root without applying it.

    The folder is complete: terraform init, plan and apply work in it without gpuorch. The same request on the same
    price book gives the same bytes.
    """
    from orchestrator.cli.figures import offer_text
    from orchestrator.cli.ordering import order_from
    from orchestrator.model.codec import placement_record
    from orchestrator.operations.render import render_to

    world = session.world
    order = order_from(typed, session.settings)
    rendered = render_to(
        world, order, out, ignore_failures=typed["ignore_failures"], max_price_age=typed["max_price_age"]
    )
    placement = rendered.placement
    data = {
        "folder": str(out),
        "files": sorted(rendered.stack.files),
        "fingerprint": rendered.stack.fingerprint,
        "placement": placement_record(placement, now=world.clock.now()),
    }

    def human(console: Console) -> None:
        console.print(offer_text(placement.chosen), markup=False)
        console.print(f"{len(rendered.stack.files)} files in {out}", markup=False, soft_wrap=True)
        console.print(f"next: cd {out} && terraform init && terraform plan", markup=False, soft_wrap=True)

    return Result(command="render", data=data, human=human)
