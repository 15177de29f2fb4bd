"""When a running terraform is told to end, and how. Pure: it says which signal is due, others send it."""

from __future__ import annotations

import signal
from dataclasses import dataclass

__all__ = ["Cancellation", "Due", "Ending"]

# After SIGTERM terraform only has to leave.
KILL_AFTER_SECONDS = 10.0


class Cancellation:
    """How often somebody asked to stop. Safe in signal handlers and from other threads: a request is one addition."""

    def __init__(self) -> None:
        self.requests = 0

    def request(self) -> None:
        self.requests += 1

    def clear(self) -> None:
        self.requests = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """``signal`` to send now (``None``: none) and ``notice`` to show. ``group``: to all that terraform started."""

    notice: str
    signal: signal.Signals | None = None
    group: bool = False


class Ending:
    """The way from a running terraform to an ended one.

    SIGINT once, and then patience: terraform waits for what is in flight and writes it to its state, while a killed one
    forgets machines that it was just creating. So only a second request, or a time limit that has passed for longer
    than ``grace``, sends more: SIGTERM, on which terraform leaves at once, and SIGKILL to all of its processes.
    Times are seconds of any one clock. ``timed_out`` and ``forced`` (by more than SIGINT) tell it afterwards.
    """

    def __init__(self, *, deadline: float, grace: float) -> None:
        self.timed_out = False
        self.forced = False
        self._deadline = deadline
        self._grace = grace
        self._sent: signal.Signals | None = None
        self._since = 0.0
        self._reminded = False

    def due(self, now: float, requests: int) -> Due | None:
        """What is due at ``now``, after so many ``requests`` to stop; each thing once."""
        if self._sent is None:
            return self._first(now, requests)
        waited = now - self._since
        if self._sent is signal.SIGINT:
            return self._after_sigint(now, requests, waited)
        if self._sent is signal.SIGTERM and (requests >= 3 or waited >= KILL_AFTER_SECONDS):
            return self._send(now, signal.SIGKILL, "terraform did not leave: killing it and its providers", group=True)
        return None

    def _first(self, now: float, requests: int) -> Due | None:
        wait = f"terraform finishes what is in flight and writes its state (allow up to {self._grace:.0f} s)"
        if requests:
            return self._send(now, signal.SIGINT, f"stopping: {wait}; ask again to end it at once")
        if now >= self._deadline:
            self.timed_out = True
            return self._send(now, signal.SIGINT, f"time limit reached, stopping: {wait}")
        return None

    def _after_sigint(self, now: float, requests: int, waited: float) -> Due | None:
        lost = "what it was creating may be missing from its state"
        if requests >= 2:
            return self._send(now, signal.SIGTERM, f"ending terraform at once: {lost}")
        if waited < self._grace:
            return None
        if now >= self._deadline:
            self.timed_out = True
            return self._send(now, signal.SIGTERM, f"terraform did not stop in {waited:.0f} s, ending it: {lost}")
        if not self._reminded:
            self._reminded = True
            return Due(notice=f"terraform is still finishing after {waited:.0f} s; ask again to end it at once")
        return None

    def _send(self, now: float, number: signal.Signals, notice: str, *, group: bool = False) -> Due:
        self._sent = number
        self.forced = number is not signal.SIGINT
        self._since = now
        return Due(notice=notice, signal=number, group=group)
