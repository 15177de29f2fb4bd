"""Options that several commands share, and the kinds of value they take."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeVar

import click

from orchestrator.cli.session import OUTPUTS, Session
from orchestrator.settings import parse_duration

__all__ = ["DURATION", "POSITIVE", "common_options", "listing_options", "request_options", "words"]

F = TypeVar("F", bound=Callable[..., Any])


class _Positive(click.ParamType[Decimal]):
    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            self.fail(f"{value!r} is not a number", param, ctx)
        if not number.is_finite() or number <= 0:
            self.fail(f"{value!r} is not a number above zero", param, ctx)
        return number


class _Duration(click.ParamType[Any]):
    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return parse_duration(value)
        except (ValueError, OverflowError) as error:
            self.fail(f"{value!r}: {error}", param, ctx)


POSITIVE = _Positive()
DURATION = _Duration()


def words(values: tuple[str, ...]) -> tuple[str, ...]:
    """Repeated options and words between commas, as one list."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


def _into_options(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    session = ctx.find_object(Session)
    if session is not None and value is not None and param.name:
        session.options[param.name] = value


def _output(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    session = ctx.find_object(Session)
    if session is not None:
        session.command = ctx.command_path.removeprefix("gpuorch").strip()
        if value:
            session.output = value


def _quiet(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    session = ctx.find_object(Session)
    if session is not None and value:
        session.conversation.quiet = True


def _no_color(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    session = ctx.find_object(Session)
    if session is not None and value:
        session.no_color = True


def common_options(function: F) -> F:
    """The options that every command has."""
    return _with_common_options(function, tuple(name for name in OUTPUTS if name != "csv"))


def listing_options(function: F) -> F:
    """The same, for commands whose result is a list: it can be had as CSV, too."""
    return _with_common_options(function, OUTPUTS)


def _with_common_options(function: F, outputs: tuple[str, ...]) -> F:
    for option in (
        click.option("--no-color", is_flag=True, expose_value=False, callback=_no_color, help="Plain text."),
        click.option("-q", "--quiet", is_flag=True, expose_value=False, callback=_quiet, help="No progress on stderr."),
        click.option(
            "--cache-dir",
            type=click.Path(file_okay=False, path_type=Path),
            expose_value=False,
            callback=_into_options,
            help="Where the price book lies. [env: GPUORCH_CACHE_DIR]",
        ),
        click.option(
            "--state-dir",
            type=click.Path(file_okay=False, path_type=Path),
            expose_value=False,
            callback=_into_options,
            help="Where the inventory and Terraform's state lie. [env: GPUORCH_STATE_DIR]",
        ),
        click.option(
            "-o",
            "--output",
            type=click.Choice(outputs),
            expose_value=False,
            callback=_output,
            help="How to print the result. Default: table.",
        ),
    ):
        function = option(function)
    return function


def _complete_profiles(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from orchestrator.profiles.named import profiles

    return [profile.label for profile in profiles() if profile.label.startswith(incomplete)]


def _complete_clouds(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from orchestrator.clouds.registry import cloud_names

    return [name for name in cloud_names() if name.startswith(incomplete)]


def request_options(function: F) -> F:
    """The options that say which machine is wanted."""
    for option in (
        click.option("--sandbox", is_flag=True, help="Simulated clouds: no account, no cost."),
        click.option("--ignore-failures", is_flag=True, help="Consider offers that failed a short while ago, too."),
        click.option("--max-price-age", type=DURATION, help="Only prices observed within this time, e.g. 7d."),
        click.option("--min-memory", type=POSITIVE, metavar="GIB", help="Least host memory."),
        click.option("--min-vcpus", type=POSITIVE, help="Fewest vCPUs."),
        click.option("--max-price", type=POSITIVE, metavar="USD", help="Highest price per hour for the machine."),
        click.option("--deny-region", multiple=True, metavar="GLOB", help="Regions or zones never to use."),
        click.option("--region", multiple=True, metavar="GLOB", help="Regions or zones to use, e.g. 'us-*,eu-west-1'."),
        click.option("--deny-cloud", multiple=True, metavar="GLOB", help="Clouds never to use."),
        click.option(
            "--cloud",
            multiple=True,
            metavar="GLOB",
            shell_complete=_complete_clouds,
            help="Clouds to use; default all.",
        ),
        click.option(
            "--market",
            type=click.Choice(["spot", "on-demand", "subscription-monthly", "auto"]),
            help="How to pay; auto: the cheaper.",
        ),
        click.option("--on-demand", "on_demand", is_flag=True, help="The same as --market on-demand."),
        click.option("--spot", is_flag=True, help="The same as --market spot."),
        click.option("--gpu", metavar="NAME:COUNT", help="GPUs by name, count and memory: 'A100-80GB:8', 'L4|A10G:1'."),
        click.option(
            "--profile", metavar="NAME", shell_complete=_complete_profiles, help="A named profile: a100x8, t4x1 …"
        ),
    ):
        function = option(function)
    return function
