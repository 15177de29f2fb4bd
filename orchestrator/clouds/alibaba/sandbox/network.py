"""Rules of the network's resources and of key pairs.

Arguments: the provider's documentation, and the ForceNew and ValidateFunc of its published source.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping

from orchestrator.clouds.alibaba.addresses import rule_address
from orchestrator.clouds.alibaba.sandbox.places import zone_names
from orchestrator.clouds.alibaba.sandbox.wording import Refusal, refused
from orchestrator.clouds.rules import CloudView, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import Check, at, between, conflicting, every, exactly_one, known, one_of

__all__ = ["NETWORK"]

_PRIVATE = tuple(ipaddress.IPv4Network(block) for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))


def _named(path: str, least: int, most: int) -> Check:
    """``validation.StringLenBetween``."""

    def check(config: Values) -> Iterator[Problem]:
        for where, text in at(config, path):
            if not least <= len(text) <= most:
                words = f"expected length of {path} to be in the range ({least} - {most}), got {text}"
                yield Problem(summary=words, path=where)

    return check


def _source(config: Values) -> Iterator[Problem]:
    """``AtLeastOneOf`` of the rule's four ways to name the other side."""
    names = ("cidr_ip", "ipv6_cidr_ip", "prefix_list_id", "source_security_group_id")
    if all(config.get(name) is None for name in names):
        words = f'"cidr_ip": one of `{",".join(names)}` must be specified'
        yield Problem(summary="Missing required argument", detail=words, path=("cidr_ip",))


def _block(text: str) -> ipaddress.IPv4Network | None:
    try:
        return ipaddress.IPv4Network(text) if "/" in text else None
    except ValueError:
        return None


# -- what must exist, and what must not be in the way


def _vpc(view: CloudView, values: Values, type_: str, action: str) -> Values:
    found = view.get("alicloud_vpc", values["vpc_id"])
    if found is None:
        message = "Specified VPC does not exist."
        raise refused(type_, action, Refusal(code="InvalidVpcId.NotFound", message=message, status=404), product="vpc")
    return found


def _unless_used(
    type_: str, action: str, refusal: Refusal, users: Mapping[str, str]
) -> Callable[[Values, CloudView], None]:
    """A ``delete`` that is refused while a resource of type → argument names it."""

    def delete(values: Values, view: CloudView) -> None:
        for user, argument in users.items():
            for each in view.live(user):
                named = each.get(argument)
                if values["id"] in (named if isinstance(named, list) else [named]):
                    raise refused(type_, action, refusal, resource=values["id"], product="vpc")

    return delete


# -- what the cloud fills in


def _create_vpc(values: Values, view: CloudView) -> Values:
    block = _block(values.get("cidr_block") or "172.16.0.0/12")
    if block is None or block.prefixlen > 28 or not any(block.subnet_of(private) for private in _PRIVATE):
        refusal = Refusal(code="InvalidCidrBlock.Malformed", message="Specified CIDR block is not valid.")
        raise refused("alicloud_vpc", "CreateVpc", refusal, product="vpc")
    table = view.new_id("vtb-", 20)
    return {
        "id": view.new_id("vpc-", 20),
        "cidr_block": str(block),
        "create_time": f"{view.now():%Y-%m-%dT%H:%M:%SZ}",
        "dns_hostname_status": "DISABLED",
        "name": values.get("vpc_name") or "",
        "vpc_name": "",
        "region_id": view.region,
        "resource_group_id": "rg-sandbox",
        "route_table_id": table,
        "router_table_id": table,
        "router_id": view.new_id("vrt-", 20),
        "status": "Available",
    }


