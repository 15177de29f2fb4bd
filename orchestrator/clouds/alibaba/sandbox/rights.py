"""Rules of RAM: roles, policies, and what ties them together. RAM is the same in all regions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from orchestrator.clouds.alibaba.sandbox.wording import Refusal, refused
from orchestrator.clouds.rules import CallRefused, CloudView, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import Check, at, between, conflicting, every, matching, one_of

__all__ = ["RIGHTS"]

# The account number that Alibaba Cloud's own documentation uses.
_ACCOUNT = "123456789012****"

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"


def _document(argument: str) -> Check:
    def check(config: Values) -> Iterator[Problem]:
        for where, text in at(config, argument):
            try:
                wrong = "" if isinstance(json.loads(text), dict) else "not an object"
            except ValueError as error:
                wrong = str(error)
            if wrong:
                yield Problem(summary=f'"{argument}" contains an invalid JSON: {wrong}', path=where)

    return check


def _ram_refused(type_: str, action: str, code: str, message: str, *, status: int, resource: str = "") -> CallRefused:
    refusal = Refusal(code=code, message=message, status=status)
    return refused(type_, action, refusal, resource=resource, product="ram")


def _must_exist(view: CloudView, type_: str, name: str, caller: tuple[str, str]) -> None:
    if view.get(type_, name) is None:
        kind = "Role" if type_ == "alicloud_ram_role" else "Policy"
        message = f"The {kind.lower()} does not exist: {name}"
        raise _ram_refused(*caller, f"EntityNotExist.{kind}", message, status=404)


def _create_role(values: Values, view: CloudView) -> Values:
    name = values.get("role_name") or values.get("name") or ""
    if view.get("alicloud_ram_role", name) is not None:
        message = f"The role already exists: {name}"
        raise _ram_refused("alicloud_ram_role", "CreateRole", "EntityAlreadyExists.Role", message, status=409)
    document = values.get("assume_role_policy_document") or values.get("document") or ""
    return {
        "id": name,
        "arn": f"acs:ram::{_ACCOUNT}:role/{name.lower()}",
        "assume_role_policy_document": document,
        "create_time": f"{view.now():%Y-%m-%dT%H:%M:%SZ}",
        "document": document,
        "max_session_duration": 3600,
        "name": name,
        "role_id": view.new_id("", 18),
        "role_name": name,
    }


def _delete_role(values: Values, view: CloudView) -> None:
    for other in view.live("alicloud_ram_role_policy_attachment"):
        if other["role_name"] == values["id"]:
            message = "The role cannot have any attached policies while being deleted."
            code = "DeleteConflict.Role.Policy"
            raise _ram_refused("alicloud_ram_role", "DeleteRole", code, message, status=409, resource=values["id"])


def _create_policy(values: Values, view: CloudView) -> Values:
    name = values.get("policy_name") or values.get("name") or ""
    if view.get("alicloud_ram_policy", name) is not None:
        message = f"The policy already exists: {name}"
        raise _ram_refused("alicloud_ram_policy", "CreatePolicy", "EntityAlreadyExists.Policy", message, status=409)
    document = values.get("policy_document") or values.get("document") or ""
    return {
        "id": name,
        "create_time": f"{view.now():%Y-%m-%dT%H:%M:%SZ}",
        "default_version": "v1",
        "document": document,
        "name": name,
        "policy_document": document,
        "policy_name": name,
        "type": "Custom",
        "version_id": "v1",
    }


def _delete_policy(values: Values, view: CloudView) -> None:
    for other in view.live("alicloud_ram_role_policy_attachment"):
        if other["policy_name"] == values["id"]:
            message = "The policy cannot be attached to any role while being deleted."
            code = "DeleteConflict.Policy.Role"
            raise _ram_refused("alicloud_ram_policy", "DeletePolicy", code, message, status=409, resource=values["id"])


def _attach_policy(values: Values, view: CloudView) -> Values:
    caller = ("alicloud_ram_role_policy_attachment", "AttachPolicyToRole")
    _must_exist(view, "alicloud_ram_role", values["role_name"], caller)
    if values["policy_type"] == "Custom":
        _must_exist(view, "alicloud_ram_policy", values["policy_name"], caller)
    return {"id": f"role:{values['policy_name']}:{values['policy_type']}:{values['role_name']}"}


def _attach_role(values: Values, view: CloudView) -> Values:
    caller = ("alicloud_ecs_ram_role_attachment", "AttachInstanceRamRole")
    machine, role = values["instance_id"], values["ram_role_name"]
    if view.get("alicloud_instance", machine) is None:
        message = "The specified InstanceId does not exist."
        refusal = Refusal(code="InvalidInstanceId.NotFound", message=message, status=404)
        raise refused(*caller, refusal)
    if view.get("alicloud_ram_role", role) is None:
        message = "The specified RAMRoleName does not exist."
        raise refused(*caller, Refusal(code="InvalidRamRole.NotFound", message=message, status=404))
    return {"id": f"{machine}:{role}"}


RIGHTS: Mapping[str, ResourceRules] = {
    "alicloud_ram_role": ResourceRules(
        validate=every(
            conflicting("name", "role_name"),
            conflicting("assume_role_policy_document", "document", "services"),
            matching("role_name", _NAME, "letters, digits, periods and hyphens"),
            _document("assume_role_policy_document"),
            between("max_session_duration", 3600, 43200),
        ),
        force_new=frozenset({"name", "role_name"}),
        create=_create_role,
        delete=_delete_role,
        is_global=True,
    ),
    "alicloud_ram_policy": ResourceRules(
        validate=every(
            conflicting("name", "policy_name"),
            conflicting("document", "policy_document"),
            _document("policy_document"),
            one_of("rotate_strategy", "None", "DeleteOldestNonDefaultVersionWhenLimitExceeded"),
        ),
        force_new=frozenset({"name", "policy_name"}),
        create=_create_policy,
        delete=_delete_policy,
        is_global=True,
    ),
    "alicloud_ram_role_policy_attachment": ResourceRules(
        validate=one_of("policy_type", "Custom", "System"),
        force_new=frozenset({"policy_name", "policy_type", "role_name"}),
        create=_attach_policy,
        parent=("alicloud_ram_role", "role_name"),
        is_global=True,
    ),
    "alicloud_ecs_ram_role_attachment": ResourceRules(
        force_new=frozenset({"instance_id", "ram_role_name"}),
        create=_attach_role,
        parent=("alicloud_instance", "instance_id"),
    ),
}
