"""Rules of the resource group, and what every resource in one has in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from orchestrator.clouds.azure.sandbox.ids import KINDS, group_id, id_of, subscription
from orchestrator.clouds.azure.sandbox.tags import check_tags
from orchestrator.clouds.azure.sandbox.wording import exists_already, named, not_found_group, refused
from orchestrator.clouds.rules import CallRefused, CloudView, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import Check, at, every

__all__ = ["GROUP", "doing", "group_name", "made_in_group", "must_exist", "unless_used"]

_GROUP = "azurerm_resource_group"
_LOCATION = re.compile(r"[a-z][a-z0-9]+")


def group_name(path: str) -> Check:
    """hashicorp/go-azure-helpers, resourcemanager/resourcegroups, ``ValidateName``."""

    def check(config: Values) -> Iterator[Problem]:
        for where, name in at(config, path):
            if len(name) > 90:
                yield Problem(summary=f'"{path}" may not exceed 90 characters in length', path=where)
            if name.endswith("."):
                yield Problem(summary=f'"{path}" may not end with a period', path=where)
            if not name:
                yield Problem(summary=f'"{path}" cannot be blank', path=where)
            elif not re.fullmatch(r"[-\w._()]+", name):
                words = "may only contain alphanumeric characters, dash, underscores, parentheses and periods"
                yield Problem(summary=f'"{path}" {words}', path=where)

    return check


def doing(verb: str, type_: str, values: Values, view: CloudView) -> str:
    """``creating Network Interface (Subscription: …``, as the provider begins its messages."""
    return (
        f"{verb} {named(KINDS[type_][1], subscription(view.provider), values['resource_group_name'], values['name'])}"
    )


def must_exist(view: CloudView, type_: str, id_: str, begin: str, owner: str) -> Values:
    """The resource that another one refers to; Azure's answer where there is none."""
    found = view.get(type_, id_)
    if found is None:
        message = (
            f"Resource {id_} referenced by resource {owner} was not found. Please make sure that the "
            "referenced resource "
            "exists, and that both resources are in the same region."
        )
        raise refused(begin, "CreateOrUpdate", 400, "InvalidResourceReference", message)
    return found


def made_in_group(type_: str, view: CloudView, values: Values) -> str:
    """The id of what is to be made; refused where it exists or its group does not."""
    id_ = id_of(view, type_, values)
    if view.get(type_, id_) is not None:
        raise exists_already(type_, id_)
    group = values["resource_group_name"]
    if view.get(_GROUP, group_id(view, group)) is None:
        raise not_found_group(doing("creating", type_, values, view), group)
    return id_


def unless_used(
    type_: str, code: str, message: str, users: Mapping[str, Callable[[Values], object]]
) -> Callable[[Values, CloudView], None]:
    """A ``delete``: refused while a resource of a type in ``users`` names this one.

    ``message`` may hold ``{id}`` and ``{user}``.
    """

    def delete(values: Values, view: CloudView) -> None:
        id_ = values["id"]
        for user_type, ids in users.items():
            for user in view.live(user_type):
                named_ids = ids(user)
                if id_ in named_ids if isinstance(named_ids, list) else named_ids == id_:
                    begin = doing("deleting", type_, values, view)
                    raise refused(begin, "Delete", 400, code, message.format(id=id_, user=user["id"]))

    return delete


def _create(values: Values, view: CloudView) -> Values:
    name, location = values["name"], view.region
    id_ = group_id(view, name)
    if view.get(_GROUP, id_) is not None:
        raise exists_already(_GROUP, id_)
    if not _LOCATION.fullmatch(location):
        message = f"The provided location '{location}' is not available for resource group."
        begin = (
            f'creating Resource Group (Subscription: "{subscription(view.provider)}"\nResource Group Name: "{name}")'
        )
        raise refused(begin, "CreateOrUpdate", 400, "LocationNotAvailableForResourceGroup", message)
    return {"id": id_}


def _delete(values: Values, view: CloudView) -> None:
    """The provider's own guard, unless its block says otherwise: it looks into the group before it deletes it."""
    features = (view.provider.get("features") or [{}])[0]
    guard = (features.get("resource_group") or [{}])[0].get("prevent_deletion_if_contains_resources")
    inside = [each["id"] for type_ in KINDS for each in view.live(type_) if each["id"].startswith(f"{values['id']}/")]
    if inside and guard is not False:
        listed = "\n".join(f"* {id_!r}" for id_ in inside)
        raise CallRefused(
            f'deleting Resource Group "{values["name"]}": the Resource Group still contains Resources.\n\n'
            "Terraform is configured to check for Resources within the Resource Group when deleting the Resource Group "
            "- and raise an error if nested Resources still exist to avoid unintentionally deleting these "
            "Resources.\n\n"
            f"Terraform has detected that the following Resources still exist within the Resource Group:\n\n{listed}"
        )


GROUP = ResourceRules(
    validate=every(group_name("name"), check_tags),
    force_new=frozenset({"name", "location"}),
    create=_create,
    delete=_delete,
)
