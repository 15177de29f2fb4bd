"""Tencent Cloud's part of ``gpuorch doctor``: credentials, permissions, quotas."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from orchestrator.clouds.probing import Check, all_at_once
from orchestrator.clouds.tencent.calls import Clients, Limits, Refusal, failure
from orchestrator.errors import CloudCallFailed
from orchestrator.model.machine import Finding, Level

__all__ = ["findings"]

# The default of Terraform's provider.
DEFAULT_REGION: Final = "ap-guangzhou"
# doctor is to be quick: without a network the whole of this takes less than ten seconds.
_LIMITS: Final = Limits(seconds=4)
_STEP_SECONDS: Final = 4.5

# The public image "Ubuntu Server 22.04 LTS 64bit", and a small machine: the dry run makes nothing.
_DRY_RUN: Final = {"ImageId": "img-487zeit5", "InstanceType": "S5.MEDIUM2", "DryRun": True}
_FORBIDDEN: Final = ("AuthFailure", "UnauthorizedOperation")

# What terraform and gpuorch look at first. A name that is nobody's: a role that is not there is answer enough.
_PROBES: Final[tuple[tuple[str, str, Mapping[str, Any]], ...]] = (
    ("cvm", "DescribeInstances", {"Limit": 1}),
    ("vpc", "DescribeVpcs", {"Limit": "1"}),
    ("vpc", "DescribeSecurityGroups", {"Limit": "1"}),
    ("cam", "GetRole", {"RoleName": "gpuorch-doctor"}),
)

_QUOTAS: Final = (
    ("on-demand instances", "PostPaidQuotaSet", "instances"),
    ("spot vCPUs", "SpotPaidQuotaSet", "vCPUs"),
)


def findings(clients: Clients | None = None, step_seconds: float = _STEP_SECONDS) -> list[Finding]:
    """What stands in the way of using Tencent Cloud from here, and its fix; never an exception for what the cloud or
    the network does.

    Two steps of at most ``step_seconds`` each: who we are, then everything else at once.
    """
    here = clients or Clients(os.environ.get("TENCENTCLOUD_REGION") or DEFAULT_REGION, _LIMITS)
    found = _all_at_once([("credentials", partial(_identity, here))], step_seconds, here.region)
    if any(finding.level is Level.ERROR for finding in found):
        return found
    checks = [
        (f"permission {service}:{action}", partial(_probe, here, service, action, given))
        for service, action, given in _PROBES
    ]
    quotas = [(f"quota {title}", partial(_quota, here, title, kind, unit)) for title, kind, unit in _QUOTAS]
    launch = ("permission cvm:RunInstances", partial(_launch, here))
    return [*found, *_all_at_once([*checks, launch, *quotas], step_seconds, here.region)]


def _all_at_once(checks: Sequence[Check], seconds: float, region: str) -> list[Finding]:
    silent = f"Tencent Cloud did not answer in {region} within {seconds:g} s"
    return all_at_once(
        checks,
        seconds,
        cloud="tencent",
        silent=silent,
        fix="check the network, the proxy settings and TENCENTCLOUD_DOMAIN",
    )


def _finding(check: str, level: Level, message: str, fix: str = "") -> Finding:
    return Finding(check=f"tencent {check}", level=level, message=message, fix=fix)


def _identity(clients: Clients) -> Finding:
    """Whose credentials are used, and where they come from."""
    source = clients.credentials().source
    caller = clients.call("sts", "GetCallerIdentity")
    who = caller.get("Arn") or caller.get("UserId") or "somebody"
    return _finding("credentials", Level.OK, f"{who}, by {source}")


def _probe(clients: Clients, service: str, action: str, given: Mapping[str, Any]) -> Finding:
    check, name = f"permission {service}:{action}", f"{service}:{action}"
    try:
        clients.ask(service, action, **given)
    except Refusal as error:
        if error.code.startswith(("InvalidParameter.RoleNotExist", "ResourceNotFound")):
            return _finding(check, Level.OK, f"allowed in {clients.region}")
        said = failure(error, name, clients.region)
        level = Level.ERROR if error.code.startswith(_FORBIDDEN) else Level.WARNING
        return _finding(check, level, said.message, said.hint)
    return _finding(check, Level.OK, f"allowed in {clients.region}")


def _launch(clients: Clients) -> Finding:
    """A dry run says whether we may, and also what else would stand in the way (a debt, say)."""
    check = "permission cvm:RunInstances"
    zones = clients.call("cvm", "DescribeZones").get("ZoneSet") or []
    zone = next((row["Zone"] for row in zones if row.get("ZoneState") == "AVAILABLE"), "")
    if not zone:
        return _finding(check, Level.WARNING, f"{clients.region} has no zone for this account", "use another region")
    try:
        clients.ask("cvm", "RunInstances", Placement={"Zone": zone}, **_DRY_RUN)
    except Refusal as error:
        code = error.code
        said = failure(error, "cvm:RunInstances", clients.region)
        if code.startswith(_FORBIDDEN):
            return _finding(check, Level.ERROR, said.message, said.hint)
        if code.startswith("InvalidAccount"):
            return _finding(check, Level.ERROR, said.message, "add money to the account, or pay what is open")
        # That this zone has none of this machine, say, is no matter of rights.
        return _finding(check, Level.OK, f"allowed in {clients.region} (the dry run ended with {code})")
    return _finding(check, Level.OK, f"allowed in {clients.region}")


def _quota(clients: Clients, title: str, kind: str, unit: str) -> Finding:
    """The zone with the most left: one machine needs one zone."""
    check = f"quota {title}"
    try:
        answer = clients.call("cvm", "DescribeAccountQuota", Filters=[{"Name": "quota-type", "Values": [kind]}])
    except CloudCallFailed as error:
        return _finding(check, Level.WARNING, error.message, error.hint)
    rows = ((answer.get("AccountQuotaOverview") or {}).get("AccountQuota") or {}).get(kind) or []
    best = max(rows, key=lambda row: (row.get("RemainingQuota") or 0, row.get("Zone") or ""), default=None)
    left = (best or {}).get("RemainingQuota") or 0
    if best is None or not left:
        message = f"no {title} are left in {clients.region}"
        return _finding(check, Level.WARNING, message, "ask for more in the console: CVM, Quotas")
    return _finding(check, Level.OK, f"{left} {unit} left in {best.get('Zone')}, of {best.get('TotalQuota')}")
