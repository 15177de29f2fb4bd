"""Everything of a deployment that AWS still has, and where each thing belongs in the rendered root."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.clouds.aws.addresses import PLACES, Place, place_of, resource_name
from orchestrator.clouds.aws.calls import Clients, aws_call, error_code
from orchestrator.model.machine import FoundResource

__all__ = ["EC2_KINDS", "PAGES", "TAG", "Ec2Kind", "TaggedResources", "tag_filter", "tags_of"]

TAG: Final = "gpuorch:deployment"
PAGES: Final = {"PageSize": 100}  # what each of EC2's lists allows

_SESSION_POLICY: Final = ":aws:policy/AmazonSSMManagedInstanceCore"  # the one that the module attaches

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ec2Kind:
    """How EC2 lists one kind of thing: boto3's operation, the field of the list, the field of the id."""

    type: str
    operation: str
    action: str
    rows: str
    id: str
    exists: Callable[[Row], bool] = lambda row: True


def _left_behind(row: Row) -> bool:
    """A disk or interface of a machine goes with it; listed is what nothing holds any more."""
    return row.get("State", row.get("Status")) in ("available", "error")


# The instances are listed by the caller, who has them already.
EC2_KINDS: Final = (
    Ec2Kind(type="aws_vpc", operation="describe_vpcs", action="ec2:DescribeVpcs", rows="Vpcs", id="VpcId"),
    Ec2Kind(
        type="aws_internet_gateway",
        operation="describe_internet_gateways",
        action="ec2:DescribeInternetGateways",
        rows="InternetGateways",
        id="InternetGatewayId",
    ),
    Ec2Kind(
        type="aws_subnet", operation="describe_subnets", action="ec2:DescribeSubnets", rows="Subnets", id="SubnetId"
    ),
    Ec2Kind(
        type="aws_route_table",
        operation="describe_route_tables",
        action="ec2:DescribeRouteTables",
        rows="RouteTables",
        id="RouteTableId",
    ),
    Ec2Kind(
        type="aws_security_group",
        operation="describe_security_groups",
        action="ec2:DescribeSecurityGroups",
        rows="SecurityGroups",
        id="GroupId",
    ),
    Ec2Kind(
        type="aws_key_pair",
        operation="describe_key_pairs",
        action="ec2:DescribeKeyPairs",
        rows="KeyPairs",
        id="KeyPairId",
    ),
    Ec2Kind(
        type="aws_ebs_volume",
        operation="describe_volumes",
        action="ec2:DescribeVolumes",
        rows="Volumes",
        id="VolumeId",
        exists=_left_behind,
    ),
    Ec2Kind(
        type="aws_network_interface",
        operation="describe_network_interfaces",
        action="ec2:DescribeNetworkInterfaces",
        rows="NetworkInterfaces",
        id="NetworkInterfaceId",
        exists=_left_behind,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A resource before its address is decided. ``vpc`` is ``""`` where it has none, ``named`` fills ``import_id``."""

    type: str
    id: str
    vpc: str = ""
    named: Mapping[str, str]
    by_hand: bool = False


class TaggedResources:
    """The search. Raises :class:`~orchestrator.errors.CloudCallFailed` when AWS refuses or does not answer."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    def of(self, deployment_id: str, instances: Sequence[Row]) -> list[FoundResource]:
        """Every resource of the deployment, with the given living instances, in the order of import."""
        found = [*self._ec2(deployment_id), *self._iam(deployment_id), *_machines(instances, deployment_id)]
        vpc = next((row.vpc for row in found if row.type == "aws_instance"), "") or next(
            (row.vpc for row in found if row.type == "aws_vpc"), ""
        )
        taken: set[str] = set()
        return [_placed(row, vpc, taken) for row in sorted(found, key=_import_order)]

    def _ec2(self, deployment_id: str) -> Iterator[_Found]:
        for kind in EC2_KINDS:
            for row in self._tagged(kind, deployment_id):
                if not kind.exists(row):
                    continue
                yield _Found(
                    type=kind.type,
                    id=row[kind.id],
                    vpc=_vpc(row),
                    named={"id": row[kind.id], "name": row.get("KeyName", resource_name(deployment_id))},
                )
                if kind.type == "aws_route_table":
                    yield from _associations(row)

    def _tagged(self, kind: Ec2Kind, deployment_id: str) -> list[Row]:
        filters = tag_filter(deployment_id)
        with aws_call(kind.action, self._clients.region):
            ec2 = self._clients.client("ec2")
            if ec2.can_paginate(kind.operation):
                pages = ec2.get_paginator(kind.operation).paginate(Filters=filters, PaginationConfig=PAGES)
                return [row for page in pages for row in page.get(kind.rows, ())]
            return list(getattr(ec2, kind.operation)(Filters=filters).get(kind.rows, ()))

    def _iam(self, deployment_id: str) -> Iterator[_Found]:
        """Role and instance profile stand under the deployment's own name, and count only with its tag."""
        name = resource_name(deployment_id)
        named = {"name": name}
        role = self._iam_get("iam:GetRole", "get_role", "Role", RoleName=name)
        if role and tags_of(role).get(TAG) == deployment_id:
            yield _Found(type="aws_iam_role", id=name, named=named)
            for policy in self._iam_list("iam:ListRolePolicies", "list_role_policies", "PolicyNames", name):
                import_id = f"{name}:{policy}"
                yield _Found(type="aws_iam_role_policy", id=import_id, named=named, by_hand=not _ours(import_id, name))
            for policy in self._iam_list(
                "iam:ListAttachedRolePolicies", "list_attached_role_policies", "AttachedPolicies", name
            ):
                arn = policy["PolicyArn"]
                yield _Found(
                    type="aws_iam_role_policy_attachment",
                    id=f"{name}/{arn}",
                    named={**named, "policy_arn": arn},
                    by_hand=not arn.endswith(_SESSION_POLICY),
                )
        profile = self._iam_get(
            "iam:GetInstanceProfile", "get_instance_profile", "InstanceProfile", InstanceProfileName=name
        )
        if profile and tags_of(profile).get(TAG) == deployment_id:
            yield _Found(type="aws_iam_instance_profile", id=name, named=named)

    def _iam_get(self, action: str, operation: str, field: str, **name: str) -> Row | None:
        from botocore.exceptions import ClientError

        with aws_call(action, self._clients.region):
            try:
                answer: Row = getattr(self._clients.client("iam"), operation)(**name)[field]
            except ClientError as error:
                if error_code(error) == "NoSuchEntity":
                    return None
                raise
        return answer

    def _iam_list(self, action: str, operation: str, field: str, role: str) -> list[Any]:
        from botocore.exceptions import ClientError

        with aws_call(action, self._clients.region):
            pages = self._clients.client("iam").get_paginator(operation)
            try:
                return [row for page in pages.paginate(RoleName=role) for row in page[field]]
            except ClientError as error:
                if error_code(error) == "NoSuchEntity":  # deleted since we saw it
                    return []
                raise


def tag_filter(deployment_id: str) -> list[dict[str, Any]]:
    """EC2's filter for the deployment's tag."""
    return [{"Name": f"tag:{TAG}", "Values": [deployment_id]}]


def tags_of(row: Row) -> dict[str, str]:
    """The tags of anything of EC2 or IAM; EC2 names the field ``TagSet`` for network interfaces alone."""
    return {tag["Key"]: tag.get("Value", "") for tag in row.get("Tags") or row.get("TagSet") or ()}


def _machines(instances: Sequence[Row], deployment_id: str) -> Iterator[_Found]:
    """Living ones first, the newest first: that one is the deployment's machine, others are left over."""
    dying = ("shutting-down", "stopping", "stopped")
    ordered = sorted(instances, key=lambda row: row["InstanceId"])
    ordered.sort(key=lambda row: row["LaunchTime"], reverse=True)
    ordered.sort(key=lambda row: row["State"]["Name"] in dying)
    for row in ordered:
        named = {"id": row["InstanceId"], "name": resource_name(deployment_id)}
        yield _Found(type="aws_instance", id=row["InstanceId"], vpc=row.get("VpcId", ""), named=named)


def _associations(table: Row) -> Iterator[_Found]:
    for association in table.get("Associations", ()):
        if subnet := association.get("SubnetId"):
            yield _Found(
                type="aws_route_table_association",
                id=association["RouteTableAssociationId"],
                vpc=table.get("VpcId", ""),
                named={"subnet": subnet, "route_table": table["RouteTableId"]},
            )


def _vpc(row: Row) -> str:
    attached = next((attachment.get("VpcId", "") for attachment in row.get("Attachments", ())), "")
    return row.get("VpcId") or attached


def _ours(import_id: str, name: str) -> bool:
    """Whether an inline policy is the module's, and not one that somebody added by hand."""
    place = place_of("aws_iam_role_policy")
    return place is not None and place.import_id.format(name=name) == import_id


def _import_order(found: _Found) -> int:
    types = [place.type for place in PLACES]
    return types.index(found.type) if found.type in types else len(types)


def _placed(found: _Found, vpc: str, taken: set[str]) -> FoundResource:
    """``found`` with its address, where that is free and the thing hangs together with the machine."""
    place: Place | None = place_of(found.type)
    strange = found.by_hand or (found.vpc and vpc and found.vpc != vpc)
    if place is None or strange or place.address in taken:
        return FoundResource(type=found.type, id=found.id)
    taken.add(place.address)
    return FoundResource(
        type=found.type, id=found.id, address=place.address, import_id=place.import_id.format(**found.named)
    )
