"""Azure's part of ``gpuorch doctor``: subscription, credentials, providers, permissions, GPU quotas."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from orchestrator.clouds.azure.calls import Connection, Limits
from orchestrator.clouds.azure.tagged import RESOURCES_API
from orchestrator.clouds.probing import Check, all_at_once
from orchestrator.errors import GpuorchError
from orchestrator.model.machine import Finding, Level

__all__ = ["DEFAULT_REGION", "NEEDED", "WANTED", "allowed", "findings"]

DEFAULT_REGION: Final = "eastus"
# doctor is to be quick: without a network the whole of this takes less than fifteen seconds.
_LIMITS: Final = Limits(connect_seconds=3, read_seconds=6, retries=0)
_STEP_SECONDS: Final = 7.0

# Versions of the REST API, learn.microsoft.com/rest/api: subscriptions, authorization, compute usages.
_SUBSCRIPTIONS_API: Final = "2022-12-01"
_PERMISSIONS_API: Final = "2022-04-01"
_USAGES_API: Final = "2024-07-01"

_NAMESPACES: Final = ("Microsoft.Compute", "Microsoft.Network")
# What terraform does first; the whole list is in docs/clouds/azure.md.
NEEDED: Final = (
    "Microsoft.Resources/subscriptions/resourceGroups/write",
    "Microsoft.Network/virtualNetworks/write",
    "Microsoft.Network/networkSecurityGroups/write",
    "Microsoft.Compute/virtualMachines/write",
)
# Only with a time limit or a checkpoint place.
WANTED: Final = ("Microsoft.Authorization/roleAssignments/write",)

# Families with GPUs begin so, in either of Azure's ways to write them: StandardNCADSA100v4Family, Standard NDASv4_A100.
_GPU_FAMILY = re.compile(r"standard\s?n[cdgv]", re.IGNORECASE)


def findings(
    settings: Mapping[str, str],
    *,
    connection: Connection | None = None,
    step_seconds: float = _STEP_SECONDS,
) -> list[Finding]:
    """What stands in the way of using Azure from here, and its fix; no exception for what Azure or the network does.

    Two steps of at most ``step_seconds`` each: who we are, then everything else at once.
    """
    subscription = settings.get("subscription_id", "")
    if not subscription:
        fix = "az account show --query id, then ARM_SUBSCRIPTION_ID or cloud_settings.azure.subscription_id"
        return [_finding("subscription", Level.ERROR, "no subscription is named", fix)]
    try:
        azure = connection or Connection(subscription, _LIMITS)
        first = _all_at_once([("credentials", partial(_subscription, azure))], step_seconds)
    except GpuorchError as error:
        return [_finding("credentials", Level.ERROR, error.message, error.hint)]
    if any(finding.level is Level.ERROR for finding in first):
        return first
    region = os.environ.get("AZURE_DEFAULTS_LOCATION") or DEFAULT_REGION
    checks: list[tuple[str, Callable[[], Finding]]] = [
        *((f"provider {namespace}", partial(_provider, azure, namespace)) for namespace in _NAMESPACES),
        ("permissions", partial(_permissions, azure)),
        ("quota on-demand", partial(_quota, azure, region)),
        ("quota spot", partial(_spot_quota, azure, region)),
    ]
    return [*first, *_all_at_once(checks, step_seconds)]


def _all_at_once(checks: Sequence[Check], seconds: float) -> list[Finding]:
    silent = f"Azure did not answer within {seconds:g} s"
    return all_at_once(
        checks, seconds, cloud="azure", silent=silent, fix="check the network and the proxy settings (HTTPS_PROXY)"
    )


def _finding(check: str, level: Level, message: str, fix: str = "") -> Finding:
    return Finding(check=f"azure {check}", level=level, message=message, fix=fix)


def _subscription(azure: Connection) -> Finding:
    found = azure.get(azure.root, _SUBSCRIPTIONS_API)
    if found is None:
        return _finding(
            "credentials",
            Level.ERROR,
            f"whoever is signed in does not see subscription {azure.subscription}",
            "az account list shows those that you may use; set ARM_SUBSCRIPTION_ID",
        )
    state = found.get("state", "")
    words = f"subscription {found.get('displayName', '')} ({azure.subscription}), {state or 'of unknown state'}"
    if state not in ("Enabled", "Warned"):
        return _finding("credentials", Level.ERROR, words, "mend it in the portal under Subscriptions, or name another")
    return _finding("credentials", Level.OK, words)


def _provider(azure: Connection, namespace: str) -> Finding:
    found = azure.get(f"{azure.root}/providers/{namespace}", RESOURCES_API) or {}
    state = found.get("registrationState", "unknown")
    level = Level.OK if state == "Registered" else Level.ERROR
    fix = "" if level is Level.OK else f"az provider register --namespace {namespace} --wait"
    return _finding(f"provider {namespace}", level, str(state).lower(), fix)


def _permissions(azure: Connection) -> Finding:
    path = f"{azure.root}/providers/Microsoft.Authorization/permissions"
    granted = list(azure.pages(path, _PERMISSIONS_API))
    if missing := [action for action in NEEDED if not allowed(action, granted)]:
        return _finding(
            "permissions",
            Level.ERROR,
            f"may not do {', '.join(missing)}",
            "ask an administrator for the role in docs/clouds/azure.md, or for Contributor",
        )
    if missing := [action for action in WANTED if not allowed(action, granted)]:
        return _finding(
            "permissions",
            Level.WARNING,
            f"may not do {', '.join(missing)}: machines with a time limit or a checkpoint place cannot be made",
            "ask an administrator for the role in docs/clouds/azure.md, or for Role Based Access Control Administrator",
        )
    return _finding("permissions", Level.OK, f"all {len(NEEDED) + len(WANTED)} that were looked at")


def allowed(action: str, granted: Iterable[Mapping[str, Any]]) -> bool:
    """Whether one of the role assignments allows the action: its ``actions`` match, and none of its ``notActions``."""
    wanted = action.lower()

    def one_of(patterns: Iterable[str]) -> bool:
        return any(fnmatch.fnmatchcase(wanted, pattern.lower()) for pattern in patterns)

    return any(one_of(each.get("actions") or ()) and not one_of(each.get("notActions") or ()) for each in granted)


def _usages(azure: Connection, region: str) -> list[Mapping[str, Any]]:
    return list(azure.pages(f"{azure.root}/providers/Microsoft.Compute/locations/{region}/usages", _USAGES_API))


def _quota(azure: Connection, region: str) -> Finding:
    rows = [row for row in _usages(azure, region) if _GPU_FAMILY.match(str(row["name"]["value"]))]
    having = [
        f"{row['name'].get('localizedValue') or row['name']['value']} {row['currentValue']} of {row['limit']} used"
        for row in rows
        if row["limit"] > 0
    ]
    if having:
        return _finding("quota on-demand", Level.OK, f"in {region}: {'; '.join(having)}")
    return _finding(
        "quota on-demand",
        Level.WARNING,
        f"no vCPUs of a family with GPUs in {region} ({len(rows)} families looked at)",
        "ask for some in the portal under Quotas, Compute; families are counted one by one",
    )


def _spot_quota(azure: Connection, region: str) -> Finding:
    found = next((row for row in _usages(azure, region) if row["name"]["value"] == "lowPriorityCores"), None)
    limit, used = (found["limit"], found["currentValue"]) if found else (0, 0)
    message = f"{used} of {limit} vCPUs used in {region}; 8 A100 need 96"
    if limit - used >= 96:
        return _finding("quota spot", Level.OK, message)
    fix = "ask for more in the portal under Quotas, Compute, “Total Regional Spot vCPUs”"
    return _finding("quota spot", Level.WARNING, message, fix)
