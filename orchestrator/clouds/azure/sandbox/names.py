"""Checks that several of the network's resources share."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.clouds.rules import Problem, Values
from orchestrator.clouds.sdk_checks import Check, at

__all__ = ["IN_GROUP", "network_name"]

# What replaces nearly every resource in a group.
IN_GROUP = frozenset({"name", "resource_group_name", "location"})


def network_name(path: str, most: int) -> Check:
    """internal/services/network/validate: a letter or digit at the ends of the name and few signs between them."""

    def check(config: Values) -> Iterator[Problem]:
        for where, text in at(config, path):
            if len(text) > most:
                yield Problem(summary=f'"{path}" cannot exceed {most} characters: "{text}"', path=where)
            elif not re.fullmatch(r"[a-zA-Z0-9]|[a-zA-Z0-9][\w.-]*\w", text, re.ASCII):
                words = (
                    "must begin with a letter or number, end with a letter, number or underscore, and may contain only "
                    f'letters, numbers, underscores, periods, or hyphens: "{text}"'
                )
                yield Problem(summary=f'"{path}" {words}', path=where)

    return check
