"""A rendered root on disk."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from orchestrator.errors import StoreDamaged, UsageError
from orchestrator.model.launch import Stack
from orchestrator.stack.write import MANIFEST, write

ONE = Stack(files={"main.tf": "one\n", "modules/aws/main.tf": "m\n", "modules/aws/old.tf": "o\n"})
TWO = Stack(files={"main.tf": "two\n", "modules/aws/main.tf": "m\n"})


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_into_a_new_folder(tmp_path: Path) -> None:
    write(ONE, tmp_path / "a" / "b")
    written = tree(tmp_path / "a" / "b")
    assert json.loads(written.pop(MANIFEST)) == {"files": sorted(ONE.files)}
    assert written == dict(ONE.files)


def test_twice_is_once(tmp_path: Path) -> None:
    write(ONE, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.tf")}
    write(ONE, tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.tf")} == before


def test_stale_files_go_and_terraforms_stay(tmp_path: Path) -> None:
    write(ONE, tmp_path)
    kept = ("terraform.tfstate", "terraform.tfstate.backup", ".terraform.lock.hcl", "machine.tfplan", ".terraform/x")
    for name in kept:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("t")
    (tmp_path / "notes.txt").write_text("mine")
    write(TWO, tmp_path)
    assert set(tree(tmp_path)) == {*TWO.files, MANIFEST, "notes.txt", *kept}


def test_folders_left_empty_go(tmp_path: Path) -> None:
    write(ONE, tmp_path)
    write(Stack(files={"main.tf": "x\n"}), tmp_path)
    assert not (tmp_path / "modules").exists()


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("ten years")
    with pytest.raises(UsageError, match=r"did not write \(thesis\.tex\)"):
        write(ONE, tmp_path)
    assert tree(tmp_path) == {"thesis.tex": "ten years"}


def test_a_folder_with_only_a_state_is_taken(tmp_path: Path) -> None:
    (tmp_path / "terraform.tfstate").write_text("{}")
    write(ONE, tmp_path)
    assert (tmp_path / "terraform.tfstate").read_text() == "{}"


def test_cut_off_half_way_it_is_still_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(ONE, tmp_path)
    real, calls = Path.replace, 0

    def failing(self: Path, target: Path) -> Path:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise OSError(28, "No space left on device")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    new = Stack(files={"main.tf": "new\n", "extra.tf": "e\n"})
    with pytest.raises(UsageError, match="No space left"):
        write(new, tmp_path)
    assert (tmp_path / "main.tf").read_text() in ("one\n", "new\n")
    monkeypatch.undo()
    write(TWO, tmp_path)
    assert {path for path in tree(tmp_path) if not path.endswith(".new")} == {*TWO.files, MANIFEST}


def test_a_damaged_list_is_said(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text("[1, 2")
    with pytest.raises(StoreDamaged, match="no list of files"):
        write(ONE, tmp_path)


def test_a_list_that_points_outside_removes_nothing_there(tmp_path: Path) -> None:
    outside = tmp_path / "precious"
    outside.write_text("x")
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "terraform.tfstate").write_text("{}")
    (folder / MANIFEST).write_text(json.dumps({"files": ["../precious", str(outside), "terraform.tfstate", "main.tf"]}))
    write(ONE, folder)
    assert outside.exists()
    assert (folder / "terraform.tfstate").exists()


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    folder = tmp_path / "root"
    write(Stack(files={"main.tf": "x"}), folder)
    (folder / "modules").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="leads out of"):
        write(ONE, folder)
    assert not any((tmp_path / "elsewhere").iterdir())


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(UsageError, match="cannot write to"):
        write(ONE, tmp_path / "out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="cannot write to"):
        write(ONE, tmp_path / "out")
