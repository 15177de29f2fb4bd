from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.errors import Interrupted, TerraformFailed
from orchestrator.runner.contract import RunnerEvent
from orchestrator.runner.runner import TimeLimits
from tests.runner.build_runner import a_fake_runner, a_line, a_program

# Writes what a terraform in the middle of an apply writes, waits for SIGINT, writes its "state".
PATIENT = f"""
def stop(number, frame):
    print({a_line("log", "Gracefully shutting down...")!r})
    time.sleep(0.2)
    open("state", "w").write("written")
    sys.exit(1)
signal.signal(signal.SIGINT, stop)
print({a_line("apply_start", "a.b: Creating...")!r})
time.sleep(15)
"""


def wait_for(met: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.01)


def test_sigint_to_us_is_one_sigint_to_it_and_we_wait_for_its_state(tmp_path: Path) -> None:
    seen: list[RunnerEvent] = []

    def on_event(event: RunnerEvent) -> None:
        seen.append(event)
        if event.kind == "apply_start":
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted) as caught:
        a_fake_runner(tmp_path, PATIENT).destroy(tmp_path, on_event=on_event)
    assert (tmp_path / "state").read_text() == "written"
    assert "written its state" in caught.value.hint
    assert [event.kind for event in seen] == ["apply_start", "notice", "log"]
    assert "allow up to 10 s" in seen[1].message
    assert signal.getsignal(signal.SIGINT) is before


def test_sigterm_to_us_is_taken_alike(tmp_path: Path) -> None:
    def on_event(event: RunnerEvent) -> None:
        if event.kind == "apply_start":
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted):
        a_fake_runner(tmp_path, PATIENT).destroy(tmp_path, on_event=on_event)
    assert (tmp_path / "state").read_text() == "written"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_cancel_from_another_thread(tmp_path: Path) -> None:
    runner = a_fake_runner(tmp_path, PATIENT)
    started = threading.Event()
    caught: list[BaseException] = []

    def work() -> None:
        try:
            runner.destroy(tmp_path, on_event=lambda event: started.set())
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert started.wait(10)
    runner.cancel()
    thread.join(10)
    assert [type(error) for error in caught] == [Interrupted]
    assert (tmp_path / "state").exists()


def test_a_cancel_between_two_commands_stops_the_next_one_only(tmp_path: Path) -> None:
    runner = a_fake_runner(tmp_path, "open('ran', 'w')")
    runner.cancel()
    with pytest.raises(Interrupted, match="before terraform init"):
        runner.init(tmp_path)
    assert not (tmp_path / "ran").exists()
    runner.init(tmp_path)
    assert (tmp_path / "ran").exists()


def test_a_second_cancel_ends_one_that_does_not_listen(tmp_path: Path) -> None:
    deaf = f"""
    signal.signal(signal.SIGINT, lambda *a: print({a_line("log")!r}))
    print({a_line("apply_start")!r})
    time.sleep(15)
    """
    seen: list[str] = []
    runner = a_fake_runner(tmp_path, deaf)

    def on_event(event: RunnerEvent) -> None:
        seen.append(event.message or event.kind)
        if event.kind in ("apply_start", "log"):
            runner.cancel()

    start = time.monotonic()
    with pytest.raises(Interrupted) as caught:
        runner.destroy(tmp_path, on_event=on_event)
    assert time.monotonic() - start < 10
    assert "by force" in caught.value.hint
    assert "ending terraform at once" in seen[-1]


def test_one_that_finishes_although_cancelled_is_still_an_interrupt(tmp_path: Path) -> None:
    body = f"signal.signal(signal.SIGINT, lambda *a: sys.exit(0)); print({a_line('apply_start')!r}); time.sleep(15)"
    runner = a_fake_runner(tmp_path, body)
    with pytest.raises(Interrupted):
        runner.init(tmp_path, on_event=lambda event: runner.cancel() if event.kind == "apply_start" else None)


