"""Schemas, paths and problems as protocol messages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tf.gen import tfplugin_pb2 as pb

from orchestrator.clouds.rules import Problem
from orchestrator.sandbox.provider.schema import Attribute, Block, Nested, Schema

__all__ = ["attribute_path", "diagnostics", "schema_message"]


def schema_message(schema: Schema) -> Any:
    return pb.Schema(version=schema.version, block=_block(schema.block))


def attribute_path(path: Iterable[str | int]) -> Any:
    step = pb.AttributePath.Step
    steps = [step(element_key_int=each) if isinstance(each, int) else step(attribute_name=each) for each in path]
    return pb.AttributePath(steps=steps)


def diagnostics(problems: Iterable[Problem]) -> list[Any]:
    return [
        pb.Diagnostic(
            severity=pb.Diagnostic.ERROR,
            summary=problem.summary,
            detail=problem.detail,
            attribute=attribute_path(problem.path) if problem.path else None,
        )
        for problem in problems
    ]


def _block(block: Block) -> Any:
    return pb.Schema.Block(
        attributes=[_attribute(each) for each in block.attributes.values()],
        block_types=[_nested(each) for each in block.blocks.values()],
        deprecated=block.deprecated,
    )


def _nested(nested: Nested) -> Any:
    return pb.Schema.NestedBlock(
        type_name=nested.name,
        nesting=pb.Schema.NestedBlock.NestingMode.Value(nested.mode.upper()),
        min_items=nested.min_items,
        max_items=nested.max_items,
        block=_block(nested.block),
    )


def _attribute(attribute: Attribute) -> Any:
    message = pb.Schema.Attribute(
        name=attribute.name,
        required=attribute.required,
        optional=attribute.optional,
        computed=attribute.computed,
        sensitive=attribute.sensitive,
        deprecated=attribute.deprecated,
    )
    if attribute.nested is None:
        message.type = json.dumps(attribute.type).encode()
    else:
        message.nested_type.CopyFrom(
            pb.Schema.Object(
                attributes=[_attribute(each) for each in attribute.nested.block.attributes.values()],
                nesting=pb.Schema.Object.NestingMode.Value(attribute.nested.mode.upper()),
            )
        )
    return message
