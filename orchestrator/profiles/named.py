"""From words to a need: named profiles (``a100x8``) and GPU expressions (``A100-80GB:8``).

A profile is ``<accelerator>x<count>``, counts 1 to 16. An expression is ``NAME[|NAME…][:COUNT[:MEMORY]]``: COUNT is 1
where it is left out and may be a fraction (``T4:0.25``); MEMORY is the least nominal memory of one device
(``A100:8:80GB``); without a NAME any GPU with that memory serves (``:1:24GB``). A family's name accepts its members,
a full name that one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from orchestrator.errors import UsageError
from orchestrator.model.demand import GpuNeed
from orchestrator.profiles.accelerators import Accelerator, accelerator, accelerators, family_names, members
from orchestrator.profiles.spelling import tpu_slice

__all__ = ["MAX_COUNT", "Profile", "parse_gpu", "parse_profile", "profiles"]

MAX_COUNT = 16

_COUNTS = (1, 2, 4, 8, 16)
_WORDS = (
    *("t4", "v100", "v100-16", "v100-32", "a10", "a10g", "l4", "l40s", "a100", "a100-40", "a100-80"),
    *("h100", "h100-sxm", "h100-pcie", "h100-nvl", "h200", "b200", "mi250", "mi300", "tpu-v3"),
)
_SMALLEST_SLICE = {"tpu-v3": 4}

_PROFILE = re.compile(r"(?P<word>.+)x(?P<count>[0-9]+)")
_COUNT = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")
_MEMORY = re.compile(r"(?P<size>[0-9]{1,5}(\.[0-9]{1,3})?)Gi?B", re.IGNORECASE)
_SYNTAX = "write NAME:COUNT or NAME:COUNT:MEMORY, such as A100-80GB:8, T4:0.25, 'L4|A10G:1', A100:8:80GB or :1:24GB"
_LIST = "`gpuorch profiles` lists the profiles; --gpu NAME:COUNT takes any accelerator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A named profile: ``label`` is what the user writes, ``accelerators`` the canonical names that serve."""

    label: str
    accelerators: tuple[str, ...]
    count: int
    description: str


@cache
def profiles() -> tuple[Profile, ...]:
    """The listed profiles, by accelerator and count. Any other ``<accelerator>x<count>`` works as well."""
    listed = []
    for word in _WORDS:
        if word in _SMALLEST_SLICE:
            listed.append(_profile(word, word, _SMALLEST_SLICE[word]))
        listed.extend(_profile(f"{word}x{count}", word, count) for count in _COUNTS)
    return tuple(listed)


def _profile(label: str, word: str, count: int) -> Profile:
    known = _known(word)
    family = known[0].family if len(known) > 1 else known[0].name
    sizes = [f"{size.normalize():f}" for size in sorted({one.memory_gib for one in known})]
    unit = "chips" if not known[0].is_gpu and count > 1 else ""
    description = " ".join(part for part in (str(count), "×", family, unit) if part)
    description += f", {' or '.join(sizes)} GB" + (" each" if count > 1 else "")
    devices = known[0].devices_per_card
    if devices > 1:
        description += f", seen as {count * devices} devices"
    return Profile(label=label, accelerators=members(word), count=count, description=description)


def parse_profile(text: str) -> GpuNeed:
    """What a profile's name asks for: any accelerator of the table, any count from 1 to 16, in any case.

    The last ``x`` before the digits parts the two, so ``mi300x8`` is eight MI300X, as is ``mi300xx8``. A TPU type is a
    profile too: ``tpu-v3-8`` is ``tpu-v3x4``, four chips of two cores, and ``tpu-v3`` the same, the smallest there is.
    Raises :class:`UsageError` with the nearest names for anything else.
    """
    name = text.strip().lower()
    if name in _SMALLEST_SLICE:
        return GpuNeed(label=name, accelerators=members(name), count=Decimal(_SMALLEST_SLICE[name]))
    piece = tpu_slice(name)
    if piece and piece.chips > 1 and members(piece.name):
        name = f"{piece.name}x{piece.chips}".lower()
    match = _PROFILE.fullmatch(name)
    accepted = members(match["word"]) if match else ()
    if match is None or not accepted:
        raise UsageError(f"no profile is called {text!r}", hint=_nearest_profiles(name))
    digits = match["count"]
    if len(digits) > 3 or digits.startswith("0") or int(digits) > MAX_COUNT:
        raise UsageError(
            f"profile {text!r} asks for {digits} accelerators in one machine; it can be 1 to {MAX_COUNT}",
            hint=f"write {match['word']}x8, for example",
        )
    return GpuNeed(label=name, accelerators=accepted, count=Decimal(digits))


