"""One terraform process: started so that it outlives us, followed by the file it writes, ended with patience."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from orchestrator.runner.ending import Cancellation, Due, Ending
from orchestrator.runner.logs import OutputFiles

__all__ = ["Child", "Ended", "NotStarted", "run_child"]

_POLL_SECONDS = 0.05
_CHUNK = 1 << 16
_STDERR_LIMIT = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """What to start. ``inherit_fds`` stay open in it and in all that it starts (a lock file, say)."""

    argv: Sequence[str]
    root: Path
    environment: Mapping[str, str]
    inherit_fds: tuple[int, ...] = ()
    time_limit_seconds: float
    grace_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """``exit_code`` is negative for a signal, ``stderr`` its last 64 KiB, ``forced``: more than SIGINT was sent."""

    exit_code: int
    cancelled: bool
    timed_out: bool
    forced: bool
    stderr: str


class NotStarted(Exception):
    """The program could not be started; the :class:`OSError` is its cause."""


def run_child(
    child: Child,
    files: OutputFiles,
    cancellation: Cancellation,
    *,
    on_line: Callable[[str], None],
    on_notice: Callable[[str], None],
) -> Ended:
    """Run it to its end, giving each line of its stdout to ``on_line`` as it comes.

    In the main thread, SIGINT and SIGTERM to this process are requests to ``cancellation`` as long as it runs; the
    child has its own session and gets neither of them by itself. When this process is killed, the child goes on. What
    a callback raises comes out of here after the child was stopped. :class:`NotStarted` where it cannot be started.
    """
    ending = Ending(deadline=time.monotonic() + child.time_limit_seconds, grace=child.grace_seconds)
    with _signals_as_requests(cancellation):
        process = _start(child, files)
        lines = _Lines(files.stdout)
        try:
            _follow(process, lines, ending, cancellation, on_line, on_notice)
        except BaseException:
            if not cancellation.requests:
                cancellation.request()
            _follow(process, lines, ending, cancellation, _ignore, _ignore)
            raise
    return Ended(
        exit_code=process.returncode,
        cancelled=cancellation.requests > 0,
        timed_out=ending.timed_out,
        forced=ending.forced,
        stderr=_last_part(files.stderr),
    )


def _start(child: Child, files: OutputFiles) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            child.argv,
            cwd=child.root,
            env=dict(child.environment),
            stdin=subprocess.DEVNULL,
            stdout=files.stdout,
            stderr=files.stderr,
            start_new_session=True,
            pass_fds=child.inherit_fds,
            umask=0o077,  # state and plans hold secrets
        )
    except OSError as error:
        raise NotStarted(str(error)) from error


def _follow(
    process: subprocess.Popen[bytes],
    lines: _Lines,
    ending: Ending,
    cancellation: Cancellation,
    on_line: Callable[[str], None],
    on_notice: Callable[[str], None],
) -> None:
    while True:
        # Asked before reading: what an ended process has written is then read below, to its end.
        ended = _has_ended(process)
        for line in lines.new(final=ended):
            on_line(line)
        if ended:
            return
        due = ending.due(time.monotonic(), cancellation.requests)
        if due is not None:
            _send(process, due)
            on_notice(due.notice)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _send(process: subprocess.Popen[bytes], due: Due) -> None:
    if due.signal is None:
        return
    with contextlib.suppress(ProcessLookupError):
        if due.group:
            os.killpg(process.pid, due.signal)
        else:
            process.send_signal(due.signal)


class _Lines:
    """The lines of a file that another process is writing. It reads by position: the descriptor's own is shared."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._position = 0
        self._rest: list[bytes] = []  # pieces, joined once: a line may be as long as the whole state

    def new(self, *, final: bool) -> Iterator[str]:
        """Complete lines written since the last call; with ``final`` also an unfinished last one."""
        while chunk := os.pread(self._descriptor, _CHUNK, self._position):
            self._position += len(chunk)
            *complete, rest = chunk.split(b"\n")
            for piece in complete:
                yield self._joined(piece)
            self._rest.append(rest)
        if final and any(self._rest):
            yield self._joined(b"")

    def _joined(self, last: bytes) -> str:
        pieces, self._rest = [*self._rest, last], []
        return b"".join(pieces).decode("utf-8", "replace")


@contextlib.contextmanager
def _signals_as_requests(cancellation: Cancellation) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def request(number: int, frame: FrameType | None) -> None:
        cancellation.request()

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    # An ignored signal stays ignored (nohup); None is a handler that Python cannot put back.
    replaced = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    for number in replaced:
        signal.signal(number, request)
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, before[number])


def _last_part(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, _STDERR_LIMIT, max(0, size - _STDERR_LIMIT)).decode("utf-8", "replace")


def _ignore(text: str) -> None:
    """What nobody listens to any more."""
