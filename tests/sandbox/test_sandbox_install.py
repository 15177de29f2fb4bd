"""Where terraform finds the stand-in providers."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import ConfigInvalid, Failure, UsageError
from orchestrator.sandbox import install
from orchestrator.sandbox.install import database_in, prepare
from orchestrator.sandbox.provider.__main__ import main
from orchestrator.sandbox.provider.handshake import COOKIE
from tests.sandbox.build_sandbox import AWS


def executables(mirror: Path) -> list[Path]:
    return sorted(path for path in mirror.rglob("*") if path.is_file())


def test_the_mirror_is_laid_out_for_terraform_and_for_opentofu(tmp_path: Path) -> None:
    installed = prepare(tmp_path, [AWS])
    found = executables(installed.mirror)
    assert len(found) == 2
    for path in found:
        host, namespace, type_, version, target, name = path.relative_to(installed.mirror).parts
        assert host.startswith("registry.")
        assert (namespace, type_, version, name) == ("hashicorp", "aws", "5.100.0", "terraform-provider-aws_v5.100.0")
        assert target == f"{sys.platform}_" + {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
        assert os.access(path, os.X_OK)
    assert installed.environment["GPUORCH_SANDBOX_DB"] == str(database_in(tmp_path)) == str(installed.database)


def test_it_is_written_once_and_mended_when_damaged(tmp_path: Path) -> None:
    installed = prepare(tmp_path, [AWS])
    path = executables(installed.mirror)[0]
    before = path.stat()
    assert prepare(tmp_path, [AWS]) == installed
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_ino == before.st_ino
    path.write_text("half")
    prepare(tmp_path, [AWS])
    path.chmod(0o600)
    prepare(tmp_path, [AWS])
    assert path.read_text().startswith("#!/bin/sh\n")
    assert os.access(path, os.X_OK)
    assert [each.name for each in tmp_path.iterdir()] == ["mirror"], "no temporary file is left"


def test_the_executable_names_neither_interpreter_nor_folder_so_that_its_lock_outlives_both(tmp_path: Path) -> None:
    text = executables(prepare(tmp_path, [AWS]).mirror)[0].read_text()
    assert sys.executable not in text
    assert str(tmp_path) not in text


def test_run_by_hand_it_says_what_it_is(tmp_path: Path) -> None:
    installed = prepare(tmp_path, [AWS])
    path = executables(installed.mirror)[0]
    bare = subprocess.run([path], env={"PATH": os.defpath}, capture_output=True, text=True, check=False)
    assert bare.returncode != 0
    assert "run terraform by gpuorch --sandbox" in bare.stderr
    by_hand = subprocess.run(
        [path], env={"PATH": os.defpath, **installed.environment}, capture_output=True, text=True, check=False
    )
    assert (by_hand.returncode, by_hand.stdout) == (1, "")
    assert "terraform starts it" in by_hand.stderr


def test_without_its_cloud_s_file_it_ends_with_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(*COOKIE)
    monkeypatch.delenv("GPUORCH_SANDBOX_DB", raising=False)
    assert main(["aws"]) == 1
    assert "GPUORCH_SANDBOX_DB is not set" in capsys.readouterr().err
    assert main(["moon"]) == 1
    assert "no cloud is called 'moon'" in capsys.readouterr().err


def test_a_missing_extra_is_named_with_its_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "_NEEDED", ("no_such_package.inner",))
    with pytest.raises(UsageError, match="'no_such_package', which is not installed") as caught:
        prepare(tmp_path, [AWS])
    assert caught.value.hint == 'pip install "gpuorch[sandbox]"'
    assert list(tmp_path.iterdir()) == []


def test_a_cloud_without_a_sandbox_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="brings no sandbox"):
        prepare(tmp_path, [replace(AWS, sandbox=None)])


def test_a_folder_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "mirror").write_text("a file in the way")
    with pytest.raises(Failure, match="cannot be written to"):
        prepare(tmp_path, [AWS])


@pytest.mark.parametrize("inherited", ["", "/somewhere"])
def test_a_checkout_is_found_by_the_provider_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inherited: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", inherited)
    monkeypatch.setattr("sysconfig.get_path", lambda name: "/elsewhere")
    checkout = str(Path(install.__file__).parents[2])
    expected = os.pathsep.join(filter(None, (checkout, inherited)))
    assert prepare(tmp_path, [AWS]).environment["PYTHONPATH"] == expected
    monkeypatch.setattr("sysconfig.get_path", lambda name: checkout)
    assert prepare(tmp_path, [AWS]).environment.get("PYTHONPATH", "") == inherited
