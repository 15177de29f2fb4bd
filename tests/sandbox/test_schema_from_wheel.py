"""A provider's schema, read back out of the bindings generated from it, with what a person knows better."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from scripts import compare_schema, schema_from_wheel
from scripts.cdktf_bindings import Bindings
from scripts.schema_from_wheel import correct, corrections
from tests.sandbox.build_bindings import a_wheel

MACHINE: dict[str, Any] = {
    "attributes": {
        "addresses": {"type": ["list", ["object", {"ip": "string"}]], "computed": True},
        "all_labels": {"type": ["map", "string"], "computed": True},
        "id": {"type": "string", "optional": True, "computed": True},
        "labels": {"type": ["map", "string"], "optional": True},
        "name": {"type": "string", "required": True},
    },
    "block_types": {
        "boot": {
            "nesting_mode": "list",
            "min_items": 1,
            "max_items": 1,
            "block": {"attributes": {"image": {"type": "string", "optional": True}}},
        },
        "disk": {
            "nesting_mode": "set",
            "block": {
                "attributes": {
                    "kinds": {"type": ["set", "string"], "optional": True},
                    "serial": {"type": "string", "computed": True},
                    "size": {"type": "number", "required": True},
                }
            },
        },
        "timeouts": {
            "nesting_mode": "single",
            "block": {"attributes": {"create": {"type": "string", "optional": True}}},
        },
    },
}


def provider(tmp_path: Path) -> dict[str, Any]:
    found = Bindings(a_wheel(tmp_path)).schemas(["tiny_machine"], ["tiny_zones"])
    schema: dict[str, Any] = found["provider_schemas"]["example/tiny"]
    return schema


def a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, fixes: list[dict[str, Any]] | None = None) -> Path:
    """A tree with one module for the cloud ``tiny``; the path of its sandbox's schema."""
    module, sandbox = tmp_path / "terraform/modules/tiny", tmp_path / "orchestrator/clouds/tiny/sandbox"
    for folder in (module, sandbox):
        folder.mkdir(parents=True)
    (module / "main.tf").write_text(
        'data "tiny_zones" "all" {}\n'
        'resource "tiny_machine" "m" {\n  count = 1\n  name = "n"\n  boot {\n    image = "i"\n  }\n'
        '  dynamic "disk" {\n    for_each = [1]\n    content {\n      size = 1\n    }\n  }\n}\n'
    )
    if fixes is not None:
        (sandbox / "schema_corrections.json").write_text(json.dumps({"corrections": fixes}))
    for script in (schema_from_wheel, compare_schema):
        monkeypatch.setattr(script, "ROOT", tmp_path)
    return sandbox / "schema.json"


def test_the_bindings_give_back_names_types_flags_and_nesting(tmp_path: Path) -> None:
    schema = provider(tmp_path)
    assert schema["resource_schemas"] == {"tiny_machine": {"version": 0, "block": MACHINE}}
    assert schema["data_source_schemas"] == {
        "tiny_zones": {
            "version": 0,
            "block": {"attributes": {"names": {"type": ["list", "string"], "computed": True}}},
        }
    }
    assert schema["provider"]["block"] == {
        "attributes": {
            "realm": {"type": "string", "required": True},
            "region": {"type": "string", "optional": True},
        },
        "block_types": {
            "retries": {
                "nesting_mode": "list",
                "min_items": 1,
                "block": {
                    "attributes": {"most": {"type": "number", "optional": True}},
                    "block_types": {
                        "on": {
                            "nesting_mode": "list",
                            "block": {"attributes": {"codes": {"type": ["list", "number"], "optional": True}}},
                        }
                    },
                },
            }
        },
    }


def test_a_type_that_the_bindings_lack_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_checkout(tmp_path, monkeypatch)
    with pytest.raises(SystemExit, match=r"example/tiny 1\.2\.3 has no tiny_moon"):
        schema_from_wheel.main(["tiny", "--wheel", str(a_wheel(tmp_path)), "--also", "tiny_moon"])


def test_the_file_holds_what_the_module_uses_with_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fixes = [{"at": ["tiny_machine.labels", "tiny_moon.x"], "set": {"computed": True}, "reason": "filled in"}]
    path = a_checkout(tmp_path, monkeypatch, fixes=fixes)
    arguments = ["tiny", "--wheel", str(a_wheel(tmp_path))]
    assert schema_from_wheel.main([*arguments, "--check"]) == 1
    assert schema_from_wheel.main(arguments) == 0
    assert "1 resources, 1 data sources of example/tiny 1.2.3" in capsys.readouterr().out
    written = json.loads(path.read_text())
    assert written["x_source"] == "example/tiny 1.2.3"
    labels = written["provider_schemas"]["example/tiny"]["resource_schemas"]["tiny_machine"]["block"]["attributes"]
    assert labels["labels"] == {"type": ["map", "string"], "optional": True, "computed": True}
    assert schema_from_wheel.main([*arguments, "--check"]) == 0
    path.write_text(path.read_text().replace("1.2.3", "1.2.2"))
    assert schema_from_wheel.main([*arguments, "--check"]) == 1