def _nearest_profiles(name: str) -> str:
    if members(name):
        return f"how many? Write {name}x1 or {name}x8, for example"
    near = _close(name, [profile.label for profile in profiles()])
    return f"did you mean {_either(near)}? {_LIST}" if near else _LIST


def parse_gpu(text: str) -> GpuNeed:
    """What a GPU expression asks for. Raises :class:`UsageError` that names the wrong word and how to write it.

    The label is the expression with ``/`` for ``|``, which every cloud takes in a tag.
    """
    parts = [part.strip() for part in text.split(":")]
    if not any(parts) or len(parts) > 3:
        raise UsageError(f"{text!r} is no GPU expression", hint=_SYNTAX)
    names, count_text, memory_text = (*parts, "", "")[:3]
    count = _count(count_text, text) if len(parts) > 1 else Decimal(1)
    least = _memory(memory_text, text) if len(parts) > 2 else None
    if not names and least is None:
        raise UsageError(f"{text!r} names no accelerator and no memory", hint=_SYNTAX)
    words = [word.strip() for word in names.split("|")] if names else []
    known = (
        [one for word in words for one in _known(word, text)]
        if words
        else [one for one in accelerators() if one.is_gpu]
    )
    accepted = tuple(dict.fromkeys(one.name for one in known if least is None or one.device_memory_gib >= least))
    if not accepted:
        most = max(one.device_memory_gib for one in known)
        raise UsageError(
            f"no {names or 'GPU'} has {memory_text} or more: the most is {most.normalize():f}GB a device",
            hint=f"ask for less memory in {text!r}, or name other accelerators",
        )
    label = f"{'/'.join(words)}:{count.normalize():f}" + (f":{memory_text}" if least is not None else "")
    return GpuNeed(label=label, accelerators=accepted, count=count, min_memory_gib=least)


def _count(word: str, text: str) -> Decimal:
    if not _COUNT.fullmatch(word) or not 0 < Decimal(word) <= MAX_COUNT:
        raise UsageError(f"the count {word!r} in {text!r} is not a number above 0 and up to {MAX_COUNT}", hint=_SYNTAX)
    count = Decimal(word)
    if count > 1 and count != count.to_integral_value():
        raise UsageError(f"the count {word!r} in {text!r} is neither whole nor below 1", hint=_SYNTAX)
    return count


def _memory(word: str, text: str) -> Decimal:
    match = _MEMORY.fullmatch(word)
    if match is None or not Decimal(match["size"]):
        raise UsageError(f"the memory {word!r} in {text!r} is not a size such as 24GB", hint=_SYNTAX)
    return Decimal(match["size"])


def _known(word: str, text: str = "") -> list[Accelerator]:
    """The accelerators that a word accepts; :class:`UsageError` with near names where it is none."""
    found = [one for name in members(word) if (one := accelerator(name))]
    if found:
        return found
    names = dict.fromkeys((*family_names(), *(one.name for one in accelerators())))
    by_key = {name.lower(): name for name in names}
    near = [by_key[key] for key in _close(word.lower(), by_key)]
    if (piece := tpu_slice(word)) and members(piece.name):
        near = [f"{piece.name}:{piece.chips}"]
    raise UsageError(
        f"no accelerator is called {word!r}" + (f" (in {text!r})" if text != word else ""),
        hint=f"did you mean {_either(near)}?" if near else f"the usual ones: {', '.join(_WORDS)}",
    )


def _close(word: str, names: Iterable[str]) -> list[str]:
    import difflib  # only a mistake needs it

    return difflib.get_close_matches(word, list(names), n=3, cutoff=0.6)


def _either(names: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
