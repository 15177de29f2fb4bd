"""What every cloud must be, whichever it is: the module's contract, the failure table, light imports, its page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import hcl2
import pytest

from orchestrator.assets import asset
from orchestrator.clouds.contract import Cloud
from orchestrator.clouds.registry import cloud, cloud_names
from orchestrator.errors import UsageError
from orchestrator.model.failure import FailureKind
from orchestrator.model.launch import Launch
from orchestrator.stack.render import render
from scripts.module_readme import blocks, readme
from tests.build import a_launch, an_image
from tests.clouds.build_conformance import PACKAGE, offers_of

CONTRACT = asset("terraform", "contract")
HEAVY = {
    "boto3",
    "botocore",
    "google.cloud",
    "google.auth",
    "azure",
    "oci",
    "Tea",
    "alibabacloud_tea_openapi",
    "tencentcloud",
}
HOSTILE = 'a"b${c}%{d}\\ e\nf `g` $(h) ; rm -rf / 日本'

every_cloud = pytest.mark.parametrize("name", cloud_names())


def a_launch_on(this: Cloud, **changes: Any) -> Launch:
    """A launch of the cloud's cheapest shipped offer, with its settings as in the sandbox."""
    offer = offers_of(this.name)[0]
    values = {key: setting.sandbox for key, setting in this.settings.items()}
    return a_launch(**({"offer": offer, "image": this.image(offer), "cloud_settings": values} | changes))


def declared(folder: Path, kind: str) -> dict[str, dict[str, Any]]:
    return {name: {key: body.get(key) for key in ("type", "default")} for name, body in blocks(folder, kind)}


def conditions(folder: Path) -> dict[str, set[str]]:
    return {
        name: {rule["condition"] for rule in body.get("validation", [])} for name, body in blocks(folder, "variable")
    }


@every_cloud
def test_has_the_contracts_variables_first_and_its_own_after(name: str) -> None:
    this = cloud(name)
    contract, module = declared(CONTRACT, "variable"), declared(this.module, "variable")
    own = set(this.module_variables(a_launch_on(this)))
    assert [key for key in module if key in contract] == list(contract)
    assert {key: module[key] for key in contract} == contract
    assert module.keys() - contract.keys() == own
    for key, rules in conditions(CONTRACT).items():
        assert rules <= conditions(this.module)[key], key


@every_cloud
def test_gives_the_contracts_outputs(name: str) -> None:
    given = {key for key, _ in blocks(cloud(name).module, "output")}
    assert given == {key for key, _ in blocks(CONTRACT, "output")}


@every_cloud
def test_module_is_complete_and_its_readme_fresh(name: str) -> None:
    module = cloud(name).module
    for file in ("main.tf", "variables.tf", "outputs.tf", "versions.tf", "README.md"):
        assert (module / file).is_file(), file
    for path in module.glob("*.tf"):
        assert hcl2.loads(path.read_text()), path
    assert (module / "README.md").read_text() == readme(module), "run: python scripts/module_readme.py"


