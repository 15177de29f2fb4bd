"""The entry point: every way a run can end becomes an exit code and at most two lines on stderr."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from orchestrator.cli.commands_table import COMMANDS
from orchestrator.cli.lazy import LazyGroup
from orchestrator.cli.options import common_options
from orchestrator.cli.result import Result, print_result
from orchestrator.cli.session import Session, new_session
from orchestrator.errors import Failure, GpuorchError, Interrupted, UsageError

__all__ = ["cli", "main", "run"]


@click.group(cls=LazyGroup, commands_table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gpuorch", prog_name="gpuorch")
@common_options
def cli() -> None:
    """The cheapest GPU machine in any cloud, through plain Terraform.

    \b
    gpuorch offers --profile a100x8 --spot            what fits, cheapest first
    gpuorch up --profile a100x8 --spot --sandbox      the whole way, on simulated clouds
    gpuorch up --profile a100x8 --spot                for real
    gpuorch down NAME                                 and away with it
    """


def main() -> NoReturn:
    """Run with the process's arguments and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run with ``arguments``; the exit code."""
    session = new_session(arguments)
    before = signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        return _run(session, arguments)
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(session: Session, arguments: list[str]) -> int:
    try:
        result = cli.main(
            arguments, prog_name="gpuorch", complete_var="_GPUORCH_COMPLETE", standalone_mode=False, obj=session
        )
        return _finish(session, result)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help())
        return 0
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            session.command = error.ctx.command_path.removeprefix("gpuorch").strip()
        return _fail(session, _usage(error))
    except GpuorchError as error:
        return _fail(session, error)
    except (KeyboardInterrupt, click.Abort):
        return _fail(session, Interrupted("interrupted", hint="gpuorch status shows what was under way"))
    except BrokenPipeError:
        # The reader of our output went away (`| head`): not our failure, and Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _fail(session, _crash(session, error))


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _finish(session: Session, result: Any) -> int:
    if not isinstance(result, Result):
        return int(result or 0)
    for error in result.errors:
        _tell(error)
    print_result(result, session.output, session.conversation.messages, color=session.color)
    return result.code


def _fail(session: Session, error: GpuorchError) -> int:
    _tell(error)
    if session.output == "json":
        print_result(
            Result(command=session.command, errors=[error]), "json", session.conversation.messages, color=False
        )
    return error.exit_code


def _tell(error: GpuorchError) -> None:
    sys.stderr.write(f"gpuorch: {error.message}\n")
    if error.hint:
        sys.stderr.write(f"  {error.hint}\n")
    sys.stderr.flush()


def _usage(error: click.ClickException) -> UsageError:
    command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "gpuorch"
    return UsageError(error.format_message().rstrip("."), hint=f"see {command} --help")


def _crash(session: Session, error: Exception) -> Failure:
    """A fault of ours: one sentence for the user, the traceback in a file for the report."""
    note = ""
    try:
        folder = Path(session.settings["state_dir"])
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "crash.log"
        path.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
        note = f"please report it with {path}"
    except (OSError, GpuorchError):
        note = "please report it"
    return Failure(f"internal fault: {type(error).__name__}: {error}", hint=note)
