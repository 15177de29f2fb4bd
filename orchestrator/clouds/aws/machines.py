"""EC2 through AWS's own API: what carries a deployment's tag, ending a machine, its console, small S3 objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC
from typing import Any, Final

from orchestrator.clouds.aws.calls import Clients, Limits, aws_call, error_code
from orchestrator.clouds.aws.tagged import PAGES, TAG, TaggedResources, tag_filter, tags_of
from orchestrator.clouds.contract import Machines
from orchestrator.errors import CloudCallFailed, Refused, UsageError
from orchestrator.model.machine import FoundResource, Machine, MachineState

__all__ = ["AwsMachines", "open_machines"]

OBJECT_LIMIT_BYTES: Final = 1 << 20

# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceState.html
_STATES: Final = {
    "pending": MachineState.PENDING,
    "running": MachineState.RUNNING,
    "shutting-down": MachineState.TERMINATING,
    "terminated": MachineState.GONE,
    "stopping": MachineState.STOPPING,
    "stopped": MachineState.STOPPED,
}
_DEPLOYMENT_ID = re.compile(r"[a-z][a-z0-9]{7,31}")
_OBJECT_URI = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])/(.+)")


def open_machines(region: str) -> Machines:
    """EC2 in one region, with AWS's own credential chain; no call is made yet."""
    return AwsMachines(region)


class AwsMachines:
    """:class:`~orchestrator.clouds.contract.Machines` for AWS. A call lasts about a minute at most."""

    def __init__(self, region: str, limits: Limits | None = None) -> None:
        self._region = region
        self._clients = Clients(region, limits)

    def find(self, deployment_id: str) -> list[Machine]:
        """Machines of the deployment, oldest first; AWS shows terminated ones, as ``GONE``, for about an hour."""
        rows = self._instances(deployment_id)
        machines = [_machine(row, deployment_id, self._region) for row in rows]
        return sorted(machines, key=lambda machine: (machine.launched_at is not None, machine.launched_at, machine.id))

    def resources(self, deployment_id: str) -> list[FoundResource]:
        """Everything of the deployment that still exists, in the order of import.

        At most one resource of a type has an address: the one that belongs to the living machine. What is left over
        (a second machine of a cut-off run, a disk that stayed behind) has none.
        """
        instances = [row for row in self._instances(deployment_id) if row["State"]["Name"] != "terminated"]
        return TaggedResources(self._clients).of(deployment_id, instances)

    def terminate(self, machine_id: str, deployment_id: str) -> None:
        """Ask AWS to terminate the instance. :class:`Refused` when it is not tagged as the deployment's."""
        _check_id(deployment_id)
        row = self._instance(machine_id)
        if row is None or _STATES.get(row["State"]["Name"]) in (MachineState.GONE, MachineState.TERMINATING):
            return
        owner = tags_of(row).get(TAG, "")
        if owner != deployment_id:
            whose = f"belongs to deployment {owner}" if owner else "was not made by gpuorch"
            raise Refused(
                f"{machine_id} in {self._region} {whose}, not to {deployment_id}: it is left alone",
                hint=f"if it really is to end, end it by hand: aws ec2 terminate-instances --instance-ids {machine_id}",
            )
        from botocore.exceptions import ClientError

        with aws_call("ec2:TerminateInstances", self._region):
            try:
                self._clients.client("ec2").terminate_instances(InstanceIds=[machine_id])
            except ClientError as error:
                if error_code(error) != "InvalidInstanceID.NotFound":
                    raise

    def console(self, machine_id: str) -> str:
        """Up to 64 KiB of the serial console; ``""`` also for a machine that AWS does not know (any more)."""
        from botocore.exceptions import ClientError

        with aws_call("ec2:GetConsoleOutput", self._region):
            ec2 = self._clients.client("ec2")
            try:
                try:
                    answer = ec2.get_console_output(InstanceId=machine_id, Latest=True)
                except ClientError as error:
                    # Only Nitro machines have the live console; the others have what AWS last copied, minutes old.
                    if error_code(error) not in ("UnsupportedOperation", "InvalidParameterCombination"):
                        raise
                    answer = ec2.get_console_output(InstanceId=machine_id)
            except ClientError as error:
                if error_code(error) == "InvalidInstanceID.NotFound":
                    return ""
                raise
        return str(answer.get("Output", ""))

    def read_object(self, uri: str) -> str | None:
        """The object at ``s3://bucket/key`` as text, at most 1 MiB of UTF-8 (bad bytes become U+FFFD)."""
        match = _OBJECT_URI.fullmatch(uri)
        if match is None:
            raise UsageError(f"{uri!r} is no S3 object", hint="write it as s3://BUCKET/KEY")
        bucket, key = match.groups()
        from botocore.exceptions import ClientError

        with aws_call("s3:GetObject", self._region):
            try:
                answer = self._clients.client("s3").get_object(Bucket=bucket, Key=key)
            except ClientError as error:
                if error_code(error) == "NoSuchKey":
                    return None
                raise
            with answer["Body"] as body:
                content: bytes = body.read(OBJECT_LIMIT_BYTES + 1)
        if len(content) > OBJECT_LIMIT_BYTES:
            raise CloudCallFailed(
                f"{uri} is larger than {OBJECT_LIMIT_BYTES} bytes, so it is no report of a machine",
                hint="check that the checkpoint prefix is used by gpuorch only",
            )
        return content.decode("utf-8", "replace")

    def _instances(self, deployment_id: str) -> list[Mapping[str, Any]]:
        """AWS's rows of the deployment's machines."""
        _check_id(deployment_id)
        with aws_call("ec2:DescribeInstances", self._region):
            paginator = self._clients.client("ec2").get_paginator("describe_instances")
            return list(_rows(paginator.paginate(Filters=tag_filter(deployment_id), PaginationConfig=PAGES)))

    def _instance(self, machine_id: str) -> Mapping[str, Any] | None:
        from botocore.exceptions import ClientError

        with aws_call("ec2:DescribeInstances", self._region):
            try:
                answer = self._clients.client("ec2").describe_instances(InstanceIds=[machine_id])
            except ClientError as error:
                if error_code(error) == "InvalidInstanceID.NotFound":
                    return None
                raise
        return next(iter(_rows([answer])), None)


