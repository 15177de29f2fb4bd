"""The sandbox's schema is the provider's own, cut to what the modules use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.extract_schema import extract, main, used
from tests.sandbox.build_sandbox import AWS
from tests.stack.build_terraform import mirror

EVERYTHING: dict[str, Any] = {
    "format_version": "1.0",
    "provider_schemas": {
        "example/thing": {
            "provider": {"version": 0, "block": {"attributes": {"region": {"type": "string", "description": "words"}}}},
            "resource_schemas": {
                "thing_a": {
                    "version": 2,
                    "block": {
                        "attributes": {
                            "description": {"type": "string", "optional": True, "description_kind": "plain"},
                            "rule": {"type": ["set", ["object", {"description": "string"}]], "optional": True},
                        },
                        "block_types": {"description": {"nesting_mode": "list", "block": {"description": "words"}}},
                    },
                },
                "thing_b": {"version": 0, "block": {}},
            },
            "data_source_schemas": {"thing_d": {"version": 0, "block": {}}},
            "functions": {},
        }
    },
}


def test_the_types_come_from_the_module_and_from_what_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.tf").write_text('resource "x_b" "n" {}\n  data "x_d" "n" {}\n# resource "x_no" "n"\n')
    (tmp_path / "b.tf").write_text('resource "x_a" "n" {}\nresource "x_b" "m" {}\n')
    assert used(tmp_path, ["x_c", "data.x_e"]) == (("x_a", "x_b", "x_c"), ("x_d", "x_e"))


def test_descriptions_go_and_arguments_of_that_name_stay() -> None:
    found = extract(EVERYTHING, ["thing_a"], ["thing_d"], "1.2")
    assert found["x_source"] == "example/thing 1.2"
    kept = found["provider_schemas"]["example/thing"]
    assert kept.keys() == {"provider", "resource_schemas", "data_source_schemas"}
    assert kept["provider"]["block"]["attributes"] == {"region": {"type": "string"}}
    assert kept["resource_schemas"]["thing_a"] == {
        "version": 2,
        "block": {
            "attributes": {
                "description": {"type": "string", "optional": True},
                "rule": {"type": ["set", ["object", {"description": "string"}]], "optional": True},
            },
            "block_types": {"description": {"nesting_mode": "list", "block": {}}},
        },
    }
    with pytest.raises(SystemExit, match="has no thing_x"):
        extract(EVERYTHING, ["thing_x"], [], "1.2")


def test_the_shipped_schema_has_all_that_the_module_uses() -> None:
    assert AWS.sandbox is not None
    shipped = json.loads(AWS.sandbox.schema.read_text())
    assert shipped["x_source"].endswith(AWS.sandbox.version)
    (schema,) = shipped["provider_schemas"].values()
    resources, data = used(AWS.module)
    assert set(resources) <= schema["resource_schemas"].keys(), "run scripts/extract_schema.py aws"
    assert set(data) <= schema["data_source_schemas"].keys(), "run scripts/extract_schema.py aws"


@pytest.mark.terraform
@pytest.mark.genuine
@pytest.mark.slow
def test_the_shipped_schema_is_what_the_genuine_provider_says(capsys: pytest.CaptureFixture[str]) -> None:
    found = mirror()
    if found is None:
        pytest.skip("no mirror with the genuine AWS provider: name one in GPUORCH_TF_MIRROR")
    assert main(["aws", "--check", "--mirror", str(found)]) == 0, capsys.readouterr().err
