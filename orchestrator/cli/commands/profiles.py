"""`gpuorch profiles`: what can be asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import listing_options
from orchestrator.cli.result import Result
from orchestrator.cli.session import Session
from orchestrator.model.codec import number

if TYPE_CHECKING:
    from rich.console import Console

    from orchestrator.profiles.accelerators import Accelerator

__all__ = ["profiles"]

_PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "fp8", "int8")


@click.command()
@click.option("--accelerators", is_flag=True, help="Facts of each accelerator, with sources, instead of profiles.")
@listing_options
@click.pass_obj
def profiles(session: Session, accelerators: bool) -> Result:
    """List GPU profiles and accelerator facts.

    TFLOPS are dense: without the sparsity that doubles the figures on many data sheets.
    """
    from orchestrator.profiles.accelerators import accelerators as all_accelerators
    from orchestrator.profiles.named import profiles as all_profiles

    facts: list[dict[str, Any]] = [_facts(item) for item in all_accelerators()]
    named: list[dict[str, Any]] = [
        {
            "profile": profile.label,
            "accelerators": list(profile.accelerators),
            "gpu_count": profile.count,
            "description": profile.description,
        }
        for profile in all_profiles()
    ]

    def human(console: Console) -> None:
        from orchestrator.cli.tables import draw

        if accelerators:
            columns = (
                "ACCELERATOR",
                "MEMORY GB",
                "GB/S",
                *(word.upper() for word in _PRECISIONS),
                "LINK GB/S",
                "CAPABILITY",
            )
            rows = [[_cell(item[key]) for key in _FACT_KEYS] for item in facts]
            draw(console, columns, rows, right=columns[1:-1])
        else:
            rows = [[str(item["profile"]), str(item["description"])] for item in named]
            draw(console, ("PROFILE", "WHAT IT ACCEPTS"), rows)

    data = {"profiles": named, "accelerators": facts}
    rows = (
        [{**item, "sources": " ".join(item["sources"])} for item in facts]
        if accelerators
        else [{**item, "accelerators": " ".join(item["accelerators"])} for item in named]
    )
    return Result(command="profiles", data=data, human=human, rows=rows)


_FACT_KEYS = ("name", "memory_gib", "bandwidth_gb_per_s", *_PRECISIONS, "link_gb_per_s", "compute_capability")


def _facts(item: Accelerator) -> dict[str, Any]:
    return {
        "name": item.name,
        "vendor": item.vendor,
        "form": item.form,
        "memory_gib": number(item.memory_gib),
        "devices_per_card": item.devices_per_card,
        "bandwidth_gb_per_s": number(item.bandwidth_gb_s),
        "fp32": number(item.fp32_tflops),
        "tf32": number(item.tf32_tflops),
        "fp16": number(item.fp16_tflops),
        "bf16": number(item.bf16_tflops),
        "fp8": number(item.fp8_tflops),
        "int8": number(item.int8_tops),
        "link_gb_per_s": number(item.link_gb_s),
        "compute_capability": item.capability,
        "sources": list(item.sources),
        "note": item.note,
    }


def _cell(value: Any) -> str:
    return "–" if value is None else str(value)
