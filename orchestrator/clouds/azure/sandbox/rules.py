"""Azure as the sandbox plays it: the provider hashicorp/azurerm without its code, Azure without machines.

Simulated: there are no quotas, no prices and no rights; every region sells every size in three zones until a test
orders otherwise, and every storage account that is named exists.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.clouds.azure.addresses import place_of
from orchestrator.clouds.azure.sandbox.group import GROUP
from orchestrator.clouds.azure.sandbox.identity import ACCOUNTS, ASSIGNMENT
from orchestrator.clouds.azure.sandbox.ids import normal_location, subscription
from orchestrator.clouds.azure.sandbox.interfaces import INTERFACES
from orchestrator.clouds.azure.sandbox.machine import MACHINE, capacity_error
from orchestrator.clouds.azure.sandbox.network import NETWORK
from orchestrator.clouds.azure.sandbox.tags import deployment
from orchestrator.clouds.rules import UNKNOWN, Problem, ProviderRules, Values
from orchestrator.clouds.sdk_checks import one_of

__all__ = ["RULES"]

_REGISTRATIONS = one_of("resource_provider_registrations", "core", "extended", "all", "none", "legacy")


def _region(provider: Values, values: Values) -> str:
    """Azure's provider has no region: each resource says its own, and some stand in another one's."""
    return normal_location(values.get("location"))


def _configure(config: Values) -> Iterator[Problem]:
    if not config.get("features"):
        words = "Attribute features list must contain at least 1 elements and at most 1 elements, got: 0"
        yield Problem(summary="Invalid Attribute Value", detail=words, path=("features",))
    yield from _REGISTRATIONS(config)
    if config.get("subscription_id") is not UNKNOWN and not subscription(config):
        yield Problem(
            summary="`subscription_id` is a required provider property when performing a plan/apply operation"
        )


def _address(type_: str) -> str:
    place = place_of(type_)
    return place.address if place else ""


RULES = ProviderRules(
    resources={
        "azurerm_resource_group": GROUP,
        **NETWORK,
        **INTERFACES,
        "azurerm_linux_virtual_machine": MACHINE,
        "azurerm_role_assignment": ASSIGNMENT,
    },
    data={"azurerm_resources": ACCOUNTS},
    configure=_configure,
    region=_region,
    deployment=deployment,
    address=_address,
    capacity_error=capacity_error,
    # learn.microsoft.com/azure/virtual-machines/spot-vms: eviction policy Delete.
    interrupted="Preempted: the Spot VM was evicted and deleted, because Azure needed the capacity back",
    ended="Deleted by a call to Microsoft.Compute/virtualMachines/delete",
    shut_down="Deleted by the machine's own identity, because its time was over",
)
