"""A rendered root on disk: each file at once or not at all, and nothing of anybody else's touched."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from orchestrator.errors import StoreDamaged, UsageError
from orchestrator.model.launch import Stack

__all__ = ["MANIFEST", "write"]

# Which files are ours, so that a later render can take away what it no longer has. It holds no time and no host, and is
# meant to be committed with the rest.
MANIFEST = ".gpuorch-files.json"

_TERRAFORMS = (
    "terraform.tfstate*",
    ".terraform*",
    "*.tfplan",
    "*.tfplan.json",
    "plan.json",
    "errored.tfstate",
    "crash.log",
)


def write(stack: Stack, folder: Path, *, before: Stack | None = None) -> None:
    """Write the root into ``folder``, which is new, empty, or an earlier render of ours.

    Files of the earlier render that ``stack`` lacks are removed; Terraform's own (state, lock file, plans) stay.
    ``before`` is what this process itself wrote there last, if it did: then only what differs is written.
    Raises :class:`UsageError` when the folder holds other things or cannot be written, :class:`StoreDamaged` when its
    list of files cannot be read.
    """
    try:
        if before is not None and before.files.keys() == stack.files.keys():
            # In place: whoever takes up after a cut renders the whole root again, from the record.
            for path, text in stack.files.items():
                if before.files[path] != text:
                    (folder / path).write_bytes(text.encode())
            return
        folder.mkdir(parents=True, exist_ok=True)
        earlier = _earlier(folder)
        if earlier is None:
            _refuse_others(folder)
            earlier = frozenset()
        # First the list of both: whatever moment this is cut off at, the next call knows every file as ours.
        _put(folder, MANIFEST, _manifest(earlier | stack.files.keys()))
        for path, text in stack.files.items():
            _put(folder, path, text)
        for path in sorted(earlier - stack.files.keys(), reverse=True):
            _remove(folder, path)
        _put(folder, MANIFEST, _manifest(stack.files))
    except OSError as problem:
        raise UsageError(
            f"cannot write to {folder}: {problem.strerror or problem}", hint="choose a folder that you may write to"
        ) from problem


def _earlier(folder: Path) -> frozenset[str] | None:
    """The files of the last render, ``None`` where there was none."""
    try:
        text = (folder / MANIFEST).read_text()
    except FileNotFoundError:
        return None
    try:
        listed = json.loads(text)["files"]
        paths = frozenset(str(path) for path in listed)
    except (ValueError, KeyError, TypeError):
        raise StoreDamaged(
            f"{folder / MANIFEST} is no list of files", hint="remove the folder, or render into another"
        ) from None
    return frozenset(path for path in paths if _inside(path) and not _is_terraforms(path))


def _refuse_others(folder: Path) -> None:
    others = sorted(path.name for path in folder.iterdir() if not _is_terraforms(path.name))
    if others:
        shown = ", ".join(others[:3]) + (" …" if len(others) > 3 else "")
        raise UsageError(
            f"{folder} holds files that gpuorch did not write ({shown})", hint="choose an empty or a new folder"
        )


def _is_terraforms(path: str) -> bool:
    top = PurePosixPath(PurePosixPath(path).parts[0])
    return any(top.match(pattern) for pattern in _TERRAFORMS)


def _inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and ".." not in parts and not PurePosixPath(path).is_absolute()


def _manifest(paths: Iterable[str]) -> str:
    return json.dumps({"files": sorted(paths)}, indent=2) + "\n"


def _put(folder: Path, path: str, text: str) -> None:
    target = folder / path
    if not target.parent.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{target.parent} leads out of {folder}", hint="remove the link, or choose another folder")
    data = text.encode()
    if target.is_file() and not target.is_symlink() and target.read_bytes() == data:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.new")
    # Not synced to the disk: what a power cut takes is rendered again.
    beside.write_bytes(data)
    beside.replace(target)


def _remove(folder: Path, path: str) -> None:
    target = folder / path
    target.unlink(missing_ok=True)
    parent = target.parent
    while parent != folder and parent.is_relative_to(folder) and not any(parent.iterdir()):
        parent.rmdir()
        parent = parent.parent
