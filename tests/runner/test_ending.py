from __future__ import annotations

import signal

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.runner.ending import KILL_AFTER_SECONDS, Due, Ending


def sent(due: Due | None) -> signal.Signals | None:
    return None if due is None else due.signal


def an_ending(deadline: float = 1000.0, grace: float = 120.0) -> Ending:
    return Ending(deadline=deadline, grace=grace)


def test_nothing_is_due_while_all_is_well() -> None:
    assert an_ending().due(999.0, 0) is None


def test_a_request_sends_sigint_once_and_says_what_it_waits_for() -> None:
    ending = an_ending()
    due = ending.due(1.0, 1)
    assert due is not None and due.signal is signal.SIGINT and not due.group
    assert "writes its state" in due.notice and "120 s" in due.notice
    assert ending.due(2.0, 1) is None
    assert not ending.forced


def test_patience_ends_in_a_reminder_and_not_in_a_kill() -> None:
    ending = an_ending(deadline=10_000.0)
    ending.due(1.0, 1)
    assert ending.due(120.9, 1) is None
    due = ending.due(121.0, 1)
    assert due is not None and due.signal is None and "ask again" in due.notice
    assert ending.due(9_000.0, 1) is None


def test_a_second_request_ends_it_at_once_and_a_third_kills() -> None:
    ending = an_ending()
    assert sent(ending.due(1.0, 2)) is signal.SIGINT
    assert sent(ending.due(1.1, 2)) is signal.SIGTERM
    assert ending.forced
    assert ending.due(1.2, 2) is None
    due = ending.due(1.3, 3)
    assert due is not None and due.signal is signal.SIGKILL and due.group
    assert ending.due(100.0, 9) is None


def test_sigterm_that_does_not_help_is_followed_by_sigkill() -> None:
    ending = an_ending()
    ending.due(1.0, 2)
    ending.due(1.0, 2)
    assert ending.due(1.0 + KILL_AFTER_SECONDS - 0.1, 2) is None
    assert sent(ending.due(1.0 + KILL_AFTER_SECONDS, 2)) is signal.SIGKILL


def test_the_time_limit_takes_the_same_way() -> None:
    ending = an_ending(deadline=10.0, grace=5.0)
    assert ending.due(9.9, 0) is None
    assert sent(ending.due(10.0, 0)) is signal.SIGINT
    assert ending.timed_out and not ending.forced
    assert ending.due(14.9, 0) is None
    assert sent(ending.due(15.0, 0)) is signal.SIGTERM
    assert ending.forced


def test_one_ctrl_c_after_the_time_limit_is_not_the_second() -> None:
    ending = an_ending(deadline=10.0, grace=5.0)
    ending.due(10.0, 0)
    assert ending.due(11.0, 1) is None


def test_a_stopped_command_is_still_bound_by_its_time_limit() -> None:
    ending = an_ending(deadline=300.0, grace=120.0)
    ending.due(1.0, 1)
    ending.due(121.0, 1)
    assert ending.due(299.0, 1) is None
    assert sent(ending.due(300.0, 1)) is signal.SIGTERM
    assert ending.timed_out


@given(st.lists(st.tuples(st.floats(0, 500), st.integers(0, 4))))
def test_each_signal_at_most_once_and_in_order(steps: list[tuple[float, int]]) -> None:
    ending = an_ending(deadline=200.0, grace=50.0)
    order = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
    seen = [number for now, asked in sorted(steps) if (number := sent(ending.due(now, asked))) is not None]
    assert seen == order[: len(seen)]
