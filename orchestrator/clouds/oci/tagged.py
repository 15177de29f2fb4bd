"""Everything of a deployment that OCI still has, and where each thing belongs in the rendered root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.clouds.oci.addresses import PLACES, RULE_TYPE, place_of, place_of_searched, rule_address
from orchestrator.clouds.oci.calls import Clients, every, oci_call, sdk
from orchestrator.model.machine import FoundResource

__all__ = ["KINDS", "TAG", "Kind", "TaggedResources", "tags_of"]

TAG: Final = "gpuorch-deployment"
# What a thing is called that does not exist any more, or is on its way: OCI shows it for a while.
_GONE: Final = frozenset({"TERMINATED", "TERMINATING", "DELETED", "DELETING"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How OCI lists one kind of thing in a compartment. The lists are up to date at once; its search is not."""

    type: str
    service: str
    operation: str
    action: str


# The instances are listed by the caller, who has them already.
KINDS: Final = (
    Kind(type="oci_core_vcn", service="network", operation="list_vcns", action="ListVcns"),
    Kind(
        type="oci_core_default_security_list",
        service="network",
        operation="list_security_lists",
        action="ListSecurityLists",
    ),
    Kind(
        type="oci_core_internet_gateway",
        service="network",
        operation="list_internet_gateways",
        action="ListInternetGateways",
    ),
    Kind(type="oci_core_route_table", service="network", operation="list_route_tables", action="ListRouteTables"),
    Kind(type="oci_core_subnet", service="network", operation="list_subnets", action="ListSubnets"),
    Kind(
        type="oci_core_network_security_group",
        service="network",
        operation="list_network_security_groups",
        action="ListNetworkSecurityGroups",
    ),
    Kind(type="oci_identity_policy", service="identity", operation="list_policies", action="ListPolicies"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A resource before its address is decided. ``vcn`` is ``""`` where it has none."""

    type: str
    id: str
    vcn: str = ""
    address: str = ""
    import_id: str = ""


class TaggedResources:
    """The search. Raises :class:`~orchestrator.errors.CloudCallFailed` when OCI refuses or does not answer."""

    def __init__(self, clients: Clients, compartment: str, home_region: str = "") -> None:
        self._clients = clients
        self._compartment = compartment
        self._home_region = home_region

    def of(self, deployment_id: str, instances: Sequence[Any], vcn: str) -> list[FoundResource]:
        """Every resource of the deployment, with the given living instances (the deployment's machine first) and the
        network that the machine is in, in the order of import."""
        found = [*self._listed(deployment_id)]
        found += [_Found(type="oci_core_instance", id=instance.id, vcn=vcn) for instance in instances]
        known = {row.id for row in found}
        found += [row for row in self._elsewhere(deployment_id) if row.id not in known]
        whose = vcn or next((row.id for row in found if row.type == "oci_core_vcn"), "")
        taken: set[str] = set()
        return [_placed(row, whose, taken) for row in sorted(found, key=_import_order)]

    def _listed(self, deployment_id: str) -> Iterator[_Found]:
        for kind in KINDS:
            region = self._home_region if kind.service == "identity" else ""
            with oci_call(kind.action, region or self._clients.region):
                client = self._clients.client(kind.service, region)
                rows = every(getattr(client, kind.operation), compartment_id=self._compartment)
            for row in rows:
                if tags_of(row).get(TAG) != deployment_id or row.lifecycle_state in _GONE:
                    continue
                is_vcn = kind.type == "oci_core_vcn"
                yield _Found(type=kind.type, id=row.id, vcn=row.id if is_vcn else getattr(row, "vcn_id", "") or "")
                if kind.type == "oci_core_network_security_group":
                    yield from self._rules(row)

    def _rules(self, group: Any) -> Iterator[_Found]:
        """A group's rules have no tags and no OCID; they come and go with it."""
        with oci_call("ListNetworkSecurityGroupSecurityRules", self._clients.region):
            network = self._clients.client("network")
            rows = every(network.list_network_security_group_security_rules, group.id)
        for row in rows:
            ours = row.direction == "INGRESS" and row.source_type == "CIDR_BLOCK" and row.protocol == "6"
            yield _Found(
                type=RULE_TYPE,
                id=row.id,
                vcn=group.vcn_id,
                address=rule_address(row.source) if ours else "",
                import_id=f"networkSecurityGroups/{group.id}/securityRules/{row.id}",
            )

    def _elsewhere(self, deployment_id: str) -> Iterator[_Found]:
        """What carries the tag and is none of the above: another kind, or in another compartment of the tenancy.

        OCI's search knows of a thing a while after it is made, and for a while after it is gone; so a thing counts only
        with a state that is none of an end.
        """
        query = f"query all resources where (freeformTags.key = '{TAG}' && freeformTags.value = '{deployment_id}')"
        details = sdk().resource_search.models.StructuredSearchDetails(query=query, matching_context_type="NONE")
        with oci_call("SearchResources", self._clients.region):
            rows = every(self._clients.client("search").search_resources, details)
        for row in rows:
            place = place_of_searched(row.resource_type)
            state = str(row.lifecycle_state or "").upper()
            # The list of this compartment has just said more of its own kinds than the search can know.
            if state in _GONE or (place is not None and row.compartment_id == self._compartment):
                continue
            yield _Found(type=place.type if place else f"oci {row.resource_type}", id=row.identifier)


def tags_of(row: Any) -> Mapping[str, str]:
    """The free-form tags of anything."""
    return row.freeform_tags or {}


def _import_order(found: _Found) -> int:
    types = [place.type for place in PLACES]
    return types.index(found.type) if found.type in types else len(types)


def _placed(found: _Found, vcn: str, taken: set[str]) -> FoundResource:
    """``found`` with its address, where that is free and the thing hangs together with the machine."""
    place = place_of(found.type)
    address = found.address if found.type == RULE_TYPE else (place.address if place else "")
    if not address or address in taken or (found.vcn and vcn and found.vcn != vcn):
        return FoundResource(type=found.type, id=found.id)
    taken.add(address)
    return FoundResource(type=found.type, id=found.id, address=address, import_id=found.import_id or found.id)
