"""What a shape's name says: the kind of its GPUs, and whether OCI sells it as preemptible capacity.

Sources: docs.oracle.com/iaas/Content/Compute/References/computeshapes.htm (the shapes) and
docs.oracle.com/iaas/Content/Compute/Concepts/preemptible.htm, "Supported Shapes": no bare metal, and of the shapes with
GPUs the VM.GPU2 and VM.GPU3 series only.
"""

from __future__ import annotations

import re

__all__ = ["SHAPE", "has_amd_gpus", "has_gpus", "is_bare_metal", "is_flexible", "takes_preemptible"]

SHAPE = re.compile(r"(?:VM|BM)\.[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*")

_PREEMPTIBLE = re.compile(
    r"VM\.(?:Standard1\..+|Standard\.B1\..+|Standard2\..+|Standard3\.Flex|Standard\.E2\.(?!1\.Micro).+"
    r"|Standard\.E[345]\.Flex|Standard\.A1\.Flex|DenseIO[12]\..+|GPU[23]\..+|Optimized3\.Flex)"
)


def has_gpus(shape: str) -> bool:
    return ".GPU" in shape


def has_amd_gpus(shape: str) -> bool:
    """Whether its GPUs want ROCm: BM.GPU.MI300X.8, say."""
    return shape.startswith("BM.GPU.MI")


def is_bare_metal(shape: str) -> bool:
    return shape.startswith("BM.")


def is_flexible(shape: str) -> bool:
    """Whether a launch has to say how many OCPUs and how much memory. No shape with GPUs is."""
    return shape.endswith(".Flex")


def takes_preemptible(shape: str) -> bool:
    return _PREEMPTIBLE.fullmatch(shape) is not None
