"""Where each resource of the module stands in a rendered root, and what ``terraform import`` wants for it.

The root calls the module ``machine``; the names are those of ``terraform/modules/alibaba/*.tf``, which a test compares.
Forms of import: the "Import" section of each resource's page in the provider's documentation.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NAME_PREFIX", "PLACES", "Place", "place_of", "resource_name", "rule_address"]

NAME_PREFIX = "gpuorch-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One managed resource of the module.

    ``tagged`` tells whether it can carry tags at all. ``import_id`` says what the import wants, with ``{id}`` for the
    cloud's id, ``{name}`` for :func:`resource_name` and ``{machine}`` for the id of the machine.
    """

    type: str
    address: str
    tagged: bool = True
    import_id: str = "{id}"


# In the order in which they are imported: what others refer to comes first.
PLACES: tuple[Place, ...] = (
    Place(type="alicloud_vpc", address="module.machine.alicloud_vpc.own[0]"),
    Place(type="alicloud_vswitch", address="module.machine.alicloud_vswitch.own[0]"),
    Place(type="alicloud_security_group", address="module.machine.alicloud_security_group.machine"),
    # One for each block of addresses, see rule_address.
    Place(type="alicloud_security_group_rule", address="module.machine.alicloud_security_group_rule.ssh", tagged=False),
    Place(type="alicloud_ecs_key_pair", address="module.machine.alicloud_ecs_key_pair.user[0]", import_id="{name}"),
    Place(type="alicloud_ram_role", address="module.machine.alicloud_ram_role.machine[0]", import_id="{name}"),
    Place(type="alicloud_ram_policy", address="module.machine.alicloud_ram_policy.checkpoint[0]", import_id="{name}"),
    Place(
        type="alicloud_ram_role_policy_attachment",
        address="module.machine.alicloud_ram_role_policy_attachment.checkpoint[0]",
        tagged=False,
        import_id="role:{name}:Custom:{name}",
    ),
    Place(type="alicloud_instance", address="module.machine.alicloud_instance.machine"),
    Place(
        type="alicloud_ecs_ram_role_attachment",
        address="module.machine.alicloud_ecs_ram_role_attachment.machine[0]",
        tagged=False,
        import_id="{machine}:{name}",
    ),
)


def resource_name(deployment_id: str) -> str:
    """The name of everything of the deployment that has a name."""
    return f"{NAME_PREFIX}{deployment_id}"


def place_of(type_: str) -> Place | None:
    """The place of a Terraform resource type, ``None`` for one that the module does not have."""
    return next((place for place in PLACES if place.type == type_), None)


def rule_address(cidr: str) -> str:
    """Where the rule that lets in one block of addresses stands: it has one instance a block."""
    place = place_of("alicloud_security_group_rule")
    return f'{place.address}["{cidr}"]' if place else ""
