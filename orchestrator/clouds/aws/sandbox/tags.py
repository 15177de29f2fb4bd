"""Tags: which deployment a resource belongs to, and the merged tags that the provider plans."""

from __future__ import annotations

from orchestrator.clouds.rules import UNKNOWN, Values

__all__ = ["DEPLOYMENT", "deployment", "tags_all"]

# Set by terraform/modules/aws on everything that can carry a tag.
DEPLOYMENT = "gpuorch:deployment"


def deployment(values: Values) -> str:
    tags = values.get("tags_all") or values.get("tags") or {}
    return str(tags.get(DEPLOYMENT) or "")


def tags_all(config: Values, prior: Values | None, provider: Values) -> Values:
    """``tags_all``, which the provider plans for everything: its block's ``default_tags`` under the resource's own."""
    blocks = provider.get("default_tags") or []
    defaults = (blocks[0].get("tags") if blocks and isinstance(blocks[0], dict) else None) or {}
    own = config.get("tags")
    if own is UNKNOWN or defaults is UNKNOWN:
        return {"tags_all": UNKNOWN}
    return {"tags_all": {**defaults, **(own or {})}}
