"""The OCI module against the contract of all modules, its README, and the table of addresses."""

from __future__ import annotations

import shutil
from pathlib import Path

import hcl2
import pytest

from orchestrator.assets import asset
from orchestrator.clouds.oci.addresses import (
    PLACES,
    RULE_TYPE,
    place_of,
    place_of_searched,
    resource_name,
    rule_address,
)
from orchestrator.clouds.oci.cloud import CLOUD
from orchestrator.clouds.oci.sandbox.tags import DEPLOYMENT
from orchestrator.sandbox.install import prepare
from scripts.module_readme import blocks, readme, text
from tests.build import a_launch
from tests.stack.build_terraform import TERRAFORM, run_terraform, terraform_environment

MODULE = asset("terraform", "modules", "oci")

# Resources that cannot carry tags, by the genuine provider's schema.
UNTAGGABLE = {RULE_TYPE}


def test_its_own_variables_come_last_and_are_what_the_cloud_gives() -> None:
    names = [name for name, _ in blocks(MODULE, "variable")]
    own = list(CLOUD.module_variables(a_launch()))
    assert own == ["compartment_id", "home_region", "machine_rights", "flex_ocpus", "flex_memory_gib"]
    assert names[-len(own) :] == own


def test_versions_are_bounded() -> None:
    versions = (MODULE / "versions.tf").read_text()
    assert '">= 7.19, < 8.0"' in versions
    assert '">= 1.5"' in versions
    assert "configuration_aliases = [oci.home]" in versions
    assert CLOUD.provider.aliases == ("home",)


def test_readme_is_fresh() -> None:
    assert (MODULE / "README.md").read_text() == readme(MODULE), "run: python scripts/module_readme.py"


def test_addresses_are_those_of_the_module() -> None:
    written = {
        f"module.machine.{label}" + ("[0]" if "count" in body else "") for label, body in blocks(MODULE, "resource")
    }
    assert {place.address for place in PLACES} == written
    assert len(PLACES) == len(written)
    assert {place.type for place in PLACES if not place.tagged} == UNTAGGABLE
    for place in PLACES:
        assert place.address.split(".")[2] == place.type


def test_what_others_refer_to_is_imported_first() -> None:
    order = [place.type for place in PLACES]
    assert order.index("oci_core_vcn") == 0
    assert order.index("oci_core_network_security_group") < order.index(RULE_TYPE) < order.index("oci_core_instance")
    assert order[-1] == "oci_identity_policy"


def test_every_resource_that_takes_tags_has_all_of_them() -> None:
    for label, body in blocks(MODULE, "resource"):
        if label.partition(".")[0] in UNTAGGABLE:
            assert "freeform_tags" not in body, label
        else:
            assert text(body["freeform_tags"]) == "local.tags", label
    instance = dict(blocks(MODULE, "resource"))["oci_core_instance.machine"]
    assert text(instance["create_vnic_details"][0]["freeform_tags"]) == "local.tags"


def test_places_are_found_by_type_and_by_the_name_that_a_search_has() -> None:
    instance = place_of("oci_core_instance")
    assert instance is not None
    assert instance is place_of_searched("Instance")
    # The service's own pages write types in more than one way.
    assert instance is place_of_searched("instance")
    assert place_of_searched("BootVolume") is None
    assert place_of_searched("") is None
    assert place_of("oci_objectstorage_bucket") is None
    assert rule_address("203.0.113.7/32") == f'module.machine.{RULE_TYPE}.ssh["203.0.113.7/32"]'


def test_names_of_the_module_are_the_tables() -> None:
    locals_ = hcl2.loads((MODULE / "main.tf").read_text())["locals"][0]
    assert text(locals_["resource_name"]) == resource_name("${var.deployment_id}")
    assert f'"{DEPLOYMENT}" = var.deployment_id' in (MODULE / "main.tf").read_text()


def test_only_the_policy_is_made_elsewhere() -> None:
    elsewhere = {label for label, body in blocks(MODULE, "resource") if "provider" in body}
    assert elsewhere == {"oci_identity_policy.machine"}


@pytest.mark.terraform
@pytest.mark.slow
def test_its_own_tests_pass(tmp_path: Path) -> None:
    """`terraform test` against the stand-in's schema, which is the provider's.

    No `terraform validate`: it wants the provider's second configuration, which a root module cannot be given.
    """
    if TERRAFORM is None:
        pytest.skip("terraform is not on PATH")
    installed = prepare(tmp_path / "box", [CLOUD])
    environment = terraform_environment(tmp_path / "home", installed.mirror, **installed.environment)
    module = tmp_path / "module"
    shutil.copytree(MODULE, module, ignore=shutil.ignore_patterns(".terraform*"))
    run_terraform(module, "init", "-input=false", environment=environment)
    assert ", 0 failed." in run_terraform(module, "test", "-no-color", environment=environment).stdout
