"""What the genuine Google provider or Compute Engine refuses, the sandbox refuses, in their words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.gcp.cloud import CLOUD
from orchestrator.clouds.gcp.sandbox.places import region_of, zone_names
from orchestrator.clouds.gcp.sandbox.rules import RULES
from orchestrator.clouds.rules import UNKNOWN
from orchestrator.sandbox.cloud import SimulatedCloud
from orchestrator.sandbox.provider.lifecycle import Outcome, Provider
from orchestrator.sandbox.provider.schema import complete, read_schema
from scripts.extract_schema import used
from tests.sandbox.build_sandbox import a_plan, made

PROJECT = "my-project-1"
REGION = "us-central1"
DEPLOYMENT = "gtestaaaa"
LABELS = {"gpuorch-deployment": DEPLOYMENT}
MARK = f"gpuorch-deployment={DEPLOYMENT}"
IMAGE = "projects/ubuntu-os-cloud/global/images/ubuntu-x"


def a_provider(tmp_path: Path, **config: Any) -> Provider:
    """The stand-in without terraform and gRPC."""
    assert CLOUD.sandbox is not None
    schema = read_schema(CLOUD.sandbox.schema)
    provider = Provider("gcp", schema, RULES, SimulatedCloud(tmp_path / "cloud.sqlite"))
    whole = complete(schema.provider.block, {"project": PROJECT, "region": REGION} | config)
    assert not provider.configure(whole)
    return provider


def machine_values(**changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": "gpuorch-gtestaaaa",
        "zone": "us-central1-b",
        "machine_type": "a2-highgpu-1g",
        "labels": LABELS,
        "boot_disk": [{"initialize_params": [{"image": IMAGE, "size": 100, "type": "pd-balanced"}]}],
        "network_interface": [{"subnetwork": "net", "access_config": [{}]}],
        "scheduling": [
            {
                "provisioning_model": "SPOT",
                "preemptible": True,
                "automatic_restart": False,
                "on_host_maintenance": "TERMINATE",
                "instance_termination_action": "DELETE",
            }
        ],
        "metadata": {"user-data": "#cloud-config\n"},
    }
    return values | changes


def scheduling(**changes: Any) -> dict[str, Any]:
    return {"scheduling": [machine_values()["scheduling"][0] | changes]}


def a_network(provider: Provider) -> dict[str, Any]:
    network = made(provider, "google_compute_network", name="net", auto_create_subnetworks=False, description=MARK)
    return made(
        provider,
        "google_compute_subnetwork",
        name="net",
        network=network["self_link"],
        ip_cidr_range="10.86.0.0/24",
        description=MARK,
    )


def created(provider: Provider, type_: str, **config: Any) -> Outcome:
    return provider.create(type_, a_plan(provider, type_, **config))


# type, configuration, words that the provider says before the plan
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("google_compute_network", {"name": "Net"}, '"name" ("Net") doesn\'t match regexp'),
    (
        "google_compute_network",
        {"name": "n", "routing_mode": "WORLD"},
        'to be one of ["REGIONAL" "GLOBAL" ""], got WORLD',
    ),
    ("google_compute_subnetwork", {"name": "s", "network": "n", "stack_type": "IPV5"}, "got IPV5"),
    ("google_compute_firewall", {"name": "f", "network": "n", "source_ranges": ["10.0.0.0/8"]}, "one of `allow,deny`"),
    (
        "google_compute_firewall",
        {"name": "f", "network": "n", "allow": [{"protocol": "tcp"}]},
        "one of source_tags, source_ranges, or source_service_accounts must be defined",
    ),
    (
        "google_compute_firewall",
        {"name": "f", "network": "n", "allow": [{"protocol": "tcp"}], "source_ranges": ["x"], "direction": "IN"},
        "got IN",
    ),
    (
        "google_compute_firewall",
        {
            "name": "f",
            "network": "n",
            "allow": [{"protocol": "tcp"}],
            "source_tags": ["a"],
            "source_service_accounts": ["b"],
        },
        "Conflicting configuration arguments",
    ),
    ("google_service_account", {"account_id": "gpu"}, '"account_id" ("gpu") doesn\'t match regexp'),
    ("google_service_account", {"account_id": "gpuorch", "description": "x" * 257}, "expected length of description"),
    (
        "google_storage_bucket_iam_member",
        {"bucket": "b", "role": "r", "member": "somebody"},
        "IAM members must have one of the values",
    ),
    ("google_compute_instance", {"name": "-x"}, '"name" ("-x") doesn\'t match regexp'),
    ("google_compute_instance", {"self_link": "x"}, "Value for unconfigurable attribute"),
    ("google_compute_instance", {"desired_status": "ON"}, "got ON"),
    (
        "google_compute_instance",
        {"boot_disk": [{"initialize_params": [{"size": 0}]}]},
        "expected boot_disk.0.initialize_params.0.size to be at least (1), got 0",
    ),
    ("google_compute_instance", {"boot_disk": [{"mode": "RW"}]}, '["READ_WRITE" "READ_ONLY"], got RW'),
    ("google_compute_instance", {"scratch_disk": [{"interface": "SATA"}]}, '["SCSI" "NVME"], got SATA'),
    ("google_compute_instance", {"network_interface": [{"nic_type": "FAST"}]}, "got FAST"),
]


@pytest.mark.parametrize(("type_", "config", "words"), WRONG, ids=[f"{t}-{w[:30]}" for t, _, w in WRONG])
def test_refused_before_the_plan(tmp_path: Path, type_: str, config: dict[str, Any], words: str) -> None:
    provider = a_provider(tmp_path)
    problems = provider.validate(type_, complete(provider.schema.resources[type_].block, config))
    assert any(words in f"{problem.summary}\n{problem.detail}" for problem in problems), problems


@pytest.mark.parametrize(("type_", "config"), [(type_, config) for type_, config, _ in WRONG])
def test_what_is_not_known_yet_passes(tmp_path: Path, type_: str, config: dict[str, Any]) -> None:
    provider = a_provider(tmp_path)
    both = {"source_tags", "source_service_accounts"}
    unknown = {name: UNKNOWN for name in config if name not in {"self_link", "source_service_accounts"}}
    if "allow" not in config and type_ == "google_compute_firewall":
        unknown["allow"] = UNKNOWN
    if type_ == "google_compute_firewall" and not both & config.keys():
        unknown["source_ranges"] = UNKNOWN
    assert not provider.validate(type_, complete(provider.schema.resources[type_].block, unknown))


def test_data_sources_check_their_arguments(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    for type_, config, words in (
        ("google_compute_image", {}, "one of `family,filter,name` must be specified"),
        ("google_compute_image", {"family": "f", "name": "n"}, "only one of `family,filter,name`"),
        ("google_compute_zones", {"status": "MAYBE"}, 'one of ["UP" "DOWN"], got MAYBE'),
    ):
        problems = provider.validate_data(type_, complete(provider.schema.data[type_].block, config))
        assert any(words in f"{problem.summary}\n{problem.detail}" for problem in problems), (type_, problems)


# configuration of the machine, what Compute Engine answers
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"zone": "us-central1-x"}, "Error loading zone 'us-central1-x': googleapi: Error 404"),
    ({"machine_type": "A2 large"}, "Machine type with name 'A2 large' does not exist in zone 'us-central1-b'"),
    (
        {"machine_type": "g2-standard-4", "guest_accelerator": [{"type": "nvidia-tesla-t4", "count": 1}]},
        "[g2-standard-4, nvidia-tesla-t4] features are not compatible for creating instance., badRequest",
    ),
    (
        {"machine_type": "n1-standard-8", "guest_accelerator": [{"type": "T4", "count": 1}]},
        "Invalid value for field 'resource.guestAccelerators[0].acceleratorType'",
    ),
    (
        {"boot_disk": [{"initialize_params": [{"image": "nonsense"}]}]},
        "Error resolving image name 'nonsense': Could not find image or family nonsense",
    ),
    (
        {"boot_disk": [{"initialize_params": [{"image": IMAGE, "size": 9}]}]},
        "Requested disk size cannot be smaller than the image size (10 GB)",
    ),
    (
        {"machine_type": "a3-ultragpu-8g"},
        "[pd-balanced, a3-ultragpu-8g] features are not compatible for creating instance",
    ),
    (
        {"boot_disk": [{"initialize_params": [{"image": IMAGE, "labels": {"Owner": "x"}}]}]},
        "Label key 'Owner' violates format constraints",
    ),
    ({"labels": {"owner": "Größe"}}, "Label value 'Größe' violates format constraints"),
    ({"labels": {f"k{number}": "" for number in range(65)}}, "too many labels"),
    (scheduling(preemptible=False), "Scheduling must have preemptible be true when provisioningModel is SPOT"),
    (scheduling(automatic_restart=True), "Scheduling must have preemptible be false when AutomaticRestart is true"),
    (
        scheduling(on_host_maintenance="MIGRATE"),
        "Scheduling must have preemptible be false when OnHostMaintenance isn't TERMINATE",
    ),
    (
        scheduling(
            provisioning_model="STANDARD",
            preemptible=False,
            on_host_maintenance="MIGRATE",
            instance_termination_action=None,
        ),
        "Instances with guest accelerators do not support live migration",
    ),
    (scheduling(instance_termination_action="BURN"), "Must be one of the following values: DELETE, STOP."),
    (scheduling(provisioning_model="STANDARD", preemptible=False), "no time limit"),
    (
        scheduling(instance_termination_action=None, max_run_duration=[{"seconds": 3600}]),
        "Instance termination action must be specified",
    ),
    (scheduling(max_run_duration=[{"seconds": 29}]), "between 30 seconds and 120 days"),
    ({"metadata": {"user-data": "x" * 262145}}, "is too large: maximum size 262144 character(s); actual size 262145."),
    (
        {"service_account": [{"email": "gpuorch-x@my-project-1.iam.gserviceaccount.com", "scopes": ["s"]}]},
        "of type 'serviceAccount' was not found",
    ),
    (
        {"network_interface": [{"subnetwork": "elsewhere"}]},
        "regions/us-central1/subnetworks/elsewhere' was not found, notFound",
    ),
    ({"network_interface": [{}]}, "Network interface must specify a subnet or a network."),
]


@pytest.mark.parametrize(("changes", "words"), REFUSED, ids=[words[:40] for _, words in REFUSED])
def test_refused_at_the_launch(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    provider = a_provider(tmp_path)
    a_network(provider)
    outcome = created(provider, "google_compute_instance", **machine_values(**changes))
    assert outcome.values is None
    assert words in outcome.problems[0].summary
    # The failure table knows every one of them.
    assert any(re.search(rule.pattern, outcome.problems[0].summary) for rule in CLOUD.failures), outcome.problems


def test_a_machine_is_filled_in_as_compute_engine_would(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    subnet = a_network(provider)
    machine = made(provider, "google_compute_instance", **machine_values())
    assert machine["id"] == f"projects/{PROJECT}/zones/us-central1-b/instances/gpuorch-gtestaaaa"
    assert machine["effective_labels"] == {**LABELS, "goog-terraform-provisioned": "true"}
    assert machine["guest_accelerator"] == [{"type": "nvidia-tesla-a100", "count": 1}]
    interface = machine["network_interface"][0]
    assert interface["network"] == subnet["network"]
    assert interface["network_ip"] == "10.86.0.2"
    assert interface["access_config"][0]["nat_ip"].startswith("203.0.113.")
    found = SimulatedCloud(tmp_path / "cloud.sqlite").resources(DEPLOYMENT, cloud="gcp")
    assert [each.type for each in found] == [
        "google_compute_network",
        "google_compute_subnetwork",
        "google_compute_instance",
    ]
    facts = found[-1].machine
    assert facts is not None
    assert (facts.zone, facts.instance_type, facts.market) == ("us-central1-b", "a2-highgpu-1g", "spot")
    assert facts.user_data == "#cloud-config\n"


def test_attached_accelerators_stand_in_the_machines_type(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    a_network(provider)
    changes = {"machine_type": "n1-standard-8", "guest_accelerator": [{"type": "nvidia-tesla-t4", "count": 2}]}
    made(provider, "google_compute_instance", **machine_values(**changes))
    (found,) = (each for each in SimulatedCloud(tmp_path / "cloud.sqlite").resources(cloud="gcp") if each.machine)
    assert found.machine is not None
    assert found.machine.instance_type == "n1-standard-8+T4x2"


def test_some_types_bring_local_disks_that_would_replace_the_machine(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    a_network(provider)
    config = machine_values(machine_type="a3-highgpu-8g")
    machine = made(provider, "google_compute_instance", **config)
    assert len(machine["scratch_disk"]) == 16
    block = provider.schema.resources["google_compute_instance"].block
    planned = provider.plan(
        "google_compute_instance", machine, complete(block, machine | {"scratch_disk": []}), complete(block, config)
    )
    assert ("scratch_disk",) in planned.replace


def test_default_labels_and_the_providers_own(tmp_path: Path) -> None:
    provider = a_provider(tmp_path, default_labels={"team": "x"}, add_terraform_attribution_label=False)
    planned = a_plan(provider, "google_compute_instance", **machine_values())
    assert planned["effective_labels"] == planned["terraform_labels"] == {"team": "x", **LABELS}


def test_what_would_need_a_stop_is_refused_in_place(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    a_network(provider)
    machine = made(provider, "google_compute_instance", **machine_values())
    outcome = provider.update("google_compute_instance", machine, machine | {"machine_type": "a2-highgpu-2g"})
    assert "set allow_stopping_for_update = true" in outcome.problems[0].summary
    allowed = machine | {"machine_type": "a2-highgpu-2g", "allow_stopping_for_update": True}
    assert not provider.update("google_compute_instance", machine, allowed).problems


def test_names_are_taken_once_in_a_project(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    subnet = a_network(provider)
    made(provider, "google_compute_instance", **machine_values())
    made(provider, "google_service_account", account_id="gpuorch-gtest")
    firewall = {
        "name": "f",
        "network": subnet["network"],
        "allow": [{"protocol": "tcp", "ports": ["22"]}],
        "source_ranges": ["203.0.113.7/32"],
    }
    made(provider, "google_compute_firewall", **firewall)
    again: list[tuple[str, dict[str, Any]]] = [
        ("google_compute_network", {"name": "net"}),
        ("google_compute_firewall", firewall),
        ("google_compute_instance", machine_values()),
        ("google_service_account", {"account_id": "gpuorch-gtest"}),
    ]
    for type_, config in again:
        outcome = created(provider, type_, **config)
        assert "alreadyExists" in outcome.problems[0].summary, type_


def test_what_does_not_exist_or_is_wrong_is_refused(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    subnet = a_network(provider)
    net = subnet["network"]
    tries: list[tuple[str, dict[str, Any], str]] = [
        (
            "google_compute_subnetwork",
            {"name": "x", "network": "none", "ip_cidr_range": "10.0.0.0/24"},
            "was not found",
        ),
        ("google_compute_subnetwork", {"name": "x", "network": net, "ip_cidr_range": "10.0.0.1/24"}, "Must be a CIDR"),
        ("google_compute_subnetwork", {"name": "x", "network": net, "ip_cidr_range": "10.86.0.0/25"}, "conflicts with"),
        (
            "google_compute_firewall",
            {"name": "x", "network": net, "allow": [{"protocol": "tcp"}], "source_ranges": ["1.2.3"]},
            "Must be a CIDR",
        ),
        (
            "google_storage_bucket_iam_member",
            {"bucket": "b", "role": "r", "member": f"serviceAccount:gpuorch-x@{PROJECT}.iam.gserviceaccount.com"},
            "does not exist",
        ),
    ]
    for type_, config, words in tries:
        outcome = created(provider, type_, **config)
        assert words in outcome.problems[0].summary, (type_, outcome)


def test_a_network_in_use_stays(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    subnet = a_network(provider)
    machine = made(provider, "google_compute_instance", **machine_values())
    outcome = provider.delete("google_compute_subnetwork", subnet)
    assert f"is already being used by '{machine['id']}'" in outcome.problems[0].summary
    assert not provider.delete("google_compute_instance", machine).problems
    assert not provider.delete("google_compute_subnetwork", subnet).problems


def test_without_a_project_nothing_is_made(tmp_path: Path) -> None:
    provider = a_provider(tmp_path, project=None)
    assert "project: required field" in created(provider, "google_compute_network", name="n").problems[0].summary


def test_credentials_of_two_kinds_are_refused() -> None:
    assert [problem.summary for problem in RULES.configure({"credentials": "{}", "access_token": "t"})]
    assert not list(RULES.configure({"credentials": "{}"}))


def test_where_a_call_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_REGION", raising=False)
    assert RULES.region({"region": "us-east1"}, {"zone": "europe-west4-a"}) == "europe-west4"
    assert RULES.region({"region": "us-east1"}, {"region": "us-west1"}) == "us-west1"
    assert RULES.region({"region": "us-east1"}, {"zone": UNKNOWN}) == "us-east1"
    monkeypatch.setenv("GOOGLE_REGION", "asia-east1")
    assert RULES.region({}, {}) == "asia-east1"
    assert {region_of(zone) for zone in zone_names("us-central1")} == {"us-central1"}


def test_every_resource_of_the_schema_has_rules_and_every_rule_a_resource() -> None:
    assert CLOUD.sandbox is not None
    schema = read_schema(CLOUD.sandbox.schema)
    assert schema.resources.keys() == RULES.resources.keys()
    assert schema.data.keys() == RULES.data.keys()
    resources, data = used(CLOUD.module)
    assert set(resources) == set(schema.resources), "run scripts/schema_from_wheel.py"
    assert set(data) == set(schema.data), "run scripts/schema_from_wheel.py"
    for type_, rules in RULES.resources.items():
        for path in {*rules.force_new, *rules.defaults, *rules.kept_blocks}:
            block = schema.resources[type_].block
            *blocks, last = path.split(".")
            for name in blocks:
                block = block.blocks[name].block
            assert last in block.attributes or last in block.blocks, f"{type_}.{path}"
