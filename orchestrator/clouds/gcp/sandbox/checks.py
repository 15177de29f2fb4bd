"""Checks that the Google provider's own code makes on configurations, in its words (its package ``verify``)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.clouds.rules import Problem, Values
from orchestrator.clouds.sdk_checks import Check, at

__all__ = ["NAME", "at_least", "regexp"]

# verify.ValidateRFC1035Name(1, 63)
NAME = r"^(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)$"


def regexp(path: str, pattern: str) -> Check:
    """``verify.ValidateRegexp``."""

    def check(config: Values) -> Iterator[Problem]:
        for where, text in at(config, path):
            if not re.fullmatch(pattern, text):
                name = path.rpartition(".")[2]
                yield Problem(summary=f'"{name}" ("{text}") doesn\'t match regexp "{pattern}"', path=where)

    return check


def at_least(path: str, least: int) -> Check:
    """``validation.IntAtLeast``."""

    def check(config: Values) -> Iterator[Problem]:
        for where, value in at(config, path):
            if value < least:
                name = ".".join(map(str, where))
                yield Problem(summary=f"expected {name} to be at least ({least}), got {value}", path=where)

    return check
