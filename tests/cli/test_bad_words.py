"""Wrong words on the command line: one sentence, the right exit code, nothing changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cli.commands_table import COMMANDS
from orchestrator.cli.lazy import LazyGroup
from orchestrator.cli.main import cli
from tests.cli.build_cli import Shell


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["ofers"], 64, "no command 'ofers'; did you mean offers?"),
        (["offers", "--profil", "t4x1"], 64, "No such option"),
        (["offers"], 64, "profile"),
        (["offers", "--profile", "t4x1", "--gpu", "T4"], 64, "profile"),
        (["offers", "--profile", "a10x"], 64, "a10x"),
        (["offers", "--profile", "z99x8"], 64, "z99x8"),
        (["offers", "--gpu", "A100-80GB:0"], 64, "A100-80GB:0"),
        (["offers", "--gpu", "T4:nan"], 64, "T4:nan"),
        (["offers", "--profile", "t4x1", "--max-price", "-3"], 64, "not a number above zero"),
        (["offers", "--profile", "t4x1", "--max-price", "nan"], 64, "not a number above zero"),
        (["offers", "--profile", "t4x1", "--spot", "--on-demand"], 64, "contradict each other"),
        (["offers", "--profile", "t4x1", "--market", "cheap"], 64, "'cheap' is not one of"),
        (["offers", "--profile", "t4x1", "--max-price-age", "soon"], 64, "write a time as"),
        (["offers", "--profile", "t4x1", "--max-price", "0.000001"], 3, "no offer fits"),
        (["offers", "--profile", "t4x1", "--cloud", "nowhere"], 3, "no offer fits"),
        (["offers", "--profile", "t4x1", "-o", "xml"], 64, "'xml' is not one of"),
        (["up", "--profile", "t4x1", "--name", "Not Good", "--sandbox", "--yes"], 64, "is not usable"),
        (["up", "--profile", "t4x1", "--sandbox"], 64, "there is no terminal to ask on"),
        (["up", "--profile", "t4x1", "--sandbox", "--yes", "--nodes", "2"], 64, "one machine"),
        (["up", "--profile", "t4x1", "--sandbox", "--yes", "--label", "team"], 64, "is not KEY=VALUE"),
        (["up", "--profile", "t4x1", "--sandbox", "--yes", "--ssh-key", "none.pub"], 64, "cannot be read"),
        (["up", "--profile", "t4x1", "--sandbox", "--yes", "--ttl", "0h"], 64, "more than zero"),
        (["up", "--profile", "t4x1", "--sandbox", "--yes", "--image", "not an image"], 64, "image"),
        (["up", "--profile", "t4x1", "--sandbox", "--yes", "--checkpoint", "ftp://x/y"], 64, "checkpoint"),
        (["up", "-f", "none.yaml", "--yes"], 64, "there is no such file"),
        (["down", "nobody", "--yes"], 64, "no deployment is called 'nobody'"),
        (["down"], 64, "name deployments, or give --all"),
        (["ssh", "nobody"], 64, "no deployment is called 'nobody'"),
        (["status", "nobody"], 64, "no deployment is called 'nobody'"),
        (["render", "--profile", "t4x1"], 64, "Missing option '--out'"),
        (["prices", "show", "z9.huge"], 64, "the price book has no 'z9.huge'"),
        (["prices", "import", "none.csv"], 64, "none.csv"),
        (["up", "--profile", "t4x1", "--sandbox", "--yes", "-o", "csv"], 64, "'csv' is not one of"),
        (["completion", "tcsh"], 64, "'tcsh' is not one of"),
    ],
)
def test_one_sentence_and_the_right_exit_code(shell: Shell, words: list[str], code: int, sentence: str) -> None:
    before = shell.snapshot()
    ended = shell(*words)
    assert ended.code == code, ended
    assert sentence in ended.err
    # The sentence, its hint indented, and at most the line of a stage that had begun.
    [told] = [line for line in ended.err.splitlines() if not line.startswith("  ")]
    assert told.startswith("gpuorch: ")
    assert len(ended.err.splitlines()) <= 3
    assert not [name for name in shell.snapshot().keys() - before.keys() if "deployments" in name]


@pytest.mark.parametrize("output", ["-ojson", "-o=json", "--output=json"])
def test_a_wrong_word_is_told_in_json_too(shell: Shell, output: str) -> None:
    ended = shell("offers", "--profile", "z99x8", output)
    if output == "-o=json":
        # Not click's spelling of a short option; it must still be a usage error and not a crash.
        assert ended.code == 64
        return
    envelope = ended.json
    assert (ended.code, envelope["exit_code"], envelope["status"]) == (64, 64, "error")
    assert envelope["errors"][0]["code"] == "usage"
    assert envelope["command"] == "offers"
    assert "z99x8" in envelope["errors"][0]["message"]


def test_the_command_is_named_in_every_error(shell: Shell) -> None:
    assert shell("prices", "show", "z9.huge", "-o", "json").json["command"] == "prices show"
    assert shell("prices", "show", "--nonsense", "-o", "json").json["command"] == "prices show"


def test_what_follows_the_name_belongs_to_the_other_side(shell: Shell) -> None:
    # Not our -o: the sentence is about the name, which does not exist.
    assert "no deployment is called 'nobody'" in shell("ssh", "nobody", "ps", "-o", "pid", "-q").err


def test_a_public_address_for_everybody_is_refused(shell: Shell, tmp_path: Path) -> None:
    key = tmp_path / "id.pub"
    key.write_text("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPnXn2qX3rZxqgJ8Jm0rT1y2Z3a4B5c6D7e8F9g0H1i2 ada@example\n")
    words = ["up", "--profile", "t4x1", "--sandbox", "--yes", "--ssh-key", str(key), "--ssh-from"]
    assert "opens SSH to the whole internet" in shell(*words, "0.0.0.0/0").err
    assert "is no address" in shell(*words, "home").err


def test_a_private_key_is_not_taken(shell: Shell, tmp_path: Path) -> None:
    key = tmp_path / "id"
    key.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----\n")
    ended = shell("up", "--profile", "t4x1", "--sandbox", "--yes", "--ssh-key", str(key))
    assert ended.code == 64
    assert "is a private key" in ended.err
    assert f"{key}.pub" in ended.err


def test_a_bad_project_file_is_a_configuration_error(shell: Shell) -> None:
    Path("gpuorch.toml").write_text("markt = 'spot'\n")
    ended = shell("offers", "--profile", "t4x1")
    assert ended.code == 78
    assert "unknown setting 'markt'" in ended.err


def test_help_names_every_command_and_imports_none() -> None:
    assert isinstance(cli, LazyGroup)
    for name, (_, _, text) in COMMANDS.items():
        command = cli.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        first = (command.help or "").strip().splitlines()[0]
        assert first == text, name


def test_a_crash_of_ours_is_one_sentence_and_a_file(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> object:
        raise RuntimeError("wires crossed")

    monkeypatch.setattr("orchestrator.operations.decide.resolve", broken)
    ended = shell("offers", "--profile", "t4x1")
    assert ended.code == 1
    assert "internal fault: RuntimeError: wires crossed" in ended.err
    assert "wires crossed" in (shell.folder / "state" / "crash.log").read_text()
