"""Machine types: what stands in an offer's ``instance_type``, and what Compute Engine calls it.

``a2-highgpu-1g`` has its GPU built in. ``n1-standard-8+T4x1`` is a machine type and the accelerators attached to it, as
the price book writes it. Accelerators' names: cloud.google.com/compute/docs/gpus; which families have them built in:
cloud.google.com/compute/docs/accelerator-optimized-machines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["ATTACHED", "BUILT_IN", "MachineType", "machine_type", "offered_type"]

# As in terraform/modules/gcp/main.tf, which a test compares.
ATTACHED: Final = {
    "K80": "nvidia-tesla-k80",
    "P4": "nvidia-tesla-p4",
    "P100": "nvidia-tesla-p100",
    "T4": "nvidia-tesla-t4",
    "V100": "nvidia-tesla-v100",
    "V100-16GB": "nvidia-tesla-v100",
}

# Beginning of a machine type's name → its accelerator.
BUILT_IN: Final = {
    "a2-highgpu-": "nvidia-tesla-a100",
    "a2-megagpu-": "nvidia-tesla-a100",
    "a2-ultragpu-": "nvidia-a100-80gb",
    "a3-highgpu-": "nvidia-h100-80gb",
    "a3-edgegpu-": "nvidia-h100-80gb",
    "a3-megagpu-": "nvidia-h100-mega-80gb",
    "a3-ultragpu-": "nvidia-h200-141gb",
    "a4-highgpu-": "nvidia-b200",
    "a4x-highgpu-": "nvidia-gb200",
    "g2-standard-": "nvidia-l4",
    "g4-standard-": "nvidia-rtx-pro-6000",
}

_FORM = re.compile(r"([a-z][a-z0-9]*(?:-[a-z0-9]+)+)(?:\+([A-Za-z0-9-]+)x([1-9][0-9]*))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineType:
    """``accelerator`` is Compute Engine's name of what is attached, ``""`` where nothing is; ``count`` is then 0."""

    name: str
    accelerator: str = ""
    count: int = 0

    @property
    def built_in(self) -> str:
        """The accelerator that the machine type itself has, ``""`` for none."""
        return next((accelerator for start, accelerator in BUILT_IN.items() if self.name.startswith(start)), "")


def machine_type(instance_type: str) -> MachineType | None:
    """What an offer's ``instance_type`` means, ``None`` where it means nothing."""
    match = _FORM.fullmatch(instance_type)
    if match is None:
        return None
    name, accelerator, count = match.groups()
    if accelerator is None:
        return MachineType(name=name)
    return MachineType(name=name, accelerator=ATTACHED.get(accelerator, accelerator), count=int(count))


def offered_type(name: str, accelerator: str, count: int) -> str:
    """The way back: how the price book writes a machine with these accelerators attached."""
    if not count or MachineType(name=name).built_in:
        return name
    names = [ours for ours, theirs in ATTACHED.items() if theirs == accelerator]
    return f"{name}+{names[-1] if names else accelerator}x{count}"
