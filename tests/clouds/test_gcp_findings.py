"""Google Cloud's part of doctor: what is said, with which fix, and how fast."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic

import pytest

from orchestrator.clouds.gcp.calls import Limits
from orchestrator.clouds.gcp.findings import PERMISSIONS, QUOTAS, findings
from orchestrator.model.machine import Finding, Level
from tests.clouds.build_gcp import PROJECT, REGION, GoogleDouble, found_by

PATIENT = Limits(answer_seconds=10, call_seconds=10)


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[GoogleDouble]:
    """All is well: every permission, and enough quota for everything."""
    with GoogleDouble() as double:
        for name in ("GOOGLE_REGION", "CLOUDSDK_COMPUTE_REGION"):
            monkeypatch.delenv(name, raising=False)
        double.permissions = list(PERMISSIONS)
        quotas = [{"metric": quota.metric, "limit": 16.0, "usage": 0.0} for quota in QUOTAS]
        double.things = {
            f"compute/v1/projects/{PROJECT}": {
                "name": PROJECT,
                "quotas": [{"metric": "GPUS_ALL_REGIONS", "limit": 16.0, "usage": 0.0}],
            },
            f"compute/v1/projects/{PROJECT}/regions/{REGION}": {"name": REGION, "quotas": quotas},
        }
        yield found_by(double, monkeypatch)


def found(project: str = "", step_seconds: float = 20) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings(project, PATIENT, step_seconds)}


def test_all_well(google: GoogleDouble) -> None:
    answers = found()
    assert {finding.level for finding in answers.values()} == {Level.OK}, answers
    assert next(iter(answers)) == "gcp project"
    assert PROJECT in answers["gcp project"].message
    assert len(answers) == 1 + len(PERMISSIONS) + len(QUOTAS)


def test_a_missing_permission_comes_with_the_role_that_has_it(google: GoogleDouble) -> None:
    google.permissions.remove("compute.networks.create")
    answer = found()["gcp permission compute.networks.create"]
    assert answer.level is Level.ERROR
    assert answer.fix.startswith(f"gcloud projects add-iam-policy-binding {PROJECT}")
    assert "roles/compute.networkAdmin" in answer.fix


def test_too_small_a_quota_comes_with_the_command(google: GoogleDouble) -> None:
    region = google.things[f"compute/v1/projects/{PROJECT}/regions/{REGION}"]
    region["quotas"] = [{"metric": "NVIDIA_A100_GPUS", "limit": 4.0}]
    answer = found()["gcp quota NVIDIA_A100_GPUS"]
    assert answer.level is Level.WARNING
    assert "4 in us-central1" in answer.message
    assert "--quota-id=NVIDIA-A100-GPUS-per-project-region --preferred-value=8" in answer.fix
    assert found()["gcp quota PREEMPTIBLE_NVIDIA_T4_GPUS"].level is Level.WARNING


def test_a_new_project_may_have_no_gpu_at_all(google: GoogleDouble) -> None:
    google.things[f"compute/v1/projects/{PROJECT}"]["quotas"] = [{"metric": "GPUS_ALL_REGIONS", "limit": 0.0}]
    answer = found()["gcp quota GPUS_ALL_REGIONS"]
    assert answer.level is Level.WARNING
    assert "--quota-id=GPUS-ALL-REGIONS-per-project" in answer.fix


def test_a_project_that_is_not_there_ends_the_looking(google: GoogleDouble) -> None:
    (answer,) = found("other-project").values()
    assert answer.level is Level.ERROR
    assert "other-project" in answer.message
    assert google.calls == ["GET compute/v1/projects/other-project"]


def test_without_credentials(google: GoogleDouble, monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.delenv("GOOGLE_OAUTH_ACCESS_TOKEN")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", f"{tmp_path}/none.json")
    (answer,) = found().values()
    assert answer.level is Level.ERROR
    assert "gcloud auth application-default login" in answer.fix


def test_a_refused_look_at_permissions_is_a_warning(google: GoogleDouble) -> None:
    google.refuse = {f"v1/projects/{PROJECT}": (403, "Cloud Resource Manager API has not been used in project 1")}
    answer = found()["gcp permissions"]
    assert answer.level is Level.WARNING
    assert "gcloud services enable" in answer.fix


def test_a_cloud_that_does_not_answer_costs_a_step(google: GoogleDouble) -> None:
    google.delay = 3
    began = monotonic()
    (answer,) = found(step_seconds=0.5).values()
    assert monotonic() - began < 2.5
    assert answer.level is Level.ERROR
    assert "did not answer within 0.5 s" in answer.message
