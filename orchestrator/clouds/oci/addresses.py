"""Where each resource of the OCI module stands in a rendered root, and what OCI's search calls it.

The root calls the module ``machine``; the names are those of ``terraform/modules/oci/*.tf``, which a test compares.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

__all__ = [
    "NAME_PREFIX",
    "PLACES",
    "RULE_TYPE",
    "Place",
    "place_of",
    "place_of_searched",
    "resource_name",
    "rule_address",
]

NAME_PREFIX = "gpuorch-"
RULE_TYPE = "oci_core_network_security_group_security_rule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One managed resource of the module.

    ``searched`` is its resource type in OCI's search service (``""``: it is not found by a search). ``tagged`` tells
    whether it can carry tags at all. All but the rules of a security group are imported by their OCID.
    """

    type: str
    address: str
    searched: str = ""
    tagged: bool = True


# In the order in which they are imported: what others refer to comes first. Names of the search service:
# docs.oracle.com/iaas/Content/Search/Concepts/queryoverview.htm
PLACES: tuple[Place, ...] = (
    Place(type="oci_core_vcn", address="module.machine.oci_core_vcn.own[0]", searched="Vcn"),
    Place(
        type="oci_core_default_security_list",
        address="module.machine.oci_core_default_security_list.own[0]",
        searched="SecurityList",
    ),
    Place(
        type="oci_core_internet_gateway",
        address="module.machine.oci_core_internet_gateway.own[0]",
        searched="InternetGateway",
    ),
    Place(type="oci_core_route_table", address="module.machine.oci_core_route_table.own[0]", searched="RouteTable"),
    Place(type="oci_core_subnet", address="module.machine.oci_core_subnet.own[0]", searched="Subnet"),
    Place(
        type="oci_core_network_security_group",
        address="module.machine.oci_core_network_security_group.machine[0]",
        searched="NetworkSecurityGroup",
    ),
    Place(type=RULE_TYPE, address=f"module.machine.{RULE_TYPE}.ssh", tagged=False),
    Place(type="oci_core_instance", address="module.machine.oci_core_instance.machine", searched="Instance"),
    Place(type="oci_identity_policy", address="module.machine.oci_identity_policy.machine[0]", searched="Policy"),
)


def resource_name(deployment_id: str) -> str:
    """The name of the deployment's policy, network and everything in it."""
    return f"{NAME_PREFIX}{deployment_id}"


def rule_address(source: str) -> str:
    """Where the rule that lets in ``source`` stands: there is one for each block of addresses."""
    return f"module.machine.{RULE_TYPE}.ssh[{json.dumps(source)}]"


def place_of(type_: str) -> Place | None:
    """The place of a Terraform resource type, ``None`` for one that the module does not have."""
    return next((place for place in PLACES if place.type == type_), None)


def place_of_searched(searched: str) -> Place | None:
    """The place of a resource type of the search service, ``None`` for one that Terraform does not manage."""
    return next((place for place in PLACES if searched and place.searched.lower() == searched.lower()), None)
