"""Everything of a deployment that Alibaba Cloud still has, and where each thing belongs in the rendered root."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any, Final

from orchestrator.clouds.alibaba.addresses import PLACES, Place, place_of, resource_name, rule_address
from orchestrator.clouds.alibaba.calls import Clients, Refusal, failure
from orchestrator.model.machine import FoundResource

__all__ = ["KINDS", "TAG", "Kind", "TaggedResources", "tag_filter", "tags_of"]

TAG: Final = "gpuorch:deployment"

# What the module writes there: RAM's answers carry no tags, and its names are the account's own.
_DESCRIPTIONS: Final = {
    "alicloud_ram_role": "One machine made by gpuorch",
    "alicloud_ram_policy": "Checkpoints of one machine made by gpuorch",
}

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How a product lists one kind of thing: its action, where the rows stand, the field of the id."""

    type: str
    product: str
    action: str
    rows: tuple[str, ...]
    id: str
    exists: Callable[[Row], bool] = lambda row: True


def _left_behind(row: Row) -> bool:
    """A disk or interface of a machine goes with it; listed is what nothing holds any more."""
    return row.get("Status") == "Available"


# The instances are listed by the caller, who has them already.
KINDS: Final = (
    Kind(type="alicloud_vpc", product="vpc", action="DescribeVpcs", rows=("Vpcs", "Vpc"), id="VpcId"),
    Kind(
        type="alicloud_vswitch",
        product="vpc",
        action="DescribeVSwitches",
        rows=("VSwitches", "VSwitch"),
        id="VSwitchId",
    ),
    Kind(
        type="alicloud_security_group",
        product="ecs",
        action="DescribeSecurityGroups",
        rows=("SecurityGroups", "SecurityGroup"),
        id="SecurityGroupId",
    ),
    Kind(
        type="alicloud_ecs_key_pair",
        product="ecs",
        action="DescribeKeyPairs",
        rows=("KeyPairs", "KeyPair"),
        id="KeyPairName",
    ),
    Kind(
        type="alicloud_ecs_disk",
        product="ecs",
        action="DescribeDisks",
        rows=("Disks", "Disk"),
        id="DiskId",
        exists=_left_behind,
    ),
    Kind(
        type="alicloud_ecs_network_interface",
        product="ecs",
        action="DescribeNetworkInterfaces",
        rows=("NetworkInterfaceSets", "NetworkInterfaceSet"),
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
    address: str = ""
    by_hand: bool = False


class TaggedResources:
    """The search. Raises :class:`~orchestrator.errors.CloudCallFailed` when the cloud refuses or does not answer."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    def of(self, deployment_id: str, instances: Sequence[Row]) -> list[FoundResource]:
        """Every resource of the deployment, with the given living instances, in the order of import."""
        found = [
            *self._tagged(deployment_id),
            *self._rights(deployment_id),
            *self._machines(instances, deployment_id),
        ]
        vpc = next((row.vpc for row in found if row.type == "alicloud_instance"), "") or next(
            (row.vpc for row in found if row.type == "alicloud_vpc"), ""
        )
        taken: set[str] = set()
        return [_placed(row, vpc, taken) for row in sorted(found, key=_import_order)]

    def _tagged(self, deployment_id: str) -> Iterator[_Found]:
        for kind in KINDS:
            for row in self._clients.pages(kind.product, kind.action, *kind.rows, **tag_filter(deployment_id)):
                # A filter that the cloud did not understand would give everybody's.
                if not kind.exists(row) or tags_of(row).get(TAG, deployment_id) != deployment_id:
                    continue
                id_, vpc = str(row[kind.id]), str(row.get("VpcId") or "")
                yield _Found(type=kind.type, id=id_, vpc=vpc, named={"id": id_, "name": id_})
                if kind.type == "alicloud_security_group":
                    yield from self._rules(id_, vpc)

    def _rules(self, group: str, vpc: str) -> Iterator[_Found]:
        answer = self._clients.asked(
            "ecs",
            "DescribeSecurityGroupAttribute",
            RegionId=self._clients.region,
            SecurityGroupId=group,
            Direction="ingress",
        )
        for row in (answer.get("Permissions") or {}).get("Permission") or ():
            source = _block(row.get("Ipv6SourceCidrIp") or row.get("SourceCidrIp") or "")
            protocol, ports = str(row.get("IpProtocol", "")).lower(), str(row.get("PortRange", ""))
            nic, policy = str(row.get("NicType") or "intranet"), str(row.get("Policy") or "Accept").lower()
            id_ = ":".join(
                (
                    *(group, "ingress", protocol, ports, nic, source.replace(":", "_"), policy),
                    str(row.get("Priority") or 1),
                )
            )
            ours = (protocol, ports, policy) == ("tcp", "22/22", "accept") and bool(source)
            type_ = "alicloud_security_group_rule"
            yield _Found(type=type_, id=id_, vpc=vpc, named={"id": id_}, address=rule_address(source), by_hand=not ours)

    def _rights(self, deployment_id: str) -> Iterator[_Found]:
        """Role and policy stand under the deployment's own name, and count only with the module's description."""
        name = resource_name(deployment_id)
        named = {"id": name, "name": name}
        role = self._ram("GetRole", "Role", RoleName=name)
        if role and role.get("Description") == _DESCRIPTIONS["alicloud_ram_role"]:
            yield _Found(type="alicloud_ram_role", id=name, named=named)
            answer = self._ram("ListPoliciesForRole", "Policies", RoleName=name) or {}
            for row in answer.get("Policy") or ():
                kind, policy = str(row.get("PolicyType")), str(row.get("PolicyName"))
                yield _Found(
                    type="alicloud_ram_role_policy_attachment",
                    id=f"role:{policy}:{kind}:{name}",
                    named=named,
                    by_hand=(kind, policy) != ("Custom", name),
                )
        policy_row = self._ram("GetPolicy", "Policy", PolicyName=name, PolicyType="Custom")
        if policy_row and policy_row.get("Description") == _DESCRIPTIONS["alicloud_ram_policy"]:
            yield _Found(type="alicloud_ram_policy", id=name, named=named)

    def _ram(self, action: str, field: str, **parameters: str) -> Row | None:
        try:
            found: Row | None = self._clients.call("ram", action, **parameters).get(field)
        except Refusal as refusal:
            if refusal.code.startswith("EntityNotExist"):
                return None
            raise failure(refusal, f"ram:{action}", self._clients.region) from refusal
        return found

    def _machines(self, instances: Sequence[Row], deployment_id: str) -> Iterator[_Found]:
        """Running ones first, the newest first: that one is the deployment's machine, others are left over."""
        ordered = sorted(instances, key=lambda row: str(row["InstanceId"]))
        ordered.sort(key=lambda row: str(row.get("CreationTime", "")), reverse=True)
        ordered.sort(key=lambda row: row.get("Status") in ("Stopping", "Stopped"))
        name = resource_name(deployment_id)
        for place, row in enumerate(ordered):
            id_ = str(row["InstanceId"])
            vpc = str((row.get("VpcAttributes") or {}).get("VpcId") or "")
            yield _Found(type="alicloud_instance", id=id_, vpc=vpc, named={"id": id_, "name": name})
            if place == 0:
                yield from self._attached(id_, name)

    def _attached(self, machine: str, name: str) -> Iterator[_Found]:
        answer = self._clients.asked(
            "ecs", "DescribeInstanceRamRole", RegionId=self._clients.region, InstanceIds=json.dumps([machine])
        )
        for row in (answer.get("InstanceRamRoleSets") or {}).get("InstanceRamRoleSet") or ():
            role = row.get("RamRoleName")
            if role and row.get("InstanceId") == machine:
                yield _Found(
                    type="alicloud_ecs_ram_role_attachment",
                    id=f"{machine}:{role}",
                    named={"machine": machine, "name": name},
                    by_hand=role != name,
                )


def tag_filter(deployment_id: str) -> dict[str, str]:
    """The parameters that ask for the deployment's tag."""
    return {"Tag.1.Key": TAG, "Tag.1.Value": deployment_id}


def tags_of(row: Row) -> dict[str, str]:
    """The tags of anything; ECS names the fields ``TagKey`` and ``TagValue``, VPC ``Key`` and ``Value``."""
    listed = (row.get("Tags") or {}).get("Tag") or ()
    return {
        str(tag.get("TagKey") or tag.get("Key") or ""): str(tag.get("TagValue") or tag.get("Value") or "")
        for tag in listed
    }


def _block(text: str) -> str:
    """One address as the block that it is: the cloud leaves out /32."""
    try:
        return str(ip_network(text))
    except ValueError:
        return ""


def _import_order(found: _Found) -> int:
    types = [place.type for place in PLACES]
    return types.index(found.type) if found.type in types else len(types)


def _placed(found: _Found, vpc: str, taken: set[str]) -> FoundResource:
    """``found`` with its address, where that is free and the thing hangs together with the machine."""
    place: Place | None = place_of(found.type)
    strange = found.by_hand or (found.vpc and vpc and found.vpc != vpc)
    address = found.address or (place.address if place else "")
    if place is None or strange or address in taken:
        return FoundResource(type=found.type, id=found.id)
    taken.add(address)
    return FoundResource(type=found.type, id=found.id, address=address, import_id=place.import_id.format(**found.named))
