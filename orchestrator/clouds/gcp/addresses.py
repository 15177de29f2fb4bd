"""Where each resource of the module stands in the rendered root, and how it is found again without a state.

Only the instance carries labels (and its disk, which Terraform does not manage by itself). The others are found by the
one name that the module gives them, and are the deployment's own only if their description says so. The names are those
of ``terraform/modules/gcp/*.tf``, which a test compares.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

__all__ = ["LABEL", "MARKER", "PLACES", "Place", "account_id", "place_of", "resource_name"]

LABEL: Final = "gpuorch-deployment"
MARKER: Final = "gpuorch-deployment="
_PREFIX: Final = "gpuorch-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One managed resource of the module. ``labelled`` tells whether it can carry labels."""

    type: str
    address: str
    labelled: bool = False


# In the order in which they are imported: what others refer to comes first.
PLACES: Final[tuple[Place, ...]] = (
    Place(type="google_compute_network", address="module.machine.google_compute_network.own[0]"),
    Place(type="google_compute_subnetwork", address="module.machine.google_compute_subnetwork.own[0]"),
    Place(type="google_compute_firewall", address="module.machine.google_compute_firewall.ssh[0]"),
    Place(type="google_service_account", address="module.machine.google_service_account.machine[0]"),
    Place(
        type="google_storage_bucket_iam_member",
        address="module.machine.google_storage_bucket_iam_member.checkpoint[0]",
    ),
    Place(type="google_compute_instance", address="module.machine.google_compute_instance.machine", labelled=True),
)


def resource_name(deployment_id: str) -> str:
    """The name of everything of the deployment, the service account apart."""
    return f"{_PREFIX}{deployment_id}"


def account_id(deployment_id: str) -> str:
    """The service account's name: the same, unless that is longer than the 30 characters that Google takes."""
    name = resource_name(deployment_id)
    if len(name) <= 30:
        return name
    return _PREFIX + hashlib.sha256(deployment_id.encode()).hexdigest()[:22]


def place_of(type_: str) -> Place | None:
    """The place of a Terraform resource type, ``None`` for one that the module does not have."""
    return next((place for place in PLACES if place.type == type_), None)
