"""`gpuorch ssh`: log in."""

from __future__ import annotations

import os
import shlex
import shutil

import click

from orchestrator.cli.commands.status import complete_names
from orchestrator.cli.options import common_options
from orchestrator.cli.result import Result
from orchestrator.cli.session import Session
from orchestrator.errors import UsageError

__all__ = ["ssh"]


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("name", shell_complete=complete_names)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--print", "print_only", is_flag=True, help="Print the command line instead of running it.")
@common_options
@click.pass_obj
def ssh(session: Session, name: str, command: tuple[str, ...], print_only: bool) -> Result:
    """Log in to a deployment's machine, or run COMMAND there."""
    from orchestrator.operations.down import named
    from orchestrator.operations.ssh import reach

    line = reach(session.world, named(session.world, name), command)
    if print_only or session.output == "json":
        return Result(
            command="ssh",
            data={"command": line},
            human=lambda console: console.print(shlex.join(line), markup=False, soft_wrap=True),
        )
    program = shutil.which(line[0])
    if program is None:
        raise UsageError(f"{line[0]} is not installed", hint=f"install it, or run by other means: {shlex.join(line)}")
    return os.execv(program, line)