@every_cloud
@pytest.mark.terraform
def test_module_and_root_are_formatted(name: str, tmp_path: Path) -> None:
    if shutil.which("terraform") is None:
        pytest.skip("no terraform on PATH")
    this = cloud(name)
    for path, text in render(a_launch_on(this), this).files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    for folder in (tmp_path, this.module):
        done = subprocess.run(
            ["terraform", "fmt", "-check", "-recursive", "-diff", str(folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


@every_cloud
def test_no_value_of_a_user_enters_hcl(name: str) -> None:
    this = cloud(name)
    plain = render(a_launch_on(this), this).files
    hostile = render(a_launch_on(this, owner=HOSTILE, profile=HOSTILE, labels={"k": HOSTILE}), this).files
    assert plain.keys() == hostile.keys()
    for path in plain:
        if path.endswith(".tf") and path != "main.tf":
            assert plain[path] == hostile[path], path
    # The head of main.tf names the launch by its digest.
    assert plain["main.tf"].split("\n", 1)[1] == hostile["main.tf"].split("\n", 1)[1]
    assert json.loads(hostile["terraform.tfvars.json"])["owner"] == HOSTILE


@every_cloud
def test_renders_to_the_same_bytes(name: str) -> None:
    this = cloud(name)
    assert render(a_launch_on(this), this).fingerprint == render(a_launch_on(this), this).fingerprint


@every_cloud
def test_importing_it_is_light(name: str) -> None:
    script = (
        "import sys\n"
        "from orchestrator.clouds.registry import cloud\n"
        f"cloud({name!r})\n"
        f"print(sorted({HEAVY | {'jinja2', 'pydantic', 'tf', 'yaml'}!r} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@every_cloud
def test_failure_table_knows_the_recorded_texts(name: str) -> None:
    this = cloud(name)
    recorded = json.loads((Path(__file__).parent / f"{name}_failure_texts.json").read_text())
    for entry in recorded:
        text = f"{entry['summary']}\n{entry.get('detail', '')}".strip()
        rule = next((rule for rule in this.failures if re.search(rule.pattern, text)), None)
        assert rule is not None, text
        assert (rule.kind, rule.scope) == (entry["kind"], entry["scope"]), text
    kinds = {rule.kind for rule in this.failures}
    assert kinds >= {
        FailureKind.CAPACITY,
        FailureKind.QUOTA,
        FailureKind.AUTH,
        FailureKind.IMAGE,
        FailureKind.THROTTLED,
    }
    assert {entry["kind"] for entry in recorded} >= {"capacity", "quota", "auth", "image"}


@every_cloud
def test_failure_rows_are_well_made(name: str) -> None:
    for rule in cloud(name).failures:
        assert rule.source, rule.pattern
        assert timedelta(0) <= rule.cool_down <= timedelta(days=1), rule.pattern
        if not rule.kind.try_next:
            # These hang on one deployment's words or credentials; cool-downs are shared with others.
            assert rule.cool_down == timedelta(0), rule.pattern


@every_cloud
def test_every_shipped_offer_has_an_image_or_a_sentence(name: str) -> None:
    this = cloud(name)
    assert offers_of(name)
    usable = 0
    for offer in offers_of(name):
        try:
            image = this.image(offer)
        except UsageError as error:
            assert error.message and error.hint
            continue
        this.check(a_launch_on(this, offer=offer, image=image))
        assert image.reference and image.ssh_user and image.driver in ("nvidia", "rocm", "none")
        usable += 1
    assert usable


@every_cloud
@pytest.mark.parametrize("text", ["", "not an image", "../../etc/passwd", '"; drop', "x" * 3000])
def test_a_word_that_is_no_image_is_refused(name: str, text: str) -> None:
    with pytest.raises(UsageError):
        cloud(name).own_image(text, offers_of(name)[0])


@every_cloud
def test_what_it_cannot_do_is_refused_before_anything_is_made(name: str) -> None:
    this = cloud(name)
    this.check(a_launch_on(this))
    for changes in ({"checkpoint_uri": "ftp://nowhere/x"}, {"subnet": "not a subnet"}, {"disk_gib": 1}):
        with pytest.raises(UsageError):
            this.check(a_launch_on(this, **changes))


@every_cloud
def test_user_data_fits_with_room_to_spare(name: str) -> None:
    this = cloud(name)
    text = render(a_launch_on(this, owner="o" * 100), this).files["cloud-init.yaml"]
    assert len(text.encode()) < this.user_data_limit_bytes
    assert an_image() is not None


@every_cloud
def test_has_a_page_and_a_sandbox(name: str) -> None:
    this = cloud(name)
    assert this.sandbox is not None
    assert this.sandbox.schema.is_file()
    docs = PACKAGE.parent / "docs"
    assert (docs / "clouds" / f"{name}.md").is_file()
    assert f"clouds/{name}.md" in (PACKAGE.parent / "README.md").read_text()


@every_cloud
def test_credentials_are_judged_without_asking_anybody(name: str, tmp_path: Path) -> None:
    said = cloud(name).no_credentials({"HOME": str(tmp_path)})
    assert said == "" or len(said.splitlines()) == 1
