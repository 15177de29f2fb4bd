"""Checks that the common provider SDK offers to every provider, with its words, for a cloud's sandbox rules.

Nearly every cloud's provider stands on terraform-plugin-sdk; its ``helper/schema`` and ``helper/validation`` refuse
these before the provider's own code runs. Each check takes a configuration and yields problems; what is unknown passes.
The words were seen in the answers of ``terraform validate`` with a genuine provider.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from orchestrator.clouds.rules import UNKNOWN, Problem, Values

__all__ = ["Check", "at", "between", "conflicting", "every", "exactly_one", "known", "matching", "one_of", "some_of"]

Check = Callable[[Values], Iterable[Problem]]
_Path = tuple[str | int, ...]


def every(*checks: Check) -> Check:
    """All problems of all checks."""
    return lambda config: [problem for check in checks for problem in check(config)]


def at(config: Values, path: str) -> Iterator[tuple[_Path, Any]]:
    """Every known value at a dotted path, with where it stands; inside lists and blocks too."""
    yield from _walk(config, path.split("."), ())


def known(value: Any) -> bool:
    return value is not None and value is not UNKNOWN and value != []


def one_of(path: str, *allowed: str) -> Check:
    """``validation.StringInSlice``."""

    def check(config: Values) -> Iterator[Problem]:
        listed = " ".join(f'"{each}"' for each in allowed)
        for where, value in at(config, path):
            if value not in allowed:
                yield Problem(summary=f"expected {_last(path)} to be one of [{listed}], got {value}", path=where)

    return check


def between(path: str, least: int, most: int) -> Check:
    """``validation.IntBetween``."""

    def check(config: Values) -> Iterator[Problem]:
        for where, value in at(config, path):
            if not least <= value <= most:
                name = ".".join(map(str, where))
                yield Problem(summary=f"expected {name} to be in the range ({least} - {most}), got {value}", path=where)

    return check


def matching(path: str, pattern: str, words: str) -> Check:
    """``validation.StringMatch``: ``words`` is the provider's own message."""

    def check(config: Values) -> Iterator[Problem]:
        for where, value in at(config, path):
            if not re.fullmatch(pattern, value):
                yield Problem(summary=f"invalid value for {_last(path)} ({words})", path=where)

    return check


def conflicting(*names: str) -> Check:
    """``ConflictsWith``, each with every other; top-level names."""

    def check(config: Values) -> Iterator[Problem]:
        given = [name for name in names if known(config.get(name))]
        for name in given if len(given) > 1 else []:
            other = next(each for each in given if each != name)
            yield Problem(
                summary="Conflicting configuration arguments",
                detail=f'"{name}": conflicts with {other}',
                path=(name,),
            )

    return check


def exactly_one(*names: str) -> Check:
    """``ExactlyOneOf``; top-level names."""

    def check(config: Values) -> Iterator[Problem]:
        listed = ",".join(sorted(names))
        given = [name for name in sorted(names) if known(config.get(name))]
        if len(given) > 1:
            words = f"only one of `{listed}` can be specified, but `{','.join(given)}` were specified."
        elif given or any(config.get(name) is UNKNOWN for name in names):
            return
        else:
            words = f"one of `{listed}` must be specified"
        for name in names:
            yield Problem(summary="Invalid combination of arguments", detail=f'"{name}": {words}', path=(name,))

    return check


def some_of(name: str, *others: str) -> Check:
    """``AtLeastOneOf`` of one argument; top-level names."""

    def check(config: Values) -> Iterator[Problem]:
        names = sorted((name, *others))
        if all(config.get(each) in (None, []) for each in names):
            words = f'"{name}": one of `{",".join(names)}` must be specified'
            yield Problem(summary="Missing required argument", detail=words, path=(name,))

    return check


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _walk(value: Any, names: list[str], where: _Path) -> Iterator[tuple[_Path, Any]]:
    if value is None or value is UNKNOWN:
        return
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _walk(item, names, (*where, number))
    elif not names:
        yield where, value
    elif isinstance(value, dict):
        yield from _walk(value.get(names[0]), names[1:], (*where, names[0]))
