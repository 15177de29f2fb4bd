"""Rules of the network's resources."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping

from orchestrator.clouds.oci.addresses import rule_address
from orchestrator.clouds.oci.sandbox.places import domain_names, ocid
from orchestrator.clouds.oci.sandbox.wording import Operation, not_found, refused
from orchestrator.clouds.rules import CloudView, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import at, conflicting, known

__all__ = ["NETWORK"]

_VCN = Operation(service="Core Vcn", name="CreateVcn", method="POST", path="vcns")
_SUBNET = Operation(service="Core Subnet", name="CreateSubnet", method="POST", path="subnets")
_GATEWAY = Operation(
    service="Core Internet Gateway", name="CreateInternetGateway", method="POST", path="internetGateways"
)
_TABLE = Operation(service="Core Route Table", name="CreateRouteTable", method="POST", path="routeTables")
_LIST = Operation(
    service="Core Default Security List", name="UpdateSecurityList", method="PUT", path="securityLists/{id}"
)
_GROUP = Operation(
    service="Core Network Security Group",
    name="CreateNetworkSecurityGroup",
    method="POST",
    path="networkSecurityGroups",
)
_RULE = Operation(
    service="Core Network Security Group Security Rule",
    name="AddNetworkSecurityGroupSecurityRules",
    method="POST",
    path="networkSecurityGroups/{id}/actions/addSecurityRules",
)


def _block(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """The block of addresses, ``None`` where it is none or has bits beyond its mask."""
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


def _check_block(operation: Operation, view: CloudView, name: str, text: str) -> None:
    block = _block(text)
    if block is None or (block.version == 4 and not 16 <= block.prefixlen <= 30):
        raise refused(operation, view.region, 400, "InvalidParameter", f"The requested {name} {text} is invalid")


def _vcn(view: CloudView, values: Values, operation: Operation) -> Values:
    found = view.get("oci_core_vcn", values["vcn_id"])
    if found is None:
        raise not_found(operation, view.region)
    return found


def _unless_used(operation: Operation, users: Mapping[str, str], words: str) -> Callable[[Values, CloudView], None]:
    """A ``delete``: refused while a user of type → argument names the resource."""

    def delete(values: Values, view: CloudView) -> None:
        id_ = values["id"]
        for type_, argument in users.items():
            used = [
                user["id"] for user in view.live(type_) if any(_names(value, id_) for _, value in at(user, argument))
            ]
            if used:
                message = words.format(id=id_, users=", ".join(used))
                raise refused(operation, view.region, 409, "Conflict", message)

    return delete


def _names(value: object, id_: str) -> bool:
    return id_ in value if isinstance(value, list) else value == id_


# -- what the provider refuses before the plan


def _ranges(config: Values) -> Iterator[Problem]:
    """Conflicts of the two ways to write a network's block, as the provider's schema has them."""
    yield from conflicting("cidr_block", "cidr_blocks")(config)


# -- what OCI fills in


def _create_vcn(values: Values, view: CloudView) -> Values:
    said = values.get("cidr_blocks") if known(values.get("cidr_blocks")) else [values.get("cidr_block")]
    blocks: list[str] = [text for text in said or [] if isinstance(text, str)]
    if not blocks:
        raise refused(_VCN, view.region, 400, "InvalidParameter", "cidrBlocks must not be empty")
    for text in blocks:
        _check_block(_VCN, view, "cidrBlock", text)
    id_ = ocid(view, "vcn")
    return {
        "id": id_,
        "cidr_block": blocks[0],
        "cidr_blocks": blocks,
        "default_dhcp_options_id": ocid(view, "dhcpoptions"),
        "default_route_table_id": ocid(view, "routetable"),
        "default_security_list_id": ocid(view, "securitylist"),
        "display_name": f"vcn{view.now():%Y%m%d%H%M%S}",
        **_common(view, "AVAILABLE"),
    }


def _create_list(values: Values, view: CloudView) -> Values:
    """Adopts what came with the network, and replaces its rules."""
    id_ = values["manage_default_resource_id"]
    vcn = next((vcn for vcn in view.live("oci_core_vcn") if vcn["default_security_list_id"] == id_), None)
    if vcn is None:
        raise not_found(_LIST, view.region)
    return {
        "id": id_,
        "compartment_id": vcn["compartment_id"],
        "display_name": "Default Security List",
        "egress_security_rules.destination_type": "CIDR_BLOCK",
        "ingress_security_rules.source_type": "CIDR_BLOCK",
        **_common(view, "AVAILABLE"),
    }


def _create_gateway(values: Values, view: CloudView) -> Values:
    vcn = _vcn(view, values, _GATEWAY)
    if any(other["vcn_id"] == vcn["id"] for other in view.live("oci_core_internet_gateway")):
        message = f"Internet gateway already exists for VCN {vcn['id']}"
        raise refused(_GATEWAY, view.region, 400, "LimitExceeded", message)
    return {"id": ocid(view, "internetgateway"), "display_name": "internetgateway", **_common(view, "AVAILABLE")}


def _create_table(values: Values, view: CloudView) -> Values:
    _vcn(view, values, _TABLE)
    for _, target in at(values, "route_rules.network_entity_id"):
        if view.get("oci_core_internet_gateway", target) is None:
            raise not_found(_TABLE, view.region)
    return {
        "id": ocid(view, "routetable"),
        "display_name": "routetable",
        "route_rules.destination_type": "CIDR_BLOCK",
        "route_rules.route_type": "STATIC",
        **_common(view, "AVAILABLE"),
    }


def _create_subnet(values: Values, view: CloudView) -> Values:
    vcn = _vcn(view, values, _SUBNET)
    _check_block(_SUBNET, view, "cidrBlock", values["cidr_block"])
    block = ipaddress.ip_network(values["cidr_block"])
    around = [ipaddress.ip_network(text) for text in vcn["cidr_blocks"]]
    if not any(block.version == each.version and block.subnet_of(each) for each in around):  # type: ignore[arg-type]
        message = f"The CIDR {block} is not within the VCN's CIDRs"
        raise refused(_SUBNET, view.region, 400, "InvalidParameter", message)
    for other in view.live("oci_core_subnet"):
        if other["vcn_id"] == vcn["id"] and block.overlaps(ipaddress.ip_network(other["cidr_block"])):
            message = f"The requested CIDR {block} is invalid: subnet {other['id']} with CIDR {other['cidr_block']} "
            raise refused(_SUBNET, view.region, 400, "InvalidParameter", message + "overlaps with this CIDR.")
    domain = values.get("availability_domain")
    if isinstance(domain, str) and domain and domain not in domain_names(view.region):
        raise not_found(_SUBNET, view.region)
    id_ = ocid(view, "subnet")
    return {
        "id": id_,
        "availability_domain": "",
        "display_name": f"subnet{view.now():%Y%m%d%H%M%S}",
        "dhcp_options_id": vcn["default_dhcp_options_id"],
        "route_table_id": vcn["default_route_table_id"],
        "security_list_ids": [vcn["default_security_list_id"]],
        "virtual_router_ip": str(block[1]),
        "virtual_router_mac": "00:00:17:00:00:01",
        **_common(view, "AVAILABLE"),
    }


def _create_group(values: Values, view: CloudView) -> Values:
    _vcn(view, values, _GROUP)
    return {"id": ocid(view, "networksecuritygroup"), "display_name": "nsg", **_common(view, "AVAILABLE")}


def _create_rule(values: Values, view: CloudView) -> Values:
    if view.get("oci_core_network_security_group", values["network_security_group_id"]) is None:
        raise not_found(_RULE, view.region)
    direction, other = values.get("direction"), {"INGRESS": "source", "EGRESS": "destination"}
    if direction not in other:
        message = f"direction must be one of INGRESS, EGRESS, but was {direction}"
        raise refused(_RULE, view.region, 400, "InvalidParameter", message)
    side = other[direction]
    text = values.get(side)
    if not isinstance(text, str) or not text:
        message = f"{side} must be provided for {direction} rules"
        raise refused(_RULE, view.region, 400, "InvalidParameter", message)
    if values.get(f"{side}_type") in (None, "", "CIDR_BLOCK") and _block(text) is None:
        raise refused(_RULE, view.region, 400, "InvalidParameter", f"{side} {text} is not a valid CIDR block")
    for _, ports in at(values, "tcp_options.destination_port_range"):
        if not 1 <= ports["min"] <= ports["max"] <= 65535:
            message = f"Invalid port range {ports['min']}-{ports['max']}"
            raise refused(_RULE, view.region, 400, "InvalidParameter", message)
    return {"id": view.new_id("", 6).upper(), "is_valid": True, "time_created": _created(view), "stateless": False}


def _common(view: CloudView, state: str) -> Values:
    return {"state": state, "time_created": _created(view), "defined_tags": {}, "freeform_tags": {}}


def _created(view: CloudView) -> str:
    return f"{view.now():%Y-%m-%d %H:%M:%S} +0000 UTC"


_VCN_USERS = {
    "oci_core_subnet": "vcn_id",
    "oci_core_internet_gateway": "vcn_id",
    "oci_core_network_security_group": "vcn_id",
    "oci_core_route_table": "vcn_id",
}


def _deleting(operation: Operation, name: str) -> Operation:
    return Operation(service=operation.service, name=name, method="DELETE", path=f"{operation.path}/{{id}}")


_IN_USE = "The resource {id} is in use: it is referenced by {users}"

# Which changes replace: ForceNew in the provider's internal/service/core/*_resource.go.
NETWORK: Mapping[str, ResourceRules] = {
    "oci_core_vcn": ResourceRules(
        validate=_ranges,
        force_new=frozenset({"cidr_block", "dns_label"}),
        create=_create_vcn,
        delete=_unless_used(_deleting(_VCN, "DeleteVcn"), _VCN_USERS, _IN_USE),
    ),
    "oci_core_default_security_list": ResourceRules(
        force_new=frozenset({"manage_default_resource_id"}),
        defaults={"ingress_security_rules.stateless": False},
        create=_create_list,
    ),
    "oci_core_internet_gateway": ResourceRules(
        force_new=frozenset({"vcn_id"}),
        defaults={"enabled": True},
        create=_create_gateway,
        delete=_unless_used(
            _deleting(_GATEWAY, "DeleteInternetGateway"),
            {"oci_core_route_table": "route_rules.network_entity_id"},
            _IN_USE,
        ),
    ),
    "oci_core_route_table": ResourceRules(
        force_new=frozenset({"vcn_id"}),
        create=_create_table,
        delete=_unless_used(_deleting(_TABLE, "DeleteRouteTable"), {"oci_core_subnet": "route_table_id"}, _IN_USE),
    ),
    "oci_core_subnet": ResourceRules(
        force_new=frozenset(
            {"availability_domain", "dns_label", "prohibit_internet_ingress", "prohibit_public_ip_on_vnic", "vcn_id"}
        ),
        create=_create_subnet,
        delete=_unless_used(
            _deleting(_SUBNET, "DeleteSubnet"), {"oci_core_instance": "create_vnic_details.subnet_id"}, _IN_USE
        ),
    ),
    "oci_core_network_security_group": ResourceRules(
        force_new=frozenset({"vcn_id"}),
        create=_create_group,
        delete=_unless_used(
            _deleting(_GROUP, "DeleteNetworkSecurityGroup"),
            {"oci_core_instance": "create_vnic_details.nsg_ids"},
            _IN_USE,
        ),
    ),
    "oci_core_network_security_group_security_rule": ResourceRules(
        force_new=frozenset({"network_security_group_id"}),
        create=_create_rule,
        # The form that the provider's Get reads the group from.
        import_id=lambda values: (
            f"networkSecurityGroups/{values['network_security_group_id']}/securityRules/{values['id']}"
        ),
        parent=("oci_core_network_security_group", "network_security_group_id"),
        address=lambda values: rule_address(values.get("source") or ""),
    ),
}
