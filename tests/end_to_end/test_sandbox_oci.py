"""OCI in the sandbox, by the command and the real terraform: what its rules and settings make of the common story."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.build_cli_runs import Gpuorch, a_gpuorch

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

PRICES = """\
cloud,instance_type,region,zone,gpu,gpu_count,gpu_memory_gib,vcpus,memory_gib,market,price_per_hour,currency,observed_at
oci,VM.GPU3.1,eu-frankfurt-1,AD-2,V100-16GB,1,16,12,90,spot,1.475,USD,2026-11-01
oci,VM.GPU3.1,eu-frankfurt-1,AD-3,V100-16GB,1,16,12,90,spot,1.476,USD,2026-11-01
oci,VM.GPU3.1,us-phoenix-1,,V100-16GB,1,16,12,90,spot,1.477,USD,2026-11-01
oci,BM.GPU4.8,us-ashburn-1,,A100-40GB,8,40,128,2048,on-demand,24.4,USD,2026-11-01
oci,BM.GPU4.8,us-ashburn-1,,A100-40GB,8,40,128,2048,spot,12.2,USD,2026-11-01
oci,BM.GPU.MI300X.8,ap-tokyo-1,AP-TOKYO-1-AD-1,MI300X,8,192,224,2048,on-demand,48,USD,2026-11-01
"""
UP = ("up", "--cloud", "oci", "--sandbox", "--yes", "--name", "train")
V100 = ("--gpu", "V100-16GB:1", "--spot")
A100 = ("--gpu", "A100-40GB:8")
OWN_NETWORK = [
    "oci_core_default_security_list",
    "oci_core_internet_gateway",
    "oci_core_route_table",
    "oci_core_subnet",
    "oci_core_vcn",
]
PLAIN = sorted([*OWN_NETWORK, "oci_core_instance", "oci_identity_policy"])
GUARDED = ["oci_core_network_security_group", "oci_core_network_security_group_security_rule"]
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3D0tlGm6ZlEWTxGWpS7zdTRDMCq6l2OFOrAE7fVsYx ada@example\n"


def oci(folder: Path, *, settings: str = "") -> Gpuorch:
    config = folder / "gpuorch.toml"
    config.write_text(settings)
    gpuorch = a_gpuorch(folder, None, environment={"GPUORCH_CONFIG": str(config)})
    file = folder / "prices.csv"
    file.write_text(PRICES)
    gpuorch("prices", "import", str(file), "--replace")
    return gpuorch


def unchanged(gpuorch: Gpuorch) -> None:
    (root,) = gpuorch.roots()
    gpuorch.terraform(root, "plan", "-detailed-exitcode", "-no-color", "-input=false")


def values_of(gpuorch: Gpuorch, type_: str = "oci_core_instance") -> dict[str, Any]:
    (found,) = (each for each in gpuorch.cloud.resources() if each.type == type_)
    return dict(found.values)


def gone(gpuorch: Gpuorch) -> bool:
    assert gpuorch("down", "train", "--yes").out == "train is gone\n"
    return gpuorch.existing() == []


def test_spot_from_up_over_a_lost_machine_to_down(tmp_path: Path) -> None:
    gpuorch = oci(tmp_path)
    made = gpuorch.json(*UP, *V100, "--owner", 'a"b${c} <d>; 日本').data["deployment"]
    assert (made["state"], made["region"], made["market"]) == ("ready", "eu-frankfurt-1", "spot")
    assert made["zone"] == "Uocm:EU-FRANKFURT-1-AD-2"
    assert gpuorch.existing() == PLAIN
    machine = values_of(gpuorch)
    assert machine["preemptible_instance_config"][0]["preemption_action"][0]["preserve_boot_volume"] is False
    assert machine["freeform_tags"]["gpuorch-owner"] == 'a"b${c} <d>; 日本'
    # Rights are written in the home region, which is another one than the machine's.
    policy = values_of(gpuorch, "oci_identity_policy")
    assert f"request.principal.id = '{machine['id']}'" in policy["statements"][0]
    assert len(policy["statements"]) == 2
    unchanged(gpuorch)

    gpuorch.cloud.preempt(made["id"], reason="the preemptible capacity was reclaimed")
    lost = gpuorch.deployment()
    assert (lost["state"], "reclaimed" in lost["problem"]) == ("lost", True)
    assert gone(gpuorch)


def test_a_full_domain_leads_to_the_next_and_the_next_region(tmp_path: Path) -> None:
    gpuorch = oci(tmp_path)
    for number in (2, 3):
        gpuorch.cloud.exhaust("oci", f"Uocm:EU-FRANKFURT-1-AD-{number}", "VM.GPU3.1")
    data = gpuorch.json(*UP, *V100).data
    assert [(each["offer"]["region"], each["offer"]["zone"], each["result"]) for each in data["attempts"]] == [
        ("eu-frankfurt-1", "AD-2", "failed"),
        ("eu-frankfurt-1", "AD-3", "failed"),
        ("us-phoenix-1", "", "created"),
    ]
    assert {each["kind"] for each in data["attempts"][:2]} == {"capacity"}
    assert "Out of host capacity" in data["attempts"][0]["reason"]
    # Nothing stays behind in the first region; the domain of the second one was found when it was planned.
    assert data["deployment"]["zone"] == "Uocm:PHX-AD-1"
    assert gpuorch.existing() == PLAIN
    assert gone(gpuorch)


def test_on_demand_with_an_end_a_key_and_checkpoints(tmp_path: Path) -> None:
    gpuorch = oci(tmp_path)
    key = tmp_path / "key.pub"
    key.write_text(KEY)
    words = ["--ttl", "2h", "--access", "ssh", "--ssh-key", str(key)]
    words += ["--ssh-from", "203.0.113.7/32", "--ssh-from", "198.51.100.0/28"]
    words += ["--checkpoint", "oci://team@axyz/runs/1", "--label", "team=vision"]
    gpuorch.json(*UP, *A100, "--on-demand", *words)
    rules = [each.values["source"] for each in gpuorch.cloud.resources() if each.type == GUARDED[1]]
    assert sorted(rules) == ["198.51.100.0/28", "203.0.113.7/32"]
    assert gpuorch.existing() == sorted([*PLAIN, *GUARDED, GUARDED[1]])
    machine = values_of(gpuorch)
    assert machine["preemptible_instance_config"] == []
    assert machine["metadata"]["ssh_authorized_keys"].strip() == KEY.strip()
    assert machine["freeform_tags"]["team"] == "vision"
    statements = values_of(gpuorch, "oci_identity_policy")["statements"]
    assert "target.bucket.name = 'team', target.object.name = 'runs/1/*'" in statements[2]
    (root,) = gpuorch.roots()
    text = (root / "cloud-init.yaml").read_text()
    assert "oci://team@axyz/runs/1" in text
    assert "/usr/local/lib/gpuorch/cloud" in text
    unchanged(gpuorch)
    gpuorch.cloud.advance(timedelta(hours=3))
    lost = gpuorch.deployment()
    assert (lost["state"], "terminated by the instance itself" in lost["problem"]) == ("lost", True)
    assert gone(gpuorch)


def test_preemptible_bare_metal_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    gpuorch = oci(tmp_path)
    run = gpuorch(*UP, *A100, "--spot", code=None)
    assert run.code != 0
    assert "no preemptible capacity of BM.GPU4.8" in " ".join(run.err.split())
    assert gpuorch.existing() == []


def test_amds_gpus_without_a_way_in_and_without_rights(tmp_path: Path) -> None:
    settings = '[cloud_settings.oci]\ncompartment_id = "ocid1.tenancy.oc1..aaaaaaaaroot"\nmachine_rights = "none"\n'
    gpuorch = oci(tmp_path, settings=settings)
    made = gpuorch.json(*UP, "--gpu", "MI300X:8", "--on-demand", "--access", "none").data["deployment"]
    assert (made["state"], made["zone"]) == ("ready", "Uocm:AP-TOKYO-1-AD-1")
    assert gpuorch.existing() == sorted([*OWN_NETWORK, "oci_core_instance"])
    machine = values_of(gpuorch)
    assert machine["compartment_id"] == "ocid1.tenancy.oc1..aaaaaaaaroot"
    assert "ssh_authorized_keys" not in machine["metadata"]
    assert values_of(gpuorch, "oci_core_default_security_list")["ingress_security_rules"] == []
    unchanged(gpuorch)
    assert gone(gpuorch)


def test_another_home_region_than_the_tenancys_is_told(tmp_path: Path) -> None:
    gpuorch = oci(tmp_path, settings='[cloud_settings.oci]\nhome_region = "eu-frankfurt-1"\n')
    run = gpuorch(*UP, *A100, "--on-demand", code=None)
    assert run.code not in (0, 70)
    assert "cloud_settings.oci.home_region names another region" in " ".join(run.err.split())
    # What was made before the policy is gone again.
    assert gpuorch.existing() == []


def test_in_a_subnet_that_is_given(tmp_path: Path) -> None:
    gpuorch = oci(tmp_path)
    gpuorch.json(*UP, *A100, "--on-demand")
    subnet = values_of(gpuorch, "oci_core_subnet")["id"]
    other = [word if word != "train" else "other" for word in UP]
    gpuorch.json(*other, *A100, "--on-demand", "--subnet", subnet)
    assert gpuorch.existing() == sorted([*PLAIN, "oci_core_instance", "oci_identity_policy"])
    # Whoever takes the network away while another machine is in it is told so.
    run = gpuorch("down", "train", "--yes", code=None)
    assert run.code != 0
    assert "in use" in " ".join(run.err.split())
    gpuorch("down", "other", "--yes")
    assert gone(gpuorch)


def test_a_lost_state_with_everything_leaks_nothing(tmp_path: Path) -> None:
    gpuorch = oci(tmp_path)
    key = tmp_path / "key.pub"
    key.write_text(KEY)
    words = ["--ttl", "2h", "--access", "ssh", "--ssh-key", str(key), "--ssh-from", "203.0.113.7/32"]
    gpuorch(*UP, *V100, *words, "--checkpoint", "oci://team@axyz/run")
    assert gpuorch.existing() == sorted([*PLAIN, *GUARDED])
    (root,) = gpuorch.roots()
    for path in root.glob("terraform.tfstate*"):
        path.unlink()
    assert gone(gpuorch)
