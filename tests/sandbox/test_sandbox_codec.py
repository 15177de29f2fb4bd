"""Values on the wire and back."""

from __future__ import annotations

import json
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.clouds.rules import UNKNOWN
from orchestrator.sandbox.provider.codec import decode, encode, from_json

LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(max_size=8),
    "number": st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False),
    "bool": st.booleans(),
}


def _typed(depth: int) -> st.SearchStrategy[tuple[Any, Any]]:
    """A type, and a value of it."""
    leaf = st.sampled_from(sorted(LEAVES)).flatmap(lambda kind: st.tuples(st.just(kind), _some(LEAVES[kind])))
    if depth == 0:
        return leaf
    inner = _typed(depth - 1)
    fields = st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=3)
    return st.one_of(
        leaf,
        inner.map(lambda pair: (["list", pair[0]], [pair[1], pair[1]])),
        inner.map(lambda pair: (["map", pair[0]], {"key": pair[1]})),
        st.tuples(inner, inner).map(
            lambda pairs: (["tuple", [each[0] for each in pairs]], [each[1] for each in pairs])
        ),
        fields.map(
            lambda found: (
                ["object", {name: each[0] for name, each in found.items()}],
                {name: each[1] for name, each in found.items()},
            )
        ),
    )


def _some(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(values, st.none(), st.just(UNKNOWN))


@given(_typed(2))
def test_what_is_sent_comes_back(pair: tuple[Any, Any]) -> None:
    type_, value = pair
    assert decode(encode(value, type_), type_) == value


@given(_typed(2))
def test_encoding_is_stable(pair: tuple[Any, Any]) -> None:
    type_, value = pair
    once = encode(value, type_)
    assert encode(decode(once, type_), type_) == once


@pytest.mark.parametrize(
    ("sent", "value"),
    [(1, 1), (1.0, 1), (0.5, 0.5), ("0.1", 0.1), ("340282366920938463463374607431768211456", 2**128), ("3.0", 3)],
)
def test_numbers_come_in_every_form_that_terraform_uses(sent: Any, value: Any) -> None:
    found = decode(msgpack.packb(sent), "number")
    assert found == value
    assert type(found) is type(value)


def test_fractions_travel_as_text_so_that_no_float_shows_as_a_change() -> None:
    assert msgpack.unpackb(encode(0.1, "number")) == "0.1"


@pytest.mark.parametrize("code", [0, 12])
def test_every_extension_is_an_unknown_value(code: int) -> None:
    data = msgpack.packb({"a": msgpack.ExtType(code, b"\x80")})
    assert decode(data, ["object", {"a": "string"}]) == {"a": UNKNOWN}


def test_an_object_always_has_exactly_its_type_s_names() -> None:
    type_ = ["object", {"a": "string", "b": ["list", "number"]}]
    assert msgpack.unpackb(encode({"b": [1], "foreign": 2}, type_)) == {"a": None, "b": [1]}
    assert from_json(json.dumps({"b": [1.5], "foreign": 2}).encode(), type_) == {"a": None, "b": [1.5]}
