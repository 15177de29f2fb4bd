"""Packages whose cloud is broken: one sentence, and every other cloud works as if they were not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds import registry
from orchestrator.clouds.registry import broken_clouds, cloud, usable_clouds
from orchestrator.errors import ConfigInvalid
from tests.clouds.build_plugin import a_site, declare, install_example
from tests.end_to_end.build_cli_runs import Gpuorch, a_gpuorch

BROKEN = [
    ("odd", "odd_cloud:CLOUD", "import no_such_module", "cannot be loaded: ModuleNotFoundError: No module named"),
    ("odd", "odd_cloud:CLOUD", "raise RuntimeError('two\\nlines')", "cannot be loaded: RuntimeError: two lines"),
    ("odd", "odd_cloud:CLOUD", "", "cannot be loaded: AttributeError"),
    ("odd", "no_such_package:CLOUD", "", "cannot be loaded: ModuleNotFoundError"),
    ("odd", "odd_cloud:CLOUD", "CLOUD = 'a cloud'", "odd_cloud:CLOUD .* is no Cloud"),
    ("odd", "homelab_cloud.cloud:CLOUD", "", "brings a cloud called 'homelab' under the name 'odd'"),
    ("aws", "homelab_cloud.cloud:CLOUD", "", "brings a cloud called 'aws', and gpuorch has one of that name"),
]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with a_site(tmp_path, monkeypatch) as folder:
        yield folder


@pytest.mark.parametrize(("name", "value", "text", "sentence"), BROKEN, ids=lambda word: str(word)[:30])
def test_a_broken_cloud_is_left_out_with_a_sentence(
    name: str, value: str, text: str, sentence: str, site: Path
) -> None:
    (site / "odd_cloud.py").write_text(text)
    declare(site, "odd-cloud", {name: value})
    [(broken, error)] = broken_clouds().items()
    assert broken == name
    assert re.search(sentence, error.message) and "package odd-cloud" in error.message
    assert "\n" not in error.message and "odd-cloud" in error.hint
    assert usable_clouds() == registry._own()
    if name == "aws":
        assert cloud(name).title == "AWS"
    else:
        with pytest.raises(ConfigInvalid, match=sentence):
            cloud(name)


def test_two_packages_with_one_name_are_both_left_out(site: Path) -> None:
    install_example(site)
    declare(site, "other-lab", {"homelab": "homelab_cloud.cloud:CLOUD"})
    assert (
        broken_clouds()["homelab"].message
        == "the packages homelab-cloud and other-lab each bring a cloud called 'homelab'"
    )
    assert "homelab" not in usable_clouds()


@pytest.mark.terraform
@pytest.mark.parametrize(
    ("name", "value", "text", "sentence"), [BROKEN[1], BROKEN[-1]], ids=["raises", "named as ours"]
)
def test_other_clouds_work_beside_a_broken_one(
    name: str, value: str, text: str, sentence: str, site: Path, tmp_path: Path
) -> None:
    (site / "odd_cloud.py").write_text(text)
    declare(site, "odd-cloud", {name: value})
    command = a_gpuorch(tmp_path)
    assert command("--help").err == ""
    assert command("status").err == ""
    assert told(command, "offers", "--cloud", "aws", "--profile", "a100x8", sentence=sentence)["offers"]
    dry = told(command, "up", "--profile", "a100x8", "--spot", "--sandbox", "--dry-run", sentence=sentence)
    assert dry["placement"]["chosen"]["cloud"] == "aws"
    assert "AWS" in [row["title"] for row in told(command, "clouds", sentence=sentence)["clouds"]]
    found = [
        each for each in command.json("doctor", "--offline", code=None).data["findings"] if each["check"] == "clouds"
    ]
    assert [(each["level"], each["fix"]) for each in found if re.search(sentence, each["message"])] == [
        ("warning", "pip uninstall odd-cloud" if name == "aws" else "upgrade or uninstall odd-cloud")
    ]


def told(command: Gpuorch, *words: str, sentence: str) -> Any:
    """The data of a run that says the sentence once, as one line and as one message."""
    run = command.json(*words)
    assert len(re.findall(sentence, run.err)) == 1
    assert len([message for message in run.envelope["messages"] if re.search(sentence, message)]) == 1
    return run.data
