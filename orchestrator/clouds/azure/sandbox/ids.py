"""Azure's ids of resources: paths of subscription, resource group, types and names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from orchestrator.clouds.rules import CloudView, Problem, Values
from orchestrator.clouds.sdk_checks import Check, at

__all__ = ["KINDS", "TENANT", "Kind", "group_id", "id_of", "identifier", "normal_location", "subscription"]

# The tenant of everything that is simulated.
TENANT = "00000000-0000-0000-0000-000000000001"

# Terraform type → the segments between the provider's namespace and the name, and what the provider calls each of the
# id's parts in its messages.
Kind = tuple[str, str]
KINDS: dict[str, Kind] = {
    "azurerm_virtual_network": ("Microsoft.Network/virtualNetworks", "Virtual Network"),
    "azurerm_public_ip": ("Microsoft.Network/publicIPAddresses", "Public I P Address"),
    "azurerm_network_security_group": ("Microsoft.Network/networkSecurityGroups", "Network Security Group"),
    "azurerm_network_interface": ("Microsoft.Network/networkInterfaces", "Network Interface"),
    "azurerm_linux_virtual_machine": ("Microsoft.Compute/virtualMachines", "Virtual Machine"),
}


def subscription(provider: Values) -> str:
    """The subscription of the provider's block, or of the environment, as the provider itself looks for it."""
    found = provider.get("subscription_id")
    return found if isinstance(found, str) and found else os.environ.get("ARM_SUBSCRIPTION_ID", "")


def group_id(view: CloudView, name: str) -> str:
    return f"/subscriptions/{subscription(view.provider)}/resourceGroups/{name}"


def id_of(view: CloudView, type_: str, values: Values) -> str:
    """The id that a resource of the type gets by its group and name."""
    return f"{group_id(view, values['resource_group_name'])}/providers/{KINDS[type_][0]}/{values['name']}"


def normal_location(text: object) -> str:
    """``East US`` and ``eastus`` are the same place; the provider keeps the second form."""
    return text.replace(" ", "").lower() if isinstance(text, str) else ""


def identifier(path: str, kind: str) -> Check:
    """An argument that must be an id of the kind (``Microsoft.Network/virtualNetworks/subnets``).

    Words: hashicorp/go-azure-helpers, resourcemanager/resourceids, for a text that does not have the id's segments.
    """
    namespace, *types = kind.split("/")
    segments = "".join(f"/{re.escape(type_)}/[^/]+" for type_ in types)
    pattern = re.compile(f"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/{re.escape(namespace)}{segments}")

    def check(config: Values) -> Iterator[Problem]:
        for where, text in at(config, path):
            if not pattern.fullmatch(text):
                words = f'parsing "{text}": parsing the {_words(types[-1])} ID: the number of segments didn\'t match'
                yield Problem(summary=words, path=where[:1])

    return check


def _words(type_: str) -> str:
    """``virtualMachines`` → ``VirtualMachine``."""
    singular = type_.removesuffix("es") if type_.endswith("sses") else type_.removesuffix("s")
    return singular[:1].upper() + singular[1:]
