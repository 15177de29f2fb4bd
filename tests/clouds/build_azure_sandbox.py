"""The Azure stand-in without terraform, right configurations, and wrong ones with the genuine provider's words."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from orchestrator.clouds.azure.cloud import CLOUD
from orchestrator.clouds.azure.sandbox.rules import RULES
from orchestrator.sandbox.cloud import SimulatedCloud
from orchestrator.sandbox.provider.lifecycle import Outcome, Provider
from orchestrator.sandbox.provider.schema import complete, read_schema
from tests.build import SSH_KEY

SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/gpuorch-g0123456789ab"
NAMED = {"name": "gpuorch-g0123456789ab", "resource_group_name": "gpuorch-g0123456789ab", "location": "eastus"}
TAGS = {"gpuorch:deployment": "g0123456789ab"}
INTERFACE = f"{GROUP}/providers/Microsoft.Network/networkInterfaces/gpuorch-g0123456789ab"
KEYS = [{"username": "azureuser", "public_key": SSH_KEY}]
IMAGE = [{"publisher": "p", "offer": "o", "sku": "s", "version": "latest"}]
MACHINE: dict[str, Any] = {
    **NAMED,
    "size": "Standard_ND96asr_v4",
    "admin_username": "azureuser",
    "admin_ssh_key": KEYS,
    "network_interface_ids": [INTERFACE],
    "source_image_reference": IMAGE,
    "os_disk": [{"caching": "ReadWrite", "storage_account_type": "Premium_LRS", "disk_size_gb": 200}],
    "tags": TAGS,
}
RULE: dict[str, Any] = {
    "name": "ssh",
    "priority": 100,
    "direction": "Inbound",
    "access": "Allow",
    "protocol": "Tcp",
    "source_address_prefixes": ["203.0.113.7/32"],
    "destination_port_range": "22",
}
SHORT_KEY = (
    "ssh-rsa "
    + base64.b64encode(
        b"".join(len(part).to_bytes(4, "big") + part for part in (b"ssh-rsa", b"\1\0\1", b"\0" + b"\x81" * 128))
    ).decode()
)
P256_KEY = "ecdsa-sha2-nistp256 " + base64.b64encode((19).to_bytes(4, "big") + b"ecdsa-sha2-nistp256").decode()


def a_provider(folder: Path, **changes: Any) -> Provider:
    """The stand-in without terraform and gRPC."""
    assert CLOUD.sandbox is not None
    provider = Provider("azure", read_schema(CLOUD.sandbox.schema), RULES, SimulatedCloud(folder / "cloud.sqlite"))
    features = {"resource_group": [{"prevent_deletion_if_contains_resources": False}]}
    config = {"subscription_id": SUBSCRIPTION, "features": [features]} | changes
    assert not provider.configure(complete(provider.schema.provider.block, config))
    return provider


def whole(provider: Provider, type_: str, config: dict[str, Any]) -> dict[str, Any]:
    return complete(provider.schema.resources[type_].block, config) or {}


def create(provider: Provider, type_: str, config: dict[str, Any]) -> Outcome:
    asked = whole(provider, type_, config)
    return provider.create(type_, provider.plan(type_, None, asked, asked).values)


def made(provider: Provider, type_: str, config: dict[str, Any]) -> dict[str, Any]:
    outcome = create(provider, type_, config)
    assert outcome.values is not None, outcome.problems
    return dict(outcome.values)


def a_network(provider: Provider) -> dict[str, Any]:
    """Group, network, subnet, address and interface; the interface's values."""
    made(provider, "azurerm_resource_group", {"name": NAMED["name"], "location": "East US", "tags": TAGS})
    network = made(provider, "azurerm_virtual_network", {**NAMED, "address_space": ["10.86.0.0/24"], "tags": TAGS})
    subnet = made(
        provider,
        "azurerm_subnet",
        {
            "name": "machine",
            "resource_group_name": NAMED["name"],
            "virtual_network_name": network["name"],
            "address_prefixes": ["10.86.0.0/24"],
        },
    )
    address = made(provider, "azurerm_public_ip", {**NAMED, "allocation_method": "Static", "tags": TAGS})
    configuration = {
        "name": "primary",
        "subnet_id": subnet["id"],
        "private_ip_address_allocation": "Dynamic",
        "public_ip_address_id": address["id"],
    }
    return made(provider, "azurerm_network_interface", {**NAMED, "ip_configuration": [configuration], "tags": TAGS})


