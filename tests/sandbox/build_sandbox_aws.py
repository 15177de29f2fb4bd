"""Wrong configurations with the genuine provider's words, and changes whose effect it is the judge of."""

from __future__ import annotations

from typing import Any

from orchestrator.sandbox.provider.schema import read_schema
from tests.sandbox.build_sandbox import AWS, KEY, TAGS

MARKET = "instance_market_options"
INSTANCE = {"ami": "ami-01234567", "instance_type": "t"}

# type, configuration, words of the error that must be among those of both providers
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("aws_vpc", {"cidr_block": "10.0.0.0/33"}, "invalid CIDR address: 10.0.0.0/33"),
    ("aws_vpc", {"cidr_block": "10.0.0.1/24"}, "expected 10.0.0.0/24, got 10.0.0.1/24"),
    ("aws_vpc", {"cidr_block": "10.0.0.0/8"}, "between 16 and 28 significant bits, got: 8"),
    ("aws_subnet", {"vpc_id": "v", "cidr_block": "nonsense"}, '"nonsense" is not a valid CIDR block'),
    (
        "aws_subnet",
        {"vpc_id": "v", "availability_zone": "us-east-1a", "availability_zone_id": "use1-az1"},
        "Conflicting configuration arguments",
    ),
    ("aws_instance", {}, "Missing required argument"),
    ("aws_instance", {**INSTANCE, "user_data": "a", "user_data_base64": "YQ=="}, "Conflicting configuration arguments"),
    ("aws_instance", {**INSTANCE, "arn": "x"}, "Value for unconfigurable attribute"),
    (
        "aws_instance",
        {**INSTANCE, "tenancy": "x"},
        'expected tenancy to be one of ["default" "dedicated" "host"], got x',
    ),
    ("aws_instance", {**INSTANCE, "private_ip": "999.1.1.1"}, "expected private_ip to contain a valid IPv4 address"),
    (
        "aws_instance",
        {**INSTANCE, MARKET: [{"market_type": "cheap"}]},
        'expected market_type to be one of ["spot" "capacity-block"], got cheap',
    ),
    (
        "aws_instance",
        {**INSTANCE, MARKET: [{"spot_options": [{"spot_instance_type": "forever"}]}]},
        'expected spot_instance_type to be one of ["one-time" "persistent"], got forever',
    ),
    (
        "aws_instance",
        {**INSTANCE, MARKET: [{"spot_options": [{"valid_until": "tomorrow"}]}]},
        "must be in RFC3339 time format",
    ),
    (
        "aws_instance",
        {**INSTANCE, "metadata_options": [{"http_tokens": "maybe"}]},
        'expected http_tokens to be one of ["optional" "required"], got maybe',
    ),
    (
        "aws_instance",
        {**INSTANCE, "metadata_options": [{"http_put_response_hop_limit": 65}]},
        "expected metadata_options.0.http_put_response_hop_limit to be in the range (1 - 64), got 65",
    ),
    (
        "aws_instance",
        {**INSTANCE, "root_block_device": [{"volume_type": "gp9"}]},
        'expected volume_type to be one of ["standard" "io1" "io2" "gp2" "sc1" "st1" "gp3"], got gp9',
    ),
    ("aws_security_group", {"name": "a", "name_prefix": "b"}, "Conflicting configuration arguments"),
    ("aws_security_group", {"name": "sg-a"}, "invalid value for name (cannot begin with sg-)"),
    (
        "aws_security_group",
        {"ingress": [{"from_port": 1, "to_port": 1, "protocol": "tcp", "ipv6_cidr_blocks": ["::1/0"]}]},
        'is not a valid IPv6 CIDR block; did you mean "::/0"?',
    ),
    ("aws_route_table_association", {"route_table_id": "x"}, "one of `gateway_id,subnet_id` must be specified"),
    (
        "aws_route_table_association",
        {"route_table_id": "x", "subnet_id": "a", "gateway_id": "b"},
        "only one of `gateway_id,subnet_id` can be specified",
    ),
    ("aws_route_table", {"vpc_id": "x", "route": [{"cidr_block": "10.0.0.0/99"}]}, "is not a valid CIDR block"),
    ("aws_iam_role", {"name": "a b", "assume_role_policy": "{}"}, r"invalid value for name (must match [\w+=,.@-])"),
    ("aws_iam_role", {"assume_role_policy": "{"}, '"assume_role_policy" contains an invalid JSON policy'),
    (
        "aws_iam_role",
        {"assume_role_policy": "{}", "max_session_duration": 1},
        "expected max_session_duration to be in the range (3600 - 43200), got 1",
    ),
    ("aws_iam_role_policy", {"role": "r", "policy": "nojson"}, "contains an invalid JSON policy: not a JSON object"),
    (
        "aws_iam_role_policy_attachment",
        {"role": "r", "policy_arn": "notarn"},
        '"policy_arn" (notarn) is an invalid ARN: arn: invalid prefix',
    ),
    ("aws_iam_instance_profile", {"name": "a b"}, r"invalid value for name (must match [\w+=,.@-])"),
    (
        "aws_key_pair",
        {"public_key": "k", "key_name": "a", "key_name_prefix": "b"},
        "Conflicting configuration arguments",
    ),
]

