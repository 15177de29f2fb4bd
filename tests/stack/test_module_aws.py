"""The AWS module against the contract of all modules, its README, and the table of addresses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hcl2
import pytest

from orchestrator.assets import asset
from orchestrator.clouds.aws.addresses import PLACES, place_of, place_of_ec2, resource_name
from scripts.module_readme import blocks, readme, text

MODULE = asset("terraform", "modules", "aws")
CONTRACT = asset("terraform", "contract")

# Resources that cannot carry tags, by the genuine provider's schema.
UNTAGGABLE = {"aws_route_table_association", "aws_iam_role_policy", "aws_iam_role_policy_attachment"}


def attributes(folder: Path, kind: str) -> dict[str, dict[str, Any]]:
    return {
        name: {key: value for key, value in body.items() if key in ("type", "default", "description")}
        for name, body in blocks(folder, kind)
    }


def conditions(folder: Path) -> dict[str, list[str]]:
    return {
        name: [rule["condition"] for rule in body.get("validation", [])] for name, body in blocks(folder, "variable")
    }


def test_takes_exactly_the_contracts_variables_in_its_order() -> None:
    assert list(attributes(MODULE, "variable").items()) == list(attributes(CONTRACT, "variable").items())


def test_checks_at_least_what_the_contract_checks() -> None:
    own = conditions(MODULE)
    for name, rules in conditions(CONTRACT).items():
        assert set(rules) <= set(own[name]), name


def test_gives_exactly_the_contracts_outputs() -> None:
    def shown(folder: Path) -> list[tuple[str, str]]:
        return [(name, text(body["description"])) for name, body in blocks(folder, "output")]

    assert shown(MODULE) == shown(CONTRACT)


def test_every_file_parses_and_versions_are_bounded() -> None:
    for path in MODULE.glob("*.tf"):
        assert hcl2.loads(path.read_text()), path
    versions = (MODULE / "versions.tf").read_text()
    assert '">= 5.100, < 6.0"' in versions
    assert '">= 1.5"' in versions


def test_readme_is_fresh() -> None:
    assert (MODULE / "README.md").read_text() == readme(MODULE), "run: python scripts/module_readme.py"


def test_readme_without_marks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# no marks\n")
    with pytest.raises(ValueError, match="lacks"):
        readme(tmp_path)


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
    assert text(dict(blocks(MODULE, "resource"))["aws_instance.machine"]["volume_tags"]) == "local.tags"


def test_places_are_found_by_type() -> None:
    instance = place_of("aws_instance")
    assert instance is not None
    assert instance is place_of_ec2("instance")
    assert instance.import_id.format(id="i-1", name="") == "i-1"
    role = place_of("aws_iam_role_policy")
    assert role is not None
    assert role.import_id.format(id="", name=resource_name("g1234567")) == "gpuorch-g1234567:checkpoint"
    assert place_of_ec2("volume") is None
    assert place_of_ec2("") is None
    assert place_of("aws_s3_bucket") is None


def test_names_of_the_module_are_the_tables() -> None:
    locals_ = hcl2.loads((MODULE / "main.tf").read_text())["locals"][0]
    assert text(locals_["resource_name"]) == resource_name("${var.deployment_id}")
