"""Compare the sandbox's schema of a cloud with another account of the same provider's schema.

    python scripts/compare_schema.py CLOUD --against FILE               # FILE: terraform providers schema -json
    python scripts/compare_schema.py CLOUD --against FILE --except google_compute_instance.params

For every attribute and block that both have of the types both have: type, required, optional, computed, nesting and
counts must agree. What the module uses must be there as well. Prints a table, and each disagreement in a line of its
own; exit status 1 where there is one that ``--except`` does not name (with all below it). Types that FILE lacks are
listed; they are no disagreement, because FILE may be an extract too. Neither are arguments named ``description`` where
FILE has not one of that name: then descriptions of all kinds were taken out of it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hcl2

ROOT = Path(__file__).parents[1]

Schema = Mapping[str, Any]
_FLAGS = ("required", "optional", "computed")
_COUNTS = ("nesting_mode", "min_items", "max_items")
# Terraform's own, not the provider's.
_META = frozenset({"count", "for_each", "provider", "depends_on", "lifecycle", "connection", "provisioner"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One type. ``disagreements`` holds ``path: what is here, what is there``; ``used`` how much the module uses."""

    type: str
    used: int
    both: int
    disagreements: tuple[str, ...]


def main(arguments: Sequence[str]) -> int:
    asked = _parse(arguments)
    ours = _flat(json.loads((ROOT / f"orchestrator/clouds/{asked.cloud}/sandbox/schema.json").read_text("utf-8")))
    theirs = _flat(json.loads(asked.against.read_text("utf-8")))
    uses = used_paths(ROOT / "terraform" / "modules" / asked.cloud)
    if not any(_is_description(path) for schema in theirs.values() for path, _ in _members(schema["block"])):
        uses = {name: frozenset(path for path in paths if not _is_description(path)) for name, paths in uses.items()}
    compared = [
        compare(name, ours[name], theirs[name], uses.get(name, frozenset()), asked.excepted)
        for name in sorted(ours)
        if name in theirs
    ]
    width = max(map(len, ours), default=0)
    print(f"{'type':{width}}  used  both  disagree")
    for row in compared:
        print(f"{row.type:{width}}  {row.used:4}  {row.both:4}  {len(row.disagreements):8}")
    for name in sorted(ours.keys() - theirs.keys()):
        print(f"{name:{width}}  {len(uses.get(name, ())):4}     -  not in {asked.against.name}")
    disagreements = [f"{row.type}.{text}" for row in compared for text in row.disagreements]
    disagreements += [f"{name}: used by the module, not in schema.json" for name in sorted(uses.keys() - ours.keys())]
    for text in disagreements:
        print(text)
    print(f"{len(compared)} types compared, {len(disagreements)} disagreements")
    return 1 if disagreements else 0


def compare(name: str, ours: Schema, theirs: Schema, uses: Iterable[str], excepted: Iterable[str]) -> Compared:
    """``uses`` are paths below the type, ``excepted`` full paths that are passed over with all below them."""
    here, there = dict(_members(ours["block"])), dict(_members(theirs["block"]))

    def passed_over(path: str) -> bool:
        full = f"{name}.{path}"
        return any(full == each or full.startswith(each + ".") for each in excepted)

    found = [
        f"{path}: {here[path]} here, {there[path]} there"
        for path in sorted(here.keys() & there.keys())
        if here[path] != there[path] and not passed_over(path)
    ]
    for path in sorted(uses):
        for members, where in ((here, "here"), (there, "there")):
            if path not in members and not passed_over(path):
                found.append(f"{path}: used by the module, not {where}")
    return Compared(
        type=name, used=len(frozenset(uses)), both=len(here.keys() & there.keys()), disagreements=tuple(found)
    )


def used_paths(module: Path) -> dict[str, frozenset[str]]:
    """Type (``data.TYPE`` for data) → dotted paths of the attributes and blocks that the module writes."""
    found: dict[str, set[str]] = {}
    for file in sorted(module.glob("*.tf")):
        parsed = hcl2.loads(file.read_text("utf-8"))
        for kind, prefix in (("resource", ""), ("data", "data.")):
            for labelled in parsed.get(kind, ()):
                for type_, named in _blocks_in(labelled):
                    for _, body in _blocks_in(named):
                        found.setdefault(prefix + type_, set()).update(_written(body))
    return {name: frozenset(paths) for name, paths in found.items()}


def _blocks_in(labelled: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for label, body in labelled.items():
        if isinstance(body, Mapping):
            yield label.strip('"'), body


def _written(body: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Paths in a parsed body. The parser gives blocks as lists of mappings marked as blocks, attributes as values."""
    for name, value in body.items():
        if name.startswith("__") or (not above and name in _META):
            continue
        if name == "dynamic":
            for each in value:
                for label, dynamic in _blocks_in(each):
                    yield above + label
                    for content in dynamic["content"]:
                        yield from _written(content, f"{above}{label}.")
            continue
        yield above + name
        if isinstance(value, list):
            for item in value:
                if isinstance(item, Mapping) and item.get("__is_block__"):
                    yield from _written(item, f"{above}{name}.")


def _flat(file: Mapping[str, Any]) -> dict[str, Schema]:
    ((_, provider),) = file["provider_schemas"].items()
    return {
        **provider.get("resource_schemas", {}),
        **{f"data.{name}": schema for name, schema in provider.get("data_source_schemas", {}).items()},
    }


def _members(block: Schema, above: str = "") -> Iterator[tuple[str, str]]:
    """Path → what it is, in words that are equal where the schemas agree."""
    for name, attribute in block.get("attributes", {}).items():
        flags = " ".join(flag for flag in _FLAGS if attribute.get(flag))
        yield from _typed(above + name, attribute.get("type", attribute.get("nested_type")), f"{flags} ")
    for name, nested in block.get("block_types", {}).items():
        counts = " ".join(f"{key}={nested[key]}" for key in _COUNTS if nested.get(key))
        yield above + name, f"block {counts}"
        yield from _members(nested["block"], f"{above}{name}.")


def _is_description(path: str) -> bool:
    return path.rpartition(".")[2] == "description"


def _typed(path: str, type_: Any, flags: str = "") -> Iterator[tuple[str, str]]:
    """An attribute, and the fields of its objects as if they were below it: some are written as blocks."""
    kinds = []
    while isinstance(type_, list) and type_[0] != "object":
        kinds.append(type_[0])
        type_ = type_[1]
    if isinstance(type_, list) and type_[0] == "object":
        yield path, flags + " of ".join([*kinds, "object"])
        for name, field in type_[1].items():
            yield from _typed(f"{path}.{name}", field)
    else:
        yield path, flags + " of ".join([*kinds, json.dumps(type_)])


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cloud")
    parser.add_argument("--against", type=Path, required=True, metavar="FILE")
    parser.add_argument(
        "--except", action="append", default=[], dest="excepted", metavar="TYPE.PATH", help="a known difference"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
