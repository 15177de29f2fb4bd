"""The text that cloud-init runs on a machine's first boot: the bootstrap, its units and the deployment's own data.

The scripts and units are constant files (``templates/bootstrap``). What differs from one launch to another is data in
one file, ``/etc/gpuorch/deployment.env``, quoted for bash in printable ASCII: no value can end its line, its quotes or
the YAML around it. The text is plain: compressors differ between machines, the same launch must give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from math import ceil

from orchestrator.assets import asset
from orchestrator.errors import ConfigInvalid
from orchestrator.model.launch import Launch
from orchestrator.stack.readiness import status_uri

__all__ = ["ENV_PATH", "LIBRARY", "STATE", "deployment_env", "expected_gpus", "user_data"]

ENV_PATH = "/etc/gpuorch/deployment.env"
LIBRARY = "/usr/local/lib/gpuorch"
STATE = "/var/lib/gpuorch"

_DRIVERS = ("nvidia", "rocm", "none")
_UNITS = ("gpuorch-scratch.service", "gpuorch-bootstrap.service")
_EXPIRE_UNITS = ("gpuorch-expire.timer", "gpuorch-expire.service")
# The same form as in terraform/contract/variables.tf: the id stands in JSON, in object keys and on the console.
_DEPLOYMENT_ID = re.compile(r"[a-z][a-z0-9]{7,31}")
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


def user_data(launch: Launch) -> str:
    """The ``#cloud-config`` text of one launch: printable ASCII, the same bytes for the same launch.

    Its size is the caller's to hold against the cloud's limit (bytes and characters are the same number here).
    Raises :class:`ConfigInvalid` for values that no machine could be given.
    """
    driver = _driver(launch)
    files = {
        ENV_PATH: deployment_env(launch),
        f"{LIBRARY}/bootstrap": _template("bootstrap.sh"),
        f"{LIBRARY}/driver": _template("drivers", f"{driver}.sh"),
        f"{LIBRARY}/scratch": _template("scratch.sh"),
        f"{LIBRARY}/smoke.py": _template("smoke.py"),
    }
    units: tuple[str, ...] = _UNITS
    started = units
    if launch.ttl is not None:
        files[f"{LIBRARY}/expire"] = _template("expire.sh")
        units, started = (*_EXPIRE_UNITS, *_UNITS), (_EXPIRE_UNITS[0], *_UNITS)
    files |= {f"/etc/systemd/system/{unit}": _template(unit) for unit in units}

    lines = ["#cloud-config"]
    if launch.ssh_public_key.strip():
        lines += ["ssh_authorized_keys:", f"- {_yaml_string(launch.ssh_public_key.strip())}"]
    lines.append("write_files:")
    for path, text in files.items():
        lines += [f"- path: {path}", "  content: |", *(f"   {line}" for line in text.splitlines())]
    lines += ["runcmd:", f"- systemctl enable --now --no-block {' '.join(started)}"]
    return "\n".join(lines) + "\n"


def deployment_env(launch: Launch) -> str:
    """``/etc/gpuorch/deployment.env``: what the scripts know of the deployment, as assignments for bash."""
    image, uri = launch.image, launch.checkpoint_uri
    upload: Sequence[str] = ()
    if uri:
        values = {"{file}": f"{STATE}/status.json", "{uri}": status_uri(uri, launch.deployment_id)}
        upload = [re.sub(r"\{file\}|\{uri\}", lambda match: values[match[0]], word) for word in image.upload_command]
    scalars = {
        "DEPLOYMENT": _checked_id(launch.deployment_id),
        "NAME": launch.name,
        "DRIVER": _driver(launch),
        "GPUS": str(expected_gpus(launch)),
        "MARKET": str(launch.offer.market),
        "PYTHON": image.python,
        "SCRATCH": image.scratch,
        "TTL": str(_seconds(launch.ttl)) if launch.ttl is not None else "",
        "CHECKPOINT_URI": uri,
    }
    lists = {"LOCAL_DISKS": image.local_disks, "UPLOAD": upload}
    if image.install_driver:
        lists["INSTALL_DRIVER"] = image.install_driver
    if image.end_command and launch.ttl is not None:
        lists["END"] = image.end_command
    lines = [f"{name}={_bash_string(value)}" for name, value in scalars.items()]
    lines += [f"{name}=({' '.join(_bash_string(word) for word in words)})" for name, words in lists.items()]
    return "\n".join(lines) + "\n"


def expected_gpus(launch: Launch) -> int:
    """How many devices the driver must show at least; a share of a GPU shows as one. 0 where no driver is expected."""
    return 0 if _driver(launch) == "none" else ceil(launch.offer.gpu_count)


def _driver(launch: Launch) -> str:
    if launch.image.driver not in _DRIVERS:
        raise ConfigInvalid(
            f"the bootstrap does not know the driver {launch.image.driver!r} of image {launch.image.reference!r}",
            hint=f"use one of {', '.join(_DRIVERS)}",
        )
    # A machine without a GPU never shows one, whatever driver its image carries.
    return launch.image.driver if launch.offer.gpu_count > 0 else "none"


def _checked_id(deployment_id: str) -> str:
    if not _DEPLOYMENT_ID.fullmatch(deployment_id):
        raise ConfigInvalid(
            f"the deployment id {deployment_id!r} is not 8 to 32 lower-case letters and digits, beginning with a letter"
        )
    return deployment_id


def _seconds(ttl: timedelta) -> int:
    seconds = ceil(ttl.total_seconds())
    if seconds <= 0:
        raise ConfigInvalid(f"a machine cannot live for {seconds} seconds", hint="give a longer time with --ttl")
    return seconds


@cache
def _template(*parts: str) -> str:
    """A script or unit, without its comments and with half its indentation: user data has a limit of some KiB."""
    lines = []
    for line in asset("templates", "bootstrap", *parts).read_text(encoding="utf-8").splitlines():
        body = re.sub(r"\s+# [^'\"]*$", "", line.lstrip(" "))
        if body and (not body.startswith("#") or body.startswith("#!")):
            lines.append(" " * ((len(line) - len(line.lstrip(" "))) // 2) + body)
    return "\n".join(lines) + "\n"


def _bash_string(text: str) -> str:
    """One word of bash, in printable ASCII: as it is, in quotes, or byte by byte as UTF-8 (in any locale)."""
    _check_text(text)
    if _PLAIN.fullmatch(text):
        return text
    if all(" " <= char <= "~" for char in text):
        return "'" + text.replace("'", "'\\''") + "'"
    plain = (chr(byte) if chr(byte).isalnum() and byte < 128 else f"\\x{byte:02x}" for byte in text.encode())
    return f"$'{''.join(plain)}'"


def _yaml_string(text: str) -> str:
    """A double-quoted YAML scalar in printable ASCII."""
    _check_text(text)
    chars = (char if " " <= char <= "~" and char not in '"\\' else f"\\U{ord(char):08x}" for char in text)
    return f'"{"".join(chars)}"'


def _check_text(text: str) -> None:
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise ConfigInvalid(f"{text[:60]!r} holds a character that no file or program argument can hold")
