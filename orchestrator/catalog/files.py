"""Price files on disk, plain or packed, as lines of text; whatever is wrong with them as one sentence."""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, cast

from orchestrator.catalog.formats import EXPECTED
from orchestrator.errors import ConfigInvalid, UsageError

__all__ = ["Lines", "Truncated", "open_parts"]

MAX_LINE = 100_000
MAX_LINES = 5_000_000
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError)


class Truncated(ConfigInvalid):
    """The file ends before its end, or its packing is damaged; what was read before is as it should be."""


class Lines:
    """The lines of one file, each with its line end.

    ``cut``: the last line given out had none. ``packed``: the file was packed, so its end was checked. Iterating raises
    :class:`Truncated`, or ``ConfigInvalid`` for what is not text.
    """

    def __init__(self, name: str, stream: IO[bytes], *, packed: bool) -> None:
        self.name = name
        self.packed = packed
        self.cut = False
        self._bytes = stream

    def __iter__(self) -> Iterator[str]:
        with self._damage():
            self._check_start()
            text = io.TextIOWrapper(self._bytes, encoding="utf-8-sig", newline="")
            for number in range(1, MAX_LINES + 2):
                line = text.readline(MAX_LINE)
                if not line:
                    return
                if len(line) >= MAX_LINE or number > MAX_LINES:
                    what = "lines" if number > MAX_LINES else f"characters in line {number}"
                    limit = MAX_LINES if number > MAX_LINES else MAX_LINE
                    raise ConfigInvalid(f"{self.name} has more than {limit:,} {what}", hint=EXPECTED)
                self.cut = not line.endswith(("\n", "\r"))
                yield line

    def _check_start(self) -> None:
        start: bytes = self._bytes.peek(4096)[:4096]  # type: ignore[attr-defined]
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise ConfigInvalid(f"{self.name} is UTF-16 text", hint="save it as UTF-8")
        if b"\0" in start:
            raise ConfigInvalid(f"{self.name} is not a text file", hint=EXPECTED)

    @contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError as error:
            raise ConfigInvalid(
                f"{self.name} is not UTF-8 text: it holds the byte {error.object[error.start]:#04x}",
                hint="save it as UTF-8",
            ) from error
        except _DAMAGE as error:
            raise Truncated(
                f"{self.name} is damaged or cut off: {error or type(error).__name__}",
                hint="get the file again; --force takes the lines before the damage",
            ) from error


@contextmanager
def open_parts(path: Path) -> Iterator[Iterator[Lines]]:
    """The CSV files in ``path``: one, or every one of a zip archive. Told by content, not by the name's ending.

    Raises ``UsageError`` where there is no such file, ``ConfigInvalid`` where it cannot be a price file.
    """
    _check_is_file(path)
    name = _printable(str(path))
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(path.open("rb"))
            start = stream.peek(8)[:8]
        except OSError as error:
            raise ConfigInvalid(f"{name} cannot be read: {error.strerror or error}") from error
        if start.startswith(b"PK"):
            yield _members(stream, name)
        elif start.startswith(b"\x1f\x8b"):
            yield iter([Lines(name, cast("IO[bytes]", gzip.GzipFile(fileobj=stream)), packed=True)])
        elif start.startswith(b"\xfd7zXZ\0"):
            yield iter([Lines(name, stack.enter_context(lzma.LZMAFile(stream)), packed=True)])
        else:
            yield iter([Lines(name, stream, packed=False)])


def _check_is_file(path: Path) -> None:
    try:
        found, regular = path.exists(), path.is_file()
    except (OSError, ValueError) as error:
        raise UsageError(f"there is no file {_printable(str(path))}: {error}") from error
    if not found:
        raise UsageError(f"there is no file {_printable(str(path))}")
    if not regular:
        raise ConfigInvalid(f"{_printable(str(path))} is not a file", hint=EXPECTED)


def _members(stream: IO[bytes], name: str) -> Iterator[Lines]:
    try:
        archive = zipfile.ZipFile(stream)
    except (*_DAMAGE, ValueError, struct.error) as error:
        raise Truncated(f"{name} is a damaged archive: {error}", hint="get the file again") from error
    members = [
        one
        for one in archive.infolist()
        if one.filename.lower().endswith(".csv") and not one.filename.startswith("__MACOSX")
    ]
    if not members:
        raise ConfigInvalid(f"{name} holds no .csv file", hint=EXPECTED)
    for one in members:
        label = f"{name}:{_printable(one.filename)}"
        try:
            member = archive.open(one)
        except (*_DAMAGE, ValueError, struct.error) as error:
            raise Truncated(f"{label} cannot be unpacked: {error}", hint="get the file again") from error
        with member:
            yield Lines(label, member, packed=True)


def _printable(name: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in name)[:200]
