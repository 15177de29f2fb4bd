"""Keep of a genuine provider's schema what a module uses, for the sandbox.

    python scripts/extract_schema.py aws            # writes orchestrator/clouds/aws/sandbox/schema.json
    python scripts/extract_schema.py aws --check    # fails where that file is not what the provider says today

Needs terraform on PATH and the provider in a filesystem mirror: ``--mirror``, the variable GPUORCH_TF_MIRROR, or one of
terraform's default folders. The resources are those of ``terraform/modules/CLOUD/*.tf`` and those named by ``--also``,
which the file remembers.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.clouds.contract import Cloud
from orchestrator.clouds.registry import cloud as cloud_named

ROOT = Path(__file__).parents[1]
DEFAULT_MIRRORS = (
    Path("terraform.d/plugins"),
    Path.home() / ".terraform.d/plugins",
    Path.home() / ".local/share/terraform/plugins",
    Path("/usr/local/share/terraform/plugins"),
    Path("/usr/share/terraform/plugins"),
)

_CLI_CONFIG = """\
disable_checkpoint = true
provider_installation {
  filesystem_mirror {
    path = %s
  }
}
"""
_USED = re.compile(r'^\s*(?P<kind>resource|data)\s+"(?P<type>\w+)"', re.MULTILINE)
# Words for people; the provider may reword them in any release, and terraform does not need them.
_DROPPED = frozenset({"description", "description_kind", "deprecated_message"})


def main(arguments: Sequence[str]) -> int:
    asked = _parse(arguments)
    cloud = cloud_named(asked.cloud)
    if cloud.sandbox is None:
        print(f"cloud {cloud.name} brings no sandbox", file=sys.stderr)
        return 64
    path = cloud.sandbox.schema
    also = sorted(set(asked.also) or also_before(path))
    resources, data = used(cloud.module, also)
    found = extract(provider_schemas(cloud, _mirror(asked.mirror)), resources, data, cloud.sandbox.version)
    text = json.dumps(found | {"x_also": also}, indent=1, sort_keys=True) + "\n"
    if not asked.check:
        path.write_text(text, encoding="utf-8")
        print(f"{path}: {len(resources)} resources, {len(data)} data sources of {found['x_source']}")
        return 0
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        print(f"{path} is not what the provider says; write it again without --check", file=sys.stderr)
        return 1
    print(f"{path} is what {found['x_source']} says")
    return 0


def also_before(path: Path) -> set[str]:
    """What was asked for beyond the module when the file was written."""
    return set(json.loads(path.read_text(encoding="utf-8")).get("x_also", ())) if path.exists() else set()


def used(module: Path, also: Iterable[str] = ()) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Types of the module's resources and data sources, sorted; ``also`` holds ``TYPE`` or ``data.TYPE``."""
    found = {
        (match["kind"], match["type"]) for path in module.glob("*.tf") for match in _USED.finditer(path.read_text())
    }
    found |= {("data" if name.startswith("data.") else "resource", name.removeprefix("data.")) for name in also}
    return (
        tuple(sorted(type_ for kind, type_ in found if kind == "resource")),
        tuple(sorted(type_ for kind, type_ in found if kind == "data")),
    )


def extract(
    everything: Mapping[str, Any], resources: Iterable[str], data: Iterable[str], version: str
) -> dict[str, Any]:
    """The same form with one provider and only the named types; :class:`SystemExit` where it lacks one."""
    ((source, provider),) = everything["provider_schemas"].items()
    parts = {"resource_schemas": tuple(resources), "data_source_schemas": tuple(data)}
    kept: dict[str, Any] = {"provider": _bare(provider["provider"])}
    for part, names in parts.items():
        missing = [name for name in names if name not in provider.get(part, {})]
        if missing:
            raise SystemExit(f"{source} {version} has no {', '.join(missing)}")
        kept[part] = {name: _bare(provider[part][name]) for name in names}
    return {
        "format_version": everything["format_version"],
        "provider_schemas": {source: kept},
        "x_source": f"{source} {version}",
    }


def provider_schemas(cloud: Cloud, mirror: Path) -> Mapping[str, Any]:
    """``terraform providers schema -json`` of the genuine provider, of exactly the sandbox's version."""
    assert cloud.sandbox is not None
    pin = {cloud.provider.local_name: {"source": cloud.provider.source, "version": f"= {cloud.sandbox.version}"}}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "main.tf.json").write_text(json.dumps({"terraform": {"required_providers": pin}}))
        (root / "cli.tfrc").write_text(_CLI_CONFIG % json.dumps(str(mirror)))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
        environment["TF_CLI_CONFIG_FILE"] = str(root / "cli.tfrc")
        for command in (["init", "-no-color", "-input=false"], ["providers", "schema", "-json"]):
            done = subprocess.run(
                ["terraform", *command], cwd=root, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise SystemExit(f"terraform {command[0]} failed:\n{done.stderr}")
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def _bare(value: Any) -> Any:
    """Without descriptions; below ``attributes``, ``block_types`` and in types the word is an argument's name."""
    if not isinstance(value, dict):
        return value
    out = {}
    for name, item in value.items():
        if name in ("attributes", "block_types"):
            out[name] = {key: _bare(each) for key, each in item.items()}
        elif name == "type":
            out[name] = item
        elif name not in _DROPPED:
            out[name] = _bare(item)
    return out


def _mirror(asked: str | None) -> Path:
    said = asked or os.environ.get("GPUORCH_TF_MIRROR")
    for path in [Path(said)] if said else DEFAULT_MIRRORS:
        if path.is_dir():
            return path
    raise SystemExit("no provider mirror: name one with --mirror or GPUORCH_TF_MIRROR")


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cloud")
    parser.add_argument(
        "--also", action="append", default=[], metavar="TYPE", help="a further type; data.TYPE for data"
    )
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--mirror", help="folder with HOST/NAMESPACE/TYPE/VERSION/… below it")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
