"""Where each resource of the Azure module stands in a rendered root, and what ``terraform import`` wants for it.

The root calls the module ``machine``; the names are those of ``terraform/modules/azure/*.tf``, which a test compares.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

__all__ = ["NAME_PREFIX", "PLACES", "TAG", "Place", "assignment_name", "place_of", "place_of_azure", "resource_name"]

NAME_PREFIX = "gpuorch-"
TAG = "gpuorch:deployment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One managed resource of the module.

    ``azure_type`` is its type in Azure's lists of resources (``""``: it is part of another one, or stands in no list).
    ``tagged`` tells whether it can carry tags. What the import wants is Azure's id of it; for the association it is the
    ids of both ends with ``|`` between them.
    """

    type: str
    address: str
    azure_type: str = ""
    tagged: bool = True


# In the order in which they are imported: what others refer to comes first.
PLACES: tuple[Place, ...] = (
    Place(
        type="azurerm_resource_group",
        address="module.machine.azurerm_resource_group.own",
        azure_type="Microsoft.Resources/resourceGroups",
    ),
    Place(
        type="azurerm_virtual_network",
        address="module.machine.azurerm_virtual_network.own[0]",
        azure_type="Microsoft.Network/virtualNetworks",
    ),
    Place(type="azurerm_subnet", address="module.machine.azurerm_subnet.own[0]", tagged=False),
    Place(
        type="azurerm_public_ip",
        address="module.machine.azurerm_public_ip.machine[0]",
        azure_type="Microsoft.Network/publicIPAddresses",
    ),
    Place(
        type="azurerm_network_security_group",
        address="module.machine.azurerm_network_security_group.machine",
        azure_type="Microsoft.Network/networkSecurityGroups",
    ),
    Place(
        type="azurerm_network_interface",
        address="module.machine.azurerm_network_interface.machine",
        azure_type="Microsoft.Network/networkInterfaces",
    ),
    Place(
        type="azurerm_network_interface_security_group_association",
        address="module.machine.azurerm_network_interface_security_group_association.machine",
        tagged=False,
    ),
    Place(
        type="azurerm_linux_virtual_machine",
        address="module.machine.azurerm_linux_virtual_machine.machine",
        azure_type="Microsoft.Compute/virtualMachines",
    ),
    Place(type="azurerm_role_assignment", address="module.machine.azurerm_role_assignment.end[0]", tagged=False),
    Place(type="azurerm_role_assignment", address="module.machine.azurerm_role_assignment.checkpoint[0]", tagged=False),
)


def resource_name(deployment_id: str) -> str:
    """The name of the deployment's resource group, and of nearly everything in it."""
    return f"{NAME_PREFIX}{deployment_id}"


def assignment_name(deployment_id: str, purpose: str) -> str:
    """The GUID of the deployment's role assignment for ``end`` or ``checkpoint``, as the module makes it."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"gpuorch:{deployment_id}:{purpose}"))


def place_of(type_: str, purpose: str = "") -> Place | None:
    """The place of a Terraform resource type, ``None`` for one that the module does not have.

    Of the role assignments, ``purpose`` tells the right one: ``end`` or ``checkpoint``.
    """
    return next((place for place in PLACES if place.type == type_ and f".{purpose}" in place.address), None)


def place_of_azure(azure_type: str) -> Place | None:
    """The place of one of Azure's types, ``None`` for one that Terraform does not manage (a disk, say)."""
    wanted = azure_type.casefold()
    return next((place for place in PLACES if wanted and place.azure_type.casefold() == wanted), None)
