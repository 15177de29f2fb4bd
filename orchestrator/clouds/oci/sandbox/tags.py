"""Free-form tags: which deployment a resource belongs to."""

from __future__ import annotations

from orchestrator.clouds.rules import Values

__all__ = ["DEPLOYMENT", "deployment"]

# Set by terraform/modules/oci on everything that can carry a tag.
DEPLOYMENT = "gpuorch-deployment"


def deployment(values: Values) -> str:
    tags = values.get("freeform_tags") or {}
    return str(tags.get(DEPLOYMENT) or "")
