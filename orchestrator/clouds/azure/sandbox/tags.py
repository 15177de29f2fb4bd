"""Which deployment a resource belongs to, and what the provider asks of tags."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.clouds.rules import Problem, Values

__all__ = ["DEPLOYMENT", "check_tags", "deployment"]

# Set by terraform/modules/azure on everything that can carry a tag.
DEPLOYMENT = "gpuorch:deployment"

# What cannot carry tags is told by the group in its id, or by a role assignment's description.
_GROUP = re.compile(r"/resourceGroups/gpuorch-([a-z][a-z0-9]{7,31})(?:[/|]|$)")
_NAME = re.compile(r"gpuorch-([a-z][a-z0-9]{7,31})")


def deployment(values: Values) -> str:
    tags = values.get("tags") or {}
    if found := tags.get(DEPLOYMENT):
        return str(found)
    if described := _NAME.fullmatch(str(values.get("description") or "")):
        return described[1]
    group = _GROUP.search(str(values.get("id") or ""))
    return group[1] if group else ""


def check_tags(config: Values) -> Iterator[Problem]:
    """hashicorp/go-azure-helpers, resourcemanager/tags, ``Validate``."""
    tags = config.get("tags")
    if not isinstance(tags, dict):
        return
    if len(tags) > 50:
        yield Problem(summary="a maximum of 50 tags can be applied to each ARM resource", path=("tags",))
    for key, value in tags.items():
        if len(key) > 512:
            words = f'the maximum length for a tag key is 512 characters: "{key}" is {len(key)} characters'
            yield Problem(summary=words, path=("tags",))
        if isinstance(value, str) and len(value) > 256:
            words = (
                f'the maximum length for a tag value is 256 characters: the value for "{key}" is {len(value)} '
                "characters"
            )
            yield Problem(summary=words, path=("tags",))