def test_a_time_limit_stops_it_like_an_interrupt(tmp_path: Path) -> None:
    limits = TimeLimits(change=0.3, grace=10)
    with pytest.raises(TerraformFailed, match=r"took longer than 0:00:00\.3") as caught:
        a_fake_runner(tmp_path, PATIENT, time_limits=limits).destroy(tmp_path)
    assert (tmp_path / "state").exists()
    assert "written its state" in caught.value.hint


def test_a_time_limit_ends_by_force_what_does_not_stop(tmp_path: Path) -> None:
    body = "signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(15)"
    limits = TimeLimits(change=0.3, grace=0.3)
    seen: list[str] = []
    with pytest.raises(TerraformFailed) as caught:
        runner = a_fake_runner(tmp_path, body, time_limits=limits)
        runner.destroy(tmp_path, on_event=lambda event: seen.append(event.message))
    assert "by force" in caught.value.hint
    assert "time limit reached" in seen[0] and "did not stop" in seen[1]


def test_what_a_callback_raises_comes_out_after_it_was_stopped(tmp_path: Path) -> None:
    def on_event(event: RunnerEvent) -> None:
        raise BrokenPipeError("nobody reads the progress")

    runner = a_fake_runner(tmp_path, PATIENT)
    with pytest.raises(BrokenPipeError, match="nobody reads"):
        runner.destroy(tmp_path, on_event=on_event)
    assert (tmp_path / "state").read_text() == "written"
    with pytest.raises(BrokenPipeError):  # and it is no cancel of the next command
        runner.destroy(tmp_path, on_event=on_event)


def a_parent(tmp_path: Path, program: Path) -> subprocess.Popen[str]:
    """A gpuorch that holds a lock and runs a terraform of 1.5 seconds."""
    script = textwrap.dedent(
        f"""
        import fcntl, os, sys
        from pathlib import Path
        from tests.runner.build_runner import a_binary, environ
        from orchestrator.runner.runner import TerraformRunner
        lock = os.open({str(tmp_path / "lock")!r}, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX)
        runner = TerraformRunner(
            a_binary({str(program)!r}), Path({str(tmp_path / "c")!r}), environ(), inherit_fds=(lock,)
        )
        runner.destroy(Path({str(tmp_path)!r}), on_event=lambda event: print(event.kind, flush=True))
        """
    )
    return subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    )


def locked(path: Path) -> bool:
    with path.open() as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_when_we_are_killed_it_goes_on_writes_its_state_and_keeps_our_lock(tmp_path: Path) -> None:
    body = f"""
    print({a_line("apply_start")!r})
    for number in range(30):
        print({a_line("apply_progress")!r})
        sys.stderr.write("still here\\n")
        time.sleep(0.05)
    open("state", "w").write("written")
    print({a_line("change_summary", changes={})!r})
    """
    parent = a_parent(tmp_path, a_program(tmp_path, body))
    assert parent.stdout is not None
    assert parent.stdout.readline().strip() == "apply_start"
    parent.kill()
    assert parent.wait() == -signal.SIGKILL
    parent.stdout.close()
    assert not (tmp_path / "state").exists()
    assert locked(tmp_path / "lock")
    wait_for((tmp_path / "state").exists)
    wait_for(lambda: not locked(tmp_path / "lock"))
    assert "change_summary" in (tmp_path / ".gpuorch" / "logs" / "001-destroy.jsonl").read_text()


def test_ctrl_c_at_the_terminal_reaches_it_once(tmp_path: Path) -> None:
    body = f"""
    def stop(number, frame):
        open("signals", "a").write("x")
    signal.signal(signal.SIGINT, stop)
    print({a_line("apply_start")!r})
    end = time.monotonic() + 1.5
    while time.monotonic() < end: time.sleep(0.05)
    """
    parent = a_parent(tmp_path, a_program(tmp_path, body))
    assert parent.stdout is not None
    assert parent.stdout.readline().strip() == "apply_start"
    os.killpg(parent.pid, signal.SIGINT)
    said = parent.stdout.read()
    parent.stdout.close()
    assert parent.wait() != 0
    assert (tmp_path / "signals").read_text() == "x"
    assert "notice" in said
