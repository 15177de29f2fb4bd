"""An image without a driver: the bootstrap installs it with the command that the image's description names."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.stack.cloudinit import deployment_env
from tests.stack.build_bootstrap import Machine, a_machine_launch

INSTALLS = ("bash", "-c", 'mkdir "$FAKE/installed" && touch "$FAKE/driver"')
FAILS = ("bash", "-c", "touch \"$FAKE/tried.$RANDOM\"; echo 'E: Unable to locate package'; exit 100")


def a_machine(folder: Path, command: tuple[str, ...]) -> Machine:
    return Machine(folder, a_machine_launch(image={"install_driver": command}))


def test_it_is_installed_where_none_works(tmp_path: Path) -> None:
    machine = a_machine(tmp_path, INSTALLS).unset("driver")
    ended = machine.run()
    assert ended.returncode == 0, ended.stdout
    assert (tmp_path / "installed").is_dir()
    assert machine.status["ready"] is True


def test_a_driver_that_works_is_left_as_it_is(tmp_path: Path) -> None:
    machine = a_machine(tmp_path, INSTALLS)
    assert machine.run().returncode == 0
    assert not (tmp_path / "installed").exists()


def test_a_second_run_after_a_cut_finds_it(tmp_path: Path) -> None:
    # mkdir would fail the second time.
    machine = a_machine(tmp_path, INSTALLS).unset("driver").set("smoke-fails")
    machine.run()
    machine.unset("smoke-fails")
    assert machine.run().returncode == 0


def test_an_installation_that_fails_is_tried_again_and_then_told(tmp_path: Path) -> None:
    machine = a_machine(tmp_path, FAILS).unset("driver")
    codes = [machine.run().returncode for _ in range(4)]
    assert codes == [1, 1, 1, 2]
    assert machine.status["failed"] == "DriverMissing: E: Unable to locate package"
    assert machine.status["step"] == "driver"


def test_one_that_fails_once_is_made_good(tmp_path: Path) -> None:
    command = ("bash", "-c", '[ -e "$FAKE/online" ] || { echo "no network"; exit 1; }; touch "$FAKE/driver"')
    machine = a_machine(tmp_path, command).unset("driver")
    assert machine.run().returncode == 1
    machine.set("online")
    assert machine.run().returncode == 0


@pytest.mark.parametrize("command", [(), INSTALLS])
def test_the_machine_s_data_name_it_only_where_there_is_one(command: tuple[str, ...]) -> None:
    text = deployment_env(a_machine_launch(image={"install_driver": command}))
    assert ("INSTALL_DRIVER=" in text) == bool(command)
