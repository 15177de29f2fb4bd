"""Rules of the network's resources."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping

from orchestrator.clouds.aws.sandbox.places import zone_id, zone_name, zone_names
from orchestrator.clouds.aws.sandbox.tags import tags_all
from orchestrator.clouds.aws.sandbox.wording import ACCOUNT, ec2_refused
from orchestrator.clouds.rules import CloudView, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import Check, at, conflicting, every, exactly_one

__all__ = ["NETWORK", "arn"]


def arn(view: CloudView, kind: str, id_: str) -> str:
    return f"arn:aws:ec2:{view.region}:{ACCOUNT}:{kind}/{id_}"


# -- address blocks: the provider's internal/verify, and validation.IsCIDRNetwork of the SDK


def _network(text: str) -> str | None:
    """The block that an address block stands for, ``None`` where it is none."""
    address, slash, _ = text.partition("/")
    try:
        return str(ipaddress.ip_network(text, strict=False)) if slash and address else None
    except ValueError:
        return None


def _blocks(*paths: str) -> Check:
    def check(config: Values) -> Iterator[Problem]:
        for path in paths:
            for where, text in at(config, path):
                network = _network(text)
                if network is None:
                    words = f'"{text}" is not a valid CIDR block: invalid CIDR address: {text}'
                    yield Problem(summary=words, path=where[:1])
                elif network != text:
                    family = "IPv6" if ":" in text else "IPv4"
                    words = f'"{text}" is not a valid {family} CIDR block; did you mean "{network}"?'
                    yield Problem(summary=words, path=where[:1])

    return check


def _vpc_block(config: Values) -> Iterator[Problem]:
    for where, text in at(config, "cidr_block"):
        network = _network(text)
        if network is None:
            words = f"expected cidr_block to contain a valid Value, got: {text} with err: invalid CIDR address: {text}"
            yield Problem(summary=words, path=where)
        elif network != text:
            words = f"expected cidr_block to contain a valid network Value, expected {network}, got {text}"
            yield Problem(summary=words, path=where)
        elif not 16 <= (bits := int(text.partition("/")[2])) <= 28:
            words = 'expected "cidr_block" to contain a network Value with between 16 and 28 significant bits, got: '
            yield Problem(summary=words + str(bits), path=where)


def _group_name(config: Values) -> Iterator[Problem]:
    for where, name in at(config, "name"):
        if name.startswith("sg-"):
            yield Problem(summary="invalid value for name (cannot begin with sg-)", path=where)


# -- what must exist, and what must not be in the way


def _must_exist(view: CloudView, type_: str, id_: str, refusal: tuple[str, str, str, str]) -> Values:
    found = view.get(type_, id_)
    if found is None:
        raise ec2_refused(*refusal)
    return found


def _vpc(view: CloudView, values: Values, doing: str, operation: str) -> Values:
    id_ = values["vpc_id"]
    refusal = (doing, operation, "InvalidVpcID.NotFound", f"The vpc ID '{id_}' does not exist")
    return _must_exist(view, "aws_vpc", id_, refusal)


def _unless_used(
    doing: str, operation: str, kind: str, users: Mapping[str, str]
) -> Callable[[Values, CloudView], None]:
    """A ``delete``: EC2 answers DependencyViolation while a user of type → argument names the resource."""

    def delete(values: Values, view: CloudView) -> None:
        id_ = values["id"]
        for type_, argument in users.items():
            if any(_names(user.get(argument), id_) for user in view.live(type_)):
                message = f"The {kind} '{id_}' has dependencies and cannot be deleted."
                raise ec2_refused(f"{doing} ({id_})", operation, "DependencyViolation", message)

    return delete


def _names(value: object, id_: str) -> bool:
    return id_ in value if isinstance(value, list) else value == id_


# -- what EC2 fills in


def _create_vpc(values: Values, view: CloudView) -> Values:
    id_ = view.new_id("vpc-")
    table = view.new_id("rtb-")
    return {
        "id": id_,
        "arn": arn(view, "vpc", id_),
        "owner_id": ACCOUNT,
        "default_network_acl_id": view.new_id("acl-"),
        "default_route_table_id": table,
        "main_route_table_id": table,
        "default_security_group_id": view.new_id("sg-"),
        "dhcp_options_id": view.new_id("dopt-"),
        "enable_dns_hostnames": False,
    }


def _create_subnet(values: Values, view: CloudView) -> Values:
    doing, operation = "creating EC2 Subnet", "CreateSubnet"
    vpc = _vpc(view, values, doing, operation)
    said = values.get("availability_zone") or values.get("availability_zone_id") or zone_names(view.region)[0]
    zone = zone_name(view.region, said)
    if not zone:
        known = ", ".join(zone_names(view.region))
        message = f"Value ({said}) for parameter availabilityZone is invalid. "
        message += f"Subnets can currently only be created in the following availability zones: {known}."
        raise ec2_refused(doing, operation, "InvalidParameterValue", message)
    block = ipaddress.ip_network(values["cidr_block"])
    if not block.subnet_of(ipaddress.ip_network(vpc["cidr_block"])):  # type: ignore[arg-type]
        message = f"The CIDR '{block}' is invalid."
        raise ec2_refused(doing, operation, "InvalidSubnet.Range", message)
    for other in view.live("aws_subnet"):
        if other["vpc_id"] == vpc["id"] and block.overlaps(ipaddress.ip_network(other["cidr_block"])):
            message = f"The CIDR '{block}' conflicts with another subnet"
            raise ec2_refused(doing, operation, "InvalidSubnet.Conflict", message)
    id_ = view.new_id("subnet-")
    return {
        "id": id_,
        "arn": arn(view, "subnet", id_),
        "owner_id": ACCOUNT,
        "availability_zone": zone,
        "availability_zone_id": zone_id(zone),
        "private_dns_hostname_type_on_launch": "ip-name",
    }


def _create_gateway(values: Values, view: CloudView) -> Values:
    if values.get("vpc_id"):
        vpc = _vpc(view, values, "attaching EC2 Internet Gateway", "AttachInternetGateway")
        if any(other["vpc_id"] == vpc["id"] for other in view.live("aws_internet_gateway")):
            message = f"resource {vpc['id']} already has an internet gateway attached"
            doing = "attaching EC2 Internet Gateway"
            raise ec2_refused(doing, "AttachInternetGateway", "Resource.AlreadyAssociated", message)
    id_ = view.new_id("igw-")
    return {"id": id_, "arn": arn(view, "internet-gateway", id_), "owner_id": ACCOUNT}


def _create_table(values: Values, view: CloudView) -> Values:
    _vpc(view, values, "creating Route Table", "CreateRouteTable")
    id_ = view.new_id("rtb-")
    return {"id": id_, "arn": arn(view, "route-table", id_), "owner_id": ACCOUNT}


def _create_association(values: Values, view: CloudView) -> Values:
    table, subnet = values["route_table_id"], values["subnet_id"]
    doing, operation = f"creating Route Table ({table}) Association", "AssociateRouteTable"
    message = f"The routeTable ID '{table}' does not exist"
    _must_exist(view, "aws_route_table", table, (doing, operation, "InvalidRouteTableID.NotFound", message))
    message = f"The subnet ID '{subnet}' does not exist"
    _must_exist(view, "aws_subnet", subnet, (doing, operation, "InvalidSubnetID.NotFound", message))
    return {"id": view.new_id("rtbassoc-")}


def _create_group(values: Values, view: CloudView) -> Values:
    id_ = view.new_id("sg-")
    name = values.get("name") or f"{values.get('name_prefix') or 'terraform-'}{id_[3:]}"
    doing, operation = f"creating Security Group ({name})", "CreateSecurityGroup"
    vpc = _vpc(view, values, doing, operation) if values.get("vpc_id") else None
    vpc_id = vpc["id"] if vpc else ""
    if any(other["name"] == name and other["vpc_id"] == vpc_id for other in view.live("aws_security_group")):
        message = f"The security group '{name}' already exists for VPC '{vpc_id}'"
        raise ec2_refused(doing, operation, "InvalidGroup.Duplicate", message)
    return {"id": id_, "name": name, "arn": arn(view, "security-group", id_), "owner_id": ACCOUNT}


def _create_default_group(values: Values, view: CloudView) -> Values:
    """Adopts what came with the VPC; docs of aws_default_security_group."""
    vpc = view.get("aws_vpc", values.get("vpc_id") or "") or {}
    id_ = vpc.get("default_security_group_id") or view.new_id("sg-")
    words = {"name": "default", "description": "default VPC security group"}
    return {"id": id_, "arn": arn(view, "security-group", id_), "owner_id": ACCOUNT, **words}


_VPC_USERS = {
    "aws_subnet": "vpc_id",
    "aws_internet_gateway": "vpc_id",
    "aws_security_group": "vpc_id",
    "aws_route_table": "vpc_id",
}

_SUBNET_SWITCHES = (
    "assign_ipv6_address_on_creation",
    "enable_dns64",
    "enable_resource_name_dns_a_record_on_launch",
    "enable_resource_name_dns_aaaa_record_on_launch",
    "ipv6_native",
    "map_public_ip_on_launch",
)

NETWORK: Mapping[str, ResourceRules] = {
    "aws_vpc": ResourceRules(
        validate=_vpc_block,
        force_new=frozenset({"cidr_block", "instance_tenancy", "ipv4_ipam_pool_id", "ipv4_netmask_length"}),
        defaults={"enable_dns_support": True, "instance_tenancy": "default"},
        plan=tags_all,
        create=_create_vpc,
        delete=_unless_used("deleting EC2 VPC", "DeleteVpc", "vpc", _VPC_USERS),
    ),
    "aws_subnet": ResourceRules(
        validate=every(
            _blocks("cidr_block", "ipv6_cidr_block"), conflicting("availability_zone", "availability_zone_id")
        ),
        force_new=frozenset(
            {"availability_zone", "availability_zone_id", "cidr_block", "ipv6_native", "outpost_arn", "vpc_id"}
        ),
        defaults=dict.fromkeys(_SUBNET_SWITCHES, False),
        plan=tags_all,
        create=_create_subnet,
        delete=_unless_used(
            "deleting EC2 Subnet",
            "DeleteSubnet",
            "subnet",
            {"aws_instance": "subnet_id", "aws_network_interface": "subnet_id"},
        ),
    ),
    "aws_internet_gateway": ResourceRules(plan=tags_all, create=_create_gateway),
    "aws_route_table": ResourceRules(
        validate=_blocks("route.cidr_block", "route.ipv6_cidr_block"),
        force_new=frozenset({"vpc_id"}),
        plan=tags_all,
        create=_create_table,
        delete=_unless_used(
            "deleting Route Table", "DeleteRouteTable", "routeTable", {"aws_route_table_association": "route_table_id"}
        ),
    ),
    "aws_route_table_association": ResourceRules(
        validate=exactly_one("subnet_id", "gateway_id"),
        force_new=frozenset({"subnet_id", "gateway_id"}),
        create=_create_association,
        import_id=lambda values: f"{values['subnet_id'] or values['gateway_id']}/{values['route_table_id']}",
        parent=("aws_route_table", "route_table_id"),
    ),
    "aws_security_group": ResourceRules(
        validate=every(
            conflicting("name", "name_prefix"),
            _group_name,
            _blocks("ingress.cidr_blocks", "ingress.ipv6_cidr_blocks", "egress.cidr_blocks", "egress.ipv6_cidr_blocks"),
        ),
        force_new=frozenset({"name", "name_prefix", "description", "vpc_id"}),
        defaults={"description": "Managed by Terraform", "revoke_rules_on_delete": False},
        plan=tags_all,
        create=_create_group,
        delete=_unless_used(
            "deleting Security Group",
            "DeleteSecurityGroup",
            "security group",
            {"aws_instance": "vpc_security_group_ids"},
        ),
    ),
    "aws_default_security_group": ResourceRules(
        force_new=frozenset({"vpc_id"}),
        defaults={"revoke_rules_on_delete": False},
        plan=tags_all,
        create=_create_default_group,
    ),
}
