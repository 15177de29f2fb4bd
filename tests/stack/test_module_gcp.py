"""The Google Cloud module: its marks, its table of addresses, and what it plans for each way of using it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import hcl2
import pytest

from orchestrator.assets import asset
from orchestrator.clouds.gcp.addresses import PLACES, account_id, place_of, resource_name
from orchestrator.clouds.gcp.cloud import CLOUD
from orchestrator.clouds.gcp.machine_types import ATTACHED
from orchestrator.sandbox.install import prepare
from scripts.module_readme import blocks, text
from tests.stack.build_terraform import terraform_environment

MODULE = asset("terraform", "modules", "gcp")

VALUES: dict[str, Any] = {
    "deployment_id": "g0123456789ab",
    "name": "train",
    "region": "us-central1",
    "instance_type": "a2-highgpu-8g",
    "market": "spot",
    "image": "projects/ubuntu-os-accelerator-images/global/images/family/ubuntu-accelerator-2404-amd64-with-nvidia-580",
    "user_data": "#cloud-config\n{}\n",
    "project": "my-project-1",
}


def test_addresses_are_those_of_the_module() -> None:
    written = {
        f"module.machine.{label}" + ("[0]" if "count" in body else "") for label, body in blocks(MODULE, "resource")
    }
    assert {place.address for place in PLACES} == written
    assert len(PLACES) == len(written)
    for place in PLACES:
        assert place.address.split(".")[2] == place.type
    assert place_of("google_compute_network") is PLACES[0]
    assert place_of("google_storage_bucket") is None


def test_every_resource_bears_the_deployments_mark() -> None:
    for label, body in blocks(MODULE, "resource"):
        place = place_of(label.partition(".")[0])
        assert place is not None
        if place.labelled:
            assert text(body["labels"]) == "local.labels", label
        else:
            described = body["condition"][0] if "condition" in body else body
            assert "local.marker" in str(described["description"]), label


def test_names_of_the_module_are_the_tables() -> None:
    locals_ = hcl2.loads((MODULE / "main.tf").read_text())["locals"][0]
    assert text(locals_["resource_name"]) == resource_name("${var.deployment_id}")
    for name, accelerator in ATTACHED.items():
        assert f'"{name}"' in (MODULE / "main.tf").read_text()
        assert f'"{accelerator}"' in (MODULE / "main.tf").read_text()


# --- with terraform and the stand-in ---------------------------------------------------------------------------------


class Module:
    """The module as a root, over the sandbox of ``folder``."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("terraform") is None:
            pytest.skip("terraform is not on PATH")
        self.folder = folder / "root"
        shutil.copytree(MODULE, self.folder)
        (self.folder / "providers.tf").write_text(CLOUD.provider_files["providers.tf"])
        installed = prepare(folder / "box", [CLOUD])
        environment = terraform_environment(folder / "home", installed.mirror)
        self.environment = environment | dict(installed.environment)
        self.run("init", "-input=false")

    def run(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            ["terraform", *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def plan(self, **changes: Any) -> dict[str, dict[str, Any]]:
        """Address → planned values."""
        (self.folder / "terraform.tfvars.json").write_text(json.dumps(VALUES | changes))
        self.run("plan", "-input=false", "-out=p")
        planned = json.loads(self.run("show", "-json", "p"))["planned_values"]["root_module"]["resources"]
        return {each["address"]: each["values"] for each in planned if each["mode"] == "managed"}

    def refuses(self, words: str, **changes: Any) -> None:
        (self.folder / "terraform.tfvars.json").write_text(json.dumps(VALUES | changes))
        said = self.run("plan", "-input=false", "-no-color", code=1)
        assert words in " ".join(said.replace("│", " ").split()), said


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    return Module(tmp_path_factory.mktemp("gcp"))


@pytest.mark.terraform
def test_validates_and_is_formatted(module: Module) -> None:
    module.run("validate")
    module.run("fmt", "-check", "-recursive", str(MODULE))


@pytest.mark.terraform
def test_terraforms_own_tests_pass(module: Module) -> None:
    (module.folder / "terraform.tfvars.json").unlink(missing_ok=True)
    said = module.run("test", "-no-color")
    assert "Success!" in said
    assert "0 passed" not in said


@pytest.mark.terraform
def test_spot(module: Module) -> None:
    planned = module.plan(max_run_seconds=3600)
    assert sorted(planned) == [
        "google_compute_instance.machine",
        "google_compute_network.own[0]",
        "google_compute_subnetwork.own[0]",
    ]
    machine = planned["google_compute_instance.machine"]
    (scheduling,) = machine["scheduling"]
    assert (scheduling["provisioning_model"], scheduling["preemptible"]) == ("SPOT", True)
    assert (scheduling["automatic_restart"], scheduling["on_host_maintenance"]) == (False, "TERMINATE")
    assert scheduling["instance_termination_action"] == "DELETE"
    assert scheduling["max_run_duration"][0]["seconds"] == 3600
    assert (machine["zone"], machine["machine_type"]) == ("us-central1-a", "a2-highgpu-8g")
    assert machine["service_account"] == []
    assert machine["metadata"]["block-project-ssh-keys"] == "TRUE"
    assert "ssh-keys" not in machine["metadata"]
    assert len(machine["network_interface"][0]["access_config"]) == 1
    assert machine["boot_disk"][0]["initialize_params"][0]["image"].endswith("-with-nvidia-580-v20260522")


@pytest.mark.terraform
def test_on_demand_without_a_limit_is_restarted_and_not_deleted(module: Module) -> None:
    (scheduling,) = module.plan(market="on-demand")["google_compute_instance.machine"]["scheduling"]
    assert (scheduling["provisioning_model"], scheduling["preemptible"]) == ("STANDARD", False)
    assert (scheduling["automatic_restart"], scheduling["on_host_maintenance"]) == (True, "TERMINATE")
    assert scheduling["instance_termination_action"] is None
    assert scheduling["max_run_duration"] == []


@pytest.mark.terraform
@pytest.mark.parametrize(
    ("instance_type", "machine_type", "accelerators", "disk"),
    [
        ("n1-standard-8+T4x2", "n1-standard-8", [{"type": "nvidia-tesla-t4", "count": 2}], "pd-balanced"),
        ("n1-highmem-8+V100-16GBx1", "n1-highmem-8", [{"type": "nvidia-tesla-v100", "count": 1}], "pd-balanced"),
        ("n1-standard-4+nvidia-tesla-p4x1", "n1-standard-4", [{"type": "nvidia-tesla-p4", "count": 1}], "pd-balanced"),
        ("g2-standard-4", "g2-standard-4", [], "pd-balanced"),
        ("a3-megagpu-8g", "a3-megagpu-8g", [], "pd-balanced"),
        ("a3-ultragpu-8g", "a3-ultragpu-8g", [], "hyperdisk-balanced"),
        ("a4-highgpu-8g", "a4-highgpu-8g", [], "hyperdisk-balanced"),
        ("g4-standard-48", "g4-standard-48", [], "hyperdisk-balanced"),
    ],
)
def test_machine_types(
    module: Module, instance_type: str, machine_type: str, accelerators: list[dict[str, Any]], disk: str
) -> None:
    machine = module.plan(instance_type=instance_type, zone="us-central1-b")["google_compute_instance.machine"]
    assert (machine["machine_type"], machine["zone"]) == (machine_type, "us-central1-b")
    assert (machine.get("guest_accelerator") or []) == accelerators
    assert machine["boot_disk"][0]["initialize_params"][0]["type"] == disk


@pytest.mark.terraform
def test_ssh(module: Module) -> None:
    planned = module.plan(
        access="ssh", ssh_public_key="ssh-ed25519 AAAA ada\n", ssh_allowed_cidrs=["203.0.113.7/32"], ssh_user="ada"
    )
    rule = planned["google_compute_firewall.ssh[0]"]
    assert (rule["source_ranges"], rule["direction"]) == (["203.0.113.7/32"], "INGRESS")
    assert rule["allow"] == [{"protocol": "tcp", "ports": ["22"]}]
    machine = planned["google_compute_instance.machine"]
    assert rule["target_tags"] == machine["tags"]
    assert machine["metadata"]["ssh-keys"] == "ada:ssh-ed25519 AAAA ada"
    assert machine["metadata"]["enable-oslogin"] == "FALSE"


@pytest.mark.terraform
def test_session_lets_in_the_tunnel_alone(module: Module) -> None:
    planned = module.plan(access="session", ssh_allowed_cidrs=["203.0.113.7/32"], ssh_public_key="ssh-ed25519 AAAA a")
    assert planned["google_compute_firewall.ssh[0]"]["source_ranges"] == ["35.235.240.0/20"]
    assert planned["google_compute_instance.machine"]["metadata"]["enable-oslogin"] == "TRUE"
    assert "ssh-keys" not in planned["google_compute_instance.machine"]["metadata"]


@pytest.mark.terraform
@pytest.mark.parametrize(
    ("uri", "bucket", "expression"),
    [
        (
            "gs://my-bucket/runs/a/",
            "my-bucket",
            'resource.name.startsWith("projects/_/buckets/my-bucket/objects/runs/a/") || '
            'api.getAttribute("storage.googleapis.com/objectListPrefix", "").startsWith("runs/a/")',
        ),
        ("gs://my-bucket", "my-bucket", 'resource.name.startsWith("projects/_/buckets/my-bucket")'),
    ],
)
def test_checkpoints(module: Module, uri: str, bucket: str, expression: str) -> None:
    planned = module.plan(checkpoint_uri=uri)
    right = planned["google_storage_bucket_iam_member.checkpoint[0]"]
    assert (right["bucket"], right["role"]) == (bucket, "roles/storage.objectUser")
    assert right["condition"][0]["expression"] == expression
    account = planned["google_service_account.machine[0]"]
    assert account["account_id"] == account_id(VALUES["deployment_id"])
    assert account["description"] == f"gpuorch-deployment={VALUES['deployment_id']} bucket={bucket}"
    (identity,) = planned["google_compute_instance.machine"]["service_account"]
    assert identity["scopes"] == ["https://www.googleapis.com/auth/devstorage.read_write"]


@pytest.mark.terraform
def test_a_long_id_has_the_same_account_here_and_there(module: Module) -> None:
    long = "g" + "0" * 31
    planned = module.plan(deployment_id=long, checkpoint_uri="gs://my-bucket/x")
    assert planned["google_service_account.machine[0]"]["account_id"] == account_id(long)


@pytest.mark.terraform
def test_labels_are_made_to_fit(module: Module) -> None:
    hostile = 'a"b${c}%{d}\\ e\nf `g` $(h) 日本'
    machine = module.plan(
        name="My Train!",
        owner=hostile,
        expires_at="2026-12-01T00:11:08Z",
        labels={
            "Team": "Größe",
            "team": "x",
            "9lives": "y",
            "gpuorch-deployment": "stolen",
            "k" * 70: "v" * 70,
            hostile: hostile,
        },
    )["google_compute_instance.machine"]
    labels = machine["labels"]
    assert labels["gpuorch-deployment"] == VALUES["deployment_id"]
    assert labels["gpuorch-name"] == "my_train_"
    assert labels["gpuorch-expires-at"] == "2026-12-01t00_11_08z"
    assert labels["gpuorch-managed-by"] == "gpuorch"
    assert labels["team"] in ("gr__e", "x")
    assert labels["x9lives"] == "y"
    assert labels["k" * 63] == "v" * 63
    assert "gpuorch-profile" not in labels
    assert machine["boot_disk"][0]["initialize_params"][0]["labels"] == labels


@pytest.mark.terraform
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"market": "subscription-monthly"}, "no monthly subscription"),
        ({"zone": "us-east-1a"}, "zone must be a zone's name"),
        ({"instance_type": "p4d.24xlarge"}, "instance_type must be a machine type"),
        ({"image": "ami-01234567"}, "image must be projects/PROJECT"),
        ({"image": "projects/nobody/global/images/family/none"}, "error retrieving image information"),
        ({"ssh_allowed_cidrs": ["0.0.0.0/0"]}, "never the whole internet"),
        ({"ssh_allowed_cidrs": ["2001:db8::/48"]}, "must be IPv4"),
        ({"subnet": "bad subnet"}, "subnet must be"),
        ({"subnet": "absent"}, "data source Subnetwork Not Found"),
        ({"checkpoint_uri": "s3://b/x"}, "checkpoint_uri must be gs://"),
        ({"checkpoint_uri": 'gs://my-bucket/") || true'}, "checkpoint_uri must be gs://"),
        ({"project": "My Project"}, "project must be a project's id"),
        ({"ssh_user": "root; x"}, "ssh_user must be"),
        ({"max_run_seconds": 29}, "max_run_seconds must be"),
        ({"labels": {f"k{number}": "" for number in range(51)}}, "64 labels"),
    ],
)
def test_refuses(module: Module, changes: dict[str, Any], words: str) -> None:
    module.refuses(words, **changes)
