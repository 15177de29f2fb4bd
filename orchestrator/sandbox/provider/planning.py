"""What a change will make of a resource: unknown values, provider defaults, and what replaces it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.clouds.rules import UNKNOWN, Problem, ResourceRules, Values
from orchestrator.sandbox.provider.schema import Block, Nested, Type, complete

__all__ = ["Planned", "fill", "plan", "same", "unconfigurable"]

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """The planned values, and the paths whose change replaces the resource."""

    values: dict[str, Any]
    replace: tuple[Path, ...] = ()


def plan(
    block: Block, rules: ResourceRules, prior: Values | None, proposed: Values, config: Values, provider: Values
) -> Planned:
    """Terraform's proposal (configuration over prior state), made complete as the provider would.

    A computed value without configuration is unknown in a new resource or block and stays as it is in an old one.
    """
    values = _mark(block, proposed, config, prior)
    for name in rules.kept_blocks:
        if prior is not None and not config.get(name):
            values[name] = prior.get(name)
    for path, default in rules.defaults.items():
        _put(values, config, path.split("."), default)
    values |= rules.plan(config, prior, provider)
    if prior is None:
        return Planned(values=values)
    changed = (_changed(prior, values, path) for path in sorted(rules.force_new))
    return Planned(values=values, replace=tuple(path for path in changed if path))


def same(one: Any, other: Any) -> bool:
    """Equality that takes lists as sets would be: Terraform sends a set in its own order."""
    return bool(one == other) or bool(_ordered(one) == _ordered(other))


def unconfigurable(block: Block, config: Values, at: Path = ()) -> Iterator[Problem]:
    """Values set for what only the provider decides; Terraform core leaves that to the provider.

    Words: terraform-plugin-sdk, helper/schema/schema.go, ``validate``.
    """
    for name, attribute in block.attributes.items():
        if not attribute.configurable and config.get(name) is not None:
            path = (*at, name)
            yield Problem(
                summary="Value for unconfigurable attribute",
                detail=f'Can\'t configure a value for "{".".join(map(str, path))}": its value will be decided '
                "automatically based on the result of applying this configuration.",
                path=path,
            )
    for name, nested in block.blocks.items():
        for key, item in _items(nested, config.get(name)):
            yield from unconfigurable(nested.block, item, (*at, name) if key is None else (*at, name, key))


def fill(block: Block, values: Values, filled: Values) -> dict[str, Any]:
    """The values after the apply: unknown ones from ``filled`` (path → value), else empty.

    A callable in ``filled`` is asked once per place.
    """
    return _fill(block, values, filled, "")


def _fill(block: Block, values: Values, filled: Values, prefix: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, attribute in block.attributes.items():
        value, given = values.get(name), filled.get(prefix + name)
        if value is UNKNOWN or (value is None and attribute.computed and given is not None):
            value = given() if callable(given) else given
            value = _empty(attribute.type) if value is None else value
        out[name] = value
    for name, nested in block.blocks.items():
        blocks = values.get(name)
        if blocks == [] and not prefix and name in filled:
            blocks = [complete(nested.block, each) for each in filled[name]]

        def filled_in(key: Any, item: Values, inner: Block = nested.block, inside: str = f"{prefix}{name}.") -> Any:
            return _fill(inner, item, filled, inside)

        out[name] = _each(nested, blocks, filled_in)
    return out


def _empty(type_: Type) -> Any:
    if isinstance(type_, str):
        return {"string": "", "number": 0, "bool": False}[type_]
    return {"list": [], "set": [], "map": {}}.get(type_[0])


def _mark(block: Block, proposed: Values, config: Values, prior: Values | None) -> dict[str, Any]:
    out = dict(proposed)
    if prior is None:
        for name, attribute in block.attributes.items():
            if attribute.computed and out.get(name) is None and config.get(name) is None:
                out[name] = UNKNOWN
    for name, nested in block.blocks.items():
        old = None if prior is None else prior.get(name)
        given = config.get(name)

        def marked(key: Any, item: Values, nested: Nested = nested, old: Any = old, given: Any = given) -> Any:
            return _mark(nested.block, item, _counterpart(nested, given, key, item) or {}, _old(nested, old, key, item))

        out[name] = _each(nested, out.get(name), marked)
    return out


def _old(nested: Nested, old: Any, key: Any, item: Values) -> Values | None:
    """The prior block that ``item`` continues: by place, in a set by being equal to it."""
    if nested.mode == "set":
        return next((each for each in old or () if same(each, item)), None)
    return _counterpart(nested, old, key, item)


def _counterpart(nested: Nested, blocks: Any, key: Any, item: Values) -> Values | None:
    if nested.mode == "set":
        # What the configuration says of this block is in the block itself; only its nulls matter here.
        return None
    found = dict(_items(nested, blocks))
    return found.get(key)


def _items(nested: Nested, value: Any) -> Iterator[tuple[Any, Values]]:
    if isinstance(value, list):
        pairs: list[tuple[Any, Any]] = list(enumerate(value))
    elif nested.mode == "map" and isinstance(value, dict):
        pairs = list(value.items())
    else:
        pairs = [(None, value)]
    yield from ((key, item) for key, item in pairs if isinstance(item, Mapping))


def _each(nested: Nested, value: Any, change: Callable[[Any, Values], Any]) -> Any:
    """``value`` with every block in it changed; unknown or absent blocks stay."""
    if isinstance(value, list):
        return [change(key, item) if isinstance(item, Mapping) else item for key, item in enumerate(value)]
    if nested.mode == "map" and isinstance(value, dict):
        return {key: change(key, item) for key, item in value.items()}
    return change(None, value) if isinstance(value, Mapping) else value


def _put(values: dict[str, Any], config: Any, path: list[str], default: Any) -> None:
    """Set ``default`` at ``path`` wherever neither the configuration nor an earlier apply decided."""
    name, *rest = path
    given = config.get(name) if isinstance(config, Mapping) else None
    if not rest:
        if given is None and values.get(name) in (None, UNKNOWN):
            values[name] = default
        return
    inner = values.get(name)
    blocks = inner if isinstance(inner, list) else [inner]
    givens = given if isinstance(given, list) else [given] * len(blocks)
    for block, said in zip(blocks, givens, strict=False):
        if isinstance(block, dict):
            _put(block, said, rest, default)


def _changed(prior: Values, values: Values, dotted: str) -> Path | None:
    """Where ``dotted`` differs, as precisely as Terraform can follow: by place in lists, else the whole argument."""
    names = dotted.split(".")
    if same(_at(prior, names), _at(values, names)):
        return None
    path: list[str | int] = [names[0]]
    old, new = prior.get(names[0]), values.get(names[0])
    for name in names[1:]:
        if not (isinstance(old, list) and isinstance(new, list) and len(old) == len(new) == 1):
            return (names[0],)
        path += [0, name]
        old, new = old[0].get(name), new[0].get(name)
    return tuple(path)


def _at(value: Any, names: list[str]) -> Any:
    if not names:
        return value
    if isinstance(value, list):
        return [_at(item, names) for item in value]
    return _at(value.get(names[0]), names[1:]) if isinstance(value, Mapping) else value


def _ordered(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _ordered(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted(
            (_ordered(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True, default=str)
        )
    return value
