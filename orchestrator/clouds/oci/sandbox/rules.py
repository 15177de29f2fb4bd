"""OCI as the sandbox plays it: the provider oracle/oci without its code, compute and network without machines.

Simulated: there are no limits, no prices and no rights; every domain sells every shape until a test orders otherwise.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from orchestrator.clouds.oci.addresses import place_of
from orchestrator.clouds.oci.sandbox.data import DATA
from orchestrator.clouds.oci.sandbox.instance import INSTANCE, capacity_error
from orchestrator.clouds.oci.sandbox.network import NETWORK
from orchestrator.clouds.oci.sandbox.rights import RIGHTS
from orchestrator.clouds.oci.sandbox.tags import deployment
from orchestrator.clouds.rules import UNKNOWN, Problem, ProviderRules, Values

__all__ = ["RULES"]

_REGION = re.compile(r"[a-z]+(?:-[a-z]+)+-\d+")
_AUTH = (
    "ApiKey",
    "InstancePrincipal",
    "InstancePrincipalWithCerts",
    "SecurityToken",
    "ResourcePrincipal",
    "OKEWorkloadIdentity",
)


def _region(provider: Values, values: Values) -> str:
    found = provider.get("region")
    # The provider's own order: its block, then the environment.
    return found if isinstance(found, str) else os.environ.get("OCI_REGION", "")


def _configure(config: Values) -> Iterator[Problem]:
    auth = config.get("auth")
    if isinstance(auth, str) and auth.lower() not in (each.lower() for each in _AUTH):
        listed = " ".join(f'"{each}"' for each in _AUTH)
        yield Problem(summary=f"expected auth to be one of [{listed}], got {auth}", path=("auth",))
    if config.get("region") is UNKNOWN:
        return
    if not _REGION.fullmatch(_region(config, {})):
        yield Problem(
            summary="can not create client, bad configuration: did not find a proper configuration for region"
        )


def _address(type_: str) -> str:
    place = place_of(type_)
    return place.address if place else ""


RULES = ProviderRules(
    resources={**NETWORK, **RIGHTS, "oci_core_instance": INSTANCE},
    data=DATA,
    configure=_configure,
    region=_region,
    deployment=deployment,
    address=_address,
    capacity_error=capacity_error,
    # docs.oracle.com/iaas/Content/Events/Reference/eventsproducers.htm: event type instancepreemptionaction
    interrupted="Instance - Preemption Action: the preemptible capacity was reclaimed",
    ended="terminated",
    shut_down="terminated by the instance itself when it powered off",
)
