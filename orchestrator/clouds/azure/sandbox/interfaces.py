"""Rules of network interfaces and of what lets traffic reach them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping

from orchestrator.clouds.azure.sandbox.group import doing, group_name, made_in_group, must_exist, unless_used
from orchestrator.clouds.azure.sandbox.ids import identifier
from orchestrator.clouds.azure.sandbox.names import IN_GROUP, network_name
from orchestrator.clouds.azure.sandbox.tags import check_tags
from orchestrator.clouds.azure.sandbox.wording import exists_already, refused
from orchestrator.clouds.rules import CloudView, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import Check, at, between, every, one_of

__all__ = ["INTERFACES"]

_SUBNET = "Microsoft.Network/virtualNetworks/subnets"
_ADDRESS = "Microsoft.Network/publicIPAddresses"
_INTERFACE = "Microsoft.Network/networkInterfaces"
_RULES = "Microsoft.Network/networkSecurityGroups"


# -- what the provider refuses before the plan


def _top(*checks: Check) -> Check:
    """The problems of the checks, said of the whole argument: an item of a set has no place that Terraform knows."""

    def check(config: Values) -> Iterator[Problem]:
        for each in every(*checks)(config):
            yield Problem(summary=each.summary, detail=each.detail, path=each.path[:1])

    return check


def _not_empty(path: str) -> Check:
    def check(config: Values) -> Iterator[Problem]:
        for where, text in at(config, path):
            if text == "":
                yield Problem(summary=f'expected "{path}" to not be an empty string, got ', path=where)

    return check


def _interface_addresses(config: Values) -> Iterator[Problem]:
    """The provider's own code at the begin of the creation; a plan passes."""
    for block in config.get("ip_configuration") or []:
        if (
            isinstance(block, dict)
            and block.get("private_ip_address_version") != "IPv6"
            and block.get("subnet_id") == ""
        ):
            yield Problem(summary="A Subnet ID must be specified for an IPv4 Network Interface.")


# -- what Azure refuses and fills in


def _create_rules(values: Values, view: CloudView) -> Values:
    type_ = "azurerm_network_security_group"
    id_ = made_in_group(type_, view, values)
    begin = doing("creating", type_, values, view)
    rules = values.get("security_rule") or []
    for rule in rules:
        if bool(rule.get("source_address_prefix")) == bool(rule.get("source_address_prefixes")):
            message = (
                "Required security rule parameters are missing or given twice for security rule with Id: "
                f"{id_}/securityRules/{rule['name']}. Security rule must specify either SourceAddressPrefixes or "
                "SourceAddressPrefix."
            )
            raise refused(begin, "CreateOrUpdate", 400, "SecurityRuleParameterConflict", message)
        families = {":" in text for text in rule.get("source_address_prefixes") or []}
        if len(families) > 1:
            message = f"Security rule {id_}/securityRules/{rule['name']} has address prefixes of both IPv4 and IPv6."
            raise refused(begin, "CreateOrUpdate", 400, "SecurityRuleAddressPrefixesContainsBothIpv4AndIpv6", message)
    priorities = [(rule.get("direction"), rule.get("priority")) for rule in rules]
    if len(set(priorities)) < len(priorities):
        message = f"Security rules of {id_} conflict: two have the same Priority and Direction."
        raise refused(begin, "CreateOrUpdate", 400, "SecurityRuleConflict", message)
    return {"id": id_, "security_rule": []}


def _create_interface(values: Values, view: CloudView) -> Values:
    type_ = "azurerm_network_interface"
    id_ = made_in_group(type_, view, values)
    begin = doing("creating", type_, values, view)
    private = ""
    for block in values.get("ip_configuration") or []:
        if subnet := block.get("subnet_id"):
            found = must_exist(view, "azurerm_subnet", subnet, begin, id_)
            private = private or block.get("private_ip_address") or _free_address(view, begin, found)
        if address := block.get("public_ip_address_id"):
            must_exist(view, "azurerm_public_ip", address, begin, id_)
    return {
        "id": id_,
        "private_ip_address": private,
        "private_ip_addresses": [private] if private else [],
        "ip_configuration.private_ip_address": private,
        "ip_configuration.primary": True,
        "applied_dns_servers": [],
    }