BASE: dict[str, dict[str, Any]] = {
    "aws_vpc": {"cidr_block": "10.0.0.0/16", "enable_dns_hostnames": True, "tags": TAGS},
    "aws_subnet": {"vpc_id": "${aws_vpc.base.id}", "availability_zone": "us-east-1b"},
    "aws_internet_gateway": {"tags": TAGS},
    "aws_security_group": {"name": "base", "vpc_id": "${aws_vpc.base.id}", "description": "text"},
    "aws_iam_role": {"name": "base", "assume_role_policy": "{}", "description": "text"},
    "aws_key_pair": {"key_name": "base", "public_key": KEY},
    "aws_instance": {
        "ami": "ami-01234567",
        "instance_type": "p4d.24xlarge",
        "monitoring": False,
        "instance_initiated_shutdown_behavior": "terminate",
        MARKET: [{"market_type": "spot", "spot_options": [{"max_price": "12.5"}]}],
        "metadata_options": [{"http_tokens": "required", "http_put_response_hop_limit": 2}],
        "root_block_device": [{"volume_type": "gp3", "volume_size": 100, "encrypted": True}],
        "tags": TAGS,
        "volume_tags": TAGS,
    },
}

CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("aws_vpc", {"enable_dns_hostnames": False}),
    ("aws_vpc", {"cidr_block": "10.9.0.0/16"}),
    ("aws_vpc", {"tags": {"a": "b"}}),
    ("aws_subnet", {"availability_zone": "us-east-1c"}),
    ("aws_subnet", {"map_public_ip_on_launch": True}),
    ("aws_subnet", {"tags": {"a": "b"}}),
    ("aws_internet_gateway", {"tags": {"a": "b"}}),
    ("aws_security_group", {"description": "other"}),
    ("aws_security_group", {"tags": {"a": "b"}}),
    ("aws_iam_role", {"description": "other"}),
    ("aws_iam_role", {"name": "other"}),
    ("aws_key_pair", {"key_name": "other"}),
    ("aws_instance", {"ami": "ami-76543210"}),
    ("aws_instance", {"instance_type": "p5.48xlarge"}),
    ("aws_instance", {"key_name": "k"}),
    ("aws_instance", {"subnet_id": "subnet-01234567"}),
    ("aws_instance", {"user_data": "#cloud-config"}),
    ("aws_instance", {"monitoring": True}),
    ("aws_instance", {"associate_public_ip_address": False}),
    ("aws_instance", {"instance_initiated_shutdown_behavior": "stop"}),
    ("aws_instance", {MARKET: [{"market_type": "spot", "spot_options": [{"max_price": "13"}]}]}),
    ("aws_instance", {"metadata_options": [{"http_tokens": "optional", "http_put_response_hop_limit": 2}]}),
    ("aws_instance", {"root_block_device": [{"volume_type": "gp3", "volume_size": 200, "encrypted": True}]}),
    ("aws_instance", {"root_block_device": [{"volume_type": "gp3", "volume_size": 100, "encrypted": False}]}),
    ("aws_instance", {"tags": {"a": "b"}}),
]

# Blocks that the provider computes: taking them out of the configuration changes nothing.
NO_CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("aws_instance", {MARKET: []}),
    ("aws_instance", {"metadata_options": []}),
    ("aws_instance", {"root_block_device": []}),
]


def variants(*, changed: bool) -> dict[str, dict[str, Any]]:
    """A base resource of each type, and one for each change, before or after it."""
    found: dict[str, dict[str, Any]] = {type_: {"base": _own(type_, "base")} for type_ in BASE}
    for number, (type_, change) in enumerate((*CHANGES, *NO_CHANGES)):
        name = f"n{number}"
        found[type_][name] = {**_own(type_, name), **(change if changed else {})}
    return found


def _own(type_: str, name: str) -> dict[str, Any]:
    """The base configuration, with a name or an address block that no other resource has."""
    values = dict(BASE[type_])
    for argument in ("name", "key_name"):
        if argument in values:
            values[argument] = name
    if type_ == "aws_subnet":
        values["cidr_block"] = f"10.0.{int(name.removeprefix('n')) if name != 'base' else 200}.0/24"
    return values


def spelled_out(type_: str, config: dict[str, Any]) -> dict[str, Any]:
    """``config`` for JSON syntax, in which an argument that takes objects wants each of their names."""
    assert AWS.sandbox is not None
    attributes = read_schema(AWS.sandbox.schema).resources[type_].block.attributes
    whole = dict(config)
    for name in attributes.keys() & config.keys():
        match attributes[name].type:
            case ["set", ["object", fields]]:
                whole[name] = [dict.fromkeys(fields) | item for item in config[name]]
    return whole
