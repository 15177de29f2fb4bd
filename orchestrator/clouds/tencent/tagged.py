"""Everything of a deployment that Tencent Cloud still has, and where each thing belongs in the rendered root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.clouds.tencent.addresses import PLACES, TAG, place_of, resource_name
from orchestrator.clouds.tencent.calls import Clients, Refusal, failure
from orchestrator.model.machine import FoundResource

__all__ = ["TaggedResources", "tag_filter", "tags_of"]

Row = Mapping[str, Any]

_NO_ROLE: Final = ("InvalidParameter.RoleNotExist", "ResourceNotFound")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """How one kind of thing is listed: action, field of the list, field of the id."""

    type: str
    service: str
    action: str
    rows: str
    id: str


# The machines are listed by the caller, who has them already.
_KINDS: Final = (
    _Kind(type="tencentcloud_vpc", service="vpc", action="DescribeVpcs", rows="VpcSet", id="VpcId"),
    _Kind(type="tencentcloud_subnet", service="vpc", action="DescribeSubnets", rows="SubnetSet", id="SubnetId"),
    _Kind(
        type="tencentcloud_security_group",
        service="vpc",
        action="DescribeSecurityGroups",
        rows="SecurityGroupSet",
        id="SecurityGroupId",
    ),
    _Kind(type="tencentcloud_key_pair", service="cvm", action="DescribeKeyPairs", rows="KeyPairSet", id="KeyId"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A resource before its address is decided. ``vpc`` is ``""`` where it has none."""

    type: str
    id: str
    vpc: str = ""
    import_id: str = ""
    by_hand: bool = False


class TaggedResources:
    """The search. Raises :class:`~orchestrator.errors.CloudCallFailed` when the cloud refuses or does not answer.

    A timer is not listed: it goes with its machine, and Terraform could not import it.
    """

    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    def of(self, deployment_id: str, instances: Sequence[Row]) -> list[FoundResource]:
        """Every resource of the deployment, with the given living instances, in the order of import."""
        found = [*self._tagged(deployment_id), *self._identity(deployment_id), *_machines(instances)]
        vpc = next((row.vpc for row in found if row.type == "tencentcloud_instance"), "") or next(
            (row.vpc for row in found if row.type == "tencentcloud_vpc"), ""
        )
        taken: set[str] = set()
        return [_placed(row, vpc, taken) for row in sorted(found, key=_import_order)]

    def _tagged(self, deployment_id: str) -> Iterator[_Found]:
        filters = tag_filter(deployment_id)
        for kind in _KINDS:
            for row in self._clients.pages(kind.service, kind.action, kind.rows, Filters=filters):
                # The filter is the cloud's word; nothing is touched without our own look at the tag.
                if tags_of(row).get(TAG) != deployment_id:
                    continue
                id_ = row[kind.id]
                yield _Found(type=kind.type, id=id_, vpc=row.get("VpcId") or "")
                if kind.type == "tencentcloud_security_group" and self._has_rules(id_):
                    yield _Found(type="tencentcloud_security_group_rule_set", id=id_)

    def _has_rules(self, group: str) -> bool:
        answer = self._clients.call("vpc", "DescribeSecurityGroupPolicies", SecurityGroupId=group)
        rules = answer.get("SecurityGroupPolicySet") or {}
        return bool(rules.get("Ingress") or rules.get("Egress"))

    def _identity(self, deployment_id: str) -> Iterator[_Found]:
        """Both stand under the deployment's own name. A role counts only with its tag; a policy has none."""
        name = resource_name(deployment_id)
        role = self._role(name)
        attached: list[Row] = []
        if role is not None and tags_of(role).get(TAG) == deployment_id:
            yield _Found(type="tencentcloud_cam_role", id=role["RoleId"])
            answer = self._clients.call("cam", "ListAttachedRolePolicies", RoleName=name, Page=1, Rp=200)
            attached = list(answer.get("List") or ())
        for policy in attached:
            id_ = f"{role['RoleId'] if role else ''}#{policy['PolicyId']}"
            by_hand = policy.get("PolicyName") != name
            yield _Found(type="tencentcloud_cam_role_policy_attachment", id=id_, import_id=id_, by_hand=by_hand)
        found = self._clients.call("cam", "ListPolicies", Scope="Local", Keyword=name, Page=1, Rp=200)
        for policy in found.get("List") or ():
            # The keyword finds parts of names too.
            if policy.get("PolicyName") == name:
                yield _Found(type="tencentcloud_cam_policy", id=str(policy["PolicyId"]))

    def _role(self, name: str) -> Row | None:
        try:
            found: Row = self._clients.ask("cam", "GetRole", RoleName=name)["RoleInfo"]
        except Refusal as error:
            if error.code.startswith(_NO_ROLE):
                return None
            raise failure(error, "cam:GetRole", self._clients.region) from error
        return found


def tag_filter(deployment_id: str) -> list[dict[str, Any]]:
    """The filter of CVM and VPC for the deployment's tag."""
    return [{"Name": f"tag:{TAG}", "Values": [deployment_id]}]


def tags_of(row: Row) -> dict[str, str]:
    """The tags of anything: CVM and CAM name the list ``Tags``, VPC ``TagSet``."""
    return {tag["Key"]: tag.get("Value") or "" for tag in row.get("Tags") or row.get("TagSet") or ()}


def _machines(instances: Sequence[Row]) -> Iterator[_Found]:
    """Living ones first, the newest first: that one is the deployment's machine, others are left over."""
    ordered = sorted(instances, key=lambda row: row["InstanceId"])
    ordered.sort(key=lambda row: row.get("CreatedTime") or "", reverse=True)
    ordered.sort(key=lambda row: row["InstanceState"] not in ("PENDING", "RUNNING", "STARTING", "REBOOTING"))
    for row in ordered:
        network = row.get("VirtualPrivateCloud") or {}
        yield _Found(type="tencentcloud_instance", id=row["InstanceId"], vpc=network.get("VpcId") or "")


def _import_order(found: _Found) -> int:
    types = [place.type for place in PLACES]
    return types.index(found.type) if found.type in types else len(types)


def _placed(found: _Found, vpc: str, taken: set[str]) -> FoundResource:
    """``found`` with its address, where that is free and the thing hangs together with the machine."""
    place = place_of(found.type)
    strange = found.by_hand or (found.vpc and vpc and found.vpc != vpc)
    if place is None or strange or place.address in taken:
        return FoundResource(type=found.type, id=found.id)
    taken.add(place.address)
    return FoundResource(type=found.type, id=found.id, address=place.address, import_id=found.import_id or found.id)
