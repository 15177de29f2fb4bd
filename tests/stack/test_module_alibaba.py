"""The module for Alibaba Cloud: its table of addresses, its tags, and what the contract's conformance does not see."""

from __future__ import annotations

import hcl2

from orchestrator.assets import asset
from orchestrator.clouds.alibaba.addresses import PLACES, place_of, resource_name, rule_address
from scripts.module_readme import blocks, text

MODULE = asset("terraform", "modules", "alibaba")

# Resources that cannot carry tags, by the provider's documentation.
UNTAGGABLE = {
    "alicloud_ecs_ram_role_attachment",
    "alicloud_ram_role_policy_attachment",
    "alicloud_security_group_rule",
}


def test_versions_are_bounded() -> None:
    versions = (MODULE / "versions.tf").read_text()
    assert '">= 1.289, < 2.0"' in versions
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


def test_every_resource_that_takes_tags_has_all_of_them() -> None:
    for label, body in blocks(MODULE, "resource"):
        if label.partition(".")[0] in UNTAGGABLE:
            assert "tags" not in body, label
        else:
            assert text(body["tags"]) == "local.tags", label
    assert text(dict(blocks(MODULE, "resource"))["alicloud_instance.machine"]["volume_tags"]) == "local.tags"


def test_places_are_found_by_type() -> None:
    attachment = place_of("alicloud_ram_role_policy_attachment")
    assert attachment is not None
    named = attachment.import_id.format(name=resource_name("g1234567"))
    assert named == "role:gpuorch-g1234567:Custom:gpuorch-g1234567"
    assert rule_address("203.0.113.7/32") == ('module.machine.alicloud_security_group_rule.ssh["203.0.113.7/32"]')
    assert place_of("alicloud_oss_bucket") is None


def test_names_of_the_module_are_the_tables() -> None:
    locals_ = hcl2.loads((MODULE / "main.tf").read_text())["locals"][0]
    assert text(locals_["resource_name"]) == resource_name("${var.deployment_id}")


def test_descriptions_by_which_roles_are_known_are_the_modules() -> None:
    from orchestrator.clouds.alibaba.tagged import _DESCRIPTIONS

    resources = dict(blocks(MODULE, "resource"))
    for type_, words in _DESCRIPTIONS.items():
        place = place_of(type_)
        assert place is not None
        label = place.address.removeprefix("module.machine.").removesuffix("[0]")
        assert text(resources[label]["description"]) == words
