"""Write the generated parts of the documentation: docs/commands.md, and the table in docs/settings.md.

python scripts/cli_reference.py            writes them
python scripts/cli_reference.py --check    says which are stale, and fails
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.main import cli
from orchestrator.settings import SETTINGS

DOCS = Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- BEGIN_SETTINGS -->", "<!-- END_SETTINGS -->"

_HEAD = """\
# Commands

Written by `scripts/cli_reference.py` from the program itself; do not edit. What the commands do to deployments is in
[concepts.md](concepts.md), their JSON and exit codes in [json.md](json.md), settings in [settings.md](settings.md).
"""


def commands(group: click.Group, prefix: str) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by its full name, in the order of the help; groups are gone into."""
    context = click.Context(group, info_name=prefix)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command


def reference() -> str:
    """The whole of docs/commands.md."""
    found = list(commands(cli, "gpuorch"))
    common = [spellings(option) for option in _options(cli)]
    parts = [_HEAD, "\n".join(f"- [`{name}`](#{name.replace(' ', '-')}): {_first_line(one)}" for name, one in found)]
    parts.append("## Options of every command\n\nThey may also stand before the command.\n\n" + _option_table(cli))
    for name, one in found:
        parts.append(f"## {name}\n\n{_body(name, one, common)}")
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def settings_table() -> str:
    """One row a setting."""
    rows = [(f"`{one.key}`", f"`{one.variable}`", one.help, _default(one.default)) for one in SETTINGS.values()]
    return _table(("Key", "Variable", "Meaning", "Default"), rows)


def settings_page(old: str) -> str:
    """``old`` with a fresh table between the marks; :class:`ValueError` where they are missing."""
    head, begin, rest = old.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"docs/settings.md lacks {BEGIN} or {END}")
    return f"{head}{BEGIN}\n\n{settings_table()}\n{END}{tail}"


def spellings(option: click.Parameter) -> tuple[str, ...]:
    """How an option is written: ``("-o", "--output")``."""
    return (*option.opts, *option.secondary_opts)


def _body(name: str, command: click.Command, common: Sequence[tuple[str, ...]]) -> str:
    own = [option for option in _options(command) if spellings(option) not in common]
    lacking = [names for names in common if names not in [spellings(option) for option in _options(command)]]
    context = click.Context(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    parts = [f"```\n{usage}\n```", _prose(command.help or "")]
    if own:
        parts.append(_table(("Option", "Meaning"), (_row(option, context) for option in own)).rstrip("\n"))
    if lacking:
        parts.append("The options of every command stand before this one's name only.")
    return "\n\n".join(parts)


def _option_table(command: click.Command) -> str:
    context = click.Context(command, info_name="gpuorch")
    return _table(("Option", "Meaning"), (_row(option, context) for option in _options(command)))


def _options(command: click.Command) -> list[click.Option]:
    return [one for one in command.params if isinstance(one, click.Option) and "--version" not in one.opts]


def _row(option: click.Option, context: click.Context) -> tuple[str, str]:
    record = option.get_help_record(context)
    assert record is not None, f"{option.opts} has no help"
    return f"`{record[0]}`", " ".join(record[1].split())


def _prose(help_text: str) -> str:
    """Click's help as Markdown: a block that it keeps as it is (``\\b``) becomes code."""
    parts = []
    for paragraph in inspect.cleandoc(help_text).split("\n\n"):
        if paragraph.startswith("\b"):
            parts.append("```sh\n" + paragraph.removeprefix("\b").strip("\n") + "\n```")
        else:
            parts.append(" ".join(paragraph.split()))
    return "\n\n".join(parts)


def _first_line(command: click.Command) -> str:
    return (command.help or "").strip().splitlines()[0]


def _default(value: Any) -> str:
    if value in (None, (), {}):
        return ""
    return f"{int(value.total_seconds()) // 60}m" if isinstance(value, timedelta) else str(value)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def pages() -> dict[Path, str]:
    """Path → what should stand there."""
    settings = DOCS / "settings.md"
    return {
        DOCS / "commands.md": reference(),
        settings: settings_page(settings.read_text(encoding="utf-8")),
    }


def main(arguments: Sequence[str]) -> int:
    check = "--check" in arguments
    stale = {
        path: text for path, text in pages().items() if not path.exists() or path.read_text(encoding="utf-8") != text
    }
    for path, text in stale.items():
        if not check:
            path.write_text(text, encoding="utf-8")
        what = "stale, run scripts/cli_reference.py" if check else "written"
        print(f"docs/{path.name}: {what}", file=sys.stderr)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
