"""Lays out the stand-in providers so that terraform finds them as it would the genuine ones."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from orchestrator.clouds.contract import Cloud
from orchestrator.errors import ConfigInvalid, Failure, UsageError
from orchestrator.sandbox.database import DATABASE_VARIABLE

__all__ = ["Installed", "database_in", "prepare"]

_PYTHON_VARIABLE = "GPUORCH_SANDBOX_PYTHON"
# What "hashicorp/aws" means: to Terraform, and to OpenTofu.
_HOSTS = ("registry.terraform.io", "registry.opentofu.org")
_NEEDED = ("tf", "grpc", "msgpack", "google.protobuf")

# The interpreter comes by the environment: terraform locks a provider by the hash of its files, so this text must be
# the same after every reinstallation and in every release, or a deployment could no longer be destroyed.
# SIGINT: a Ctrl-C reaches the whole process group, and ending is terraform's word.
_EXECUTABLE = """\
#!/bin/sh
# gpuorch's stand-in for the provider {cloud}: simulated, makes nothing. Started by terraform.
trap '' INT
exec "${{{variable}:?is not set; run terraform by gpuorch --sandbox}}" -P -m orchestrator.sandbox.provider {cloud}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """``mirror`` is a filesystem mirror for terraform's CLI configuration, ``environment`` what terraform must see.

    ``database`` is the simulated cloud's file, which need not exist yet.
    """

    mirror: Path
    database: Path
    environment: Mapping[str, str]


def prepare(folder: Path, clouds: Sequence[Cloud]) -> Installed:
    """Write the mirror under ``folder``, beside the simulated cloud's file; what is there already stays untouched.

    Raises :class:`~orchestrator.errors.UsageError` where the extra ``sandbox`` is not installed,
    :class:`~orchestrator.errors.ConfigInvalid` for a cloud without a sandbox, and
    :class:`~orchestrator.errors.Failure` where the folder cannot be written.
    """
    _check_extra()
    mirror = folder / "mirror"
    for cloud in clouds:
        text = _EXECUTABLE.format(variable=_PYTHON_VARIABLE, cloud=cloud.name)
        for host in _HOSTS:
            path = mirror / host / _place(cloud)
            try:
                _write(path, text, folder)
            except OSError as error:
                raise Failure(
                    f"the stand-in provider cannot be written to {path}: {error.strerror}",
                    hint="choose another --state-dir",
                ) from error
    database = database_in(folder)
    environment = {
        DATABASE_VARIABLE: str(database),
        _PYTHON_VARIABLE: sys.executable,
        # Both ends are ours and the socket lies in a private folder; making a certificate costs every command 0.1 s.
        "TF_DISABLE_PLUGIN_TLS": "1",
        **_python_path(),
    }
    return Installed(mirror=mirror.absolute(), database=database, environment=MappingProxyType(environment))


def database_in(folder: Path) -> Path:
    """The simulated cloud's file of a sandbox folder."""
    return folder.absolute() / "cloud.sqlite"


def _check_extra() -> None:
    for name in _NEEDED:
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise UsageError(
                f"--sandbox needs the Python package {name.partition('.')[0]!r}, which is not installed",
                hint='pip install "gpuorch[sandbox]"',
            )


def _place(cloud: Cloud) -> Path:
    if cloud.sandbox is None:
        raise ConfigInvalid(f"cloud {cloud.name!r} brings no sandbox", hint="leave it out, or run without --sandbox")
    namespace, _, type_ = cloud.provider.source.rpartition("/")
    version = cloud.sandbox.version
    return Path(namespace, type_, version, _target(), f"terraform-provider-{type_}_v{version}")


def _target() -> str:
    """Terraform's name of this machine, after Go's GOOS and GOARCH."""
    machine = platform.machine().lower()
    architecture = {"x86_64": "amd64", "aarch64": "arm64", "i686": "386", "armv7l": "arm"}.get(machine, machine)
    return f"{platform.system().lower()}_{architecture}"


def _write(path: Path, text: str, folder: Path) -> None:
    """Put the executable there in one step: other processes may be starting it."""
    with contextlib.suppress(FileNotFoundError):
        if path.read_text(encoding="utf-8") == text and os.access(path, os.X_OK):
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not in the mirror: terraform takes every file there for a part of a provider.
    handle, temporary = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o755)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _python_path() -> Mapping[str, str]:
    """PYTHONPATH, where this package does not lie in the interpreter's own folders (a checkout, say)."""
    package = Path(__file__).parents[2]
    own = {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    inherited = os.environ.get("PYTHONPATH", "")
    if package in own:
        return {"PYTHONPATH": inherited} if inherited else {}
    return {"PYTHONPATH": os.pathsep.join([str(package), inherited] if inherited else [str(package)])}
