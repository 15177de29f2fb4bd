"""Google Cloud as data: the cloud, its images and machine types, and what is refused before anything is made."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import orchestrator
from orchestrator.clouds.gcp.cloud import CLOUD
from orchestrator.clouds.gcp.machine_types import ATTACHED, MachineType, machine_type, offered_type
from orchestrator.errors import UsageError
from orchestrator.model.launch import Launch
from orchestrator.model.offer import Market, Offer
from tests.build import a_launch, an_offer

PAGE = Path(orchestrator.__file__).parent.parent / "docs" / "clouds" / "gcp.md"


def a_gcp_offer(**changes: Any) -> Offer:
    values = {"cloud": "gcp", "region": "us-central1", "zone": "", "instance_type": "a2-highgpu-8g"}
    return an_offer(**(values | changes))


def a_gcp_launch(**changes: Any) -> Launch:
    offer = changes.pop("offer", a_gcp_offer())
    values = {"offer": offer, "image": CLOUD.image(a_gcp_offer()), "cloud_settings": {"project": "my-project-1"}}
    return a_launch(**(values | changes))


# --- the cloud itself ------------------------------------------------------------------------------------------------


def test_provider_files_hold_no_value() -> None:
    (text,) = CLOUD.provider_files.values()
    assert re.findall(r"= (.*)", text) == ["var.project", "var.region"]


def test_session_command_leads_through_the_tunnel() -> None:
    assert CLOUD.session_command is not None
    assert list(CLOUD.session_command("us-central1", "projects/p/zones/us-central1-a/instances/n")) == [
        "gcloud", "compute", "ssh", "n", "--project", "p", "--zone", "us-central1-a", "--tunnel-through-iap",
    ]  # fmt: skip


def test_the_project_is_looked_for_where_terraforms_provider_looks() -> None:
    (setting,) = CLOUD.settings.values()
    assert setting.required
    assert setting.variables[0] == "GOOGLE_PROJECT"
    assert setting.sandbox


def test_module_variables() -> None:
    assert CLOUD.module_variables(a_gcp_launch(ttl=timedelta(hours=8))) == {
        "project": "my-project-1",
        "ssh_user": "ubuntu",
        "max_run_seconds": 28800,
    }


@pytest.mark.parametrize("ttl", [None, timedelta(seconds=29), timedelta(days=121)])
def test_a_time_that_google_cannot_count_is_left_to_the_machine(ttl: timedelta | None) -> None:
    assert CLOUD.module_variables(a_gcp_launch(ttl=ttl))["max_run_seconds"] is None


@pytest.mark.parametrize(
    ("environ", "file", "product", "missing"),
    [
        ({}, "", "", True),
        ({"GOOGLE_APPLICATION_CREDENTIALS": "/x.json"}, "", "", False),
        ({"GOOGLE_OAUTH_ACCESS_TOKEN": "t"}, "", "", False),
        ({}, ".config/gcloud/application_default_credentials.json", "", False),
        ({"CLOUDSDK_CONFIG": "/elsewhere"}, ".config/gcloud/application_default_credentials.json", "", True),
        ({}, "", "Google Compute Engine", False),
        ({}, "", "HVM domU", True),
    ],
)
def test_credentials(tmp_path: Path, environ: dict[str, str], file: str, product: str, missing: bool) -> None:
    from orchestrator.clouds.gcp.credentials import no_credentials

    if file:
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text("{}")
    (tmp_path / "product").write_text(product)
    said = no_credentials({"HOME": str(tmp_path), **environ}, product=tmp_path / "product")
    assert bool(said) is missing


# --- machine types ---------------------------------------------------------------------------------------------------


def test_a_machine_type_and_what_is_attached_to_it() -> None:
    assert machine_type("a2-highgpu-8g") == MachineType(name="a2-highgpu-8g")
    assert machine_type("n1-standard-8+T4x1") == MachineType(
        name="n1-standard-8", accelerator="nvidia-tesla-t4", count=1
    )
    assert machine_type("n1-standard-16+nvidia-tesla-v100x2") == MachineType(
        name="n1-standard-16", accelerator="nvidia-tesla-v100", count=2
    )


@pytest.mark.parametrize(
    "text", ["", "n1", "p4d.24xlarge", "n1-standard-8+T4", "n1-standard-8+T4x0", "a2-x y", "a2-x+"]
)
def test_what_is_no_machine_type(text: str) -> None:
    assert machine_type(text) is None


@given(st.sampled_from(sorted(ATTACHED)), st.integers(1, 8), st.sampled_from(["n1-standard-8", "n1-highmem-96"]))
def test_the_way_back_means_the_same(name: str, count: int, machine: str) -> None:
    found = machine_type(f"{machine}+{name}x{count}")
    assert found is not None
    assert machine_type(offered_type(found.name, found.accelerator, found.count)) == found


def test_built_in_accelerators_are_not_written() -> None:
    assert offered_type("a2-highgpu-1g", "nvidia-tesla-a100", 1) == "a2-highgpu-1g"
    assert offered_type("n1-standard-8", "", 0) == "n1-standard-8"
    assert offered_type("n1-standard-8", "nvidia-tesla-v100", 1) == "n1-standard-8+V100-16GBx1"


# --- images ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instance_type", "accelerator", "project", "family", "installs"),
    [
        ("a2-highgpu-8g", "A100-40GB", "ubuntu-os-accelerator-images", "-amd64-with-nvidia-580", False),
        ("n1-standard-8+T4x1", "T4", "ubuntu-os-accelerator-images", "-amd64-with-nvidia-580", False),
        ("a4x-highgpu-4g", "GB200", "ubuntu-os-accelerator-images", "-arm64-with-nvidia-580", False),
        ("n1-standard-8+V100-16GBx1", "V100-16GB", "ubuntu-os-cloud", "ubuntu-2404-lts-amd64", True),
        ("n1-standard-8+P100x1", "P100", "ubuntu-os-cloud", "ubuntu-2404-lts-amd64", True),
    ],
)
def test_default_image(instance_type: str, accelerator: str, project: str, family: str, installs: bool) -> None:
    image = CLOUD.image(a_gcp_offer(instance_type=instance_type, accelerator=accelerator))
    assert image.reference.startswith(f"projects/{project}/global/images/family/ubuntu-")
    assert image.reference.endswith(family)
    assert (image.ssh_user, image.driver, bool(image.install_driver)) == ("ubuntu", "nvidia", installs)
    assert image.upload_command[:3] == ("gcloud", "storage", "cp")
    assert CLOUD.own_image(image.reference, a_gcp_offer()).reference == image.reference


def test_a_machine_without_accelerator_gets_plain_ubuntu() -> None:
    offer = a_gcp_offer(instance_type="c4a-standard-8", accelerator="", gpu_count=Decimal(0))
    image = CLOUD.image(offer)
    assert image.reference.endswith("ubuntu-2404-lts-arm64")
    assert image.driver == "none"


@pytest.mark.parametrize("accelerator", ["TPU-v3", "K80"])
def test_no_default_image_for_other_accelerators(accelerator: str) -> None:
    with pytest.raises(UsageError, match="no default image") as refused:
        CLOUD.image(a_gcp_offer(accelerator=accelerator))
    assert "--image" in refused.value.hint


def test_an_own_image_may_be_a_link() -> None:
    link = "https://www.googleapis.com/compute/v1/projects/my-project/global/images/mine"
    assert CLOUD.own_image(link, a_gcp_offer()).reference == "projects/my-project/global/images/mine"


@pytest.mark.parametrize(
    "text", ["ubuntu", "projects/p/global/images/", "projects/p/images/x", "family/x", "ami-01234567"]
)
def test_what_is_no_image(text: str) -> None:
    with pytest.raises(UsageError, match="is no Google Cloud image"):
        CLOUD.own_image(text, a_gcp_offer())


# --- what is refused before anything is made -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"offer": a_gcp_offer(zone="us-central1-a")},
        {"offer": a_gcp_offer(region="northamerica-northeast1", instance_type="n1-standard-8+T4x1")},
        {"cloud_settings": {"project": "example.com:my-project"}},
        {"subnet": "default"},
        {"subnet": "projects/host-project/regions/us-central1/subnetworks/gpus"},
        {"checkpoint_uri": "gs://my-bucket"},
        {"checkpoint_uri": "gs://my_bucket.example.com/runs/llm 7b/"},
        {"labels": {"Team": "Größe", "name": "mine"}, "owner": 'a"${x}'},
    ],
)
def test_takes(changes: dict[str, Any]) -> None:
    CLOUD.check(a_gcp_launch(**changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cloud_settings": {}}, "needs a project"),
        ({"cloud_settings": {"project": "My Project"}}, "'My Project' is no Google Cloud project"),
        ({"offer": a_gcp_offer(region="us-east-1")}, "'us-east-1' is no Google Cloud region"),
        ({"offer": a_gcp_offer(zone="us-east1-b")}, "'us-east1-b' is no zone of us-central1"),
        ({"offer": a_gcp_offer(instance_type="p4d.24xlarge")}, "is no Google Cloud machine type"),
        ({"offer": a_gcp_offer(instance_type="tpu-v3-8", accelerator="TPU-v3")}, "TPU-v3 cannot be had"),
        ({"offer": a_gcp_offer(market=Market.SUBSCRIPTION_MONTHLY)}, "no monthly subscriptions"),
        ({"subnet": "projects/p/regions/us-east1/subnetworks/x"}, "is no subnet in us-central1"),
        ({"subnet": "x; rm -rf"}, "is no subnet"),
        ({"checkpoint_uri": "s3://my-bucket/x"}, "is no place for checkpoints"),
        ({"checkpoint_uri": "gs://my-bucket/*"}, "is no place for checkpoints"),
        ({"checkpoint_uri": 'gs://my-bucket/") || true'}, "is no place for checkpoints"),
        ({"disk_gib": 9}, "a disk of 9 GiB"),
        ({"disk_gib": 70000}, "a disk of 70000 GiB"),
        ({"ssh_public_key": "ssh-dss AAAA ada"}, "no SSH key of type 'ssh-dss'"),
        ({"ssh_allowed_cidrs": ("here",)}, "'here' is no block of addresses"),
        ({"ssh_allowed_cidrs": ("0.0.0.0/0",)}, "never opened to the whole internet"),
        ({"ssh_allowed_cidrs": ("2001:db8::/48",)}, "IPv4 address only"),
        ({"labels": {"": "x"}}, "reserved"),
        ({"labels": {"Gpuorch-deployment": "x"}}, "reserved"),
        ({"labels": {f"k{number}": "" for number in range(51)}}, "51 labels are too many"),
    ],
)
def test_refuses_in_a_sentence(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        CLOUD.check(a_gcp_launch(**changes))
    assert words in refused.value.message
    assert refused.value.hint


def test_our_own_address_has_to_be_said() -> None:
    with pytest.raises(UsageError) as refused:
        CLOUD.caller_address()
    assert "--ssh-from" in refused.value.hint


# --- the page about it -----------------------------------------------------------------------------------------------


def test_the_page_has_a_role_with_every_permission_that_we_name() -> None:
    found = re.search(r"<!-- policy: begin -->\n```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    role = yaml.safe_load(found[1])
    given = role["includedPermissions"]
    assert len(given) == len(set(given))
    folder = Path(orchestrator.__file__).parent / "clouds" / "gcp"
    named = {
        match
        for name in ("machines.py", "marked.py", "findings.py")
        for match in re.findall(r'"((?:compute|iam|storage)\.[a-zA-Z]+\.[a-zA-Z]+)"', (folder / name).read_text())
    }
    reported = {"compute.instances.preempted", "compute.instances.hostError", "compute.instances.guestTerminate"}
    assert named - reported - {"compute.instances.terminateOnHostMaintenance"} <= set(given)
