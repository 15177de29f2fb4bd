"""Builders for tests that run the real terraform with the genuine provider."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Terraform", "genuine_mirror", "needs_genuine_provider"]

MIRROR_VARIABLE = "GPUORCH_TF_MIRROR"
_PROVIDER = "*/hashicorp/aws/*/*/terraform-provider-aws*"
# Where terraform itself looks: developer.hashicorp.com/terraform/cli/config/config-file, "implied local mirror".
_DEFAULT_FOLDERS = (
    "~/.terraform.d/plugins",
    "~/.local/share/terraform/plugins",
    "/usr/local/share/terraform/plugins",
    "/usr/share/terraform/plugins",
)
_SEARCHED = ("~", "/opt", "/srv", "/usr/local", "/usr/share", "/var/lib")


@cache
def genuine_mirror() -> Path | None:
    """A filesystem mirror with the genuine AWS provider: the named one, terraform's default folders, or any nearby."""
    if named := os.environ.get(MIRROR_VARIABLE):
        return _checked(Path(named))
    defaults = (Path(folder).expanduser() for folder in _DEFAULT_FOLDERS)
    return next((folder for folder in (*defaults, *_nearby()) if _checked(folder)), None)


def _checked(folder: Path) -> Path | None:
    return folder.absolute() if next(folder.glob(_PROVIDER), None) else None


def _nearby() -> Iterator[Path]:
    for root in _SEARCHED:
        base = Path(root).expanduser()
        yield from sorted(path for path in base.glob("*") if path.is_dir())
        yield from sorted(path for path in base.glob("*/*") if path.is_dir())


def needs_genuine_provider() -> Path:
    """The mirror; skips the test, saying how to have it run, where there is none."""
    if shutil.which("terraform") is None:
        pytest.skip("no terraform on PATH")
    mirror = genuine_mirror()
    if mirror is None:
        pytest.skip(
            f"no genuine AWS provider on this machine: set {MIRROR_VARIABLE} to a filesystem mirror that has it"
        )
    return mirror


@dataclass(frozen=True, slots=True, kw_only=True)
class Terraform:
    """terraform in one root folder, with a CLI configuration of its own and nothing else of the caller's settings."""

    root: Path
    mirror: Path
    environment: Mapping[str, str]

    def run(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
        config = self.root.parent / "terraform.tfrc"
        config.write_text(
            "disable_checkpoint = true\nprovider_installation {\n"
            f"  filesystem_mirror {{\n    path = {json.dumps(str(self.mirror))}\n  }}\n}}\n"
        )
        inherited = {
            key: value
            for key, value in os.environ.items()
            # A CA bundle would only slow the provider down: the double speaks plain HTTP.
            if not key.startswith(("TF_", "AWS_"))
        }
        ours = {
            "TF_CLI_CONFIG_FILE": str(config),
            "TF_IN_AUTOMATION": "1",
            "TF_INPUT": "0",
            "CHECKPOINT_DISABLE": "1",
            "GOGC": "400",
        }
        done = subprocess.run(
            ["terraform", f"-chdir={self.root}", *arguments],
            env={**inherited, **ours, **self.environment},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode in codes, (
            f"terraform {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
        return done

    def state(self) -> dict[str, Mapping[str, Any]]:
        """Address → attributes of every managed resource in the state."""
        values = json.loads(self.run("show", "-json").stdout).get("values", {})
        return {
            resource["address"]: resource["values"]
            for resource in _resources(values.get("root_module", {}))
            if resource["mode"] == "managed"
        }

    def planned(self) -> dict[str, list[str]]:
        """Address → actions of every managed resource that a plan made now would change."""
        self.run("plan", "-out=test.tfplan", "-parallelism=30")
        changes = json.loads(self.run("show", "-json", "test.tfplan").stdout)["resource_changes"]
        return {
            change["address"]: change["change"]["actions"]
            for change in changes
            if change["mode"] == "managed" and change["change"]["actions"] != ["no-op"]
        }


def _resources(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from module.get("resources", ())
    for child in module.get("child_modules", ()):
        yield from _resources(child)
