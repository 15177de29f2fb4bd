"""Terraform's values on the wire (MessagePack by type) and in the state (JSON), to plain data and back.

Numbers: Terraform counts in decimal with 512 bits. A float on the wire would come back as its binary neighbour and show
as a change in every plan, so fractions travel as text, as Terraform itself sends what a float cannot hold exactly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgpack

from orchestrator.clouds.rules import UNKNOWN
from orchestrator.sandbox.provider.schema import Type

__all__ = ["decode", "encode", "from_json"]

_INT64 = range(-(2**63), 2**63)
_UNKNOWN = msgpack.ExtType(0, b"\0")


def decode(data: bytes, type_: Type) -> Any:
    """A value of ``type_`` from MessagePack."""
    # Every extension is an unknown value: 0 without, 12 with refinements, which we may forget.
    raw = msgpack.unpackb(data, ext_hook=lambda code, body: UNKNOWN, strict_map_key=False)
    return _walk(raw, type_, _number_in)


def encode(value: Any, type_: Type) -> bytes:
    """MessagePack of a value of ``type_``."""
    packed: bytes = msgpack.packb(_walk(value, type_, _number_out))
    return packed


def from_json(text: bytes, type_: Type) -> Any:
    """A value of ``type_`` from the state's JSON; names that the type has not are dropped."""
    return _walk(json.loads(text), type_, _number_in)


def _walk(value: Any, type_: Type, number: Any) -> Any:
    if value is None:
        return None
    if value is UNKNOWN:
        return _UNKNOWN if number is _number_out else UNKNOWN
    if isinstance(type_, str):
        return number(value) if type_ == "number" else value
    kind, inner = type_
    if kind in ("list", "set"):
        return [_walk(item, inner, number) for item in value]
    if kind == "map":
        return {key: _walk(item, inner, number) for key, item in value.items()}
    if kind == "tuple":
        return [_walk(item, each, number) for item, each in zip(value, inner, strict=True)]
    return _object(value, inner, number)


def _object(value: Mapping[str, Any], fields: Mapping[str, Type], number: Any) -> dict[str, Any]:
    return {name: _walk(value.get(name), each, number) for name, each in sorted(fields.items())}


def _number_in(value: Any) -> int | float:
    """``int`` where it is whole, else ``float``."""
    if isinstance(value, str):
        exact = Decimal(value)
        return int(exact) if exact == exact.to_integral_value() else float(exact)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _number_out(value: float) -> int | str:
    if isinstance(value, float) and not value.is_integer():
        return repr(value)
    whole = int(value)
    return whole if whole in _INT64 else str(whole)
