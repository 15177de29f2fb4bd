"""Reading the names of accelerators as people, price books and drivers spell them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

__all__ = ["Spelling", "TpuSlice", "squash", "tpu_slice"]

_NOISE = frozenset(
    (
        *("nvidia", "tesla", "geforce", "quadro", "amd", "instinct", "radeon", "google", "cloud"),
        *("gpu", "tensor", "core", "generation", "edition", "accelerator"),
    )
)
_FORMS = {
    "sxm": "SXM",
    "sxm2": "SXM",
    "sxm3": "SXM",
    "sxm4": "SXM",
    "sxm5": "SXM",
    "sxm6": "SXM",
    "pcie": "PCIe",
    "nvl": "NVL",
    "oam": "OAM",
    # The driver names the SXM module by its memory ("H100 80GB HBM3"), the cards by their form.
    "hbm3": "SXM",
    "hbm2": "",
    "hbm2e": "",
    "hbm3e": "",
    "gddr6": "",
}
_MEMORY = re.compile(r"([0-9]{1,4})(?:gb|gib|g)")
_TPU = re.compile(r"(?:tpu-?)?(v2|v3|v4|v5p|v5e|v5litepod|v6e)(?:-([0-9]{1,5}))?")
_ONE_CORE_CHIPS = frozenset({"v5e", "v6e"})


def squash(name: str) -> str:
    """``name`` without case, makers' names and punctuation, to compare spellings: ``Tesla T4`` → ``t4``."""
    return "".join(_words(name))


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word and word not in _NOISE]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """The parts of a name: ``NVIDIA A100-SXM4-80GB`` is ``a100``, form ``SXM``, 80 GB."""

    key: str
    form: str = ""
    memory_gib: Decimal | None = None

    @classmethod
    def of(cls, name: str) -> Spelling:
        key, form, memory = "", "", None
        for word in _words(name):
            size = _MEMORY.fullmatch(word)
            if size:
                memory = Decimal(size.group(1))
            elif word in _FORMS:
                form = _FORMS[word] or form
            else:
                key += word
        return cls(key=key, form=form, memory_gib=memory)


@dataclass(frozen=True, slots=True, kw_only=True)
class TpuSlice:
    """A TPU type: ``tpu-v3-8`` is 4 chips of ``TPU-v3``. ``chips`` is 1 where the name states no size."""

    name: str
    chips: int


def tpu_slice(name: str) -> TpuSlice | None:
    """Read a TPU type, ``None`` for any other name.

    The number in a type counts TensorCores, two to a chip, up to v5p; it counts chips for v5e and v6e.
    """
    match = _TPU.fullmatch(name.strip().lower())
    if match is None:
        return None
    generation = match.group(1).replace("v5litepod", "v5e")
    if match.group(2) is None:
        return TpuSlice(name=f"TPU-{generation}", chips=1)
    size = int(match.group(2))
    per_chip = 1 if generation in _ONE_CORE_CHIPS else 2
    if size < per_chip or size % per_chip:
        return None
    return TpuSlice(name=f"TPU-{generation}", chips=size // per_chip)
