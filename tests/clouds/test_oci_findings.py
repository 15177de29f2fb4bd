"""OCI's part of doctor: what is said, with which fix, and how fast."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic

import pytest

from orchestrator.clouds.oci.findings import LIMITS, GpuLimit, findings
from orchestrator.model.machine import Finding, Level
from tests.clouds.build_oci import COMPARTMENT, REGION, TENANCY, OciDouble, clients_of

pytest.importorskip("oci", reason="the SDK of this cloud is an extra")

SETTINGS = {"compartment_id": COMPARTMENT, "home_region": REGION, "machine_rights": "policy"}


@pytest.fixture
def oci() -> Iterator[OciDouble]:
    with OciDouble().serving() as double:
        for limit in LIMITS:
            double.limits[limit.name] = 16
        yield double


def found(oci: OciDouble, settings: Mapping[str, str] = SETTINGS, step_seconds: float = 20) -> dict[str, Finding]:
    clients = clients_of(oci, attempts=1)
    return {finding.check: finding for finding in findings(settings, clients=clients, step_seconds=step_seconds)}


def test_all_well(oci: OciDouble) -> None:
    answers = found(oci)
    assert {finding.level for finding in answers.values()} == {Level.OK}, answers
    assert list(answers)[:4] == [
        "oci credentials",
        "oci home region",
        "oci compartment",
        "oci permission ListInstances",
    ]
    assert "examplens" in answers["oci credentials"].message and TENANCY in answers["oci credentials"].message
    assert "eu-frankfurt-1" in answers["oci home region"].message
    assert not any(finding.fix for finding in answers.values())


def test_nothing_is_made(oci: OciDouble) -> None:
    found(oci)
    assert {call.partition(" ")[0] for call in oci.calls} == {"GET"}


def test_without_a_compartment_nothing_is_asked_for_in_it(oci: OciDouble) -> None:
    answers = found(oci, {"home_region": REGION})
    assert answers["oci compartment"].level is Level.ERROR
    assert "OCI_COMPARTMENT_ID" in answers["oci compartment"].fix
    assert set(answers) == {"oci credentials", "oci compartment"}


def test_the_tenancys_root_is_a_warning(oci: OciDouble) -> None:
    answers = found(oci, {**SETTINGS, "compartment_id": TENANCY})
    assert answers["oci compartment"].level is Level.WARNING


@pytest.mark.parametrize("said", ["us-phoenix-1", ""])
def test_a_wrong_home_region_comes_with_the_right_one(oci: OciDouble, said: str) -> None:
    oci.home_region = "eu-frankfurt-1"
    finding = found(oci, {**SETTINGS, "home_region": said})["oci home region"]
    assert finding.level is Level.ERROR
    assert finding.message.startswith("the tenancy's home region is eu-frankfurt-1")
    assert 'home_region = "eu-frankfurt-1"' in finding.fix


def test_credentials_that_oci_does_not_know(oci: OciDouble) -> None:
    oci.fault("GET /n", status=401, code="NotAuthenticated", message="The required information is incorrect.")
    answers = found(oci)
    assert answers["oci credentials"].level is Level.ERROR
    assert set(answers) == {"oci credentials"}


def test_a_permission_that_lacks_is_named(oci: OciDouble) -> None:
    oci.fault("GET /vcns", status=404, code="NotAuthorizedOrNotFound", message="Authorization failed.")
    finding = found(oci)["oci permission ListVcns"]
    assert finding.level is Level.ERROR
    assert "Authorization failed." in finding.message
    assert "ListVcns" in finding.fix


@pytest.mark.parametrize("call", ["GET /compartments", "GET /tenancies"])
def test_what_only_doctor_asks_is_a_warning(oci: OciDouble, call: str) -> None:
    oci.fault(call, status=404, code="NotAuthorizedOrNotFound")
    answers = found(oci)
    assert sorted(finding.level for finding in answers.values() if finding.level is not Level.OK) == [Level.WARNING]


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: str(limit.name))
def test_a_small_limit_is_a_warning_with_its_name(oci: OciDouble, limit: GpuLimit) -> None:
    oci.limits[limit.name] = 0
    finding = found(oci)[f"oci limit {limit.name}"]
    assert finding.level is Level.WARNING
    assert finding.message.startswith("0 GPUs left in Uocm:US-ASHBURN-AD-")
    assert limit.name in finding.fix


def test_limits_that_may_not_be_read(oci: OciDouble) -> None:
    oci.fault("resourceAvailability", status=404, code="NotAuthorizedOrNotFound")
    finding = found(oci)[f"oci limit {LIMITS[0].name}"]
    assert finding.level is Level.WARNING
    assert "resource-availability" in finding.fix


def test_no_credentials_is_one_finding_and_not_an_exception(oci: OciDouble, tmp_path: Path) -> None:
    clients = clients_of(oci, environ={"HOME": str(tmp_path)})
    (finding,) = findings(SETTINGS, clients=clients, step_seconds=5)
    assert (finding.check, finding.level) == ("oci credentials", Level.ERROR)
    assert "oci setup config" in finding.fix


def test_a_silent_oci_takes_no_longer_than_the_step(oci: OciDouble) -> None:
    oci.fault("GET /n", delay=5)
    began = monotonic()
    answers = found(oci, step_seconds=0.4)
    assert monotonic() - began < 4
    assert "did not answer" in answers["oci credentials"].message
