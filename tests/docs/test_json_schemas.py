"""Every command's JSON, as it really comes, against the schema that we publish; and no name that it does not have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource

from orchestrator.cli.main import cli
from scripts.cli_reference import commands
from tests.cli.build_cli import Ended, Shell
from tests.docs.build_docs import schema_folder

_BESIDE = ("envelope", "definitions")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPnXn2qX3rZxqgJ8Jm0rT1y2Z3a4B5c6D7e8F9g0H1i2 ada@example\n"
PRICES = """\
cloud,instance_type,region,zone,gpu,gpu_count,gpu_memory_gib,vcpus,memory_gib,market,usd_per_hour,observed_at,source
aws,g4dn.xlarge,us-east-1,us-east-1a,T4,1,16,4,16,spot,0.19,2026-06-30T21:00:00Z,mine
aws,g4dn.xlarge,us-east-1,us-east-1b,T4,1,16,4,16,spot,0,2026-06-30T21:00:00Z,mine
"""


def _schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((schema_folder() / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def _closed(schema: Any, *, used: bool = False) -> Any:
    """The same schema, in which objects have no names but those that it describes.

    Published schemas are open, so that a new name breaks nobody; here an undescribed name is a fault.
    """
    if isinstance(schema, list):
        return [_closed(item, used=used) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            out[key] = {name: _closed(part, used=key == "properties") for name, part in value.items()}
        elif key in ("items", "anyOf", "oneOf"):
            out[key] = _closed(value, used=True)
        else:
            out[key] = value
    if used and ("properties" in out or "$ref" in out):
        out["unevaluatedProperties"] = False
    return out


def _validator(name: str, *, closed: bool) -> Draft202012Validator:
    loaded = {path.name: _schema(path.stem) for path in schema_folder().glob("*.json")}
    if closed:
        loaded = {file: _closed(schema) for file, schema in loaded.items()}
        loaded[f"{name}.json"]["unevaluatedProperties"] = False
        if "then" in loaded[f"{name}.json"]:
            loaded[f"{name}.json"]["then"] = _closed(loaded[f"{name}.json"]["then"])
    registry: Registry[Any] = Registry().with_resources(
        (file, Resource.from_contents(schema)) for file, schema in loaded.items()
    )
    return Draft202012Validator(loaded[f"{name}.json"], registry=registry, format_checker=FormatChecker())


def held(ended: Ended, command: str, *, status: str = "success") -> Any:
    """The envelope, after it was held to the command's schema, open and closed, and to what the process said."""
    envelope = ended.json
    for closed in (False, True):
        _validator(command.replace(" ", "-"), closed=closed).validate(envelope)
    assert envelope["status"] == status, envelope["errors"]
    assert envelope["exit_code"] == ended.code
    if status == "success":
        assert envelope["command"] == command
    return envelope


def test_schemas_are_schemas_and_there_is_one_for_every_command() -> None:
    for path in schema_folder().glob("*.json"):
        Draft202012Validator.check_schema(_schema(path.stem))
    named = {name.removeprefix("gpuorch ").replace(" ", "-") for name, _ in commands(cli, "gpuorch")}
    assert {path.stem for path in schema_folder().glob("*.json")} == named | set(_BESIDE)


def test_every_object_in_a_schema_says_what_must_be_there() -> None:
    def check(schema: Any, where: str) -> None:
        if isinstance(schema, list):
            for item in schema:
                check(item, where)
        elif isinstance(schema, dict):
            if isinstance(schema.get("properties"), dict) and "type" in schema and "allOf" not in schema:
                assert set(schema["required"]) <= schema["properties"].keys(), where
            for key, value in schema.items():
                check(value, f"{where}/{key}")

    for path in schema_folder().glob("*.json"):
        check(_schema(path.stem), path.name)


def test_offers(shell: Shell) -> None:
    assert held(shell("offers", "--profile", "t4x1", "-o", "json"), "offers")["data"]["offers"]
    explained = held(shell("offers", "--profile", "a100x8", "--spot", "--explain", "-o", "json"), "offers")["data"]
    assert explained["rejected"]
    assert explained["total"] == len(explained["offers"])
    foreign = held(shell("offers", "--gpu", ":1:16GB", "--all-providers", "--limit", "30", "-o", "json"), "offers")[
        "data"
    ]
    assert len(foreign["offers"]) == 30
    nothing = held(shell("offers", "--profile", "t4x1", "--max-price", "0.001", "-o", "json"), "offers", status="error")
    assert (nothing["exit_code"], nothing["errors"][0]["code"]) == (3, "no-offer")


def test_prices(shell: Shell, tmp_path: Path) -> None:
    held(shell("prices", "show", "-o", "json"), "prices show")
    held(shell("prices", "show", "g4dn.xlarge", "-o", "json"), "prices show")
    held(shell("prices", "show", "nothing", "-o", "json"), "prices show", status="error")
    file = tmp_path / "prices.csv"
    file.write_text(PRICES)
    imported = held(shell("prices", "import", str(file), "-o", "json"), "prices import")["data"]
    assert imported["quarantined"] == {"zero-price": 1}
    held(shell("prices", "show", "-o", "json"), "prices show")
    file.write_text("a,b\n1,2\n")
    held(shell("prices", "import", str(file), "-o", "json"), "prices import", status="error")