def _free_address(view: CloudView, begin: str, subnet: Values) -> str:
    block = ipaddress.ip_network((subnet.get("address_prefixes") or ["10.0.0.0/24"])[0])
    taken = {each.get("private_ip_address") for each in view.live("azurerm_network_interface")}
    # Azure keeps the first four addresses and the last one of every subnet for itself.
    for place in range(4, block.num_addresses - 1):
        if (address := str(block[place])) not in taken:
            return address
    message = f"Subnet {subnet['name']} with address prefix {block} does not have enough capacity for 1 IP addresses."
    raise refused(begin, "CreateOrUpdate", 400, "SubnetIsFull", message)


def _create_association(values: Values, view: CloudView) -> Values:
    interface, rules = values["network_interface_id"], values["network_security_group_id"]
    begin = "creating Network Security Group Association"
    must_exist(view, "azurerm_network_interface", interface, begin, interface)
    must_exist(view, "azurerm_network_security_group", rules, begin, interface)
    id_ = f"{interface}|{rules}"
    if view.get("azurerm_network_interface_security_group_association", id_) is not None:
        raise exists_already("azurerm_network_interface_security_group_association", id_)
    return {"id": id_}


INTERFACES: Mapping[str, ResourceRules] = {
    "azurerm_network_security_group": ResourceRules(
        validate=every(
            network_name("name", 80),
            group_name("resource_group_name"),
            check_tags,
            _top(
                between("security_rule.priority", 100, 4096),
                one_of("security_rule.access", "Allow", "Deny"),
                one_of("security_rule.direction", "Inbound", "Outbound"),
                one_of("security_rule.protocol", "*", "Tcp", "Udp", "Icmp", "Ah", "Esp"),
            ),
        ),
        force_new=IN_GROUP,
        create=_create_rules,
        delete=unless_used(
            "azurerm_network_security_group",
            "InUseNetworkSecurityGroupCannotBeDeleted",
            "Network security group {id} cannot be deleted because it is in use by the following resources: "
            "{user}. In order to delete the Network security group, remove the association with the "
            "resource(s).",
            {
                "azurerm_network_interface_security_group_association": lambda user: user.get(
                    "network_security_group_id"
                )
            },
        ),
    ),
    "azurerm_network_interface": ResourceRules(
        validate=every(
            network_name("name", 80),
            group_name("resource_group_name"),
            check_tags,
            one_of("ip_configuration.private_ip_address_allocation", "Dynamic", "Static"),
            one_of("ip_configuration.private_ip_address_version", "IPv4", "IPv6"),
            identifier("ip_configuration.subnet_id", _SUBNET),
            identifier("ip_configuration.public_ip_address_id", _ADDRESS),
            _not_empty("ip_configuration.name"),
            _interface_addresses,
        ),
        force_new=IN_GROUP | {"edge_zone"},
        defaults={
            "accelerated_networking_enabled": False,
            "ip_forwarding_enabled": False,
            "ip_configuration.private_ip_address_version": "IPv4",
        },
        create=_create_interface,
        delete=unless_used(
            "azurerm_network_interface",
            "NicInUse",
            "Network Interface {id} is used by existing resource {user}. In order to delete the network "
            "interface, it must be dissociated from the resource. To learn more, see aka.ms/deletenic.",
            {"azurerm_linux_virtual_machine": lambda user: user.get("network_interface_ids")},
        ),
    ),
    "azurerm_network_interface_security_group_association": ResourceRules(
        validate=every(identifier("network_interface_id", _INTERFACE), identifier("network_security_group_id", _RULES)),
        force_new=frozenset({"network_interface_id", "network_security_group_id"}),
        create=_create_association,
    ),
}