# type, configuration, words of the error that must be among the provider's before the plan
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("azurerm_resource_group", {"name": "a b", "location": "eastus"}, '"name" may only contain alphanumeric'),
    ("azurerm_resource_group", {"name": "a.", "location": "eastus"}, '"name" may not end with a period'),
    ("azurerm_resource_group", {"name": "a" * 91, "location": "eastus"}, "may not exceed 90 characters"),
    ("azurerm_resource_group", {**NAMED, "tags": {"a": "b" * 257}}, "maximum length for a tag value is 256"),
    ("azurerm_resource_group", {**NAMED, "tags": {"a" * 513: "b"}}, "maximum length for a tag key is 512"),
    ("azurerm_resource_group", {**NAMED, "tags": {f"t{n}": "" for n in range(51)}}, "a maximum of 50 tags"),
    ("azurerm_virtual_network", {**NAMED, "name": "-a", "address_space": ["10.0.0.0/8"]}, "must begin with a letter"),
    ("azurerm_virtual_network", NAMED, "one of `address_space,ip_address_pool` must be specified"),
    ("azurerm_public_ip", {**NAMED, "allocation_method": "Reserved"}, 'one of ["Dynamic" "Static"], got Reserved'),
    ("azurerm_public_ip", {**NAMED, "sku": "Premium"}, 'one of ["Basic" "Standard"], got Premium'),
    ("azurerm_public_ip", {**NAMED, "idle_timeout_in_minutes": 3}, "to be in the range (4 - 30), got 3"),
    ("azurerm_network_security_group", {**NAMED, "security_rule": [{**RULE, "priority": 99}]}, "(100 - 4096), got 99"),
    ("azurerm_network_security_group", {**NAMED, "security_rule": [{**RULE, "access": "Yes"}]}, "got Yes"),
    ("azurerm_network_security_group", {**NAMED, "security_rule": [{**RULE, "direction": "In"}]}, "got In"),
    ("azurerm_network_security_group", {**NAMED, "security_rule": [{**RULE, "protocol": "tcp"}]}, "got tcp"),
    (
        "azurerm_network_interface",
        {
            **NAMED,
            "ip_configuration": [{"name": "p", "subnet_id": "subnet-1", "private_ip_address_allocation": "Dynamic"}],
        },
        'parsing "subnet-1": parsing the Subnet ID',
    ),
    (
        "azurerm_network_interface",
        {**NAMED, "ip_configuration": [{"name": "p", "private_ip_address_allocation": "Magic"}]},
        'one of ["Dynamic" "Static"], got Magic',
    ),
    (
        "azurerm_network_interface_security_group_association",
        {"network_interface_id": "nic", "network_security_group_id": "nsg"},
        "parsing the NetworkInterface ID",
    ),
    (
        "azurerm_linux_virtual_machine",
        {**MACHINE, "admin_username": "root"},
        '"admin_username" specified is not allowed',
    ),
    (
        "azurerm_linux_virtual_machine",
        {**MACHINE, "admin_username": None},
        "one of `admin_username,os_managed_disk_id`",
    ),
    (
        "azurerm_linux_virtual_machine",
        {**MACHINE, "source_image_id": f"{GROUP}/providers/Microsoft.Compute/images/i"},
        "only one of `os_managed_disk_id,source_image_id,source_image_reference` can be specified",
    ),
    (
        "azurerm_linux_virtual_machine",
        {**MACHINE, "priority": "Low"},
        'expected priority to be one of ["Regular" "Spot"]',
    ),
    (
        "azurerm_linux_virtual_machine",
        {**MACHINE, "eviction_policy": "Stop"},
        'one of ["Deallocate" "Delete"], got Stop',
    ),
    ("azurerm_linux_virtual_machine", {**MACHINE, "max_bid_price": -2}, "to be at least (-1.000000), got -2.000000"),
    (
        "azurerm_linux_virtual_machine",
        {**MACHINE, "custom_data": "#cloud"},
        'expected "custom_data" to be a base64 string',
    ),
    ("azurerm_linux_virtual_machine", {**MACHINE, "name": "-x"}, '"name" must begin with an alphanumeric'),
    ("azurerm_linux_virtual_machine", {**MACHINE, "network_interface_ids": ["nic"]}, "parsing the NetworkInterface ID"),
    ("azurerm_linux_virtual_machine", {**MACHINE, "virtual_machine_id": "x"}, "Value for unconfigurable attribute"),
    ("azurerm_linux_virtual_machine", {**MACHINE, "identity": [{"type": "None"}]}, "got None"),
    *(
        ("azurerm_linux_virtual_machine", {**MACHINE, "os_disk": [{**MACHINE["os_disk"][0], **disk}]}, words)
        for disk, words in (
            ({"disk_size_gb": 4096}, "(0 - 4095), got 4096"),
            ({"caching": "Write"}, 'one of ["None" "ReadOnly" "ReadWrite"], got Write'),
            ({"storage_account_type": "UltraSSD_LRS"}, "got UltraSSD_LRS"),
        )
    ),
    *(
        ("azurerm_linux_virtual_machine", {**MACHINE, "admin_ssh_key": [{"username": "u", "public_key": key}]}, words)
        for key, words in (
            (" ", 'expected "public_key" to not be an empty string'),
            ("ssh-rsa", '"public_key" is not a complete SSH2 Public Key'),
            ("ssh-rsa %%%", 'decoding "public_key" for public key data'),
            ("ssh-rsa AAAA", 'parsing "public_key" as a public key object'),
            (SHORT_KEY, "RSA SSH key has 1024 bits. Only ssh-rsa keys with 2048 bits"),
            (P256_KEY, "Only RSA and ED25519 SSH keys are supported"),
        )
    ),
    (
        "azurerm_role_assignment",
        {"name": "end", "scope": GROUP, "principal_id": SUBSCRIPTION, "role_definition_name": "r"},
        'expected "name" to be a valid UUID, got end',
    ),
    (
        "azurerm_role_assignment",
        {"scope": GROUP, "principal_id": SUBSCRIPTION, "role_definition_name": "r", "role_definition_id": "i"},
        "Conflicting configuration arguments",
    ),
    (
        "azurerm_role_assignment",
        {"scope": GROUP, "principal_id": SUBSCRIPTION, "role_definition_name": "r", "condition": "x"},
        "all of `condition,condition_version` must be specified",
    ),
    (
        "azurerm_role_assignment",
        {"scope": GROUP, "principal_id": SUBSCRIPTION, "role_definition_name": "r", "principal_type": "Robot"},
        "got Robot",
    ),
]
