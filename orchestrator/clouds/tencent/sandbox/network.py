"""Rules of the network's resources and of the ways in."""

from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from orchestrator.clouds.rules import CloudView, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import at, every, known
from orchestrator.clouds.tencent.sandbox.checks import among, key_pair_name, length, network_block
from orchestrator.clouds.tencent.sandbox.places import check_region, zone_names
from orchestrator.clouds.tencent.sandbox.wording import refused

__all__ = ["NETWORK"]

# www.tencentcloud.com/document/product/215/31805: the private blocks that a network may lie in, and its sizes.
_PRIVATE = tuple(map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
_KEY_KINDS = ("ssh-rsa", "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521")

_SOURCES = ("cidr_block", "ipv6_cidr_block", "source_security_id", "address_template_id", "address_template_group")


def _now(view: CloudView) -> str:
    return f"{view.now():%Y-%m-%d %H:%M:%S}"


def _create_vpc(values: Values, view: CloudView) -> Values:
    check_region(view.region)
    block = ipaddress.IPv4Network(values["cidr_block"])
    if not any(block.subnet_of(private) for private in _PRIVATE) or not 12 <= block.prefixlen <= 28:
        raise refused("InvalidParameterValue.VpcCidrConflict", f"The VPC CIDR `{block}` is invalid.")
    return {
        "id": view.new_id("vpc-", 8),
        "is_default": False,
        "is_multicast": False,
        "create_time": _now(view),
        "default_route_table_id": view.new_id("rtb-", 8),
    }


def _create_subnet(values: Values, view: CloudView) -> Values:
    vpc = view.get("tencentcloud_vpc", values["vpc_id"])
    if vpc is None:
        raise refused("ResourceNotFound", f"The resource `{values['vpc_id']}` is not found.")
    zone = values["availability_zone"]
    if zone not in zone_names(view.region):
        raise refused("InvalidParameterValue.ZoneConflict", f"The zone `{zone}` is invalid.")
    block = ipaddress.IPv4Network(values["cidr_block"])
    if not block.subnet_of(ipaddress.IPv4Network(vpc["cidr_block"])):
        raise refused("InvalidParameterValue.SubnetRange", "The subnet is not in the CIDR range of the VPC.")
    for other in view.live("tencentcloud_subnet"):
        if other["vpc_id"] == vpc["id"] and block.overlaps(ipaddress.IPv4Network(other["cidr_block"])):
            raise refused("InvalidParameterValue.SubnetOverlap", "The subnet overlaps with another subnet.")
    return {
        "id": view.new_id("subnet-", 8),
        "is_default": False,
        "is_multicast": False,
        "create_time": _now(view),
        "route_table_id": vpc["default_route_table_id"],
        "available_ip_count": block.num_addresses - 3,
    }


def _in_use(users: Mapping[str, str]) -> Any:
    """A ``delete``: Tencent answers ResourceInUse while a user of type → argument names the resource."""

    def delete(values: Values, view: CloudView) -> None:
        id_ = values["id"]
        for type_, argument in users.items():
            for user in view.live(type_):
                named = user.get(argument)
                if id_ == named or (isinstance(named, list) and id_ in named):
                    raise refused("ResourceInUse", f"The specified resource `{id_}` is in use.")

    return delete


def _create_group(values: Values, view: CloudView) -> Values:
    check_region(view.region)
    return {"id": view.new_id("sg-", 8), "project_id": 0}


# -- the rules of a security group


def _rules(config: Values) -> Iterator[Problem]:
    """The provider's ``unmarshalSecurityPolicy``, and what the cloud needs of a rule."""
    for kind in ("ingress", "egress"):
        for where, rule in at(config, kind):
            named = [name for name in _SOURCES if known(rule.get(name))]
            if len(named) > 1:
                words = f"conflict at rule.{where[-1]}, cannot set {','.join(named)} in time"
                yield Problem(summary=words, path=where)
            template = [name for name in ("service_template_id", "service_template_group") if known(rule.get(name))]
            if template and (known(rule.get("protocol")) or known(rule.get("port"))):
                words = f"conflict at rule.{where[-1]}, cannot set protocol + port,{','.join(template)} in time"
                yield Problem(summary=words, path=where)


def _create_rules(values: Values, view: CloudView) -> Values:
    id_ = values["security_group_id"]
    if view.get("tencentcloud_security_group", id_) is None:
        raise refused("ResourceNotFound", f"The resource `{id_}` is not found.")
    if view.get("tencentcloud_security_group_rule_set", id_) is not None:
        raise refused("VersionMismatch", "Policy version mismatch.")
    for _, block in (*at(values, "ingress.cidr_block"), *at(values, "egress.cidr_block")):
        _check_block(block)
    for _, block in (*at(values, "ingress.ipv6_cidr_block"), *at(values, "egress.ipv6_cidr_block")):
        _check_block(block)
    return {
        "id": id_,
        "version": "1",
        **{f"ingress.{name}": value for name, value in _filled().items()},
        **{f"egress.{name}": value for name, value in _filled().items()},
    }


def _filled() -> Values:
    return {"policy_index": count().__next__, "protocol": "ALL", "port": "ALL"}


def _check_block(text: str) -> None:
    if text:
        try:
            ipaddress.ip_network(text)
        except ValueError:
            message = f"The value of the parameter `CidrBlock` is invalid: {text}."
            raise refused("InvalidParameterValue.Malformed", message) from None


# -- key pairs


def _create_key(values: Values, view: CloudView) -> Values:
    name = values["key_name"]
    if any(other["key_name"] == name for other in view.live("tencentcloud_key_pair")):
        raise refused("InvalidKeyPairName.Duplicate", "The key pair name already exists.")
    if values.get("public_key") and not _is_key(values["public_key"]):
        raise refused("InvalidPublicKey.Malformed", "The specified public key is in invalid format.")
    return {"id": view.new_id("skey-", 8), "public_key": f"ssh-rsa {base64.b64encode(b'simulated').decode()}"}


def _is_key(text: str) -> bool:
    kind, _, rest = text.strip().partition(" ")
    try:
        material = base64.b64decode(rest.split(" ")[0], validate=True)
    except binascii.Error:
        return False
    # A public key says its own kind in its first field: four bytes of length, then the word.
    return kind in _KEY_KINDS and material[4 : 4 + len(kind)] == kind.encode()


NETWORK: Mapping[str, ResourceRules] = {
    "tencentcloud_vpc": ResourceRules(
        validate=every(length("name", 1, 60), network_block("cidr_block")),
        force_new=frozenset({"cidr_block"}),
        create=_create_vpc,
        delete=_in_use({"tencentcloud_subnet": "vpc_id", "tencentcloud_instance": "vpc_id"}),
    ),
    "tencentcloud_subnet": ResourceRules(
        validate=every(length("name", 1, 60), network_block("cidr_block")),
        force_new=frozenset({"availability_zone", "cdc_id", "cidr_block", "vpc_id"}),
        create=_create_subnet,
        delete=_in_use({"tencentcloud_instance": "subnet_id"}),
    ),
    "tencentcloud_security_group": ResourceRules(
        validate=every(length("name", 1, 60), length("description", 0, 100)),
        force_new=frozenset({"project_id"}),
        create=_create_group,
        delete=_in_use({"tencentcloud_instance": "orderly_security_groups"}),
    ),
    "tencentcloud_security_group_rule_set": ResourceRules(
        validate=every(
            _rules,
            among("ingress.action", "ACCEPT", "DROP", any_case=True),
            among("egress.action", "ACCEPT", "DROP", any_case=True),
        ),
        force_new=frozenset({"security_group_id"}),
        create=_create_rules,
        parent=("tencentcloud_security_group", "security_group_id"),
    ),
    "tencentcloud_key_pair": ResourceRules(
        validate=key_pair_name,
        force_new=frozenset({"project_id", "public_key"}),
        defaults={"project_id": 0},
        create=_create_key,
    ),
}
