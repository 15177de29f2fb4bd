"""Which deployment a resource belongs to."""

from __future__ import annotations

from orchestrator.clouds.rules import Values
from orchestrator.clouds.tencent.addresses import TAG, resource_name

__all__ = ["deployment"]

_NAME = resource_name("")


def deployment(values: Values) -> str:
    """By the tag that terraform/modules/tencent sets, or by the name of what carries none (a CAM policy)."""
    tags = values.get("tags")
    if tags:
        return str(tags.get(TAG) or "")
    name = values.get("name")
    return name.removeprefix(_NAME) if isinstance(name, str) and name.startswith(_NAME) else ""
