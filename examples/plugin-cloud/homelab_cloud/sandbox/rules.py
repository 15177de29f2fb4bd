"""Homelab as the sandbox plays it: what the provider's schema cannot say."""

from __future__ import annotations

from homelab_cloud.machines import ADDRESS, TAG
from orchestrator.clouds.rules import (
    CallRefused,
    CloudView,
    MachineFacts,
    Problem,
    ProviderRules,
    ResourceRules,
    Values,
)
from orchestrator.clouds.sdk_checks import between, every, one_of

__all__ = ["RULES"]

_CHANGED_IN_PLACE = {"labels", "ssh_from"}
_ARGUMENTS = {
    *("authorized_key", "disk_gib", "image", "labels", "market", "network", "price_limit", "rack", "room", "ssh_from"),
    *("type", "user_data"),
}


def _create(values: Values, view: CloudView) -> Values:
    if not values["image"].startswith("ubuntu-"):
        raise CallRefused(f"homelab: no-such-image: there is no image {values['image']}")
    number = len(view.live("homelab_machine")) + 1
    return {
        "id": view.new_id("m-", 8),
        "rack": "rack-1",
        "address": f"203.0.113.{number}",  # set aside for documentation (RFC 5737): nobody is there
        "private_address": f"10.0.0.{number}",
    }


def _machine(values: Values) -> MachineFacts:
    return MachineFacts(
        zone=values["rack"],
        instance_type=values["type"],
        market=values["market"],
        user_data=values["user_data"] or "",
        address=values["address"],
        private_address=values["private_address"],
    )


def _capacity_error(facts: MachineFacts, room: str) -> Problem:
    return Problem(summary=f"homelab: no-capacity: no {facts.instance_type} is free in {room}")


RULES = ProviderRules(
    resources={
        "homelab_machine": ResourceRules(
            validate=every(one_of("market", "on-demand", "spot"), between("disk_gib", 20, 4000)),
            force_new=frozenset(_ARGUMENTS - _CHANGED_IN_PLACE),
            create=_create,
            machine=_machine,
        )
    },
    data={},
    configure=lambda config: (),
    region=lambda provider, values: str(values.get("room") or ""),
    deployment=lambda values: str((values.get("labels") or {}).get(TAG, "")),
    address=lambda type_: ADDRESS,
    capacity_error=_capacity_error,
    interrupted="taken back for a guest who pays the full price",
    ended="freed by its user",
    shut_down="powered off",
)
