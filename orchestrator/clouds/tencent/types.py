"""Tencent Cloud's documented GPU machine types, and which of them are shares of a GPU.

Source: the list of computing instances of the GPU documentation, www.tencentcloud.com/document/product/560/19700
(in the documentation's own repository, tencentyun/qcloud-documents, of 2022).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["FAMILIES", "NVSWITCH_FAMILIES", "family_of", "is_share"]

FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "GI3X": ("GI3X.8XLARGE64", "GI3X.22XLARGE226", "GI3X.45XLARGE452"),
    "GN6": ("GN6.7XLARGE48", "GN6.14XLARGE96"),
    "GN6S": ("GN6S.LARGE20", "GN6S.2XLARGE40"),
    "GN7": (
        "GN7.LARGE20",
        "GN7.2XLARGE40",
        "GN7.2XLARGE32",
        "GN7.5XLARGE80",
        "GN7.8XLARGE128",
        "GN7.10XLARGE160",
        "GN7.20XLARGE320",
    ),
    "GN8": ("GN8.LARGE56", "GN8.3XLARGE112", "GN8.7XLARGE224", "GN8.14XLARGE448"),
    "GN10X": ("GN10X.2XLARGE40", "GN10X.4XLARGE80", "GN10X.9XLARGE160", "GN10X.18XLARGE320"),
    "GN10Xp": ("GN10Xp.2XLARGE40", "GN10Xp.5XLARGE80", "GN10Xp.10XLARGE160", "GN10Xp.20XLARGE320"),
    "GT4": ("GT4.4XLARGE96", "GT4.8XLARGE192", "GT4.20XLARGE474", "GT4.41XLARGE948"),
    "PNV4": ("PNV4.7XLARGE116", "PNV4.14XLARGE232", "PNV4.28XLARGE466", "PNV4.56XLARGE932"),
}

# A quarter and a half of a T4, as NVIDIA's vGPU: another driver than for a whole one.
_SHARES: Final = frozenset({"GN7.LARGE20", "GN7.2XLARGE40"})

# A100 with 600 GB/s between all of them: the fabric manager has to run before CUDA sees a GPU.
NVSWITCH_FAMILIES: Final = frozenset({"GT4"})


def family_of(instance_type: str) -> str:
    """``GN7`` of ``GN7.5XLARGE80``."""
    return instance_type.partition(".")[0]


def is_share(instance_type: str) -> bool:
    """Whether the type is a share of a GPU, as far as it is documented."""
    return instance_type in _SHARES
