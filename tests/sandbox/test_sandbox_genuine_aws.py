"""The genuine AWS provider is the judge of the stand-in: the same refusals, and the same plans from the same state."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.build_sandbox import HEAD, REGION, a_root, clean_environment
from tests.sandbox.build_sandbox_aws import CHANGES, WRONG, spelled_out, variants
from tests.stack.build_terraform import mirror

pytestmark = [pytest.mark.terraform, pytest.mark.genuine, pytest.mark.slow]

GENUINE: dict[str, Any] = {
    "terraform": {"required_providers": {"aws": {"source": "hashicorp/aws", "version": "5.100.0"}}},
    "provider": {
        "aws": {
            "region": REGION,
            "access_key": "none",
            "secret_key": "none",
            "skip_credentials_validation": True,
            "skip_requesting_account_id": True,
            "skip_metadata_api_check": True,
        }
    },
}


@pytest.fixture(scope="module")
def genuine() -> Path:
    """A filesystem mirror with the genuine provider; without one the comparison is skipped, and says so."""
    found = mirror()
    if found is None:
        pytest.skip("no mirror with the genuine AWS provider: name one in GPUORCH_TF_MIRROR")
    return found


def test_the_genuine_provider_refuses_the_same_in_the_same_words(tmp_path: Path, genuine: Path) -> None:
    resources: dict[str, dict[str, Any]] = {}
    for number, (type_, config, _) in enumerate(WRONG):
        resources.setdefault(type_, {})[f"n{number}"] = spelled_out(type_, config)
    (tmp_path / "main.tf.json").write_text(json.dumps({"resource": resources, **GENUINE}))
    # Of all commands only this one says which resource an error is of.
    lines = _terraform(tmp_path, genuine, "plan", "-json", "-input=false", status=1).splitlines()
    said: dict[str, str] = defaultdict(str)
    for each in (json.loads(line).get("diagnostic", {}) for line in lines):
        said[each.get("address", "")] += f"{each.get('summary')}\n{each.get('detail')}\n"
    missing = {
        address: said[address]
        for number, (type_, _, words) in enumerate(WRONG)
        if words not in said[address := f"{type_}.n{number}"]
    }
    assert missing == {}


def test_the_genuine_provider_plans_the_same_changes_from_the_sandbox_s_state(tmp_path: Path, genuine: Path) -> None:
    """One state, made in the sandbox; each change is planned by both, and both must do the same about it."""
    root = a_root(tmp_path, HEAD)
    (root.folder / "more.tf.json").write_text(json.dumps({"resource": variants(changed=False)}))
    root.ok("apply", "-auto-approve")
    copy = tmp_path / "copy"
    shutil.copytree(root.folder, copy, ignore=shutil.ignore_patterns(".terraform*"))
    (copy / "main.tf").unlink()
    (copy / "provider.tf.json").write_text(json.dumps(GENUINE))
    assert root.actions() == _genuine_actions(copy, genuine) == {}
    for folder in (root.folder, copy):
        (folder / "more.tf.json").write_text(json.dumps({"resource": variants(changed=True)}))
    ours = root.actions()
    assert len(ours) == len(CHANGES)
    assert ours == _genuine_actions(copy, genuine)


def _genuine_actions(folder: Path, mirror: Path) -> dict[str, list[str]]:
    _terraform(folder, mirror, "plan", "-refresh=false", "-input=false", "-out=genuine.plan")
    shown = json.loads(_terraform(folder, mirror, "show", "-json", "genuine.plan"))
    planned = {each["address"]: each["change"]["actions"] for each in shown["resource_changes"]}
    return {address: actions for address, actions in planned.items() if actions != ["no-op"]}


def _terraform(folder: Path, mirror: Path, *arguments: str, status: int = 0) -> str:
    environment = clean_environment(folder, mirror) | {"AWS_EC2_METADATA_DISABLED": "true"}
    for command, expected in ((("init", "-input=false"), 0), (arguments, status)):
        done = subprocess.run(
            ["terraform", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == expected, done.stdout + done.stderr
    return done.stdout
