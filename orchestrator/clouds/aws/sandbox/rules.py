"""AWS as the sandbox plays it: the provider hashicorp/aws without its code, EC2 and IAM without machines.

Simulated: there are no quotas, no prices and no rights; every zone sells every type until a test orders otherwise.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from orchestrator.clouds.aws.addresses import place_of
from orchestrator.clouds.aws.sandbox.data import DATA
from orchestrator.clouds.aws.sandbox.identity import IDENTITY
from orchestrator.clouds.aws.sandbox.instance import INSTANCE, capacity_error
from orchestrator.clouds.aws.sandbox.network import NETWORK
from orchestrator.clouds.aws.sandbox.tags import deployment
from orchestrator.clouds.rules import UNKNOWN, Problem, ProviderRules, Values
from orchestrator.clouds.sdk_checks import known

__all__ = ["RULES"]

_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d+")


def _region(provider: Values, values: Values) -> str:
    found = provider.get("region")
    # The provider's own order: its block, then the environment.
    return found if isinstance(found, str) else os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION", "")


def _configure(config: Values) -> Iterator[Problem]:
    if config.get("region") is UNKNOWN:
        return
    region = _region(config, {})
    if not _REGION.fullmatch(region) and not config.get("skip_region_validation"):
        yield Problem(summary=f"invalid AWS Region: {region}", path=("region",) if known(config.get("region")) else ())


def _address(type_: str) -> str:
    place = place_of(type_)
    return place.address if place else ""


RULES = ProviderRules(
    resources={**NETWORK, **IDENTITY, "aws_instance": INSTANCE},
    data=DATA,
    configure=_configure,
    region=_region,
    deployment=deployment,
    address=_address,
    capacity_error=capacity_error,
    # docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html
    interrupted="Server.SpotInstanceTermination: A Spot Instance was terminated due to an increase in the Spot price.",
    ended="Client.UserInitiatedShutdown: User initiated shutdown",
    shut_down="Client.InstanceInitiatedShutdown: Instance initiated shutdown",
)
