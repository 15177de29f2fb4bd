"""The dead-man switch: a machine ends itself when its time is over, whatever happens to it and its clock."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tests.stack.build_bootstrap import Machine, a_machine_launch

START = 1_796_000_000
TTL = 8 * 3600


class Clocked:
    """A machine whose ``date`` is ours: wall time and uptime go on together unless the clock is set."""

    def __init__(self, folder: Path) -> None:
        self.machine = Machine(folder, a_machine_launch(ttl=timedelta(seconds=TTL)))
        (folder / "bin" / "date").unlink()
        (folder / "bin" / "date").write_text('#!/bin/bash\ncat "$FAKE/now"\n')
        (folder / "bin" / "date").chmod(0o755)
        self.now, self.uptime = START, 60

    def look(self, after: int = 0) -> bool:
        """Whether the machine powers itself off when the timer calls the switch ``after`` seconds later."""
        self.now += after
        self.uptime += after
        self.machine.unset("calls").set("now", str(self.now)).up(self.uptime)
        ended = self.machine.run("expire")
        assert ended.returncode == 0, ended.stdout
        return "systemctl poweroff -i" in self.machine.calls

    def reboot(self, seconds: int = 90) -> None:
        self.now += seconds
        self.uptime = 30
        self.machine.boot(self.uptime)

    @property
    def expires_at(self) -> int:
        return int(self.machine.path("/var/lib/gpuorch/expires_at").read_text())


def test_the_time_begins_with_the_first_boot_and_is_written_once(tmp_path: Path) -> None:
    clocked = Clocked(tmp_path)
    assert not clocked.look()
    assert clocked.expires_at == START - 60 + TTL
    assert not clocked.look(3600)
    assert clocked.expires_at == START - 60 + TTL


def test_it_powers_off_when_the_time_is_over_and_not_a_second_before(tmp_path: Path) -> None:
    clocked = Clocked(tmp_path)
    clocked.look()
    assert not clocked.look(TTL - 61)
    assert clocked.look(1)


def test_a_reboot_does_not_begin_the_time_anew(tmp_path: Path) -> None:
    clocked = Clocked(tmp_path)
    clocked.look()
    clocked.reboot()
    assert not clocked.look(3600)
    clocked.reboot(TTL)
    assert clocked.look()


def test_a_clock_that_is_set_forward_ends_nothing_early(tmp_path: Path) -> None:
    clocked = Clocked(tmp_path)
    clocked.now -= 10 * 365 * 86400  # years behind until the network's time is there
    clocked.look()
    clocked.now += 10 * 365 * 86400
    assert not clocked.look(60)
    assert not clocked.look(TTL - 121)
    assert clocked.look(1)


def test_a_clock_that_is_set_back_prolongs_nothing(tmp_path: Path) -> None:
    clocked = Clocked(tmp_path)
    clocked.look()
    clocked.now -= 86400
    assert not clocked.look(TTL - 61)
    assert clocked.look(1)


def test_a_person_can_give_it_more_time(tmp_path: Path) -> None:
    clocked = Clocked(tmp_path)
    clocked.look()
    clocked.machine.path("/var/lib/gpuorch/expires_at").write_text(f"{START + 2 * TTL}\n")
    assert not clocked.look(TTL + 3600)
    assert clocked.look(TTL - 3600)


def test_a_damaged_file_starts_from_this_boot(tmp_path: Path) -> None:
    clocked = Clocked(tmp_path)
    for damaged in ("", "soon\n", "-5\n", "0\n", "9" * 40, "1 2\n"):
        path = clocked.machine.path("/var/lib/gpuorch/expires_at")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(damaged)
        assert not clocked.look()
        assert clocked.expires_at == START - 60 + TTL


def test_a_full_disk_does_not_keep_it_alive(tmp_path: Path) -> None:
    clocked = Clocked(tmp_path)
    state = clocked.machine.path("/var/lib/gpuorch")
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text("")  # a file where the folder must be: nothing can be written there
    assert not clocked.look()
    assert not clocked.look(TTL - 61)
    assert clocked.look(1)


def test_it_is_forced_where_the_asking_fails(tmp_path: Path) -> None:
    clocked = Clocked(tmp_path)
    systemctl = tmp_path / "bin" / "systemctl"
    systemctl.write_text(systemctl.read_text() + '\n[ "$2" != -i ]\n')
    clocked.look()
    assert clocked.look(TTL)
    assert "systemctl poweroff --force" in clocked.machine.calls


def with_a_way_to_end(folder: Path, *command: str) -> Clocked:
    """A machine on a cloud where powered off does not mean gone."""
    clocked = Clocked(folder)
    env = clocked.machine.path("/etc/gpuorch/deployment.env")
    env.write_text(env.read_text() + f"END=({' '.join(command)})\n")
    return clocked


def test_where_powered_off_is_not_gone_the_images_own_command_ends_it(tmp_path: Path) -> None:
    clocked = with_a_way_to_end(tmp_path, "upload", "/dev/null", "the-end")
    assert not clocked.look()
    assert not clocked.look(TTL - 61)
    assert not clocked.look(1)  # it is not powered off: that would only stop the asking
    assert any(call.startswith("upload /dev/null the-end") for call in clocked.machine.calls)


def test_what_fails_to_end_it_is_tried_again(tmp_path: Path) -> None:
    clocked = with_a_way_to_end(tmp_path, "false")
    clocked.look()
    clocked.now += TTL
    clocked.uptime += TTL
    clocked.machine.set("now", str(clocked.now)).up(clocked.uptime)
    failed = clocked.machine.run("expire")
    assert failed.returncode != 0
    assert "time of this machine is over" in failed.stdout
