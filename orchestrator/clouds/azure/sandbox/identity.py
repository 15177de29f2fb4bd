"""Rules of role assignments, and what the data source for storage accounts reads."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator

from orchestrator.clouds.azure.addresses import assignment_name, place_of
from orchestrator.clouds.azure.sandbox.ids import subscription
from orchestrator.clouds.azure.sandbox.tags import deployment
from orchestrator.clouds.azure.sandbox.wording import refused
from orchestrator.clouds.rules import CloudView, DataRules, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import Check, at, conflicting, every, known, one_of

__all__ = ["ACCOUNTS", "ASSIGNMENT"]

_ASSIGNMENTS = "/providers/Microsoft.Authorization/roleAssignments/"
# learn.microsoft.com/azure/role-based-access-control/built-in-roles; others get an id made of their name.
_ROLES = {
    "Virtual Machine Contributor": "9980e02c-c2be-4d73-94e8-173b1dc7cf3c",
    "Storage Blob Data Contributor": "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
}


def _uuid(path: str) -> Check:
    """``validation.IsUUID``."""

    def check(config: Values) -> Iterator[Problem]:
        for where, text in at(config, path):
            if not re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text):
                yield Problem(summary=f'expected "{path}" to be a valid UUID, got {text}', path=where)

    return check


def _together(config: Values) -> Iterator[Problem]:
    """``RequiredWith`` of the condition and its version."""
    given = [name for name in ("condition", "condition_version") if known(config.get(name))]
    unknown = any(config.get(name) is not None and name not in given for name in ("condition", "condition_version"))
    if len(given) == 1 and not unknown:
        words = f'"{given[0]}": all of `condition,condition_version` must be specified'
        yield Problem(summary="Missing required argument", detail=words, path=(given[0],))


def _create(values: Values, view: CloudView) -> Values:
    name = values.get("name") or str(uuid.uuid4())
    id_ = f"{values['scope']}{_ASSIGNMENTS}{name}"
    begin = f'creating Scoped Role Assignment (Scope: "{values["scope"]}"\nRole Assignment Name: "{name}")'
    if any(other["id"].rpartition("/")[2] == name for other in view.live("azurerm_role_assignment")):
        raise refused(begin, "Create", 409, "RoleAssignmentExists", "The role assignment already exists.")
    role = values.get("role_definition_name")
    if not role and not values.get("role_definition_id"):
        message = "either role_definition_id or role_definition_name needs to be set"
        raise refused(begin, "Create", 400, "BadRequestFormat", message)
    if not re.fullmatch(r"[0-9a-f-]{36}", str(values["principal_id"])):
        message = f"Principal {values['principal_id']} does not exist in the directory."
        raise refused(begin, "Create", 400, "PrincipalNotFound", message)
    text = str(role or "")
    guid = _ROLES.get(text) or str(uuid.UUID(hashlib.sha256(text.encode()).hexdigest()[:32]))
    owner = f"/subscriptions/{subscription(view.provider)}/providers/Microsoft.Authorization/roleDefinitions/{guid}"
    return {
        "id": id_,
        "name": name,
        "principal_type": "ServicePrincipal",
        "role_definition_id": owner,
        "role_definition_name": role or "",
        "condition_version": "",
        "skip_service_principal_aad_check": False,
    }


def _address(values: Values) -> str:
    purposes = ("end", "checkpoint")
    owner = deployment(values)
    purpose = next((each for each in purposes if values.get("name") == assignment_name(owner, each)), "")
    place = place_of("azurerm_role_assignment", purpose) if purpose else None
    return place.address if place else ""


def _accounts(config: Values, view: CloudView) -> Values:
    """Every storage account that is asked for by name is there; without a name there is none to list."""
    type_, name = config.get("type"), config.get("name")
    if type_ != "Microsoft.Storage/storageAccounts" or not name:
        return {"id": "resource-", "resources": []}
    group = config.get("resource_group_name") or "simulated-storage"
    owner = f"/subscriptions/{subscription(view.provider)}/resourceGroups/{group}"
    found = {
        "id": f"{owner}/providers/{type_}/{name}",
        "name": name,
        "type": type_,
        "location": "eastus",
        "resource_group_name": group,
        "tags": {},
    }
    return {"id": f"resource-{name}", "resource_group_name": group, "resources": [found]}


_FORCE_NEW = (
    "condition",
    "condition_version",
    "delegated_managed_identity_resource_id",
    "description",
    "name",
    "principal_id",
    "principal_type",
    "role_definition_id",
    "role_definition_name",
    "scope",
)

ASSIGNMENT = ResourceRules(
    validate=every(
        _uuid("name"),
        conflicting("role_definition_id", "role_definition_name"),
        one_of("condition_version", "1.0", "2.0"),
        one_of("principal_type", "User", "Group", "ServicePrincipal"),
        _together,
    ),
    force_new=frozenset(_FORCE_NEW),
    create=_create,
    address=_address,
)

ACCOUNTS = DataRules(read=_accounts)
