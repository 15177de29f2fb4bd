"""Google Cloud as the sandbox plays it: hashicorp/google without its code, Compute Engine without machines.

Simulated: there are no quotas, no prices and no rights; every zone sells every type until a test orders otherwise, and
every bucket exists.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from orchestrator.clouds.gcp.addresses import place_of
from orchestrator.clouds.gcp.sandbox.data import DATA
from orchestrator.clouds.gcp.sandbox.identity import IDENTITY
from orchestrator.clouds.gcp.sandbox.instance import INSTANCE, capacity_error
from orchestrator.clouds.gcp.sandbox.labels import deployment
from orchestrator.clouds.gcp.sandbox.network import NETWORK
from orchestrator.clouds.gcp.sandbox.places import region_of
from orchestrator.clouds.rules import Problem, ProviderRules, Values

__all__ = ["RULES"]

# Where the provider looks for its region, after its own block: docs of the provider, "Provider Default Values".
_REGION_VARIABLES = ("GOOGLE_REGION", "GCLOUD_REGION", "CLOUDSDK_COMPUTE_REGION")


def _region(provider: Values, values: Values) -> str:
    zone = values.get("zone")
    if isinstance(zone, str) and zone:
        return region_of(zone)
    for place in (values, provider):
        region = place.get("region")
        if isinstance(region, str) and region:
            return region
    return next((os.environ[name] for name in _REGION_VARIABLES if os.environ.get(name)), "")


def _configure(config: Values) -> Iterator[Problem]:
    if config.get("credentials") and config.get("access_token"):
        words = "Invalid Attribute Combination"
        yield Problem(
            summary=words, detail="These attributes cannot be configured together: [access_token,credentials]"
        )


def _address(type_: str) -> str:
    place = place_of(type_)
    return place.address if place else ""


RULES = ProviderRules(
    resources={**NETWORK, **IDENTITY, "google_compute_instance": INSTANCE},
    data=DATA,
    configure=_configure,
    region=_region,
    deployment=deployment,
    address=_address,
    capacity_error=capacity_error,
    # cloud.google.com/compute/docs/logging/audit-logging: the operations that Compute Engine itself begins.
    interrupted="compute.instances.preempted: Instance was preempted.",
    ended="delete: the machine was deleted",
    shut_down="compute.instances.guestTerminate: Instance terminated by guest OS shutdown.",
)
