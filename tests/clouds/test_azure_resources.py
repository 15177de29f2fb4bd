"""What of a deployment Azure still has, and where it belongs in the rendered root."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator.clouds.azure.addresses import PLACES, assignment_name
from orchestrator.clouds.azure.machines import AzureMachines
from tests.clouds.build_azure import (
    DEPLOYMENT,
    FOREIGN,
    REGION,
    ROOT,
    AzureDouble,
    a_group,
    a_machine,
    a_network,
    an_assignment,
    assignments,
)

GROUP = f"{ROOT}/resourceGroups/gpuorch-{DEPLOYMENT}"
NAME = f"gpuorch-{DEPLOYMENT}"
ACCOUNT = f"{ROOT}/resourceGroups/stores/providers/Microsoft.Storage/storageAccounts/acct123"
STORE = f"{ACCOUNT}/blobServices/default/containers/c"
ASSIGNMENTS = "providers/Microsoft.Authorization/roleAssignments"


@pytest.fixture
def azure() -> Iterator[AzureDouble]:
    with AzureDouble() as double:
        assignments(double)
        yield double


@pytest.fixture
def machines(azure: AzureDouble) -> AzureMachines:
    return AzureMachines(REGION, azure.connection())


def test_everything_with_its_address_in_the_order_of_import(azure: AzureDouble, machines: AzureMachines) -> None:
    a_group(azure)
    machine = a_machine(azure)
    a_network(azure)
    assignments(
        azure,
        an_assignment(FOREIGN, "end", GROUP),
        an_assignment(DEPLOYMENT, "checkpoint", STORE),
        an_assignment(DEPLOYMENT, "end", machine.replace(GROUP, GROUP.upper())),
    )
    found = machines.resources(DEPLOYMENT)
    placed = [resource for resource in found if resource.address]
    assert [resource.address for resource in placed] == [place.address for place in PLACES]
    assert all(resource.id == resource.import_id for resource in placed)
    network = f"{GROUP}/providers/Microsoft.Network"
    assert {resource.address.rpartition("azurerm_")[2]: resource.import_id for resource in placed} == {
        "resource_group.own": GROUP,
        "virtual_network.own[0]": f"{network}/virtualNetworks/{NAME}",
        "subnet.own[0]": f"{network}/virtualNetworks/{NAME}/subnets/machine",
        "public_ip.machine[0]": f"{network}/publicIPAddresses/{NAME}",
        "network_security_group.machine": f"{network}/networkSecurityGroups/{NAME}",
        "network_interface.machine": f"{network}/networkInterfaces/{NAME}",
        "network_interface_security_group_association.machine": (
            f"{network}/networkInterfaces/{NAME}|{network}/networkSecurityGroups/{NAME}"
        ),
        "linux_virtual_machine.machine": machine,
        "role_assignment.end[0]": f"{machine}/{ASSIGNMENTS}/{assignment_name(DEPLOYMENT, 'end')}",
        "role_assignment.checkpoint[0]": f"{STORE}/{ASSIGNMENTS}/{assignment_name(DEPLOYMENT, 'checkpoint')}",
    }
    # The machine's own disk goes with it; the other stayed behind, and Terraform does not know it.
    (left,) = [resource for resource in found if not resource.address]
    assert (left.type, left.id.endswith("_old")) == ("Microsoft.Compute/disks", True)


def test_nothing_of_ours(azure: AzureDouble, machines: AzureMachines) -> None:
    assert machines.resources(DEPLOYMENT) == []
    a_group(azure, tag=FOREIGN)
    a_machine(azure)
    a_network(azure)
    assert machines.resources(DEPLOYMENT) == []


def test_a_group_in_another_region_is_another_places(azure: AzureDouble, machines: AzureMachines) -> None:
    a_group(azure, location="West Europe")
    assignments(azure, an_assignment(DEPLOYMENT, "checkpoint", STORE))
    assert machines.resources(DEPLOYMENT) == []
    elsewhere = AzureMachines("westeurope", azure.connection()).resources(DEPLOYMENT)
    assert [resource.type for resource in elsewhere] == ["azurerm_resource_group", "azurerm_role_assignment"]


def test_the_right_to_the_checkpoints_outlives_the_group(azure: AzureDouble, machines: AzureMachines) -> None:
    assignments(
        azure,
        an_assignment(DEPLOYMENT, "checkpoint", STORE),
        an_assignment(DEPLOYMENT, "end", GROUP, description="somebody else's under our GUID"),
    )
    (left,) = machines.resources(DEPLOYMENT)
    assert left.address == "module.machine.azurerm_role_assignment.checkpoint[0]"
    assert left.id.startswith(STORE)


def test_a_foreign_thing_in_our_group_has_no_address(azure: AzureDouble, machines: AzureMachines) -> None:
    a_group(azure)
    row = {"type": "Microsoft.Network/networkInterfaces", "name": "theirs", "id": f"{GROUP}/theirs"}
    azure.put(f"{GROUP}/resources", [row])
    group, theirs = machines.resources(DEPLOYMENT)
    assert (group.type, theirs.address, theirs.id) == ("azurerm_resource_group", "", f"{GROUP}/theirs")
