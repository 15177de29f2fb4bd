"""Rules of CAM: roles, policies, and their joining. CAM is the same in all regions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from orchestrator.clouds.rules import CloudView, ResourceRules, Values
from orchestrator.clouds.tencent.sandbox.wording import refused

__all__ = ["IDENTITY"]

_NAME = re.compile(r"[A-Za-z0-9+=,.@_-]{1,128}")


def _check(values: Values, kind: str) -> None:
    """``InvalidParameter.*`` of CAM: the name's characters, and a document of version 2.0."""
    if not _NAME.fullmatch(values["name"]):
        raise refused(f"InvalidParameter.{kind}NameError", f"The {kind.lower()} name is invalid.")
    try:
        document = json.loads(values["document"])
        statements = document["statement"]
        whole = document["version"] == "2.0" and statements and all(each["effect"] for each in statements)
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise refused("InvalidParameter.PolicyDocumentError", "The policy document is invalid.")


def _times(view: CloudView) -> Values:
    return dict.fromkeys(("create_time", "update_time"), f"{view.now():%Y-%m-%d %H:%M:%S}")


def _number(view: CloudView) -> str:
    """CAM's ids are numbers of nineteen digits for roles, of nine for policies; here they are alike."""
    return str(4_611_686_018_000_000_000 + int(view.new_id("", 8), 16))


def _create_role(values: Values, view: CloudView) -> Values:
    _check(values, "Role")
    if any(other["name"] == values["name"] for other in view.live("tencentcloud_cam_role")):
        raise refused("InvalidParameter.RoleNameInUse", "The role name already exists.")
    return {"id": _number(view), "session_duration": 0, **_times(view)}


def _create_policy(values: Values, view: CloudView) -> Values:
    _check(values, "Policy")
    if any(other["name"] == values["name"] for other in view.live("tencentcloud_cam_policy")):
        raise refused("FailedOperation.PolicyNameInUse", "PolicyName already exists.")
    return {"id": _number(view), "type": 1, **_times(view)}


def _create_attachment(values: Values, view: CloudView) -> Values:
    policy = view.get("tencentcloud_cam_policy", values["policy_id"])
    if view.get("tencentcloud_cam_role", values["role_id"]) is None:
        raise refused("InvalidParameter.RoleNotExist", "The role does not exist.")
    if policy is None:
        raise refused("InvalidParameter.PolicyIdNotExist", "The policy id does not exist.")
    return {
        "id": f"{values['role_id']}#{values['policy_id']}",
        "create_mode": 2,
        "policy_type": "User",
        "policy_name": policy["name"],
        "create_time": _times(view)["create_time"],
    }


IDENTITY: Mapping[str, ResourceRules] = {
    "tencentcloud_cam_role": ResourceRules(force_new=frozenset({"name"}), create=_create_role, is_global=True),
    "tencentcloud_cam_policy": ResourceRules(force_new=frozenset({"name"}), create=_create_policy, is_global=True),
    "tencentcloud_cam_role_policy_attachment": ResourceRules(
        force_new=frozenset({"policy_id", "role_id"}),
        create=_create_attachment,
        parent=("tencentcloud_cam_role", "role_id"),
        is_global=True,
    ),
}
