"""Where each resource of the Tencent module stands in a rendered root, and what ``terraform import`` wants for it.

The root calls the module ``machine``; the names are those of ``terraform/modules/tencent/*.tf``, which a test compares.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PLACES", "TAG", "Place", "key_name", "place_of", "resource_name"]

TAG = "gpuorch-deployment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One managed resource of the module.

    ``tagged`` tells whether it can carry tags at all (a CAM policy does so in newer providers only, and is found by its
    name). ``import_id`` says what the import wants, with ``{id}`` for Tencent's id; ``""`` where the provider has no
    import: a timer, which goes with its machine.
    """

    type: str
    address: str
    tagged: bool = True
    import_id: str = "{id}"


# In the order in which they are imported: what others refer to comes first.
PLACES: tuple[Place, ...] = (
    Place(type="tencentcloud_vpc", address="module.machine.tencentcloud_vpc.own[0]"),
    Place(type="tencentcloud_subnet", address="module.machine.tencentcloud_subnet.own[0]"),
    Place(type="tencentcloud_security_group", address="module.machine.tencentcloud_security_group.machine"),
    Place(
        type="tencentcloud_security_group_rule_set",
        address="module.machine.tencentcloud_security_group_rule_set.machine",
        tagged=False,
    ),
    Place(type="tencentcloud_key_pair", address="module.machine.tencentcloud_key_pair.user[0]"),
    Place(type="tencentcloud_cam_role", address="module.machine.tencentcloud_cam_role.machine[0]"),
    Place(type="tencentcloud_cam_policy", address="module.machine.tencentcloud_cam_policy.checkpoint[0]", tagged=False),
    Place(
        type="tencentcloud_cam_role_policy_attachment",
        address="module.machine.tencentcloud_cam_role_policy_attachment.checkpoint[0]",
        tagged=False,
        import_id="{role}#{policy}",
    ),
    Place(type="tencentcloud_instance", address="module.machine.tencentcloud_instance.machine"),
    Place(
        type="tencentcloud_cvm_action_timer",
        address="module.machine.tencentcloud_cvm_action_timer.end[0]",
        tagged=False,
        import_id="",
    ),
)


def resource_name(deployment_id: str) -> str:
    """The name of the deployment's network, security group, role and policy."""
    return f"gpuorch-{deployment_id}"


def key_name(deployment_id: str) -> str:
    """The name of its key pair: letters, digits and underscores, 25 at most."""
    return f"gpuorch_{deployment_id}"[:25]


def place_of(type_: str) -> Place | None:
    """The place of a Terraform resource type, ``None`` for one that the module does not have."""
    return next((place for place in PLACES if place.type == type_), None)
