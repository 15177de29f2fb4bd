"""AWS's part of ``gpuorch doctor``: credentials, region, permissions, GPU quotas."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from orchestrator.clouds.aws.calls import Clients, Limits, error_code, failure
from orchestrator.clouds.probing import Check, all_at_once
from orchestrator.model.machine import Finding, Level

__all__ = ["QUOTAS", "Quota", "findings"]

DEFAULT_REGION: Final = "us-east-1"
# doctor is to be quick: without a network the whole of this takes less than ten seconds.
_LIMITS: Final = Limits(connect_seconds=2, read_seconds=3, attempts=1)
_STEP_SECONDS: Final = 4.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A quota of EC2 in vCPUs, per account and region. ``enough`` is what the named machine needs."""

    code: str
    title: str
    enough: int
    machine: str


# Codes and names as in the Service Quotas console, https://docs.aws.amazon.com/general/latest/gr/ec2-service.html;
# which families share one: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-on-demand-instances.html
QUOTAS: Final = (
    Quota(code="L-417A185B", title="Running On-Demand P instances", enough=96, machine="p4d.24xlarge (8 A100)"),
    Quota(code="L-7212CCBC", title="All P Spot Instance Requests", enough=96, machine="p4d.24xlarge (8 A100)"),
    Quota(code="L-DB2E81BA", title="Running On-Demand G and VT instances", enough=48, machine="g5.12xlarge (4 A10G)"),
    Quota(code="L-3819A6DF", title="All G and VT Spot Instance Requests", enough=48, machine="g5.12xlarge (4 A10G)"),
)

# What terraform will do first. A dry run asks for the right alone: nothing is made.
_PROBES: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    (
        "ec2:RunInstances",
        "run_instances",
        {
            "ImageId": "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64",
            "InstanceType": "t3.micro",
            "MinCount": 1,
            "MaxCount": 1,
        },
    ),
    ("ec2:CreateVpc", "create_vpc", {"CidrBlock": "10.86.0.0/24"}),
    (
        "ec2:CreateSecurityGroup",
        "create_security_group",
        {"GroupName": "gpuorch-doctor", "Description": "Permission probe, never made"},
    ),
)


def findings(limits: Limits = _LIMITS, step_seconds: float = _STEP_SECONDS) -> list[Finding]:
    """What stands in the way of using AWS from here, and its fix; never an exception for what AWS or the network does.

    Two steps of at most ``step_seconds`` each: who we are, then everything else at once.
    """
    region, found = _region()
    clients = Clients(region, limits)
    if any(finding.level is Level.ERROR for finding in found):
        return found
    identity = _all_at_once([("credentials", partial(_identity, clients))], step_seconds, region)
    found = [*_endpoint(), *found, *identity]
    if any(finding.level is Level.ERROR for finding in found):
        return found
    permissions = [(f"permission {probe[0]}", partial(_permission, clients, *probe)) for probe in _PROBES]
    quotas = [(f"quota {quota.title}", partial(_quota, clients, quota)) for quota in QUOTAS]
    return [*found, *_all_at_once([*permissions, *quotas], step_seconds, region)]


def _all_at_once(checks: Sequence[Check], seconds: float, region: str) -> list[Finding]:
    silent = f"AWS did not answer in {region} within {seconds:g} s"
    return all_at_once(
        checks, seconds, cloud="aws", silent=silent, fix="check the network, the proxy settings and AWS_ENDPOINT_URL"
    )


def _finding(check: str, level: Level, message: str, fix: str = "") -> Finding:
    return Finding(check=f"aws {check}", level=level, message=message, fix=fix)


def _endpoint() -> list[Finding]:
    url = os.environ.get("AWS_ENDPOINT_URL", "")
    if not url:
        return []
    message = f"AWS_ENDPOINT_URL is set: all calls go to {url}, not to AWS"
    return [_finding("endpoint", Level.WARNING, message, "unset AWS_ENDPOINT_URL, unless that is what you want")]


def _region() -> tuple[str, list[Finding]]:
    """The region that the checks use: a default is no need, since an offer names its own."""
    from botocore.exceptions import BotoCoreError

    try:
        configured = Clients("").session().region_name or ""
    except BotoCoreError as error:
        said = failure(error, "the settings of AWS", "")
        return DEFAULT_REGION, [_finding("settings", Level.ERROR, said.message, said.hint)]
    # boto3 does not know AWS_REGION, which terraform's provider reads first.
    if region := os.environ.get("AWS_REGION") or configured:
        return region, [_finding("region", Level.OK, f"default region {region}")]
    message = f"no default region is set; looked in {DEFAULT_REGION} (offers name their own region)"
    return DEFAULT_REGION, [_finding("region", Level.OK, message)]


def _identity(clients: Clients) -> Finding:
    """Whose credentials are used, and where they come from."""
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

    try:
        credentials = clients.session().get_credentials()
        if credentials is None:
            raise NoCredentialsError
        caller = clients.client("sts").get_caller_identity()
    except (BotoCoreError, ClientError) as error:
        raise failure(error, "sts:GetCallerIdentity", clients.region) from error
    return _finding("credentials", Level.OK, f"{caller['Arn']}, by {credentials.method}")


def _permission(clients: Clients, action: str, operation: str, parameters: dict[str, Any]) -> Finding:
    from botocore.exceptions import BotoCoreError, ClientError

    check = f"permission {action}"
    try:
        getattr(clients.client("ec2"), operation)(DryRun=True, **parameters)
    except ClientError as error:
        code = error_code(error)
        if code == "DryRunOperation":
            return _finding(check, Level.OK, f"allowed in {clients.region}")
        said = failure(error, action, clients.region)
        level = Level.ERROR if code == "UnauthorizedOperation" else Level.WARNING
        return _finding(check, level, said.message, said.hint)
    except BotoCoreError as error:
        raise failure(error, action, clients.region) from error
    return _finding(check, Level.WARNING, f"AWS answered a dry run of {action} in {clients.region} with nothing")


def _quota(clients: Clients, quota: Quota) -> Finding:
    from botocore.exceptions import BotoCoreError, ClientError

    check = f"quota {quota.title}"
    try:
        value = _quota_value(clients.client("service-quotas"), quota)
    except (BotoCoreError, ClientError) as error:
        said = failure(error, "servicequotas:GetServiceQuota", clients.region)
        return _finding(check, Level.WARNING, said.message, said.hint)
    message = f"{value:g} vCPUs in {clients.region}; a {quota.machine} needs {quota.enough}"
    if value >= quota.enough:
        return _finding(check, Level.OK, message)
    command = (
        f"aws service-quotas request-service-quota-increase --service-code ec2 --quota-code {quota.code} "
        f"--desired-value {quota.enough} --region {clients.region}"
    )
    return _finding(check, Level.WARNING, message, command)


def _quota_value(client: Any, quota: Quota) -> float:
    """The account's value, or AWS's default where the account has none of its own."""
    from botocore.exceptions import ClientError

    names = {"ServiceCode": "ec2", "QuotaCode": quota.code}
    try:
        return float(client.get_service_quota(**names)["Quota"]["Value"])
    except ClientError as error:
        if error_code(error) != "NoSuchResourceException":
            raise
    return float(client.get_aws_default_service_quota(**names)["Quota"]["Value"])
