"""What a lost state leaves behind on Google Cloud is found again, with its place in the rendered root."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.clouds.gcp.addresses import PLACES, account_id, resource_name
from orchestrator.clouds.gcp.machines import open_machines
from orchestrator.errors import CloudCallFailed
from orchestrator.model.machine import FoundResource
from tests.clouds.build_gcp import DEPLOYMENT, PROJECT, REGION, ZONE, GoogleDouble, an_instance, found_by

NAME = resource_name(DEPLOYMENT)
EMAIL = f"{account_id(DEPLOYMENT)}@{PROJECT}.iam.gserviceaccount.com"
MARK = f"gpuorch-deployment={DEPLOYMENT}"
ACCOUNT = f"projects/{PROJECT}/serviceAccounts/{EMAIL}"
BINDING = {
    "role": "roles/storage.objectUser",
    "members": [f"serviceAccount:{EMAIL}"],
    "condition": {"title": NAME, "description": MARK, "expression": "true"},
}


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[GoogleDouble]:
    with GoogleDouble() as double:
        yield found_by(double, monkeypatch)


def thing(path: str, description: str = MARK) -> dict[str, Any]:
    return {"selfLink": f"https://www.googleapis.com/compute/v1/{path}", "description": description}


def everything(google: GoogleDouble) -> None:
    paths = (
        f"projects/{PROJECT}/global/networks/{NAME}",
        f"projects/{PROJECT}/regions/{REGION}/subnetworks/{NAME}",
        f"projects/{PROJECT}/global/firewalls/{NAME}",
    )
    google.instances = [an_instance()]
    google.things = {f"compute/v1/{path}": thing(path) for path in paths}
    google.things[f"v1/{ACCOUNT}"] = {"email": EMAIL, "description": f"{MARK} bucket=my-bucket"}
    google.things["storage/v1/b/my-bucket/iam"] = {"bindings": [BINDING]}


def by_type(found: list[FoundResource]) -> dict[str, FoundResource]:
    return {each.type: each for each in found}


def test_everything_is_found_in_the_order_of_import(google: GoogleDouble) -> None:
    everything(google)
    found = open_machines(REGION).resources(DEPLOYMENT)
    assert [(each.type, each.address) for each in found] == [(place.type, place.address) for place in PLACES]
    imports = {each.type: each.import_id for each in found}
    assert imports["google_compute_network"] == f"projects/{PROJECT}/global/networks/{NAME}"
    assert imports["google_compute_instance"] == f"projects/{PROJECT}/zones/{ZONE}/instances/{NAME}"
    assert imports["google_service_account"] == ACCOUNT
    assert (
        imports["google_storage_bucket_iam_member"]
        == f"b/my-bucket roles/storage.objectUser serviceAccount:{EMAIL} {NAME}"
    )


def test_nothing_is_there(google: GoogleDouble) -> None:
    assert open_machines(REGION).resources(DEPLOYMENT) == []


def test_a_name_without_the_marker_is_somebody_elses(google: GoogleDouble) -> None:
    everything(google)
    for description in ("", f"{MARK}x", "gpuorch-deployment=gffffffffffff"):
        for row in google.things.values():
            row["description"] = description
        assert [each.type for each in open_machines(REGION).resources(DEPLOYMENT)] == ["google_compute_instance"]


def test_a_right_given_by_hand_is_shown_and_has_no_place(google: GoogleDouble) -> None:
    everything(google)
    google.things["storage/v1/b/my-bucket/iam"] = {
        "bindings": [{**BINDING, "condition": None}, {"role": "roles/x", "members": ["user:a@b"]}]
    }
    found = by_type(open_machines(REGION).resources(DEPLOYMENT))["google_storage_bucket_iam_member"]
    assert (found.address, found.import_id) == ("", "")
    assert found.id == f"b/my-bucket/roles/storage.objectUser/serviceAccount:{EMAIL}"


def test_a_bucket_that_is_gone_takes_its_rights_with_it(google: GoogleDouble) -> None:
    everything(google)
    del google.things["storage/v1/b/my-bucket/iam"]
    assert "google_storage_bucket_iam_member" not in by_type(open_machines(REGION).resources(DEPLOYMENT))


def test_of_two_machines_the_living_one_has_the_place(google: GoogleDouble) -> None:
    google.instances = [
        an_instance(name="old", creationTimestamp="2026-11-30T03:00:00Z"),
        an_instance(name="new", creationTimestamp="2026-11-30T05:00:00Z", status="TERMINATED"),
    ]
    found = open_machines(REGION).resources(DEPLOYMENT)
    assert [(each.id.rpartition("/")[2], bool(each.address)) for each in found] == [("old", True), ("new", False)]


def test_a_rule_in_a_shared_network_is_looked_for_in_its_project(google: GoogleDouble) -> None:
    path = f"projects/host-project/global/firewalls/{NAME}"
    google.instances = [
        an_instance(
            networkInterfaces=[{"subnetwork": "https://x/compute/v1/projects/host-project/regions/r/subnetworks/s"}]
        )
    ]
    google.things[f"compute/v1/{path}"] = thing(path)
    assert by_type(open_machines(REGION).resources(DEPLOYMENT))["google_compute_firewall"].import_id == path


def test_a_disk_that_stayed_behind_is_shown(google: GoogleDouble) -> None:
    labels = {"gpuorch-deployment": DEPLOYMENT}
    zone = f"https://x/compute/v1/projects/{PROJECT}/zones/{ZONE}"
    google.disks = [
        {"selfLink": f"{zone}/disks/used", "zone": zone, "labels": labels, "users": ["https://x/instances/y"]},
        {"selfLink": f"{zone}/disks/left", "zone": zone, "labels": labels},
        {"selfLink": f"{zone}/disks/foreign", "zone": zone, "labels": {}},
    ]
    (found,) = open_machines(REGION).resources(DEPLOYMENT)
    assert (found.type, found.id) == ("google_compute_disk", f"projects/{PROJECT}/zones/{ZONE}/disks/left")
    assert found.address == ""


@pytest.mark.parametrize("start", [f"compute/v1/projects/{PROJECT}/global/networks", "v1/projects", "storage/v1"])
def test_a_refused_look_is_never_taken_for_nothing(google: GoogleDouble, start: str) -> None:
    everything(google)
    google.refuse = {start: (403, "Permission denied")}
    with pytest.raises(CloudCallFailed, match="403"):
        open_machines(REGION).resources(DEPLOYMENT)


def test_long_ids_have_a_service_account_of_their_own() -> None:
    long = "g" + "0" * 31
    assert account_id(DEPLOYMENT) == resource_name(DEPLOYMENT)
    assert len(account_id(long)) == 30
    assert account_id(long) != account_id(long[:-1] + "1")