def _create_vswitch(values: Values, view: CloudView) -> Values:
    type_, action = "alicloud_vswitch", "CreateVSwitch"
    vpc = _vpc(view, values, type_, action)
    zone = values.get("zone_id") or values.get("availability_zone")
    if zone not in zone_names(view.region):
        refusal = Refusal(code="InvalidZoneId.NotFound", message="Specified zone does not exist.", status=404)
        raise refused(type_, action, refusal, product="vpc")
    block = _block(values.get("cidr_block") or "")
    if (
        block is None
        or not 16 <= block.prefixlen <= 29
        or not block.subnet_of(ipaddress.IPv4Network(vpc["cidr_block"]))
    ):
        refusal = Refusal(code="InvalidCidrBlock.Malformed", message="Specified CIDR block is not valid.")
        raise refused(type_, action, refusal, product="vpc")
    for other in view.live(type_):
        if other["vpc_id"] == vpc["id"] and block.overlaps(ipaddress.IPv4Network(other["cidr_block"])):
            message = "Specified CIDR block is overlapped with the existing vSwitch."
            refusal = Refusal(code="InvalidCidrBlock.Overlapped", message=message)
            raise refused(type_, action, refusal, product="vpc")
    return {
        "id": view.new_id("vsw-", 20),
        "availability_zone": zone,
        "create_time": f"{view.now():%Y-%m-%dT%H:%M:%SZ}",
        "name": values.get("vswitch_name") or "",
        "vswitch_name": "",
        "status": "Available",
        "zone_id": zone,
    }


def _create_group(values: Values, view: CloudView) -> Values:
    type_, action = "alicloud_security_group", "CreateSecurityGroup"
    if values.get("vpc_id"):
        _vpc(view, values, type_, action)
    return {
        "id": view.new_id("sg-", 20),
        "create_time": f"{view.now():%Y-%m-%dT%H:%M:%SZ}",
        "inner_access": values.get("inner_access_policy") == "Accept",
        "inner_access_policy": "Accept",
        "name": values.get("security_group_name") or "",
        "security_group_name": "",
        "resource_group_id": "rg-sandbox",
        "security_group_type": "normal",
    }


def _create_rule(values: Values, view: CloudView) -> Values:
    type_ = "alicloud_security_group_rule"
    action = "AuthorizeSecurityGroup" if values["type"] == "ingress" else "AuthorizeSecurityGroupEgress"
    group = view.get("alicloud_security_group", values["security_group_id"])
    if group is None:
        message = "The specified SecurityGroupId does not exist."
        raise refused(type_, action, Refusal(code="InvalidSecurityGroupId.NotFound", message=message, status=404))
    if group.get("vpc_id") and values.get("nic_type") == "internet":
        message = "The specified parameter NicType is not valid for a security group in a VPC."
        raise refused(type_, action, Refusal(code="InvalidNicType.Mismatch", message=message))
    return {"id": _rule_id(values), "security_group_rule_id": view.new_id("sgr-", 20)}


def _rule_id(values: Values) -> str:
    source = values.get("cidr_ip") or (values.get("ipv6_cidr_ip") or "").replace(":", "_")
    source = source or values.get("source_security_group_id") or values.get("prefix_list_id") or ""
    parts = (values["security_group_id"], values["type"], values["ip_protocol"], values.get("port_range") or "-1/-1")
    rest = (values.get("nic_type") or "internet", source, values.get("policy") or "accept", values.get("priority") or 1)
    return ":".join(map(str, (*parts, *rest)))


def _create_key(values: Values, view: CloudView) -> Values:
    type_, action = "alicloud_ecs_key_pair", "ImportKeyPair" if values.get("public_key") else "CreateKeyPair"
    name = values.get("key_pair_name") or values.get("key_name") or view.new_id(values.get("key_name_prefix") or "tf-")
    if view.get(type_, name) is not None:
        refusal = Refusal(code="KeyPair.AlreadyExist", message="The key pair already exist.")
        raise refused(type_, action, refusal)
    if known(values.get("public_key")) and not values["public_key"].split(" ")[0].startswith(("ssh-", "ecdsa-")):
        message = "The PublicKeyBody format is not supported."
        raise refused(type_, action, Refusal(code="InvalidPublicKeyBody.Malformed", message=message))
    digits = view.new_id("", 32)
    return {
        "id": name,
        "create_time": f"{view.now():%Y-%m-%dT%H:%M:%SZ}",
        "finger_print": ":".join(digits[place : place + 2] for place in range(0, 32, 2)),
        "key_name": name,
        "key_pair_name": name,
        "resource_group_id": "rg-sandbox",
    }