def test_corrections_set_put_and_take_away(tmp_path: Path) -> None:
    schema = provider(tmp_path)
    correct(
        schema,
        [
            {"at": ["tiny_machine"], "set": {"version": 3}},
            {"at": ["tiny_machine.disk"], "set": {"max_items": 8}},
            {"at": ["tiny_machine.disk.size"], "set": {"required": None, "optional": True}},
            {"at": ["tiny_machine.boot.image"], "remove": True},
            {"at": ["tiny_machine.boot"], "attribute": {"type": ["list", "string"], "optional": True}},
            {"at": ["provider.batching"], "block": {"nesting_mode": "list", "block": {}}},
            {"at": ["data.tiny_zones.region"], "attribute": {"type": "string", "optional": True}},
        ],
    )
    machine = schema["resource_schemas"]["tiny_machine"]
    assert machine["version"] == 3
    assert machine["block"]["block_types"].keys() == {"disk", "timeouts"}
    assert machine["block"]["attributes"]["boot"] == {"type": ["list", "string"], "optional": True}
    assert machine["block"]["block_types"]["disk"]["max_items"] == 8
    assert machine["block"]["block_types"]["disk"]["block"]["attributes"]["size"] == {
        "type": "number",
        "optional": True,
    }
    assert schema["provider"]["block"]["block_types"]["batching"] == {"nesting_mode": "list", "block": {}}
    assert schema["data_source_schemas"]["tiny_zones"]["block"]["attributes"].keys() == {"names", "region"}


@pytest.mark.parametrize(
    ("correction", "says"),
    [
        ({"at": ["tiny_machine.name"], "set": {"required": True}}, "changes nothing"),
        ({"at": ["tiny_machine.nom"], "set": {"required": True}}, "no attribute or block"),
        ({"at": ["tiny_machine.disc.size"], "set": {"required": True}}, "no block disc"),
        ({"at": ["tiny_machine"], "remove": True}, "only set keys"),
    ],
)
def test_a_correction_that_does_not_fit_is_an_error(tmp_path: Path, correction: dict[str, Any], says: str) -> None:
    with pytest.raises(SystemExit, match=says):
        correct(provider(tmp_path), [correction])


def test_each_correction_has_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    assert corrections(path) == []
    path.write_text(json.dumps({"corrections": [{"at": ["a.b"], "set": {"computed": True}}]}))
    with pytest.raises(SystemExit, match="reason"):
        corrections(path)


def test_a_file_that_is_no_such_wheel_is_named(tmp_path: Path) -> None:
    (tmp_path / "words.whl").write_text("words")
    with zipfile.ZipFile(tmp_path / "empty.whl", "w"):
        pass
    for name in ("words.whl", "empty.whl", "absent.whl"):
        with pytest.raises(SystemExit, match=f"{name} holds no CDKTF bindings"):
            Bindings(tmp_path / name)


def test_schemas_that_agree_and_that_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = a_checkout(tmp_path, monkeypatch)
    assert schema_from_wheel.main(["tiny", "--wheel", str(a_wheel(tmp_path))]) == 0
    there = tmp_path / "there.json"
    arguments = ["tiny", "--against", str(there)]
    there.write_text(path.read_text())
    assert compare_schema.main(arguments) == 0
    assert "2 types compared, 0 disagreements" in capsys.readouterr().out

    other = json.loads(path.read_text())
    types = other["provider_schemas"]["example/tiny"]
    block = types["resource_schemas"]["tiny_machine"]["block"]
    block["attributes"]["labels"]["computed"] = True
    block["attributes"]["addresses"]["type"] = ["list", ["object", {"ip": "number", "more": "string"}]]
    block["block_types"]["boot"]["max_items"] = 2
    del block["block_types"]["disk"]["block"]["attributes"]["size"]
    del types["data_source_schemas"]["tiny_zones"]
    there.write_text(json.dumps(other))
    assert compare_schema.main(arguments) == 1
    said = capsys.readouterr().out
    assert "data.tiny_zones     0     -  not in there.json" in said
    assert [line for line in said.splitlines() if line.startswith("tiny_machine.")] == [
        'tiny_machine.addresses.ip: "string" here, "number" there',
        "tiny_machine.boot: block nesting_mode=list min_items=1 max_items=1 here,"
        " block nesting_mode=list min_items=1 max_items=2 there",
        'tiny_machine.labels: optional map of "string" here, optional computed map of "string" there',
        "tiny_machine.disk.size: used by the module, not there",
    ]
    excepted = ["tiny_machine.addresses", "tiny_machine.boot", "tiny_machine.labels", "tiny_machine.disk.size"]
    assert compare_schema.main([*arguments, *(f"--except={each}" for each in excepted)]) == 0
