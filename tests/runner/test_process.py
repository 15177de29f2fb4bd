from __future__ import annotations

import json
import stat
import time
from pathlib import Path

import pytest

from orchestrator.errors import TerraformFailed, TerraformMissing
from orchestrator.runner.contract import RunnerEvent
from orchestrator.runner.logs import KEPT, open_output
from orchestrator.runner.runner import TerraformRunner
from tests.runner.build_runner import a_binary, a_fake_runner, a_line, environ


def logs(root: Path) -> list[str]:
    return sorted(path.name for path in (root / ".gpuorch" / "logs").iterdir())


def test_events_come_while_it_runs(tmp_path: Path) -> None:
    go = tmp_path / "go"
    body = f"""
    print({a_line("one")!r})
    for _ in range(1000):
        if os.path.exists("go"): break
        time.sleep(0.01)
    print({a_line("two")!r}, end="")
    sys.exit(0 if os.path.exists("go") else 1)
    """
    seen: list[str] = []

    def on_event(event: RunnerEvent) -> None:
        seen.append(event.kind)
        go.touch()  # only when the first has come does the program go on

    a_fake_runner(tmp_path, body).init(tmp_path, on_event=on_event)
    assert seen == ["one", "two"]


def test_the_stream_is_kept_in_a_private_log(tmp_path: Path) -> None:
    body = f"print({a_line('one')!r}); sys.stderr.write('careful\\n')"
    a_fake_runner(tmp_path, body).init(tmp_path)
    folder = tmp_path / ".gpuorch" / "logs"
    assert logs(tmp_path) == ["001-init.jsonl", "001-init.stderr"]
    assert (folder / "001-init.jsonl").read_text() == a_line("one") + "\n"
    assert (folder / "001-init.stderr").read_text() == "careful\n"
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_secrets_of_outputs_and_state_are_in_no_log(tmp_path: Path) -> None:
    runner = a_fake_runner(tmp_path, 'print(json.dumps({"password": {"sensitive": True, "value": "hunter2"}}))')
    assert runner.outputs(tmp_path) == {"password": "hunter2"}
    assert not (tmp_path / ".gpuorch").exists()


def test_only_the_newest_logs_are_kept(tmp_path: Path) -> None:
    for _ in range(KEPT + 5):
        open_output(tmp_path, "plan", keep=True).close()
    foreign = tmp_path / ".gpuorch" / "logs" / "notes.txt"
    foreign.touch()
    open_output(tmp_path, "apply", keep=True).close()
    names = [name for name in logs(tmp_path) if name.endswith(".jsonl")]
    assert len(names) == KEPT
    assert names[0] == "007-plan.jsonl" and names[-1] == "026-apply.jsonl"
    assert len(logs(tmp_path)) == 2 * KEPT + 1 and foreign.exists()


def test_what_it_writes_is_private(tmp_path: Path) -> None:
    a_fake_runner(tmp_path, "open('terraform.tfstate', 'w')").init(tmp_path)
    assert stat.S_IMODE((tmp_path / "terraform.tfstate").stat().st_mode) == 0o600


