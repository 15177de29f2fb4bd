"""Which deployment a resource belongs to, told by its tags."""

from __future__ import annotations

from orchestrator.clouds.rules import Values

__all__ = ["DEPLOYMENT", "deployment"]

# Set by terraform/modules/alibaba on everything that can carry a tag.
DEPLOYMENT = "gpuorch:deployment"


def deployment(values: Values) -> str:
    return str((values.get("tags") or {}).get(DEPLOYMENT) or "")
