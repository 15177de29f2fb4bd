"""Tencent Cloud as the sandbox plays it: the provider without its code, CVM, VPC and CAM without machines.

Simulated: there are no quotas, no prices and no rights; every zone sells every type until a test orders otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from orchestrator.clouds.rules import Problem, ProviderRules, Values
from orchestrator.clouds.tencent.addresses import place_of
from orchestrator.clouds.tencent.sandbox.checks import among
from orchestrator.clouds.tencent.sandbox.data import DATA
from orchestrator.clouds.tencent.sandbox.identity import IDENTITY
from orchestrator.clouds.tencent.sandbox.instance import INSTANCE, TIMER, capacity_error
from orchestrator.clouds.tencent.sandbox.network import NETWORK
from orchestrator.clouds.tencent.sandbox.tags import deployment

__all__ = ["RULES"]

# What the provider takes where neither its block nor the environment names a region.
_DEFAULT_REGION = "ap-guangzhou"


def _region(provider: Values, values: Values) -> str:
    found = provider.get("region")
    return found if isinstance(found, str) else os.environ.get("TENCENTCLOUD_REGION") or _DEFAULT_REGION


def _configure(config: Values) -> Iterator[Problem]:
    yield from among("protocol", "HTTP", "HTTPS")(config)


def _address(type_: str) -> str:
    place = place_of(type_)
    return place.address if place else ""


RULES = ProviderRules(
    resources={**NETWORK, **IDENTITY, "tencentcloud_instance": INSTANCE, "tencentcloud_cvm_action_timer": TIMER},
    data=DATA,
    configure=_configure,
    region=_region,
    deployment=deployment,
    address=_address,
    capacity_error=capacity_error,
    # CVM shows an instance that is gone not at all; these are the operations of its last sight, LatestOperation.
    interrupted="the spot instance was reclaimed",
    ended="TerminateInstances",
    shut_down="the instance was shut down",
)
