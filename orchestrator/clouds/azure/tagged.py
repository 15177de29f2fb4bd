"""Everything of a deployment that Azure still has, and where each thing belongs in the rendered root.

Azure does not tell upper from lower case in ids and answers sometimes so, sometimes so; Terraform does. So ids are made
anew here from the parts that the module fixes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from orchestrator.clouds.azure.addresses import (
    PLACES,
    TAG,
    Place,
    assignment_name,
    place_of,
    place_of_azure,
    resource_name,
)
from orchestrator.clouds.azure.calls import Connection
from orchestrator.model.machine import FoundResource

__all__ = ["NETWORK_API", "RESOURCES_API", "group_of", "resources_of"]

# Versions of the REST API, learn.microsoft.com/rest/api: resources, network, authorization.
RESOURCES_API: Final = "2021-04-01"
NETWORK_API: Final = "2024-05-01"
_ASSIGNMENTS_API: Final = "2022-04-01"

_ASSIGNMENTS: Final = "providers/Microsoft.Authorization/roleAssignments"
_PURPOSES: Final = ("end", "checkpoint")

Row = Mapping[str, Any]


def group_of(azure: Connection, deployment_id: str, region: str) -> Row | None:
    """The deployment's resource group, if it exists, carries our tag and lies in the region."""
    group = _group(azure, deployment_id)
    return group if group and _normal(group.get("location", "")) == region else None


def resources_of(azure: Connection, deployment_id: str, region: str) -> list[FoundResource]:
    """Every resource of the deployment in the region, in the order of import."""
    group = _group(azure, deployment_id)
    if group is None:
        # A role assignment for a storage account outlives the group.
        return list(_assignments(azure, deployment_id))
    if _normal(group.get("location", "")) != region:
        return []
    found = [*_in_group(azure, deployment_id), *_assignments(azure, deployment_id)]
    order = {place.address: number for number, place in enumerate(PLACES)}
    return sorted(found, key=lambda resource: order.get(resource.address, len(order)))


def _group(azure: Connection, deployment_id: str) -> Row | None:
    group = azure.get(f"{azure.root}/resourceGroups/{resource_name(deployment_id)}", RESOURCES_API)
    return group if group and (group.get("tags") or {}).get(TAG) == deployment_id else None


def _in_group(azure: Connection, deployment_id: str) -> Iterator[FoundResource]:
    name = resource_name(deployment_id)
    root = f"{azure.root}/resourceGroups/{name}"
    yield _found(place_of("azurerm_resource_group"), root)
    for row in azure.pages(f"{root}/resources", RESOURCES_API):
        place = place_of_azure(row["type"])
        # What somebody else put into the group is not ours to import, but it goes with the group.
        if place is None or row["name"] != name:
            if row["type"].lower() != "microsoft.compute/disks" or not row.get("managedBy"):
                yield FoundResource(type=row["type"], id=row["id"])
            continue
        id_ = f"{root}/providers/{place.azure_type}/{row['name']}"
        yield _found(place, id_)
        yield from _parts(azure, place, id_, root)


def _parts(azure: Connection, place: Place, id_: str, root: str) -> Iterator[FoundResource]:
    """What Terraform manages apart and Azure keeps inside a network or an interface."""
    if place.type == "azurerm_virtual_network":
        for subnet in _properties(azure.get(id_, NETWORK_API)).get("subnets", ()):
            own = place_of("azurerm_subnet") if subnet.get("name") == "machine" else None
            yield _found(own, f"{id_}/subnets/{subnet.get('name', '')}", "azurerm_subnet")
    if place.type == "azurerm_network_interface":
        rules = (_properties(azure.get(id_, NETWORK_API)).get("networkSecurityGroup") or {}).get("id", "")
        if rules:
            rules = f"{root}/providers/Microsoft.Network/networkSecurityGroups/{rules.rpartition('/')[2]}"
            yield _found(place_of("azurerm_network_interface_security_group_association"), f"{id_}|{rules}")


def _assignments(azure: Connection, deployment_id: str) -> Iterator[FoundResource]:
    """The role assignments under the deployment's own names. Azure has no search for them: all are looked through."""
    names = {assignment_name(deployment_id, purpose): purpose for purpose in _PURPOSES}
    for row in azure.pages(f"{azure.root}/{_ASSIGNMENTS}", _ASSIGNMENTS_API):
        guid = str(row.get("name", "")).lower()
        if guid in names and _properties(row).get("description") == resource_name(deployment_id):
            scope = _scope(azure, deployment_id, str(_properties(row).get("scope", "")))
            place = place_of("azurerm_role_assignment", names[guid])
            yield _found(place, f"{scope}/{_ASSIGNMENTS}/{guid}")


def _scope(azure: Connection, deployment_id: str, scope: str) -> str:
    name = resource_name(deployment_id)
    group = f"{azure.root}/resourceGroups/{name}"
    machine = f"{group}/providers/Microsoft.Compute/virtualMachines/{name}"
    return next((own for own in (group, machine) if own.lower() == scope.lower()), scope)


def _found(place: Place | None, id_: str, type_: str = "") -> FoundResource:
    if place is None:
        return FoundResource(type=type_, id=id_)
    return FoundResource(type=place.type, id=id_, address=place.address, import_id=id_)


def _properties(row: Row | None) -> Row:
    return (row or {}).get("properties") or {}


def _normal(location: str) -> str:
    return location.replace(" ", "").lower()