_DEPENDENT = "Specified object has dependent resources."

NETWORK: Mapping[str, ResourceRules] = {
    "alicloud_vpc": ResourceRules(
        validate=every(
            conflicting("name", "vpc_name"),
            one_of("dns_hostname_status", "ENABLED", "DISABLED"),
            _named("vpc_name", 1, 128),
        ),
        force_new=frozenset({"ipv6_cidr_block", "is_default", "user_cidrs"}),
        create=_create_vpc,
        delete=_unless_used(
            "alicloud_vpc",
            "DeleteVpc",
            Refusal(code="DependencyViolation", message=_DEPENDENT),
            {"alicloud_vswitch": "vpc_id", "alicloud_security_group": "vpc_id"},
        ),
    ),
    "alicloud_vswitch": ResourceRules(
        validate=every(
            exactly_one("availability_zone", "zone_id"),
            conflicting("name", "vswitch_name"),
            _named("vswitch_name", 1, 128),
        ),
        force_new=frozenset({"availability_zone", "cidr_block", "is_default", "vpc_id", "zone_id"}),
        create=_create_vswitch,
        delete=_unless_used(
            "alicloud_vswitch",
            "DeleteVSwitch",
            Refusal(code="DependencyViolation", message=_DEPENDENT),
            {"alicloud_instance": "vswitch_id"},
        ),
    ),
    "alicloud_security_group": ResourceRules(
        validate=every(
            conflicting("inner_access", "inner_access_policy"),
            conflicting("name", "security_group_name"),
            one_of("inner_access_policy", "Accept", "Drop"),
            one_of("security_group_type", "normal", "enterprise"),
            _named("description", 2, 256),
            _named("security_group_name", 2, 128),
        ),
        force_new=frozenset({"security_group_type", "vpc_id"}),
        create=_create_group,
        delete=_unless_used(
            "alicloud_security_group",
            "DeleteSecurityGroup",
            Refusal(
                code="DependencyViolation",
                message="There is still instance(s) in the specified security group.",
                status=403,
            ),
            {"alicloud_instance": "security_groups"},
        ),
    ),
    "alicloud_security_group_rule": ResourceRules(
        validate=every(
            one_of("type", "ingress", "egress"),
            one_of("ip_protocol", "tcp", "udp", "icmp", "icmpv6", "gre", "all"),
            one_of("nic_type", "internet", "intranet"),
            one_of("policy", "accept", "drop"),
            between("priority", 1, 100),
            conflicting("cidr_ip", "ipv6_cidr_ip"),
            conflicting("cidr_ip", "source_security_group_id"),
            _source,
        ),
        force_new=frozenset(
            {
                *("cidr_ip", "ip_protocol", "ipv6_cidr_ip", "nic_type", "policy", "port_range", "prefix_list_id"),
                *("priority", "security_group_id", "source_group_owner_account", "source_group_owner_id"),
                *("source_security_group_id", "type"),
            }
        ),
        defaults={"policy": "accept", "port_range": "-1/-1", "priority": 1},
        create=_create_rule,
        parent=("alicloud_security_group", "security_group_id"),
        address=lambda values: rule_address(values.get("cidr_ip") or values.get("ipv6_cidr_ip") or ""),
    ),
    "alicloud_ecs_key_pair": ResourceRules(
        validate=every(conflicting("key_name", "key_pair_name"), conflicting("key_name_prefix", "key_pair_name")),
        force_new=frozenset({"key_file", "key_name", "key_name_prefix", "key_pair_name"}),
        create=_create_key,
    ),
}