def test_clouds_and_the_sandbox(shell: Shell) -> None:
    assert held(shell("clouds", "-o", "json"), "clouds")["data"]["clouds"]
    held(shell("sandbox", "exhaust", "us-*", "--market", "spot", "-o", "json"), "sandbox exhaust")
    held(shell("sandbox", "fault", "out of luck", "--times", "1", "-o", "json"), "sandbox fault")
    held(shell("sandbox", "advance", "2h", "-o", "json"), "sandbox advance")
    assert held(shell("sandbox", "status", "-o", "json"), "sandbox status")["data"]["shortages"]
    held(shell("sandbox", "reset", "-o", "json"), "sandbox reset")
    assert not held(shell("sandbox", "status", "-o", "json"), "sandbox status")["data"]["shortages"]
    held(shell("sandbox", "preempt", "nobody", "-o", "json"), "sandbox preempt", status="error")


def test_profiles_doctor_config_and_completion(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    held(shell("profiles", "-o", "json"), "profiles")
    found = shell("doctor", "--offline", "-o", "json")
    held(found, "doctor")
    monkeypatch.setenv("GPUORCH_REGIONS", "us-*")
    monkeypatch.setenv("GPUORCH_TTL", "8h")
    Path("gpuorch.toml").write_text("exchange_rates = { CNY = 0.14 }\nmax_price = 20\n")
    settings = held(shell("config", "show", "-o", "json"), "config show")["data"]["settings"]
    assert {row["setting"]: row["value"] for row in settings}["exchange_rates"] == {"CNY": "0.14"}
    Path("gpuorch.toml").write_text("market = 'cheap'\n")
    held(shell("config", "show", "-o", "json"), "config show", status="error")
    Path("gpuorch.toml").unlink()
    held(shell("-o", "json", "completion", "bash"), "completion")


def test_render_and_dry_run(shell: Shell, tmp_path: Path) -> None:
    key = tmp_path / "id.pub"
    key.write_text(KEY)
    words = ["--profile", "t4x1", "--spot", "--ssh-key", str(key), "--ssh-from", "203.0.113.7", "-o", "json"]
    rendered = held(shell("render", *words, "--out", str(tmp_path / "root")), "render")["data"]
    assert all((tmp_path / "root" / name).is_file() for name in rendered["files"])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    held(shell("render", *words, "--out", str(tmp_path / "other")), "render", status="error")
    proposed = held(shell("up", *words, "--dry-run"), "up")["data"]
    assert (proposed["dry_run"], proposed["deployment"]) == (True, None)


@pytest.mark.parametrize(
    ("command", "words", "code"),
    [
        ("up", ["up", "--profile", "t4x1", "--sandbox"], "usage"),
        ("up", ["up", "--profile", "z99x8", "--sandbox", "--yes"], "usage"),
        ("up", ["up", "--profile", "t4x1", "--cloud", "nowhere", "--yes"], "no-offer"),
        ("status", ["status", "nobody"], "usage"),
        ("down", ["down", "nobody", "--yes"], "usage"),
        ("ssh", ["ssh", "nobody"], "usage"),
        ("offers", ["offers", "--profil", "t4x1"], "usage"),
        ("render", ["render", "--profile", "t4x1"], "usage"),
    ],
)
def test_errors(shell: Shell, command: str, words: list[str], code: str) -> None:
    envelope = held(shell(*words, "-o", "json"), command, status="error")
    assert envelope["errors"][0]["code"] == code


@pytest.mark.slow
@pytest.mark.terraform
def test_a_deployment_from_up_to_down(shell: Shell, tmp_path: Path) -> None:
    held(shell("status", "-o", "json"), "status")
    key = tmp_path / "id.pub"
    key.write_text(KEY)
    order = ["--profile", "t4x1", "--spot", "--ssh-key", str(key), "--ttl", "8h", "--label", "team=vision"]
    made = held(shell("up", "--name", "trial", *order, "--sandbox", "--yes", "-o", "json"), "up")["data"]
    assert made["deployment"]["state"] == "ready"
    assert made["deployment"]["expires_at"]
    again = held(shell("up", "--name", "trial", *order, "--sandbox", "--yes", "-o", "json"), "up")["data"]
    assert again["deployment"]["id"] == made["deployment"]["id"]
    seen = held(shell("status", "--events", "-o", "json"), "status")["data"]["deployments"]
    assert seen[0]["attempts"]
    assert seen[0]["events"]
    held(shell("ssh", "trial", "-o", "json"), "ssh", status="error")
    down = held(shell("down", "trial", "--yes", "-o", "json"), "down")["data"]["deployments"]
    assert [item["state"] for item in down] == ["gone"]
    held(shell("status", "--all", "-o", "json"), "status")


def test_an_undescribed_name_would_be_noticed(shell: Shell) -> None:
    ended = shell("offers", "--profile", "t4x1", "-o", "json")
    for place in (("data", "offers", 0), ("data",), ()):
        envelope = ended.json
        target = envelope
        for step in place:
            target = target[step]
        target["surprise"] = 1
        _validator("offers", closed=False).validate(envelope)
        with pytest.raises(ValidationError):
            _validator("offers", closed=True).validate(envelope)
    envelope = ended.json
    del envelope["data"]["offers"][0]["currency"]
    with pytest.raises(ValidationError):
        _validator("offers", closed=False).validate(envelope)
