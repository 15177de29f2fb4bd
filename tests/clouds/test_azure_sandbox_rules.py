"""What the genuine Azure provider's own code, or Azure, refuses is refused in the sandbox, in its words."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.azure.cloud import CLOUD
from orchestrator.clouds.azure.sandbox.machine import capacity_error
from orchestrator.clouds.azure.sandbox.rules import RULES
from orchestrator.clouds.rules import UNKNOWN, MachineFacts
from orchestrator.sandbox.provider.schema import complete, read_schema
from tests.clouds.build_azure_sandbox import (
    GROUP,
    IMAGE,
    INTERFACE,
    MACHINE,
    NAMED,
    RULE,
    SUBSCRIPTION,
    WRONG,
    a_network,
    a_provider,
    create,
    made,
    whole,
)


@pytest.mark.parametrize(
    ("type_", "config", "words"), WRONG, ids=[f"{type_}-{words[:40]}" for type_, _, words in WRONG]
)
def test_refused_before_the_plan(tmp_path: Path, type_: str, config: dict[str, Any], words: str) -> None:
    provider = a_provider(tmp_path)
    problems = provider.validate(type_, whole(provider, type_, config))
    assert any(words in f"{problem.summary}\n{problem.detail}" for problem in problems), problems


@pytest.mark.parametrize(("type_", "config"), [(type_, config) for type_, config, _ in WRONG])
def test_what_is_not_known_yet_passes(tmp_path: Path, type_: str, config: dict[str, Any]) -> None:
    provider = a_provider(tmp_path)
    known = {"virtual_machine_id"}
    needed = {"azurerm_virtual_network": ["address_space"], "azurerm_linux_virtual_machine": ["source_image_reference"]}
    names = {name for name in (*config, *needed.get(type_, ())) if name not in known}
    names -= {"source_image_id", "role_definition_id"}
    assert not provider.validate(type_, whole(provider, type_, dict.fromkeys(names, UNKNOWN)))


def test_the_right_configuration_passes_and_is_made(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    interface = a_network(provider)
    assert not provider.validate(
        "azurerm_linux_virtual_machine", whole(provider, "azurerm_linux_virtual_machine", MACHINE)
    )
    machine = made(provider, "azurerm_linux_virtual_machine", {**MACHINE, "identity": [{"type": "SystemAssigned"}]})
    assert machine["id"] == f"{GROUP}/providers/Microsoft.Compute/virtualMachines/{NAMED['name']}"
    assert (machine["private_ip_address"], interface["private_ip_address"]) == ("10.86.0.4", "10.86.0.4")
    assert machine["public_ip_address"].startswith("203.0.113.")
    assert len(machine["identity"][0]["principal_id"]) == 36
    assert machine["os_disk"][0]["id"] == machine["os_managed_disk_id"]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "features list must contain at least 1 elements"),
        ({"features": [{}]}, "`subscription_id` is a required provider property"),
        ({"features": [{}], "subscription_id": "s", "resource_provider_registrations": "some"}, "got some"),
    ],
)
def test_the_providers_own_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: dict[str, Any], words: str
) -> None:
    monkeypatch.delenv("ARM_SUBSCRIPTION_ID", raising=False)
    provider = a_provider(tmp_path)
    problems = provider.configure(complete(provider.schema.provider.block, config) or {})
    assert any(words in f"{problem.summary}\n{problem.detail}" for problem in problems), problems


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"admin_ssh_key": []}, "at least one `admin_ssh_key` must be specified"),
    ({"eviction_policy": "Delete"}, "an `eviction_policy` can only be specified when `priority` is set to `Spot`"),
    ({"priority": "Spot"}, "an `eviction_policy` must be specified when `priority` is set to `Spot`"),
    ({"max_bid_price": 5}, "`max_bid_price` can only be configured when `priority` is set to `Spot`"),
    ({"size": "p4d.24xlarge"}, "InvalidParameter: The value p4d.24xlarge provided for the VM size is not valid"),
    ({"zone": "4"}, "InvalidAvailabilityZone: The zone(s) '4'"),
    ({"custom_data": base64.b64encode(b"x" * 65537).decode()}, "maximum length of 87380 characters"),
    ({"source_image_reference": [{**IMAGE[0], "version": "newest"}]}, "PlatformImageNotFound"),
    ({"os_disk": [{**MACHINE["os_disk"][0], "disk_size_gb": 10}]}, "smaller than the size of the corresponding disk"),
    ({"network_interface_ids": [f"{INTERFACE}x"]}, "InvalidResourceReference"),
    ({"resource_group_name": "other"}, "ResourceGroupNotFound: Resource group 'other' could not be found."),
]


@pytest.mark.parametrize(("changes", "words"), REFUSED, ids=[words[:50] for _, words in REFUSED])
def test_a_machine_that_is_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    provider = a_provider(tmp_path)
    a_network(provider)
    outcome = create(provider, "azurerm_linux_virtual_machine", {**MACHINE, **changes})
    assert outcome.values is None
    assert words in outcome.problems[0].summary


def test_the_largest_user_data_is_taken(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    a_network(provider)
    data = base64.b64encode(b"#" + b"x" * (CLOUD.user_data_limit_bytes - 1)).decode()
    made(provider, "azurerm_linux_virtual_machine", {**MACHINE, "custom_data": data})


OTHERS: list[tuple[str, dict[str, Any], str]] = [
    ("azurerm_resource_group", {"name": "x", "location": "somewhere-1"}, "LocationNotAvailableForResourceGroup"),
    ("azurerm_virtual_network", {**NAMED, "name": "n", "address_space": ["10.0.0.1/8"]}, "InvalidAddressPrefixFormat"),
    ("azurerm_public_ip", {**NAMED, "name": "n", "allocation_method": "Dynamic"}, "static IP allocation must be used"),
    (
        "azurerm_public_ip",
        {**NAMED, "name": "n", "allocation_method": "Static", "zones": ["9"]},
        "InvalidAvailabilityZone",
    ),
    (
        "azurerm_subnet",
        {
            "name": "n",
            "resource_group_name": NAMED["name"],
            "virtual_network_name": NAMED["name"],
            "address_prefixes": ["192.168.0.0/24"],
        },
        "NetcfgInvalidSubnet",
    ),
    (
        "azurerm_subnet",
        {
            "name": "n",
            "resource_group_name": NAMED["name"],
            "virtual_network_name": "none",
            "address_prefixes": ["10.86.0.0/24"],
        },
        "ResourceNotFound",
    ),
    (
        "azurerm_network_security_group",
        {**NAMED, "security_rule": [{**RULE, "source_address_prefix": "*"}]},
        "must specify either SourceAddressPrefixes or SourceAddressPrefix",
    ),
    (
        "azurerm_network_security_group",
        {**NAMED, "security_rule": [{**RULE, "source_address_prefixes": ["1.2.3.4/32", "::1/128"]}]},
        "ContainsBothIpv4AndIpv6",
    ),
    (
        "azurerm_network_security_group",
        {**NAMED, "security_rule": [RULE, {**RULE, "name": "x"}]},
        "SecurityRuleConflict",
    ),
    ("azurerm_network_interface", {**NAMED, "ip_configuration": []}, "already exists - to be managed via Terraform"),
    (
        "azurerm_role_assignment",
        {"scope": GROUP, "principal_id": "nobody", "role_definition_name": "r"},
        "PrincipalNotFound",
    ),
    ("azurerm_role_assignment", {"scope": GROUP, "principal_id": SUBSCRIPTION}, "needs to be set"),
]


@pytest.mark.parametrize(
    ("type_", "config", "words"), OTHERS, ids=[f"{type_}-{words[:40]}" for type_, _, words in OTHERS]
)
def test_others_that_are_refused(tmp_path: Path, type_: str, config: dict[str, Any], words: str) -> None:
    provider = a_provider(tmp_path)
    a_network(provider)
    outcome = create(provider, type_, config)
    assert outcome.values is None
    assert words in outcome.problems[0].summary


def test_what_is_in_use_cannot_be_deleted(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    interface = a_network(provider)
    rules = made(provider, "azurerm_network_security_group", {**NAMED, "security_rule": [RULE]})
    tied = {"network_interface_id": interface["id"], "network_security_group_id": rules["id"]}
    association = made(provider, "azurerm_network_interface_security_group_association", tied)
    machine = made(provider, "azurerm_linux_virtual_machine", MACHINE)
    subnet = {"id": interface["ip_configuration"][0]["subnet_id"], "name": "machine"}
    address = {"id": interface["ip_configuration"][0]["public_ip_address_id"], **NAMED}
    for type_, values, code in (
        ("azurerm_network_interface", interface, "NicInUse"),
        ("azurerm_network_security_group", rules, "InUseNetworkSecurityGroupCannotBeDeleted"),
        ("azurerm_subnet", subnet, "InUseSubnetCannotBeDeleted"),
        ("azurerm_public_ip", address, "PublicIPAddressCannotBeDeleted"),
    ):
        assert code in provider.delete(type_, values).problems[0].summary
    for type_, values in (
        ("azurerm_linux_virtual_machine", machine),
        ("azurerm_network_interface_security_group_association", association),
        ("azurerm_network_interface", interface),
        ("azurerm_network_security_group", rules),
    ):
        assert not provider.delete(type_, values).problems


def test_the_providers_guard_of_a_group_that_is_not_empty(tmp_path: Path) -> None:
    provider = a_provider(tmp_path, features=[{}])
    a_network(provider)
    group = {"id": GROUP, "name": NAMED["name"], "location": "eastus"}
    outcome = provider.delete("azurerm_resource_group", group)
    assert "the Resource Group still contains Resources" in outcome.problems[0].summary
    assert not a_provider(tmp_path).delete("azurerm_resource_group", group).problems


def test_a_name_twice_is_refused_for_a_role_assignment(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    values = {"name": SUBSCRIPTION, "scope": GROUP, "principal_id": SUBSCRIPTION, "role_definition_name": "Reader"}
    assert made(provider, "azurerm_role_assignment", values)["id"].endswith(SUBSCRIPTION)
    assert "RoleAssignmentExists" in create(provider, "azurerm_role_assignment", values).problems[0].summary


def test_no_capacity_is_said_at_once_for_a_region_and_later_for_a_zone() -> None:
    facts = {"instance_type": "Standard_ND96asr_v4", "market": "spot", "user_data": ""}
    region = capacity_error(MachineFacts(zone="", **facts), "eastus").summary
    assert "unexpected status 409 (409 Conflict) with error: SkuNotAvailable" in region
    zone = capacity_error(MachineFacts(zone="2", **facts), "eastus").summary
    assert 'polling failed: the Azure API returned the following error:\n\nStatus: "ZonalAllocationFailed"' in zone


def test_every_resource_of_the_schema_has_rules_and_every_rule_a_resource() -> None:
    assert CLOUD.sandbox is not None
    schema = read_schema(CLOUD.sandbox.schema)
    assert schema.resources.keys() == RULES.resources.keys()
    assert schema.data.keys() == RULES.data.keys()
    for type_, rules in RULES.resources.items():
        for path in {*rules.force_new, *rules.defaults, *rules.kept_blocks}:
            block = schema.resources[type_].block
            *blocks, last = path.split(".")
            for name in blocks:
                block = block.blocks[name].block
            assert last in block.attributes or last in block.blocks, f"{type_}.{path}"
