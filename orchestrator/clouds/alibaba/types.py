"""What the names of instance types tell.

Source: "Instance families", help.aliyun.com/zh/ecs/user-guide/overview-of-instance-families, sections on GPUs.
"""

from __future__ import annotations

import re

__all__ = ["INSTANCE_TYPE", "family_of", "has_nvswitch", "is_share"]

INSTANCE_TYPE = re.compile(r"ecs\.([a-z0-9-]+)\.([a-z0-9-]+)")

# Parts of a GPU by NVIDIA's vGPU (vgn6i, vgn5i, sgn7i-vws …): another driver than for a whole one, with a licence.
_SHARES = re.compile(r"[vs]gn\d")
# Bare metal and virtual machines with eight GPUs that are joined by NVSwitches: A100 and newer with NVLink.
_NVSWITCH = re.compile(r"(?:ebmgn7(?:e|ex|vx|ix)?|gn7e?|ebmgn8[a-z]*|gn8[a-z]*|ebmgn9[a-z]*|gn9[a-z]*)$")


def family_of(instance_type: str) -> str:
    """``ecs.gn6v-c8g1.2xlarge`` → ``gn6v``."""
    match = INSTANCE_TYPE.fullmatch(instance_type)
    return match[1].partition("-")[0] if match else ""


def is_share(instance_type: str) -> bool:
    return bool(_SHARES.match(family_of(instance_type)))


def has_nvswitch(instance_type: str) -> bool:
    return bool(_NVSWITCH.match(family_of(instance_type)))
