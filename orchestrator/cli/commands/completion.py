"""`gpuorch completion`: the shell's completion script."""

from __future__ import annotations

import click

from orchestrator.cli.options import common_options
from orchestrator.cli.result import Result

__all__ = ["completion"]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common_options
@click.pass_context
def completion(ctx: click.Context, shell: str) -> Result:
    """Print the shell completion script.

    \b
    bash:  eval "$(gpuorch completion bash)"      in ~/.bashrc
    zsh:   eval "$(gpuorch completion zsh)"       in ~/.zshrc
    fish:  gpuorch completion fish > ~/.config/fish/completions/gpuorch.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}", ctx)
    root = ctx.find_root().command
    script = kind(root, {}, "gpuorch", "_GPUORCH_COMPLETE").source()
    return Result(
        command="completion",
        data={"script": script},
        human=lambda console: click.echo(script),
    )
