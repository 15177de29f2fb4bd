"""How the genuine provider words a refused call.

The forms are those of hashicorp/go-azure-sdk as they stand in reports on the provider's issue tracker: what Azure
refuses at once is "performing …: unexpected status …", what it gives up later "polling after …: polling failed".
"""

from __future__ import annotations

import json

from orchestrator.clouds.rules import CallRefused

__all__ = ["exists_already", "failed_later", "named", "not_found_group", "refused"]

_STATUS = {400: "Bad Request", 403: "Forbidden", 404: "Not Found", 409: "Conflict"}


def named(kind: str, subscription: str, group: str, name: str) -> str:
    """``Virtual Machine (Subscription: "…"`` and so on, over several lines, as the provider prints an id."""
    return f'{kind} (Subscription: "{subscription}"\nResource Group Name: "{group}"\n{kind} Name: "{name}")'


def refused(doing: str, operation: str, status: int, code: str, message: str) -> CallRefused:
    """Azure says no at once."""
    return CallRefused(
        f"{doing}: performing {operation}: unexpected status {status} ({status} {_STATUS[status]}) with error: "
        f"{code}: {message}"
    )


def failed_later(doing: str, operation: str, code: str, message: str) -> CallRefused:
    """Azure takes the call and gives up afterwards."""
    answer = json.dumps({"status": "Failed", "error": {"code": code, "message": message}}, indent=1)
    return CallRefused(
        f"{doing}: polling after {operation}: polling failed: the Azure API returned the following error:\n\n"
        f'Status: "{code}"\nCode: ""\nMessage: {json.dumps(message)}\nActivity Id: ""\n\n---\n\n'
        f"API Response:\n\n----[start]----\n{answer}\n-----[end]-----\n"
    )


def exists_already(type_: str, id_: str) -> CallRefused:
    """The provider looks before it makes something: helpers/tf/errors.go."""
    return CallRefused(
        f'A resource with the ID "{id_}" already exists - to be managed via Terraform this resource needs to be '
        f'imported into the State. Please see the resource documentation for "{type_}" for more information.'
    )


def not_found_group(doing: str, group: str) -> CallRefused:
    message = f"Resource group '{group}' could not be found."
    return refused(doing, "CreateOrUpdate", 404, "ResourceGroupNotFound", message)
