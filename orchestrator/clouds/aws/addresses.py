"""Where each resource of the AWS module stands in a rendered root, and what ``terraform import`` wants for it.

The root calls the module ``machine``; the names are those of ``terraform/modules/aws/*.tf``, which a test compares.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NAME_PREFIX", "PLACES", "Place", "place_of", "place_of_ec2", "resource_name"]

NAME_PREFIX = "gpuorch-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One managed resource of the module.

    ``ec2_type`` is its ``ResourceType`` in EC2's DescribeTags (``""``: EC2 does not know it; look it up by name, see
    :func:`resource_name`). ``tagged`` tells whether it can carry tags at all. ``import_id`` says what the import wants,
    with ``{id}`` for the EC2 id and ``{name}`` for :func:`resource_name`; for a resource that hangs between two others
    it names their ids (``{subnet}/{route_table}``) or the policy's ARN (``{policy_arn}``).
    """

    type: str
    address: str
    ec2_type: str = ""
    tagged: bool = True
    import_id: str = "{id}"


# In the order in which they are imported: what others refer to comes first.
PLACES: tuple[Place, ...] = (
    Place(type="aws_vpc", address="module.machine.aws_vpc.own[0]", ec2_type="vpc"),
    Place(
        type="aws_internet_gateway", address="module.machine.aws_internet_gateway.own[0]", ec2_type="internet-gateway"
    ),
    Place(type="aws_subnet", address="module.machine.aws_subnet.own[0]", ec2_type="subnet"),
    Place(type="aws_route_table", address="module.machine.aws_route_table.own[0]", ec2_type="route-table"),
    Place(
        type="aws_route_table_association",
        address="module.machine.aws_route_table_association.own[0]",
        tagged=False,
        import_id="{subnet}/{route_table}",
    ),
    Place(type="aws_security_group", address="module.machine.aws_security_group.machine", ec2_type="security-group"),
    Place(type="aws_key_pair", address="module.machine.aws_key_pair.user[0]", ec2_type="key-pair", import_id="{name}"),
    Place(type="aws_iam_role", address="module.machine.aws_iam_role.machine[0]", import_id="{name}"),
    Place(
        type="aws_iam_role_policy",
        address="module.machine.aws_iam_role_policy.checkpoint[0]",
        tagged=False,
        import_id="{name}:checkpoint",
    ),
    Place(
        type="aws_iam_role_policy_attachment",
        address="module.machine.aws_iam_role_policy_attachment.session[0]",
        tagged=False,
        import_id="{name}/{policy_arn}",
    ),
    Place(
        type="aws_iam_instance_profile",
        address="module.machine.aws_iam_instance_profile.machine[0]",
        import_id="{name}",
    ),
    Place(type="aws_instance", address="module.machine.aws_instance.machine", ec2_type="instance"),
)


def resource_name(deployment_id: str) -> str:
    """The name of the deployment's key pair, security group, role and instance profile."""
    return f"{NAME_PREFIX}{deployment_id}"


def place_of(type_: str) -> Place | None:
    """The place of a Terraform resource type, ``None`` for one that the module does not have."""
    return next((place for place in PLACES if place.type == type_), None)


def place_of_ec2(ec2_type: str) -> Place | None:
    """The place of an EC2 ``ResourceType``, ``None`` for one that Terraform does not manage (a root volume, say)."""
    return next((place for place in PLACES if ec2_type and place.ec2_type == ec2_type), None)
