"""The Tencent Cloud module: its own variables and tests, what it tags and names, and the table of addresses."""

from __future__ import annotations

import shutil
from pathlib import Path

import hcl2
import pytest

from orchestrator.assets import asset
from orchestrator.clouds.tencent.addresses import PLACES, key_name, place_of, resource_name
from orchestrator.clouds.tencent.cloud import CLOUD
from orchestrator.sandbox.install import prepare
from scripts.module_readme import blocks, text
from tests.build import a_launch
from tests.stack.build_terraform import TERRAFORM, run_terraform, terraform_environment

MODULE = asset("terraform", "modules", "tencent")

# Resources that cannot carry tags, by the genuine provider's schema of 1.83.25 (a policy can in later ones).
UNTAGGABLE = {
    "tencentcloud_cam_policy",
    "tencentcloud_cam_role_policy_attachment",
    "tencentcloud_cvm_action_timer",
    "tencentcloud_security_group_rule_set",
}


def test_its_own_variables_come_last_and_are_what_the_cloud_gives() -> None:
    names = [name for name, _ in blocks(MODULE, "variable")]
    assert names[-2:] == list(CLOUD.module_variables(a_launch())) == ["disk_type", "disk_encrypted"]


def test_versions_are_bounded() -> None:
    versions = (MODULE / "versions.tf").read_text()
    assert '">= 1.83.25, < 2.0"' in versions
    assert '">= 1.5"' in versions


def test_addresses_are_those_of_the_module() -> None:
    written = {
        f"module.machine.{label}" + ("[0]" if "count" in body else "") for label, body in blocks(MODULE, "resource")
    }
    assert {place.address for place in PLACES} == written
    assert len(PLACES) == len(written)
    assert {place.type for place in PLACES if not place.tagged} == UNTAGGABLE
    for place in PLACES:
        assert place.address.split(".")[2] == place.type
    assert place_of("tencentcloud_clb_instance") is None


def test_what_others_refer_to_is_imported_first() -> None:
    order = [place.type for place in PLACES]
    assert order.index("tencentcloud_vpc") < order.index("tencentcloud_subnet") < order.index("tencentcloud_instance")
    assert order.index("tencentcloud_cam_role") < order.index("tencentcloud_cam_role_policy_attachment")


def test_every_resource_that_takes_tags_has_all_of_them() -> None:
    for label, body in blocks(MODULE, "resource"):
        if label.partition(".")[0] in UNTAGGABLE:
            assert "tags" not in body, label
        else:
            assert text(body["tags"]) == "local.tags", label


def test_what_has_no_tags_has_the_deployments_name_or_hangs_on_what_has() -> None:
    resources = dict(blocks(MODULE, "resource"))
    assert text(resources["tencentcloud_cam_policy.checkpoint"]["name"]) == "local.resource_name"
    assert "cam_role.machine" in text(resources["tencentcloud_cam_role_policy_attachment.checkpoint"]["role_id"])
    assert "instance.machine" in text(resources["tencentcloud_cvm_action_timer.end"]["instance_id"])
    assert "security_group.machine" in text(
        resources["tencentcloud_security_group_rule_set.machine"]["security_group_id"]
    )


def test_names_of_the_module_are_the_tables() -> None:
    main = hcl2.loads((MODULE / "main.tf").read_text())["locals"][0]
    assert text(main["resource_name"]) == resource_name("${var.deployment_id}")
    assert key_name("g" + "1" * 31) == "gpuorch_g1111111111111111"
    assert len(key_name("g" + "1" * 31)) == 25


@pytest.mark.terraform
@pytest.mark.slow
def test_its_own_tests_pass(tmp_path: Path) -> None:
    """`terraform validate` and `terraform test` against the stand-in's schema, which is the provider's."""
    if TERRAFORM is None:
        pytest.skip("terraform is not on PATH")
    installed = prepare(tmp_path / "box", [CLOUD])
    environment = terraform_environment(tmp_path / "home", installed.mirror, **installed.environment)
    module = tmp_path / "module"
    shutil.copytree(MODULE, module, ignore=shutil.ignore_patterns(".terraform*"))
    run_terraform(module, "init", "-input=false", environment=environment)
    assert "Success!" in run_terraform(module, "validate", "-no-color", environment=environment).stdout
    assert ", 0 failed." in run_terraform(module, "test", "-no-color", environment=environment).stdout
