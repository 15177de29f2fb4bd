"""Alibaba Cloud's part of ``gpuorch doctor``: packages, credentials, currency, permissions, quotas."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from orchestrator.clouds.alibaba.calls import Clients, Limits, Refusal, failure
from orchestrator.clouds.probing import Check, all_at_once
from orchestrator.model.machine import Finding, Level

__all__ = ["DEFAULT_REGION", "findings"]

DEFAULT_REGION: Final = "cn-shanghai"
# doctor is to be quick: without a network the whole of this takes less than ten seconds.
_LIMITS: Final = Limits(connect_seconds=2, read_seconds=4, attempts=1)
_STEP_SECONDS: Final = 5.0

# What terraform will do first. A dry run asks for the right alone: nothing is made. Only calls that are documented to
# have dry runs: another one (CreateSecurityGroup) would pass over the parameter and make the thing.
_PROBES: Final[tuple[tuple[str, str, Mapping[str, Any]], ...]] = (
    (
        "ecs",
        "RunInstances",
        {
            "InstanceType": "ecs.t6-c1m1.large",
            "ImageFamily": "acs:ubuntu_24_04_x64",
            "Amount": 1,
            "SystemDisk.Category": "cloud_essd",
        },
    ),
    ("vpc", "CreateVpc", {"CidrBlock": "10.86.0.0/16"}),
)
_FORBIDDEN: Final = ("Forbidden", "NoPermission", "AccessDenied", "Unauthorized")

# DescribeAccountAttributes: vCPUs of an account in a region that pay-as-you-go and spot machines may have in all.
_QUOTAS: Final = (
    ("max-postpaid-instance-vcpu-count", "pay-as-you-go vCPUs"),
    ("max-spot-instance-vcpu-count", "spot vCPUs"),
)
_ENOUGH: Final = 12  # ecs.gn6e-c12g1.3xlarge, one V100


def findings(
    clients: Clients | None = None, *, environ: Mapping[str, str] = os.environ, step_seconds: float = _STEP_SECONDS
) -> list[Finding]:
    """What stands in the way of using Alibaba Cloud from here; never an exception for what it or the network does.

    Two steps of at most ``step_seconds`` each: who we are, then everything else at once.
    """
    region = environ.get("ALICLOUD_REGION") or environ.get("ALIBABA_CLOUD_REGION_ID") or ""
    said = f"default region {region}" if region else f"looked in {DEFAULT_REGION} (offers name their own region)"
    clients = clients or Clients(region or DEFAULT_REGION, _LIMITS)
    identity = _all_at_once([("credentials", partial(_identity, clients))], step_seconds, clients.region)
    if any(finding.level is Level.ERROR for finding in identity):
        return identity
    found = [_finding("region", Level.OK, said), *identity, _currency(environ)]
    checks = [(f"permission {probe[0]}:{probe[1]}", partial(_permission, clients, *probe)) for probe in _PROBES]
    checks.append(("quota", partial(_quotas, clients)))
    return [*found, *_all_at_once(checks, step_seconds, clients.region)]


def _all_at_once(checks: Sequence[Check], seconds: float, region: str) -> list[Finding]:
    silent = f"Alibaba Cloud did not answer in {region} within {seconds:g} s"
    return all_at_once(
        checks, seconds, cloud="alibaba", silent=silent, fix="check the network and the proxy settings (HTTPS_PROXY)"
    )


def _finding(check: str, level: Level, message: str, fix: str = "") -> Finding:
    return Finding(check=f"alibaba {check}", level=level, message=message, fix=fix)


def _identity(clients: Clients) -> Finding:
    """Whose credentials are used, and where they come from."""
    keys = clients.keys()
    caller = clients.asked("sts", "GetCallerIdentity")
    return _finding("credentials", Level.OK, f"{caller.get('Arn', '')}, by {keys.origin}")


def _currency(environ: Mapping[str, str]) -> Finding:
    """Whether the account's price list can be compared: it is in CNY on the site for mainland China."""
    message = "prices in CNY count only with a rate, and --max-price (USD) is the account's currency times its own"
    if "CNY" in environ.get("GPUORCH_EXCHANGE_RATES", "").upper():
        return _finding("currency", Level.OK, f"{message}; GPUORCH_EXCHANGE_RATES has one")
    fix = 'set exchange_rates (GPUORCH_EXCHANGE_RATES=CNY=0.14) and, for --max-price, price_limit_rate = "7.1"'
    return _finding("currency", Level.OK, message, fix)


def _permission(clients: Clients, product: str, action: str, parameters: Mapping[str, Any]) -> Finding:
    check, right = f"permission {product}:{action}", f"{product}:{action}"
    try:
        clients.call(product, action, RegionId=clients.region, DryRun=True, **parameters)
    except Refusal as refusal:
        if refusal.code.startswith("DryRunOperation"):
            return _finding(check, Level.OK, f"allowed in {clients.region}")
        said = failure(refusal, right, clients.region)
        if refusal.code.startswith(_FORBIDDEN):
            return _finding(check, Level.ERROR, said.message, said.hint)
        # Our trial values are not whole: an answer about them is none about the right.
        return _finding(check, Level.OK, f"not forbidden in {clients.region} (a trial call got {refusal.code})")
    return _finding(check, Level.WARNING, f"Alibaba Cloud answered a dry run of {right} with nothing")


def _quotas(clients: Clients) -> Finding:
    answer = clients.asked(
        "ecs",
        "DescribeAccountAttributes",
        RegionId=clients.region,
        **{f"AttributeName.{number}": name for number, (name, _) in enumerate(_QUOTAS, 1)},
    )
    rows = (answer.get("AccountAttributeItems") or {}).get("AccountAttributeItem") or ()
    values = {row.get("AttributeName"): _largest(row) for row in rows}
    shown = ", ".join(f"{title} {values[name]:g}" for name, title in _QUOTAS if values.get(name) is not None)
    if not shown:
        return _finding("quota", Level.WARNING, f"Alibaba Cloud tells no quota of vCPUs in {clients.region}")
    if any(value is not None and value < _ENOUGH for value in values.values()):
        fix = f"ask for more in the Quota Center, Elastic Compute Service, {clients.region}; one V100 needs {_ENOUGH}"
        return _finding("quota", Level.WARNING, f"{shown} in {clients.region}", fix)
    note = "GPU families have quotas of their own, which only the Quota Center tells"
    return _finding("quota", Level.OK, f"{shown} in {clients.region}; {note}")


def _largest(row: Mapping[str, Any]) -> float | None:
    """Values stand by zone or kind, as text."""
    found = []
    for item in (row.get("AttributeValues") or {}).get("ValueItem") or ():
        try:
            found.append(float(item.get("Value", "")))
        except ValueError:
            continue
    return max(found, default=None)
