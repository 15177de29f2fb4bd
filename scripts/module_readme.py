"""Write the tables of a module's README from its variables and outputs.

python scripts/module_readme.py            all modules
python scripts/module_readme.py --check    say which are stale, and fail
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import hcl2

BEGIN, END = "<!-- BEGIN_TF_DOCS -->", "<!-- END_TF_DOCS -->"
MODULES = Path(__file__).parents[1] / "terraform" / "modules"


def blocks(module: Path, kind: str) -> list[tuple[str, dict[str, Any]]]:
    """Label (of resources: ``type.name``) and body of each block of one kind, in the order of files and lines."""
    found = []
    for path in sorted(module.glob("*.tf")):
        for block in hcl2.loads(path.read_text()).get(kind, []):
            label, body = _named(block)
            if kind in ("resource", "data"):
                name, body = _named(body)
                label = f"{label}.{name}"
            found.append((label, body))
    return found


def text(value: Any) -> str:
    """A string as written, without HCL's quotes or the ``${…}`` that the parser puts around expressions."""
    written = str(value)
    if written.startswith('"') and written.endswith('"') and len(written) > 1:
        return str(json.loads(written))
    if written.startswith("${") and written.endswith("}"):
        return written[2:-1]
    return written


def tables(module: Path) -> str:
    """The Markdown between the two marks."""
    parts = [
        "## Requirements\n",
        _table(("Name", "Version"), _requirements(module)),
        "## Resources\n",
        _table(("Resource", "Kind"), _resources(module)),
        "## Inputs\n",
        _table(("Name", "Description", "Type", "Default"), _inputs(module)),
        "## Outputs\n",
        _table(
            ("Name", "Description"),
            ((f"`{name}`", text(body.get("description", ""))) for name, body in blocks(module, "output")),
        ),
    ]
    return "\n".join(parts)


def readme(module: Path) -> str:
    """The whole README with fresh tables; :class:`ValueError` when the marks are missing."""
    old = (module / "README.md").read_text()
    head, begin, rest = old.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{module / 'README.md'} lacks {BEGIN} or {END}")
    return f"{head}{BEGIN}\n\n{tables(module)}\n{END}{tail}"


def _requirements(module: Path) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for path in sorted(module.glob("*.tf")):
        for block in hcl2.loads(path.read_text()).get("terraform", []):
            if "required_version" in block:
                rows.append(("terraform", f"`{text(block['required_version'])}`"))
            for provider in block.get("required_providers", []):
                rows += [
                    (text(provider[name]["source"]), f"`{text(provider[name]['version'])}`")
                    for name in _names(provider)
                ]
    return rows


def _resources(module: Path) -> list[tuple[str, ...]]:
    rows = [(f"`{label}`", "resource") for label, _ in blocks(module, "resource")]
    rows += [(f"`{label}`", "data source") for label, _ in blocks(module, "data")]
    return sorted(rows)


def _inputs(module: Path) -> Iterable[tuple[str, ...]]:
    for name, body in blocks(module, "variable"):
        default = f"`{_default(body['default'])}`" if "default" in body else "required"
        yield f"`{name}`", text(body.get("description", "")), f"`{text(body['type'])}`", default


def _default(value: Any) -> str:
    if value is None:
        return "null"
    return str(value) if isinstance(value, str) else json.dumps(value)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def _names(block: dict[str, Any]) -> list[str]:
    return [name for name in block if not name.startswith("__")]


def _named(block: dict[str, Any]) -> tuple[str, Any]:
    name = _names(block)[0]
    return text(name), block[name]


def main(arguments: Sequence[str]) -> int:
    check = "--check" in arguments
    stale = []
    for module in sorted(path.parent for path in MODULES.glob("*/README.md")):
        fresh = readme(module)
        if fresh == (module / "README.md").read_text():
            continue
        stale.append(module.name)
        if not check:
            (module / "README.md").write_text(fresh)
    for name in stale:
        print(f"{name}: {'stale, run scripts/module_readme.py' if check else 'written'}", file=sys.stderr)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
