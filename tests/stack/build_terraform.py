"""Terraform for tests: where genuine providers lie, and a way to run the binary that reads nothing of the caller's."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from functools import cache
from pathlib import Path

__all__ = ["TERRAFORM", "mirror", "run_terraform", "terraform_environment"]

TERRAFORM = shutil.which("terraform")

_HOST = "registry.terraform.io"
# Big, or not of this machine: a search of the whole disk must not take longer than the tests that need it.
_NOT_SEARCHED = {"proc", "sys", "dev", "run", "tmp", "node_modules", ".git", "site-packages", ".terraform"}
_DEPTH = 7


@cache
def mirror(namespace: str = "hashicorp", provider: str = "aws") -> Path | None:
    """The filesystem mirror that holds a provider: ``GPUORCH_TF_MIRROR``, Terraform's own folders, or a search of disk.

    ``None`` where there is none; a test that needs it skips then and says so.
    """
    named = os.environ.get("GPUORCH_TF_MIRROR")
    if named:
        path = Path(named)
        return path if _holds(path, namespace, provider) else None
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)  # tests run with another HOME
    data = [
        Path(folder) for folder in os.environ.get("XDG_DATA_DIRS", "/usr/local/share:/usr/share").split(":") if folder
    ]
    data.insert(0, Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share"))
    usual = [home / ".terraform.d/plugins", *(folder / "terraform/plugins" for folder in data)]
    for path in (*usual, Path("/usr/share/terraform/plugins")):
        if _holds(path, namespace, provider):
            return path
    return _search(namespace, provider)


def _holds(path: Path, namespace: str, provider: str) -> bool:
    return any((path / _HOST / namespace / provider).glob("*/*/terraform-provider-*"))


def _search(namespace: str, provider: str) -> Path | None:
    for folder, names, _ in os.walk("/"):
        if _HOST in names and _holds(Path(folder), namespace, provider):
            return Path(folder)
        depth = folder.count("/")
        names[:] = sorted(name for name in names if name not in _NOT_SEARCHED) if depth < _DEPTH else []
    return None


def terraform_environment(home: Path, plugins: Path | None = None, **more: str) -> dict[str, str]:
    """An environment with a CLI configuration of its own, written under ``home``, and none of the caller's ``TF_*``."""
    home.mkdir(parents=True, exist_ok=True)
    config = home / "terraform.rc"
    installation = f'filesystem_mirror {{\n    path = "{plugins}"\n  }}' if plugins else "direct {}"
    config.write_text(f"disable_checkpoint = true\n\nprovider_installation {{\n  {installation}\n}}\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "TOFU_", "AWS_"))}
    return kept | {"TF_CLI_CONFIG_FILE": str(config), "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1"} | more


def run_terraform(
    root: Path, *arguments: str, environment: dict[str, str], expect: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run terraform in ``root``; fails the test with its words when it ends otherwise than expected."""
    assert TERRAFORM is not None
    done = subprocess.run(
        [TERRAFORM, *arguments], cwd=root, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == expect, (
        f"terraform {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    )
    return done
