"""A provider's schema, read from the form of ``terraform providers schema -json``.

``type`` is Terraform's own notation for types: ``"string"``, ``["list", "string"]``, ``["object", {"name": …}]``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.clouds.rules import UNKNOWN
from orchestrator.errors import StoreDamaged

__all__ = ["Attribute", "Block", "Nested", "ProviderSchema", "Schema", "Type", "complete", "read_schema"]

Type = Any  # str, or a list of a kind and its parameter; Terraform defines it recursively

_OF_MODE = {"list": "list", "set": "set", "map": "map"}
_DYNAMIC = re.compile(r'"dynamic"(?!:)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """An argument or a computed value. ``nested`` is set for one that is written as an object with a schema."""

    name: str
    type: Type
    required: bool
    optional: bool
    computed: bool
    sensitive: bool
    deprecated: bool
    nested: Nested | None = None

    @property
    def configurable(self) -> bool:
        return self.required or self.optional


@dataclass(frozen=True, slots=True, kw_only=True)
class Nested:
    """A kind of block inside a block: ``mode`` is ``single``, ``group``, ``list``, ``set`` or ``map``."""

    name: str
    mode: str
    block: Block
    min_items: int
    max_items: int

    @property
    def type(self) -> Type:
        kind = _OF_MODE.get(self.mode)
        return self.block.type if kind is None else [kind, self.block.type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block's attributes and nested blocks by name; ``type`` is the object type that they amount to."""

    attributes: Mapping[str, Attribute]
    blocks: Mapping[str, Nested]
    deprecated: bool
    type: Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    version: int
    block: Block


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSchema:
    """``source`` is the provider's full name as the file has it."""

    source: str
    provider: Schema
    resources: Mapping[str, Schema]
    data: Mapping[str, Schema]


def read_schema(path: Path) -> ProviderSchema:
    """The one provider's schema in the file; :class:`~orchestrator.errors.StoreDamaged` where there is none."""
    try:
        (source, found), *others = json.loads(path.read_text(encoding="utf-8"))["provider_schemas"].items()
        if others:
            raise ValueError("more than one provider")
        return ProviderSchema(
            source=source,
            provider=_schema(found["provider"]),
            resources={name: _schema(item) for name, item in found.get("resource_schemas", {}).items()},
            data={name: _schema(item) for name, item in found.get("data_source_schemas", {}).items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreDamaged(
            f"{path} is not the schema of one provider: {error}",
            hint="write it again with scripts/extract_schema.py, or install gpuorch again",
        ) from error


def _schema(item: Mapping[str, Any]) -> Schema:
    return Schema(version=int(item.get("version", 0)), block=_block(item.get("block", {})))


def _block(item: Mapping[str, Any]) -> Block:
    attributes = {name: _attribute(name, value) for name, value in item.get("attributes", {}).items()}
    blocks = {name: _nested(name, value, value["block"]) for name, value in item.get("block_types", {}).items()}
    fields = {name: part.type for part_of in (attributes, blocks) for name, part in part_of.items()}
    return Block(
        attributes=attributes,
        blocks=blocks,
        deprecated=bool(item.get("deprecated", False)),
        type=["object", fields],
    )


def _nested(name: str, item: Mapping[str, Any], inside: Mapping[str, Any]) -> Nested:
    return Nested(
        name=name,
        mode=item["nesting_mode"],
        block=_block(inside),
        min_items=int(item.get("min_items", 0)),
        max_items=int(item.get("max_items", 0)),
    )


def _attribute(name: str, item: Mapping[str, Any]) -> Attribute:
    nested = _nested(name, item["nested_type"], item["nested_type"]) if "nested_type" in item else None
    type_ = item["type"] if nested is None else nested.type
    if _DYNAMIC.search(json.dumps(type_)):
        raise ValueError(f"attribute {name} has a dynamic type, which the sandbox cannot carry")
    return Attribute(
        name=name,
        type=type_,
        required=bool(item.get("required", False)),
        optional=bool(item.get("optional", False)),
        computed=bool(item.get("computed", False)),
        sensitive=bool(item.get("sensitive", False)),
        deprecated=bool(item.get("deprecated", False)),
        nested=nested,
    )


def complete(block: Block, values: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` with exactly the block's names: what is missing is null or no blocks, what is foreign is dropped."""
    whole: dict[str, Any] = {name: values.get(name) for name in block.attributes}
    for name, nested in block.blocks.items():
        whole[name] = _complete_nested(nested, values.get(name))
    return whole


def _complete_nested(nested: Nested, value: Any) -> Any:
    if value is UNKNOWN:
        return value
    if nested.mode in ("list", "set"):
        return [item if item is UNKNOWN else complete(nested.block, item) for item in value or ()]
    if nested.mode == "map":
        return {key: complete(nested.block, item) for key, item in (value or {}).items()}
    if value is None and nested.mode == "single":
        return None
    return complete(nested.block, value or {})
