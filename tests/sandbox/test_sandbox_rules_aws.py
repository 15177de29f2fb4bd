"""What the genuine AWS provider's own code refuses is refused, in its words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.aws.sandbox.places import zone_id, zone_name, zone_names
from orchestrator.clouds.aws.sandbox.rules import RULES
from orchestrator.clouds.rules import UNKNOWN
from orchestrator.sandbox.provider.schema import complete, read_schema
from tests.sandbox.build_sandbox import AWS, a_provider
from tests.sandbox.build_sandbox_aws import INSTANCE, MARKET, WRONG


@pytest.mark.parametrize(
    ("type_", "config", "words"), WRONG, ids=[f"{type_}-{words[:40]}" for type_, _, words in WRONG]
)
def test_refused_before_the_plan(tmp_path: Path, type_: str, config: dict[str, Any], words: str) -> None:
    provider = a_provider(tmp_path)
    whole = complete(provider.schema.resources[type_].block, config)
    problems = provider.validate(type_, whole)
    assert any(words in f"{problem.summary}\n{problem.detail}" for problem in problems), problems


@pytest.mark.parametrize(("type_", "config"), [(type_, config) for type_, config, _ in WRONG if len(config) > 1])
def test_what_is_not_known_yet_passes(tmp_path: Path, type_: str, config: dict[str, Any]) -> None:
    provider = a_provider(tmp_path)
    unknown = {name: UNKNOWN for name in config if name != "arn"}
    assert not provider.validate(type_, complete(provider.schema.resources[type_].block, unknown))


def test_the_right_configuration_passes(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    right: dict[str, dict[str, Any]] = {
        "aws_vpc": {"cidr_block": "10.0.0.0/16"},
        "aws_instance": {**INSTANCE, MARKET: [{"market_type": "spot", "spot_options": [{"max_price": "1"}]}]},
        "aws_security_group": {
            "egress": [{"protocol": "-1", "cidr_blocks": ["0.0.0.0/0"], "ipv6_cidr_blocks": ["::/0"]}]
        },
    }
    for type_, config in right.items():
        assert not provider.validate(type_, complete(provider.schema.resources[type_].block, config))


@pytest.mark.parametrize(
    ("region", "name", "id_"),
    [
        ("us-east-1", "us-east-1a", "use1-az1"),
        ("ap-northeast-1", "ap-northeast-1c", "apne1-az3"),
        ("us-gov-west-1", "us-gov-west-1b", "usgw1-az2"),
        ("eu-central-1", "eu-central-1f", "euc1-az6"),
    ],
)
def test_zones_have_a_name_and_an_id(region: str, name: str, id_: str) -> None:
    assert zone_id(name) == id_
    assert zone_name(region, name) == zone_name(region, id_) == name
    assert zone_name(region, "elsewhere-1a") == zone_name(region, f"{region}z") == ""
    assert zone_name("us-west-2", "us-west-2-lax-1a") == "us-west-2-lax-1a"
    assert len(set(zone_names(region))) == 6


def test_every_resource_of_the_schema_has_rules_and_every_rule_a_resource() -> None:
    assert AWS.sandbox is not None
    schema = read_schema(AWS.sandbox.schema)
    assert schema.resources.keys() == RULES.resources.keys()
    assert schema.data.keys() == RULES.data.keys()
    for type_, rules in RULES.resources.items():
        for path in {*rules.force_new, *rules.defaults, *rules.kept_blocks}:
            block = schema.resources[type_].block
            *blocks, last = path.split(".")
            for name in blocks:
                block = block.blocks[name].block
            assert last in block.attributes or last in block.blocks, f"{type_}.{path}"