def _check_id(deployment_id: str) -> None:
    """AWS's filters take wildcards, so that a ``*`` would find everybody's machines."""
    if not _DEPLOYMENT_ID.fullmatch(deployment_id):
        raise UsageError(
            f"{deployment_id!r} is no id of a deployment", hint="ids are 8 to 32 lower-case letters and digits"
        )


def _rows(pages: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    for page in pages:
        for reservation in page.get("Reservations", ()):
            yield from reservation.get("Instances", ())


def _machine(row: Mapping[str, Any], deployment_id: str, region: str) -> Machine:
    launched = row.get("LaunchTime")
    return Machine(
        id=row["InstanceId"],
        deployment_id=deployment_id,
        region=region,
        zone=row.get("Placement", {}).get("AvailabilityZone", ""),
        instance_type=row.get("InstanceType", ""),
        market=row.get("InstanceLifecycle") or "on-demand",
        # A state that AWS adds one day is not "gone": the machine may cost money.
        state=_STATES.get(row["State"]["Name"], MachineState.PENDING),
        state_reason=_reason(row),
        address=row.get("PublicIpAddress") or "",
        private_address=row.get("PrivateIpAddress") or "",
        launched_at=launched.astimezone(UTC) if launched else None,
    )


def _reason(row: Mapping[str, Any]) -> str:
    """``Server.SpotInstanceTermination: Spot instance termination``, say; AWS often repeats the code in its message."""
    reason = row.get("StateReason") or {}
    code, message = reason.get("Code") or "", reason.get("Message") or ""
    if not code or message.startswith(code):
        return message or row.get("StateTransitionReason") or ""
    return f"{code}: {message}" if message else code
