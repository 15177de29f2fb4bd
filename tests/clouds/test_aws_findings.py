"""AWS's part of doctor, and the caller's address: what is said, with which fix, and how fast."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic

import pytest

from orchestrator.clouds.aws.caller import caller_address
from orchestrator.clouds.aws.calls import Limits
from orchestrator.clouds.aws.findings import QUOTAS, Quota, findings
from orchestrator.errors import CloudCallFailed
from orchestrator.model.machine import Finding, Level
from tests.clouds.aws_double import AwsDouble
from tests.clouds.build_aws import empty_and_found_by_boto3

PATIENT = Limits(connect_seconds=5, read_seconds=20, attempts=1)


@pytest.fixture(scope="module")
def server() -> Iterator[AwsDouble]:
    with AwsDouble() as aws:
        yield aws


@pytest.fixture
def aws(server: AwsDouble, monkeypatch: pytest.MonkeyPatch) -> AwsDouble:
    """An empty double that boto3 finds by its environment, with enough quota for everything."""
    empty_and_found_by_boto3(server, monkeypatch)
    for quota in QUOTAS:
        server.set_quota(quota.code, 192)
    return server


def found(step_seconds: float = 20) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings(PATIENT, step_seconds)}


def test_all_well(aws: AwsDouble) -> None:
    answers = found()
    endpoint = answers.pop("aws endpoint")
    assert endpoint.level is Level.WARNING and aws.url in endpoint.message
    assert {finding.level for finding in answers.values()} == {Level.OK}, answers
    assert list(answers)[:3] == ["aws region", "aws credentials", "aws permission ec2:RunInstances"]
    assert "arn:aws:" in answers["aws credentials"].message and "env" in answers["aws credentials"].message
    assert "us-east-1" in answers["aws region"].message
    assert not any(finding.fix for finding in answers.values())


def test_nothing_is_made(aws: AwsDouble) -> None:
    found()
    assert aws.client("ec2").describe_instances()["Reservations"] == []
    assert all(vpc["IsDefault"] for vpc in aws.client("ec2").describe_vpcs()["Vpcs"])
    probes = [call for call in aws.calls if call.action in ("RunInstances", "CreateVpc", "CreateSecurityGroup")]
    assert [call.params["DryRun"] for call in probes] == ["true"] * 3


def test_a_permission_that_lacks_is_named(aws: AwsDouble) -> None:
    aws.fault(
        "ec2",
        "RunInstances",
        code="UnauthorizedOperation",
        message="You are not authorized to perform this operation.",
        status=403,
    )
    finding = found()["aws permission ec2:RunInstances"]
    assert finding.level is Level.ERROR
    assert "You are not authorized" in finding.message
    assert "ec2:RunInstances" in finding.fix


def test_a_probe_that_fails_otherwise_is_a_warning(aws: AwsDouble) -> None:
    aws.fault("ec2", "CreateVpc", code="VpcLimitExceeded", message="Too many.")
    finding = found()["aws permission ec2:CreateVpc"]
    assert (finding.level, "VpcLimitExceeded: Too many." in finding.message) == (Level.WARNING, True)


@pytest.mark.parametrize("quota", QUOTAS, ids=lambda quota: str(quota.code))
def test_a_small_quota_comes_with_the_command(aws: AwsDouble, quota: Quota) -> None:
    aws.set_quota(quota.code, 0)
    finding = found()[f"aws quota {quota.title}"]
    assert finding.level is Level.WARNING
    assert finding.message.startswith("0 vCPUs in us-east-1")
    assert finding.fix == (
        "aws service-quotas request-service-quota-increase --service-code ec2 "
        f"--quota-code {quota.code} --desired-value {quota.enough} --region us-east-1"
    )


def test_the_default_counts_where_the_account_has_no_quota_of_its_own(aws: AwsDouble) -> None:
    aws.fault("servicequotas", "GetServiceQuota", code="NoSuchResourceException")
    aws.set_default_quota(QUOTAS[0].code, 96)
    assert found()[f"aws quota {QUOTAS[0].title}"].level is Level.OK


def test_quotas_that_may_not_be_read(aws: AwsDouble) -> None:
    aws.fault("servicequotas", "GetServiceQuota", code="AccessDeniedException", status=400)
    finding = found()[f"aws quota {QUOTAS[0].title}"]
    assert finding.level is Level.WARNING
    assert "servicequotas:GetServiceQuota" in finding.fix


def test_without_credentials_nothing_else_is_asked(aws: AwsDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    answers = found()
    assert answers["aws credentials"].level is Level.ERROR
    assert "aws configure" in answers["aws credentials"].fix
    assert set(answers) == {"aws endpoint", "aws region", "aws credentials"}
    assert aws.calls == []


def test_expired_credentials(aws: AwsDouble) -> None:
    aws.fault("sts", "GetCallerIdentity", code="ExpiredToken", message="The token has expired.", status=403)
    finding = found()["aws credentials"]
    assert finding.level is Level.ERROR and "log in again" in finding.fix


def test_a_profile_that_is_none(aws: AwsDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "no-such-profile")
    finding = found()["aws settings"]
    assert finding.level is Level.ERROR and "AWS_PROFILE" in finding.fix


def test_an_endpoint_that_is_none(aws: AwsDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "not a url")
    assert "AWS_ENDPOINT_URL" in found()["aws credentials"].fix


def test_no_default_region_is_no_fault(aws: AwsDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REGION")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    finding = found()["aws region"]
    assert finding.level is Level.OK and "no default region" in finding.message


def test_a_silent_aws_is_left_behind(aws: AwsDouble) -> None:
    aws.fault("servicequotas", "GetServiceQuota", delay_before=30)
    started = monotonic()
    finding = found(step_seconds=2)[f"aws quota {QUOTAS[0].title}"]
    assert monotonic() - started < 5
    assert finding.level is Level.ERROR and "within 2 s" in finding.message


def test_nobody_there(aws: AwsDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    started = monotonic()
    answers = {finding.check: finding for finding in findings()}
    assert monotonic() - started < 10
    assert answers["aws credentials"].level is Level.ERROR
    assert "network" in answers["aws credentials"].fix


@contextmanager
def a_server(body: bytes, *, status: int = 200, delay: float = 0) -> Iterator[str]:
    """A loopback web server that answers every GET so."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            over.wait(delay)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_caller_s_address() -> None:
    with a_server(b"203.0.113.7\n") as url:
        assert caller_address(url) == "203.0.113.7"


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"<html>log in</html>", 200), (b"", 200), (b"2001:db8::1", 200), (b"203.0.113.7/0", 200), (b"203.0.113.7", 503)],
)
def test_an_answer_that_is_no_address(body: bytes, status: int) -> None:
    with a_server(body, status=status) as url, pytest.raises(CloudCallFailed) as caught:
        caller_address(url)
    assert "--ssh-from" in caught.value.hint
    assert "\n" not in caught.value.message


def test_an_address_service_that_is_silent() -> None:
    started = monotonic()
    with a_server(b"203.0.113.7", delay=30) as url, pytest.raises(CloudCallFailed, match="timed out"):
        caller_address(url, timeout_seconds=0.3)
    assert monotonic() - started < 5
