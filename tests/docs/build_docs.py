"""The documentation as tests see it: pages, links, headings, tables, and the command lines in code."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["ROOT", "Page", "first_command", "pages", "schema_folder", "table_codes"]

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^ *```(?P<kind>\w*)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    path: Path

    def __str__(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def prose(self) -> str:
        """Without fenced code."""
        return _FENCE.sub("", self.text)

    def links(self) -> list[str]:
        return _LINK.findall(self.prose)

    def anchors(self) -> set[str]:
        """The fragments that headings have, as code hosts make them."""
        return {_anchor(heading) for heading in _HEADING.findall(self.prose)}

    def inline_code(self) -> list[str]:
        return _CODE.findall(self.prose)

    def gpuorch_lines(self) -> Iterator[list[str]]:
        """The words after ``gpuorch`` of each command line in fenced code, wherever in the line it stands."""
        for fence in _FENCE.finditer(self.text):
            if fence["kind"] not in ("sh", ""):
                continue
            for line in fence["text"].splitlines():
                if fence["kind"] == "" and not line.startswith("$ gpuorch "):
                    continue
                yield from _calls(line)


def _calls(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;>")
    lexer.whitespace_split = True
    words: list[str] | None = None
    for word in lexer:
        if set(word) <= set("|&;>"):
            if words is not None:
                yield words
            words = None
        elif words is not None:
            words.append(word)
        elif word.rpartition("/")[2] == "gpuorch":
            words = []
    if words is not None:
        yield words


def _anchor(heading: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", heading.replace("`", "").strip().lower())
    return kept.replace(" ", "-")


@cache
def pages() -> tuple[Page, ...]:
    """Every Markdown page that is ours to keep true."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for folder in ("docs", "examples", "terraform"):
        found += [path for path in sorted((ROOT / folder).rglob("*.md")) if ".terraform" not in path.parts]
    return tuple(Page(path) for path in found)


def table_codes(page: str, heading: str) -> list[str]:
    """The code words in the first column of the first table under a heading, in their order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    after = f"\n{text}".partition(f"\n{heading}\n")[2]
    assert after, f"{page} has no heading {heading}"
    rows: list[str] = []
    for line in after.splitlines():
        if line.startswith("|"):
            rows.append(line)
        elif rows:
            break
    return [code for row in rows[2:] for code in _CODE.findall(row.split(" | ")[0])]


def first_command() -> str:
    """The README's first line to copy."""
    match = _FENCE.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert match is not None
    return match["text"].strip()


def schema_folder() -> Path:
    return ROOT / "orchestrator" / "cli" / "schemas"
