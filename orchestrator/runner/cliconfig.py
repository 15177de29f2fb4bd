"""Terraform's CLI configuration: where providers come from. One file of our own, the same for OpenTofu."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import ConfigInvalid, Failure

__all__ = ["ProviderSource", "cli_config_text", "mirrored_providers", "write_cli_config"]

_FILE = "gpuorch.tfrc"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSource:
    """Providers are taken from the folders ``mirrors`` and, where ``direct``, what they lack from the registries.

    A mirror is laid out as ``HOST/NAMESPACE/TYPE/…``, as ``terraform providers mirror`` writes it.
    """

    mirrors: tuple[Path, ...] = ()
    direct: bool = True


def cli_config_text(source: ProviderSource, mirrored: Sequence[str] = ()) -> str:
    """The file's text.

    ``mirrored`` are the providers (``HOST/NAMESPACE/TYPE``) that the mirrors have. The registries are not asked for
    these: terraform asks every method that is not excluded, and fails when one of them cannot be reached, so that
    without this a machine with a full mirror and no network could not ``init``.
    """
    lines = ["disable_checkpoint = true", "", "provider_installation {"]
    for mirror in source.mirrors:
        lines += ["  filesystem_mirror {", f"    path = {_quoted(str(mirror))}", "  }"]
    if source.direct:
        lines += ["  direct {"]
        if mirrored:
            lines += [f"    exclude = [{', '.join(_quoted(name) for name in mirrored)}]"]
        lines += ["  }"]
    return "\n".join([*lines, "}", ""])


def mirrored_providers(mirrors: Sequence[Path]) -> tuple[str, ...]:
    """``HOST/NAMESPACE/TYPE`` of every provider that lies in the mirrors, sorted."""
    names = set()
    for mirror in mirrors:
        for path in mirror.glob("*/*/*"):
            if path.is_dir():
                names.add(path.relative_to(mirror).as_posix())
    return tuple(sorted(names))


def write_cli_config(source: ProviderSource, folder: Path) -> Path:
    """Write the configuration into ``folder`` (mode 0600, in one step) and give its path.

    :class:`ConfigInvalid` where a mirror is no folder. Others may write the same file at the same time.
    """
    for mirror in source.mirrors:
        if not mirror.is_dir():
            raise ConfigInvalid(
                f"the provider mirror {mirror} is not a folder",
                hint="set tf_mirror to a folder with HOST/NAMESPACE/TYPE/… below it, or unset it",
            )
    mirrors = tuple(mirror.absolute() for mirror in source.mirrors)
    text = cli_config_text(ProviderSource(mirrors=mirrors, direct=source.direct), mirrored_providers(mirrors))
    path = folder / _FILE
    try:
        _replace(path, text)
    except OSError as error:
        raise Failure(
            f"{path} cannot be written: {error.strerror}", hint="choose another --state-dir, or allow writing there"
        ) from error
    return path


def _replace(path: Path, text: str) -> None:
    folder = path.parent
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if path.read_text(encoding="utf-8") == text:
            return
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{_FILE}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _quoted(text: str) -> str:
    """A string of the first HCL, in which the CLI configuration is still written.

    It knows no ``$${``: a dollar sign is written by its code, so that no ``${`` is left to be read as a template.
    """
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character == "$" or not character.isprintable():
        code = ord(character)
        return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
    return character
