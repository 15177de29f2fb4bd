"""Alibaba Cloud as the sandbox plays it: the provider aliyun/alicloud without its code, ECS and RAM without machines.

Simulated: there are no quotas, no prices and no rights; every zone sells every type until a test orders otherwise.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from orchestrator.clouds.alibaba.addresses import place_of
from orchestrator.clouds.alibaba.sandbox.data import DATA
from orchestrator.clouds.alibaba.sandbox.instance import INSTANCE, capacity_error
from orchestrator.clouds.alibaba.sandbox.network import NETWORK
from orchestrator.clouds.alibaba.sandbox.rights import RIGHTS
from orchestrator.clouds.alibaba.sandbox.tags import deployment
from orchestrator.clouds.rules import UNKNOWN, Problem, ProviderRules, Values
from orchestrator.clouds.sdk_checks import known

__all__ = ["RULES"]

_REGION = re.compile(r"[a-z]{2}-[a-z]+(?:-[a-z0-9]+)*")


def _region(provider: Values, values: Values) -> str:
    found = provider.get("region")
    # The provider's own order: its block, then the environment.
    return found if isinstance(found, str) else os.environ.get("ALICLOUD_REGION", "")


def _configure(config: Values) -> Iterator[Problem]:
    if config.get("region") is UNKNOWN:
        return
    region = _region(config, {})
    if not _REGION.fullmatch(region) and not config.get("skip_region_validation"):
        words = f"Invalid Alibaba Cloud region: {region}. You can skip checking this region by setting provider "
        words += "parameter 'skip_region_validation'"
        yield Problem(summary=words, path=("region",) if known(config.get("region")) else ())


def _address(type_: str) -> str:
    place = place_of(type_)
    return place.address if place else ""


RULES = ProviderRules(
    resources={**NETWORK, **RIGHTS, "alicloud_instance": INSTANCE},
    data=DATA,
    configure=_configure,
    region=_region,
    deployment=deployment,
    address=_address,
    capacity_error=capacity_error,
    # The name of the system event that tells of it: docs "Overview of ECS system events".
    interrupted="Instance:PreemptibleInstanceInterruption: released because of the price or the stock",
    ended="Released by a call",
    shut_down="Stopped from inside the operating system",
)
