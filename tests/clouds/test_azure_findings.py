"""Azure's part of doctor: what is said, with which fix, and how fast; who is signed in how."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from orchestrator.clouds.azure.caller import caller_address
from orchestrator.clouds.azure.credentials import no_credentials
from orchestrator.clouds.azure.findings import NEEDED, WANTED, allowed, findings
from orchestrator.clouds.azure.signin import credential, subscription_of_environment
from orchestrator.errors import UsageError
from orchestrator.model.machine import Finding, Level
from tests.clouds.build_azure import ROOT, SUBSCRIPTION, AzureDouble

CONTRIBUTOR = {"actions": ["*"], "notActions": ["Microsoft.Authorization/*/Delete", "Microsoft.Authorization/*/Write"]}
ACCESS = {"actions": ["Microsoft.Authorization/roleAssignments/*", "*/read"], "notActions": []}


def usage(name: str, used: int, limit: int) -> dict[str, Any]:
    return {"name": {"value": name, "localizedValue": f"{name} vCPUs"}, "currentValue": used, "limit": limit}


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch) -> Iterator[AzureDouble]:
    """A double in which all is well."""
    monkeypatch.delenv("AZURE_DEFAULTS_LOCATION", raising=False)
    with AzureDouble() as double:
        double.put(ROOT, {"displayName": "Research", "state": "Enabled"})
        for namespace in ("Microsoft.Compute", "Microsoft.Network"):
            double.put(f"{ROOT}/providers/{namespace}", {"registrationState": "Registered"})
        double.put(f"{ROOT}/providers/Microsoft.Authorization/permissions", [CONTRIBUTOR, ACCESS])
        double.put(
            f"{ROOT}/providers/Microsoft.Compute/locations/eastus/usages",
            [
                usage("cores", 4, 500),
                usage("lowPriorityCores", 0, 100),
                usage("standardDSv3Family", 4, 100),
                usage("StandardNCADSA100v4Family", 24, 48),
                usage("Standard NDASv4_A100 Family", 0, 0),
            ],
        )
        yield double


def found(azure: AzureDouble, **changes: Any) -> dict[str, Finding]:
    values: dict[str, Any] = {"connection": azure.connection(), "step_seconds": 10} | changes
    return {finding.check: finding for finding in findings({"subscription_id": SUBSCRIPTION}, **values)}


def test_all_well(azure: AzureDouble) -> None:
    answers = found(azure)
    assert {finding.level for finding in answers.values()} == {Level.OK}, answers
    assert list(answers) == [
        "azure credentials",
        "azure provider Microsoft.Compute",
        "azure provider Microsoft.Network",
        "azure permissions",
        "azure quota on-demand",
        "azure quota spot",
    ]
    assert "Research" in answers["azure credentials"].message
    assert "StandardNCADSA100v4Family vCPUs 24 of 48 used" in answers["azure quota on-demand"].message
    assert "DSv3" not in answers["azure quota on-demand"].message
    assert {call.method for call in azure.calls} == {"GET"}


def test_no_subscription() -> None:
    (finding,) = findings({})
    assert (finding.level, "ARM_SUBSCRIPTION_ID" in finding.fix) == (Level.ERROR, True)


def test_a_subscription_that_is_not_ours_or_disabled(azure: AzureDouble) -> None:
    azure.put(ROOT, {"displayName": "Research", "state": "Disabled"})
    (finding,) = found(azure).values()
    assert (finding.level, "Disabled" in finding.message) == (Level.ERROR, True)
    del azure.rows[ROOT.lower()]
    (finding,) = found(azure).values()
    assert (finding.level, "does not see" in finding.message) == (Level.ERROR, True)


def test_what_is_missing_has_its_command(azure: AzureDouble) -> None:
    azure.put(f"{ROOT}/providers/Microsoft.Compute", {"registrationState": "NotRegistered"})
    azure.put(f"{ROOT}/providers/Microsoft.Authorization/permissions", [CONTRIBUTOR])
    azure.put(f"{ROOT}/providers/Microsoft.Compute/locations/eastus/usages", [usage("lowPriorityCores", 0, 3)])
    answers = found(azure)
    assert (
        answers["azure provider Microsoft.Compute"].fix == "az provider register --namespace Microsoft.Compute --wait"
    )
    assert answers["azure provider Microsoft.Compute"].level is Level.ERROR
    assert answers["azure permissions"].level is Level.WARNING
    assert "roleAssignments/write" in answers["azure permissions"].message
    assert answers["azure quota on-demand"].level is Level.WARNING
    assert "0 of 3" in answers["azure quota spot"].message
    azure.put(f"{ROOT}/providers/Microsoft.Authorization/permissions", [{"actions": ["*/read"]}])
    assert found(azure)["azure permissions"].level is Level.ERROR


def test_the_region_of_the_users_own_tool_counts(azure: AzureDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_DEFAULTS_LOCATION", "swedencentral")
    azure.put(f"{ROOT}/providers/Microsoft.Compute/locations/swedencentral/usages", [])
    assert "swedencentral" in found(azure)["azure quota on-demand"].message


def test_one_refusal_hides_no_other(azure: AzureDouble) -> None:
    azure.refuse("/permissions", 403, "AuthorizationFailed")
    answers = found(azure)
    assert answers["azure permissions"].level is Level.ERROR
    assert answers["azure quota spot"].level is Level.OK


def test_azure_that_does_not_answer_takes_seconds(azure: AzureDouble) -> None:
    azure.stalled = True
    begin = monotonic()
    (finding,) = found(azure, step_seconds=0.5).values()
    assert monotonic() - begin < 3
    assert (finding.level, "within 0.5 s" in finding.message) == (Level.ERROR, True)


@pytest.mark.parametrize(
    ("granted", "expected"),
    [
        ([{"actions": ["*"], "notActions": []}], True),
        ([CONTRIBUTOR], False),
        ([CONTRIBUTOR, ACCESS], True),
        ([{"actions": ["microsoft.authorization/roleassignments/write"]}], True),
        ([{"actions": ["*/read"]}], False),
        ([], False),
    ],
)
def test_allowed(granted: list[dict[str, Any]], expected: bool) -> None:
    assert allowed(WANTED[0], granted) is expected
    assert allowed(NEEDED[0], [CONTRIBUTOR])


@pytest.mark.parametrize(
    ("environ", "kind"),
    [
        ({"ARM_TENANT_ID": "t", "ARM_CLIENT_ID": "c", "ARM_CLIENT_SECRET": "s"}, "ClientSecretCredential"),
        ({"ARM_TENANT_ID": "t", "ARM_CLIENT_ID": "c", "ARM_OIDC_TOKEN_FILE_PATH": "f"}, "WorkloadIdentityCredential"),
        ({"ARM_USE_MSI": "true"}, "ManagedIdentityCredential"),
        ({"ARM_CLIENT_ID": "c"}, "DefaultAzureCredential"),
        ({}, "DefaultAzureCredential"),
    ],
)
def test_the_credential_is_the_one_that_terraform_takes(environ: dict[str, str], kind: str) -> None:
    assert type(credential(environ)).__name__ == kind


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    with pytest.raises(UsageError) as refused:
        credential({})
    assert refused.value.hint == 'pip install "gpuorch[azure]"'


def test_the_subscription_of_the_environment() -> None:
    assert subscription_of_environment({}) == ""
    both = {"ARM_SUBSCRIPTION_ID": "a", "AZURE_SUBSCRIPTION_ID": "b"}
    assert subscription_of_environment(both) == "a"
    assert subscription_of_environment(both | {"GPUORCH_AZURE_SUBSCRIPTION_ID": "c"}) == "c"


def test_no_credentials_is_said_only_where_it_is_certain(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    tag = tmp_path / "tag"
    assert "az login" in no_credentials(home, asset_tag=tag)
    assert no_credentials(home | {"ARM_CLIENT_ID": "c"}, asset_tag=tag) == ""
    assert no_credentials(home | {"ARM_CLIENT_ID": ""}, asset_tag=tag) != ""
    tag.write_text("7783-7084-3265-9085-8269-3286-77\n")
    assert no_credentials(home, asset_tag=tag) == ""
    tag.write_text("Amazon EC2\n")
    assert no_credentials(home, asset_tag=tag) != ""
    (tmp_path / ".azure").mkdir()
    (tmp_path / ".azure" / "azureProfile.json").write_text("{}")
    assert no_credentials(home, asset_tag=tag) == ""
    assert no_credentials(home | {"AZURE_CONFIG_DIR": str(tmp_path / "other")}, asset_tag=tag) != ""


def test_the_callers_address_is_asked_of_the_user() -> None:
    with pytest.raises(UsageError) as refused:
        caller_address()
    assert "--ssh-from" in refused.value.hint