def test_it_runs_in_the_root_with_our_environment_and_no_input(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    body = """
    facts = {"cwd": os.getcwd(), "in": sys.stdin.read(), "argv": sys.argv[1:], "sid": os.getsid(0), "pid": os.getpid()}
    facts["env"] = {name: value for name, value in os.environ.items() if name.startswith("TF_")}
    json.dump(facts, open("facts", "w"))
    """
    runner = a_fake_runner(tmp_path, body, extra_environment={"TF_REATTACH_PROVIDERS": "{}"})
    runner.init(root)
    facts = json.loads((root / "facts").read_text())
    assert facts["cwd"] == str(root)
    assert facts["in"] == ""
    assert facts["argv"][0] == "init"
    assert facts["sid"] == facts["pid"]
    assert facts["env"] == {
        "TF_CLI_CONFIG_FILE": str(tmp_path / "gpuorch.tfrc"),
        "TF_IN_AUTOMATION": "1",
        "TF_INPUT": "0",
        "TF_REATTACH_PROVIDERS": "{}",
    }


def test_what_is_refused_of_the_environment_is_told(tmp_path: Path) -> None:
    runner = TerraformRunner(a_binary("terraform"), tmp_path / "c", {"TF_VAR_x": "1"})
    assert "TF_VAR_x" in runner.notice


def test_garbage_does_not_break_it_and_is_the_reason_where_there_is_no_other(tmp_path: Path) -> None:
    body = "print('not JSON'); sys.stdout.buffer.write(b'\\xff\\xfe{\\n'); print('{\"type\": 1}'); sys.exit(1)"
    with pytest.raises(TerraformFailed, match="terraform plan failed: not JSON") as caught:
        a_fake_runner(tmp_path, body).plan(tmp_path)
    assert caught.value.command == "plan"
    assert caught.value.hint.endswith("001-plan.jsonl")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("sys.exit(1)", "ended with exit code 1"),
        ("sys.stderr.write('panic: oh no\\ngoroutine\\n'); sys.exit(2)", "panic: oh no"),
        ("os.kill(os.getpid(), 9)", "killed by signal 9"),
    ],
)
def test_exit_codes(tmp_path: Path, body: str, words: str) -> None:
    with pytest.raises(TerraformFailed, match=words):
        a_fake_runner(tmp_path, body).init(tmp_path)


def test_exit_code_2_of_a_plan_is_changes(tmp_path: Path) -> None:
    assert a_fake_runner(tmp_path, "sys.exit(2)").plan(tmp_path).has_changes
    assert not a_fake_runner(tmp_path, "sys.exit(0)").plan(tmp_path).has_changes


def test_huge_output(tmp_path: Path) -> None:
    line = a_line("refresh_complete", "x" * 1000)
    body = f"""
    for _ in range(20000): sys.stdout.write({line!r} + "\\n")
    sys.stderr.write("e" * 3_000_000)
    """
    count = 0

    def on_event(event: RunnerEvent) -> None:
        nonlocal count
        count += 1

    start = time.process_time()
    a_fake_runner(tmp_path, body).init(tmp_path, on_event=on_event)
    assert count == 20_000
    assert time.process_time() - start < 5


def test_one_huge_line(tmp_path: Path) -> None:
    body = 'sys.stdout.write(json.dumps({"big": {"value": "x" * 30_000_000}}))'
    start = time.process_time()
    assert len(a_fake_runner(tmp_path, body).outputs(tmp_path)["big"]) == 30_000_000
    assert time.process_time() - start < 5


def test_an_old_terraforms_init_has_no_stream(tmp_path: Path) -> None:
    body = "assert '-json' not in sys.argv, sys.argv; print('Initializing...'); sys.exit(0)"
    a_fake_runner(tmp_path, body, version="1.8.5").init(tmp_path)
    body = (
        "print('Initializing...'); sys.stderr.write('\\nError: Failed to install provider\\n\\nno way\\n'); sys.exit(1)"
    )
    with pytest.raises(TerraformFailed, match="Failed to install provider") as caught:
        a_fake_runner(tmp_path, body, version="1.8.5").init(tmp_path)
    assert "tf_mirror" in caught.value.hint


def test_a_document_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(TerraformFailed, match="printed no JSON: oops"):
        a_fake_runner(tmp_path, "print('oops')").outputs(tmp_path)
    assert a_fake_runner(tmp_path, "").addresses(tmp_path) == ()


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    runner = TerraformRunner(a_binary(tmp_path / "nowhere"), tmp_path / "c", environ())
    with pytest.raises(TerraformMissing, match="cannot be started"):
        runner.outputs(tmp_path)


def test_a_root_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TerraformFailed, match="there is no folder"):
        a_fake_runner(tmp_path, "").outputs(tmp_path / "nowhere")


def test_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / ".gpuorch").touch()
    with pytest.raises(TerraformFailed, match=r"its log in .* cannot be written"):
        a_fake_runner(tmp_path, "").init(tmp_path)
