"""Rules of the network's resources."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from orchestrator.clouds.azure.sandbox.group import doing, group_name, made_in_group, unless_used
from orchestrator.clouds.azure.sandbox.ids import group_id, subscription
from orchestrator.clouds.azure.sandbox.names import IN_GROUP, network_name
from orchestrator.clouds.azure.sandbox.tags import check_tags
from orchestrator.clouds.azure.sandbox.wording import exists_already, refused
from orchestrator.clouds.rules import CallRefused, CloudView, ResourceRules, Values
from orchestrator.clouds.sdk_checks import between, every, exactly_one, one_of

__all__ = ["NETWORK", "check_zone"]

_ADDRESS = "Microsoft.Network/publicIPAddresses"

# Every simulated region has three zones, as most real ones have.
_ZONES = ("1", "2", "3")


def _blocks(view: CloudView, begin: str, texts: object) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    found = []
    for text in texts if isinstance(texts, list) else []:
        try:
            found.append(ipaddress.ip_network(text))
        except ValueError:
            message = (
                f"The address prefix {text} is not formatted correctly. It should follow CIDR notation, for "
                "example 10.0.0.0/24."
            )
            raise refused(begin, "CreateOrUpdate", 400, "InvalidAddressPrefixFormat", message) from None
    return found


def _create_network(values: Values, view: CloudView) -> Values:
    type_ = "azurerm_virtual_network"
    id_ = made_in_group(type_, view, values)
    _blocks(view, doing("creating", type_, values, view), values.get("address_space"))
    return {"id": id_, "guid": _guid(view), "dns_servers": [], "subnet": []}


def _create_subnet(values: Values, view: CloudView) -> Values:
    group, network, name = values["resource_group_name"], values["virtual_network_name"], values["name"]
    owner = f"{group_id(view, group)}/providers/Microsoft.Network/virtualNetworks/{network}"
    id_ = f"{owner}/subnets/{name}"
    if view.get("azurerm_subnet", id_) is not None:
        raise exists_already("azurerm_subnet", id_)
    begin = (
        f'creating Subnet (Subscription: "{subscription(view.provider)}"\nResource Group Name: "{group}"\n'
        f'Virtual Network Name: "{network}"\nSubnet Name: "{name}")'
    )
    found = view.get("azurerm_virtual_network", owner)
    if found is None:
        message = (
            f"The Resource 'Microsoft.Network/virtualNetworks/{network}' under resource group '{group}' was not found."
        )
        raise refused(begin, "CreateOrUpdate", 404, "ResourceNotFound", message)
    spaces = [ipaddress.ip_network(text) for text in found.get("address_space") or []]
    for block in _blocks(view, begin, values.get("address_prefixes")):
        if not any(block.version == space.version and block.subnet_of(space) for space in spaces):  # type: ignore[arg-type]
            message = (
                f"Subnet '{name}' is not valid because its IP address range is outside the IP address range of "
                f"virtual network '{network}'."
            )
            raise refused(begin, "CreateOrUpdate", 400, "NetcfgInvalidSubnet", message)
    return {"id": id_}


def _create_address(values: Values, view: CloudView) -> Values:
    type_ = "azurerm_public_ip"
    id_ = made_in_group(type_, view, values)
    begin = doing("creating", type_, values, view)
    if values.get("sku") == "Standard" and values.get("allocation_method") != "Static":
        raise CallRefused("static IP allocation must be used when creating Standard SKU public IP addresses")
    check_zone(view, begin, f"{_ADDRESS}/{values['name']}", values.get("zones") or [])
    # RFC 5737 sets this block aside for documentation: nobody can be reached there by mistake.
    taken = {each.get("ip_address") for each in view.live(type_)}
    free = next((text for host in range(2, 255) if (text := f"203.0.113.{host}") not in taken), "203.0.113.255")
    return {"id": id_, "ip_address": free, "fqdn": ""}


def check_zone(view: CloudView, begin: str, resource: str, zones: list[str]) -> None:
    if unknown := [zone for zone in zones if zone not in _ZONES]:
        message = (
            f"The zone(s) '{','.join(unknown)}' for resource '{resource}' is not supported. "
            f"The supported zones for location '{view.region}' are '{','.join(_ZONES)}'"
        )
        raise refused(begin, "CreateOrUpdate", 400, "InvalidAvailabilityZone", message)


def _guid(view: CloudView) -> str:
    digits = view.new_id("", 32)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _delete_subnet(values: Values, view: CloudView) -> None:
    for user in view.live("azurerm_network_interface"):
        if any(block.get("subnet_id") == values["id"] for block in user.get("ip_configuration") or []):
            message = (
                f"Subnet {values['name']} is in use by {user['id']}/ipConfigurations/primary and cannot be deleted. In "
                "order to delete the subnet, delete all the resources within the subnet. See aka.ms/deletesubnet."
            )
            begin = f'deleting Subnet (Subnet Name: "{values["name"]}")'
            raise refused(begin, "Delete", 400, "InUseSubnetCannotBeDeleted", message)


def _addresses(interface: Values) -> object:
    return [block.get("public_ip_address_id") for block in interface.get("ip_configuration") or []]


NETWORK: Mapping[str, ResourceRules] = {
    "azurerm_virtual_network": ResourceRules(
        validate=every(
            network_name("name", 64),
            group_name("resource_group_name"),
            check_tags,
            exactly_one("address_space", "ip_address_pool"),
        ),
        force_new=IN_GROUP | {"edge_zone"},
        defaults={"private_endpoint_vnet_policies": "Disabled"},
        create=_create_network,
    ),
    "azurerm_subnet": ResourceRules(
        validate=every(
            network_name("name", 80),
            group_name("resource_group_name"),
            exactly_one("address_prefixes", "ip_address_pool"),
        ),
        force_new=frozenset({"name", "resource_group_name", "virtual_network_name"}),
        defaults={
            "default_outbound_access_enabled": True,
            "private_endpoint_network_policies": "Disabled",
            "private_link_service_network_policies_enabled": True,
        },
        create=_create_subnet,
        delete=_delete_subnet,
    ),
    "azurerm_public_ip": ResourceRules(
        validate=every(
            network_name("name", 80),
            group_name("resource_group_name"),
            check_tags,
            one_of("allocation_method", "Dynamic", "Static"),
            one_of("sku", "Basic", "Standard"),
            one_of("sku_tier", "Global", "Regional"),
            one_of("ip_version", "IPv4", "IPv6"),
            between("idle_timeout_in_minutes", 4, 30),
        ),
        force_new=IN_GROUP
        | {
            "domain_name_label_scope",
            "edge_zone",
            "ip_tags",
            "ip_version",
            "public_ip_prefix_id",
            "sku",
            "sku_tier",
            "zones",
        },
        defaults={
            "ddos_protection_mode": "VirtualNetworkInherited",
            "idle_timeout_in_minutes": 4,
            "ip_version": "IPv4",
            "sku": "Standard",
            "sku_tier": "Regional",
        },
        create=_create_address,
        delete=unless_used(
            "azurerm_public_ip",
            "PublicIPAddressCannotBeDeleted",
            "Public IP address {id} can not be deleted since it is still allocated to resource "
            "{user}/ipConfigurations/primary. In order to delete the public IP, disassociate/detach the "
            "Public IP address from the resource.",
            {"azurerm_network_interface": _addresses},
        ),
    ),
}
