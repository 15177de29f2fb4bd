from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.runner import argv

TF = ("/usr/bin/terraform",)


def test_init_defaults() -> None:
    assert argv.init(TF) == [*TF, "init", "-input=false", "-no-color", "-json", "-reconfigure"]


def test_init_everything_overridden() -> None:
    words = argv.init(
        TF, json=False, reconfigure=False, upgrade=True, backend_config={"key": "a=b c", "bucket": "states"}
    )
    assert words == [
        *TF,
        "init",
        "-input=false",
        "-no-color",
        "-upgrade",
        "-backend-config=bucket=states",
        "-backend-config=key=a=b c",
    ]


def test_validate() -> None:
    assert argv.validate(TF) == [*TF, "validate", "-json", "-no-color"]


def test_plan_defaults() -> None:
    assert argv.plan(TF) == [
        *TF,
        "plan",
        "-input=false",
        "-no-color",
        "-json",
        "-detailed-exitcode",
        "-lock-timeout=60s",
        "-parallelism=10",
        "-out=gpuorch.tfplan",
    ]


def test_plan_everything_overridden() -> None:
    words = argv.plan(TF, out="other.plan", destroy=True, refresh=False, lock_timeout="5m", parallelism=30)
    assert words == [
        *TF,
        "plan",
        "-input=false",
        "-no-color",
        "-json",
        "-detailed-exitcode",
        "-destroy",
        "-refresh=false",
        "-lock-timeout=5m",
        "-parallelism=30",
        "-out=other.plan",
    ]


def test_apply_defaults() -> None:
    expected = [*TF, "apply", "-input=false", "-no-color", "-json", "-lock-timeout=60s", "-parallelism=10"]
    assert argv.apply(TF) == [*expected, "gpuorch.tfplan"]


def test_apply_everything_overridden() -> None:
    words = argv.apply(TF, plan_file="p", lock_timeout="0s", parallelism=1)
    assert words == [*TF, "apply", "-input=false", "-no-color", "-json", "-lock-timeout=0s", "-parallelism=1", "p"]


def test_destroy_defaults() -> None:
    assert argv.destroy(TF) == [
        *TF,
        "apply",
        "-destroy",
        "-auto-approve",
        "-input=false",
        "-no-color",
        "-json",
        "-lock-timeout=60s",
        "-parallelism=10",
    ]


def test_destroy_everything_overridden() -> None:
    words = argv.destroy(TF, refresh=False, lock_timeout="1s", parallelism=2)
    assert words[-3:] == ["-refresh=false", "-lock-timeout=1s", "-parallelism=2"]


def test_output_and_state_pull() -> None:
    assert argv.output(TF) == [*TF, "output", "-json", "-no-color"]
    assert argv.state_pull(TF) == [*TF, "state", "pull"]


def test_import_defaults() -> None:
    address, import_id = 'aws_instance.m["a b"]', "i-1"
    options = ["-input=false", "-no-color", "-lock-timeout=60s", "-parallelism=10"]
    assert argv.import_resource(TF, address, import_id) == [*TF, "import", *options, address, import_id]


def test_import_everything_overridden() -> None:
    words = argv.import_resource(TF, "a.b", "id", lock_timeout="2s", parallelism=3)
    assert words == [*TF, "import", "-input=false", "-no-color", "-lock-timeout=2s", "-parallelism=3", "a.b", "id"]


def test_version() -> None:
    assert argv.version(TF) == [*TF, "version"]
    assert argv.version(TF, json=True) == [*TF, "version", "-json"]


def test_fmt_check() -> None:
    assert argv.fmt_check(TF) == [*TF, "fmt", "-check", "-recursive"]
    assert argv.fmt_check(TF, "a.tf", recursive=False) == [*TF, "fmt", "-check", "a.tf"]


def test_providers_lock() -> None:
    assert argv.providers_lock(TF) == [*TF, "providers", "lock"]
    assert argv.providers_lock(TF, platforms=("linux_amd64", "darwin_arm64"), mirror=Path("/mirror")) == [
        *TF,
        "providers",
        "lock",
        "-platform=linux_amd64",
        "-platform=darwin_arm64",
        "-fs-mirror=/mirror",
    ]


def test_a_binary_of_several_words_comes_first_and_whole() -> None:
    words = ("/usr/bin/python3", "-P", "/path with blanks/main.py")
    assert argv.version(words) == [*words, "version"]


def test_no_state_of_the_current_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "terraform.tfstate").write_text("not JSON")
    monkeypatch.chdir(tmp_path)
    assert argv.output(TF)[1] == "output"


def test_untaint() -> None:
    assert argv.untaint(TF, "a.b[0]") == [*TF, "untaint", "-no-color", "-lock-timeout=60s", "a.b[0]"]
    assert argv.untaint(TF, "a.b", lock_timeout="2s") == [*TF, "untaint", "-no-color", "-lock-timeout=2s", "a.b"]
