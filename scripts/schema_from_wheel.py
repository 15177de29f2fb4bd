"""Keep of a provider's schema what a module uses, for the sandbox, from the provider's CDKTF bindings on PyPI.

    python scripts/schema_from_wheel.py CLOUD --package NAME==VERSION     # pip downloads the wheel
    python scripts/schema_from_wheel.py CLOUD --wheel FILE
    python scripts/schema_from_wheel.py CLOUD --wheel FILE --check        # fails where the file is not what it would be

For providers whose binary is not at hand; ``extract_schema.py`` reads the genuine provider where it is. Writes
``orchestrator/clouds/CLOUD/sandbox/schema.json``. The types are those of ``terraform/modules/CLOUD/*.tf`` and those
named by ``--also``, which the file remembers. What the bindings have lost stands in ``schema_corrections.json`` beside:

    {"corrections": [{"at": ["example_machine.disk.size"], "set": {"computed": true}, "reason": "…"}]}

``at`` names attributes or blocks from the type on (``provider`` and ``data.TYPE`` too); several share one reason.
``set`` changes single keys of what is there (null takes a key away); ``attribute`` or ``block`` puts a whole one there
instead of what the bindings have; ``"remove": true`` takes it away. A correction that finds nothing to change is an
error.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.cdktf_bindings import Bindings
from scripts.extract_schema import also_before, extract, used

ROOT = Path(__file__).parents[1]


def main(arguments: Sequence[str]) -> int:
    asked = _parse(arguments)
    sandbox = ROOT / "orchestrator" / "clouds" / asked.cloud / "sandbox"
    path = sandbox / "schema.json"
    also = sorted(set(asked.also) or also_before(path))
    resources, data = used(ROOT / "terraform" / "modules" / asked.cloud, also)
    bindings = Bindings(asked.wheel) if asked.wheel else downloaded(asked.package)
    found = bindings.schemas(resources, data)
    correct(found["provider_schemas"][bindings.source], corrections(sandbox / "schema_corrections.json"))
    kept = extract(found, resources, data, bindings.version) | {"x_also": also}
    text = json.dumps(kept, indent=1, sort_keys=True) + "\n"
    if not asked.check:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"{path}: {len(resources)} resources, {len(data)} data sources of {kept['x_source']}")
        return 0
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        print(f"{path} is not what the bindings say; write it again without --check", file=sys.stderr)
        return 1
    print(f"{path} is what {kept['x_source']} says")
    return 0


def downloaded(requirement: str) -> Bindings:
    """The bindings of ``NAME==VERSION`` from the package index that pip uses; :class:`SystemExit` with pip's words."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        done = subprocess.run([*command, "--dest", folder, requirement], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"pip could not download {requirement}:\n{done.stderr}")
        (wheel,) = Path(folder).glob("*.whl")
        return Bindings(wheel)


def corrections(path: Path) -> list[Mapping[str, Any]]:
    """What a person knows that the bindings have lost; none where there is no such file."""
    if not path.exists():
        return []
    found: list[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["corrections"]
    for correction in found:
        actions = {"set", "attribute", "block", "remove"} & correction.keys()
        if not (correction.get("at") and correction.get("reason") and len(actions) == 1):
            raise SystemExit(f"{path}: a correction needs at, reason and one of set, attribute, block, remove")
    return found


def correct(provider: dict[str, Any], all_corrections: Sequence[Mapping[str, Any]]) -> None:
    """Apply corrections to one provider's schema, in place. Those of types that are not there are for other modules'
    extracts and are passed over; any other that changes nothing is a :class:`SystemExit`."""
    for correction in all_corrections:
        for at in correction["at"]:
            found = _type_schema(provider, at)
            if found is None:
                continue
            before = json.dumps(found[0], sort_keys=True)
            _apply(found[0], found[1], correction, at)
            if json.dumps(found[0], sort_keys=True) == before:
                raise SystemExit(f"the correction at {at} changes nothing; take it out")


def _type_schema(provider: Mapping[str, Any], at: str) -> tuple[dict[str, Any], list[str]] | None:
    """The schema of the type that ``at`` begins with, and the names below it; None where the type is not there."""
    parts = at.split(".")
    if parts[0] == "provider":
        return provider["provider"], parts[1:]
    kind = "resource_schemas"
    if parts[0] == "data":
        kind, parts = "data_source_schemas", parts[1:]
    schema = provider[kind].get(parts[0])
    return None if schema is None else (schema, parts[1:])


def _apply(schema: dict[str, Any], names: list[str], correction: Mapping[str, Any], at: str) -> None:
    if not names:
        _set(schema, correction, at)
        return
    block = schema["block"]
    for name in names[:-1]:
        if name not in block.get("block_types", {}):
            raise SystemExit(f"the correction at {at} names no block {name}")
        block = block["block_types"][name]["block"]
    last = names[-1]
    if "set" in correction:
        there = block.get("attributes", {}).get(last) or block.get("block_types", {}).get(last)
        if there is None:
            raise SystemExit(f"the correction at {at} names no attribute or block")
        _set(there, correction, at)
        return
    for part in ("attributes", "block_types"):
        block.get(part, {}).pop(last, None)
    for key, part in (("attribute", "attributes"), ("block", "block_types")):
        if key in correction:
            block.setdefault(part, {})[last] = json.loads(json.dumps(correction[key]))


def _set(there: dict[str, Any], correction: Mapping[str, Any], at: str) -> None:
    if "set" not in correction:
        raise SystemExit(f"the correction at {at} can only set keys")
    for key, value in correction["set"].items():
        if value is None:
            there.pop(key, None)
        else:
            there[key] = value


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cloud", help="folder under terraform/modules and orchestrator/clouds")
    origin = parser.add_mutually_exclusive_group(required=True)
    origin.add_argument("--package", metavar="NAME==VERSION", help="the wheel to download")
    origin.add_argument("--wheel", type=Path, help="the wheel, already here")
    parser.add_argument(
        "--also", action="append", default=[], metavar="TYPE", help="a further type; data.TYPE for data"
    )
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
