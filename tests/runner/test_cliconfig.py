from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import ConfigInvalid
from orchestrator.runner.cliconfig import ProviderSource, cli_config_text, mirrored_providers, write_cli_config


def test_registries_only() -> None:
    assert cli_config_text(ProviderSource()) == (
        "disable_checkpoint = true\n\nprovider_installation {\n  direct {\n  }\n}\n"
    )


def test_mirrors_then_registries_for_the_rest() -> None:
    source = ProviderSource(mirrors=(Path("/a"), Path("/b")), direct=True)
    assert cli_config_text(source, ["example.test/acme/thing"]) == (
        "disable_checkpoint = true\n\n"
        "provider_installation {\n"
        '  filesystem_mirror {\n    path = "/a"\n  }\n'
        '  filesystem_mirror {\n    path = "/b"\n  }\n'
        '  direct {\n    exclude = ["example.test/acme/thing"]\n  }\n'
        "}\n"
    )


def test_mirrors_only() -> None:
    text = cli_config_text(ProviderSource(mirrors=(Path("/a"),), direct=False), ["example.test/acme/thing"])
    assert "direct" not in text


def test_hostile_paths_are_escaped() -> None:
    text = cli_config_text(ProviderSource(mirrors=(Path('/a "b" \\ ${c} %{d}\n€\u2028'),), direct=False))
    assert 'path = "/a \\"b\\" \\\\ \\u0024{c} %{d}\\u000a€\\u2028"\n' in text


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF), min_size=1))
def test_any_path_comes_back_from_its_string(name: str) -> None:
    # In these two languages strings are written alike as long as no letter is above the first plane.
    text = cli_config_text(ProviderSource(mirrors=(Path("/" + name),), direct=False))
    line = next(line for line in text.split("\n") if line.startswith("    path = "))
    assert json.loads(line.removeprefix("    path = ")) == str(Path("/" + name))
    assert "${" not in text


def test_written_private_and_whole(tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    (mirror / "example.test" / "acme" / "thing" / "1.0.0").mkdir(parents=True)
    (mirror / "example.test" / "acme" / "note.txt").touch()
    path = write_cli_config(ProviderSource(mirrors=(mirror,)), tmp_path / "config")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.parent == tmp_path / "config"
    assert 'exclude = ["example.test/acme/thing"]' in path.read_text()
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_rewritten_when_it_differs(tmp_path: Path) -> None:
    path = write_cli_config(ProviderSource(), tmp_path)
    path.write_bytes(b"\xff broken")
    assert write_cli_config(ProviderSource(), tmp_path).read_text() == cli_config_text(ProviderSource())


def test_relative_mirrors_are_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mirror").mkdir()
    path = write_cli_config(ProviderSource(mirrors=(Path("mirror"),)), tmp_path)
    assert f'path = "{tmp_path}/mirror"' in path.read_text()


def test_a_mirror_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="is not a folder") as caught:
        write_cli_config(ProviderSource(mirrors=(tmp_path / "nowhere",)), tmp_path)
    assert "tf_mirror" in caught.value.hint


def test_mirrored_providers(tmp_path: Path) -> None:
    for name in ("b.test/x/y", "a.test/x/z", "a.test/x/y"):
        (tmp_path / name / "1.0.0").mkdir(parents=True)
    assert mirrored_providers((tmp_path, tmp_path / "nowhere")) == ("a.test/x/y", "a.test/x/z", "b.test/x/y")
