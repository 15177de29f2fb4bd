"""The documentation says what is: links lead somewhere, commands and options exist, tables are complete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields

import click
import pytest

from orchestrator import errors
from orchestrator.catalog.report import Reason
from orchestrator.cli.main import cli
from orchestrator.clouds.contract import Cloud
from orchestrator.gitops.manifest import ManifestFile
from orchestrator.model.deployment import DeploymentState
from orchestrator.model.failure import FailureKind
from orchestrator.placement.filters import FILTERS
from scripts import cli_reference
from scripts.cli_reference import commands
from tests.docs.build_docs import Page, first_command, pages, schema_folder, table_codes

_ALL = [pytest.param(page, id=str(page)) for page in pages()]
# Options of other programs that our pages speak of.
_FOREIGN = {"--check", "--mirror", "--also"}


def _options() -> set[str]:
    found = {"--help", "-h", "--version"}
    for _, command in (*commands(cli, "gpuorch"), ("gpuorch", cli)):
        for parameter in command.params:
            found |= set(cli_reference.spellings(parameter))
    return found


@pytest.mark.parametrize("page", _ALL)
def test_every_link_leads_somewhere(page: Page) -> None:
    for link in page.links():
        if re.match(r"[a-z]+:", link):
            continue
        path, _, fragment = link.partition("#")
        target = Page((page.path.parent / path).resolve()) if path else page
        assert target.path.exists(), f"{page} links to {link}"
        if fragment:
            assert fragment in target.anchors(), f"{page} links to {link}, and there is no such heading"


@pytest.mark.parametrize("page", _ALL)
def test_every_command_line_in_code_is_understood(page: Page) -> None:
    for words in page.gpuorch_lines():
        context, command, rest = _walk(list(words))
        try:
            command.make_context(command.name, rest, parent=context)
        except click.exceptions.NoArgsIsHelpError:
            pytest.fail(f"{page}: gpuorch {' '.join(words)} does nothing")
        except click.ClickException as error:
            pytest.fail(f"{page}: gpuorch {' '.join(words)}: {error.format_message()}")


def _walk(words: list[str]) -> tuple[click.Context, click.Command, list[str]]:
    """Down the groups to the command that the words name, with the words that are left."""
    group: click.Command = cli
    context = click.Context(cli, info_name="gpuorch")
    while isinstance(group, click.Group):
        assert words, f"{context.command_path} needs a command"
        _, found, words = group.resolve_command(context, words)
        assert found is not None
        if isinstance(found, click.Group):
            context = click.Context(found, info_name=found.name, parent=context)
        group = found
    return context, group, words


@pytest.mark.parametrize("page", _ALL)
def test_every_command_and_option_in_prose_exists(page: Page) -> None:
    names = {name.removeprefix("gpuorch ") for name, _ in commands(cli, "gpuorch")}
    groups = {name.partition(" ")[0] for name in names}
    options = _options()
    for code in page.inline_code():
        words = code.split()
        if words[0] == "gpuorch" and len(words) > 1 and not words[1].startswith("-"):
            assert words[1] in groups, f"{page}: `{code}`"
        if words[0] == "gpuorch" or words[0].startswith("-"):
            for word in words:
                option = word.partition("=")[0].rstrip(",")
                if re.fullmatch(r"--?[a-z][a-z-]+|-[a-z]", option):
                    assert option in options | _FOREIGN, f"{page}: `{code}`"


def test_generated_pages_are_fresh() -> None:
    for path, text in cli_reference.pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is stale: run scripts/cli_reference.py"


def test_the_reference_has_every_command_and_option() -> None:
    text = cli_reference.reference()
    for name, command in commands(cli, "gpuorch"):
        assert f"\n## {name}\n" in text
        section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        head = text.partition("\n## gpuorch ")[0]
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert f"`{', '.join(parameter.opts)}" in section + head, f"{name} {parameter.opts}"
            else:
                assert str(parameter.human_readable_name).upper() in section.upper(), f"{name} {parameter.name}"


@pytest.mark.parametrize(
    ("page", "heading", "expected"),
    [
        ("docs/concepts.md", "## How an offer is chosen", list(FILTERS)),
        ("docs/concepts.md", "## When a machine cannot be had", [str(kind) for kind in FailureKind]),
        ("docs/concepts.md", "## Life of a deployment", [str(state) for state in DeploymentState]),
        ("docs/prices.md", "## What is put aside", [str(reason) for reason in Reason]),
        ("docs/spec.md", "# Specification files", list(ManifestFile.model_fields)),
        ("docs/adding-a-cloud.md", "## 2. The folder", [field.name for field in fields(Cloud)]),
    ],
)
def test_tables_are_complete(page: str, heading: str, expected: list[str]) -> None:
    assert sorted(table_codes(page, heading)) == sorted(expected)


def test_filters_stand_in_the_order_in_which_they_are_asked() -> None:
    assert table_codes("docs/concepts.md", "## How an offer is chosen") == list(FILTERS)


def _error_classes(base: type[errors.GpuorchError] = errors.GpuorchError) -> Iterator[type[errors.GpuorchError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _error_classes(kind)


def test_error_and_exit_codes_are_all_told() -> None:
    text = (pages()[0].path.parent / "docs" / "json.md").read_text(encoding="utf-8")
    exits = text.partition("\n## Exit codes\n")[2].partition("\n## ")[0]
    for kind in _error_classes():
        assert re.search(rf"^\| `{kind.code}` \| {kind.exit_code} \|", text, re.MULTILINE), kind
        assert re.search(rf"^\| {kind.exit_code} \|", exits, re.MULTILINE), kind
    assert set(table_codes("docs/json.md", "## Error codes")) == {kind.code for kind in _error_classes()}


def test_spec_names_an_option_for_every_field() -> None:
    named = set(re.findall(r"`(--[a-z-]+)`", (pages()[0].path.parent / "docs" / "spec.md").read_text(encoding="utf-8")))
    up = next(command for name, command in commands(cli, "gpuorch") if name == "gpuorch up")
    asked = {option for parameter in up.params for option in parameter.opts if option.startswith("--")}
    common = {option for parameter in cli.params for option in parameter.opts}
    beside = {"--file", "--ignore-failures", "--max-price-age", "--no-wait", "--help"}
    assert asked - common - beside <= named


def test_every_schema_is_linked() -> None:
    text = (pages()[0].path.parent / "docs" / "json.md").read_text(encoding="utf-8")
    for path in schema_folder().glob("*.json"):
        assert f"schemas/{path.name})" in text


def test_the_readme_begins_with_one_line_to_copy() -> None:
    assert "\n" not in first_command()
    assert first_command().startswith("python3 -m venv .venv && ")
