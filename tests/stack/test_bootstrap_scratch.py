"""Local disks become scratch space; nothing that may hold somebody's data is ever written to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stack.build_bootstrap import Machine, a_machine_launch

RAID_OF_OURS = "TYPE=linux_raid_member\nLABEL=any:gpuorch-scratch\n"
FILES_OF_OURS = "LABEL=gpuorch-scratch\nTYPE=ext4\n"


def effects(machine: Machine) -> list[str]:
    return [call for call in machine.calls if call.split(" ")[0] in ("mdadm", "mkfs.ext4", "mount")]


def scratch(machine: Machine) -> str:
    text = machine.path("/var/lib/gpuorch/scratch").read_text().strip()
    return text.removeprefix(str(machine.path("")))


def test_two_disks_become_one_raid_0(tmp_path: Path) -> None:
    machine = (
        Machine(tmp_path).disk("nvme2n1").disk("nvme1n1", links=("nvme-Local_Storage_A", "nvme-Local_Storage_A_1"))
    )
    ended = machine.run("scratch")
    assert ended.returncode == 0, ended.stdout
    assert effects(machine) == [
        "mdadm --create /dev/md/gpuorch-scratch --name=gpuorch-scratch --homehost=any --level=0 --raid-devices=2 --run"
        " /dev/nvme1n1 /dev/nvme2n1",
        "mkfs.ext4 -q -F -m 0 -L gpuorch-scratch /dev/md/gpuorch-scratch",
        "mount -o noatime,discard /dev/md/gpuorch-scratch /mnt/scratch",
    ]
    assert scratch(machine) == "/mnt/scratch"
    assert machine.path("/mnt/scratch").stat().st_mode & 0o7777 == 0o1777


def test_one_disk_needs_no_raid(tmp_path: Path) -> None:
    machine = Machine(tmp_path).disk("nvme1n1")
    machine.run("scratch")
    assert effects(machine) == [
        "mkfs.ext4 -q -F -m 0 -L gpuorch-scratch /dev/nvme1n1",
        "mount -o noatime,discard /dev/nvme1n1 /mnt/scratch",
    ]


@pytest.mark.parametrize(
    "plugged",
    [
        {"holds": "LABEL=research\nTYPE=xfs\n"},
        {"holds": "TYPE=linux_raid_member\nLABEL=host:data\n"},
        {"holds": "TYPE=linux_raid_member\nLABEL=any:not-gpuorch-scratch\n"},
        {"holds": "TYPE=LVM2_member\n"},
        {"holds": "PTTYPE=gpt\n"},
        {"holds": "TYPE=ext4\nLABEL=gpuorch-scratch-of-mine\n"},
        {"holds": "TYPE=ext4\nUUID=1\nPART_ENTRY_NAME=LABEL=gpuorch-scratch\n"},
        {"users": "nvme1n1p1\n"},
    ],
)
def test_a_disk_that_holds_something_else_is_left_alone(tmp_path: Path, plugged: dict[str, str]) -> None:
    machine = Machine(tmp_path).disk("nvme1n1", **plugged)  # type: ignore[arg-type]
    ended = machine.run("scratch")
    assert ended.returncode == 0
    assert effects(machine) == []
    assert "/dev/nvme1n1 is in use or holds data: left alone" in ended.stdout
    assert scratch(machine) == ""


def test_beside_a_foreign_disk_the_blank_one_is_used(tmp_path: Path) -> None:
    machine = Machine(tmp_path).disk("nvme1n1", holds="TYPE=xfs\n").disk("nvme2n1")
    machine.run("scratch")
    assert effects(machine) == [
        "mkfs.ext4 -q -F -m 0 -L gpuorch-scratch /dev/nvme2n1",
        "mount -o noatime,discard /dev/nvme2n1 /mnt/scratch",
    ]


def test_a_probe_that_is_not_sure_counts_as_data(tmp_path: Path) -> None:
    machine = Machine(tmp_path).disk("nvme1n1")
    (tmp_path / "bin" / "blkid").write_text("#!/bin/bash\nexit 8\n")  # ambivalent, as for two signatures at once
    assert machine.run("scratch").returncode == 0
    assert effects(machine) == []


def test_disks_that_the_image_does_not_name_are_not_looked_at(tmp_path: Path) -> None:
    machine = Machine(tmp_path).disk("nvme0n1", links=("nvme-Block_Store_vol1", "nvme-Local_Storage_x-part1"))
    machine.run("scratch")
    assert effects(machine) == []
    assert not any(call.startswith(("blkid", "lsblk")) for call in machine.calls)
    nothing_named = Machine(tmp_path / "none", a_machine_launch(image={"local_disks": ()})).disk("nvme1n1")
    nothing_named.run("scratch")
    assert effects(nothing_named) == []


def test_run_again_it_changes_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path).disk("nvme1n1").disk("nvme2n1")
    machine.run("scratch")
    before = effects(machine)
    assert machine.run("scratch").returncode == 0
    assert effects(machine) == before


def test_after_a_reboot_the_contents_are_kept(tmp_path: Path) -> None:
    machine = Machine(tmp_path).disk("nvme1n1").disk("nvme2n1")
    machine.run("scratch")
    before = len(effects(machine))
    machine.boot().run("scratch")
    assert effects(machine)[before:] == [
        "mdadm --assemble /dev/md/gpuorch-scratch /dev/nvme1n1 /dev/nvme2n1",
        "mount -o noatime,discard /dev/md127 /mnt/scratch",
    ]


def test_after_a_stop_and_start_the_blank_disks_are_made_new(tmp_path: Path) -> None:
    machine = Machine(tmp_path).disk("nvme1n1").disk("nvme2n1")
    machine.run("scratch")
    before = effects(machine)
    for disk in ("nvme1n1", "nvme2n1", "gpuorch-scratch", "md127"):
        machine.unset(f"blkid.{disk}").unset(f"lsblk.{disk}")
    machine.boot().run("scratch")
    assert effects(machine) == before * 2


def test_a_half_made_file_system_is_made_again_and_a_whole_one_never(tmp_path: Path) -> None:
    cut_short = Machine(tmp_path / "cut").disk("nvme1n1", holds=FILES_OF_OURS)
    cut_short.run("scratch")
    assert [call.split(" ")[0] for call in effects(cut_short)] == ["mkfs.ext4", "mount"]
    whole = Machine(tmp_path / "whole").disk("nvme1n1")
    whole.run("scratch")
    whole.boot().run("scratch")
    assert [call.split(" ")[0] for call in effects(whole)] == ["mkfs.ext4", "mount", "mount"]


def test_a_foreign_file_system_on_our_array_is_mounted_and_not_made_new(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for disk in ("nvme1n1", "nvme2n1"):
        machine.disk(disk, holds=RAID_OF_OURS, users="/dev/md127 raid0\n")
    machine.set("blkid.md127", "TYPE=xfs\nLABEL=mine\n")
    machine.run("scratch")
    assert [call.split(" ")[0] for call in effects(machine)] == ["mdadm", "mount"]


def test_without_mdadm_one_disk_is_used(tmp_path: Path) -> None:
    machine = Machine(tmp_path).disk("nvme1n1").disk("nvme2n1")
    (tmp_path / "bin" / "mdadm").unlink()
    ended = machine.run("scratch")
    assert "only /dev/nvme1n1 of 2 local disks is used" in ended.stdout.replace(str(machine.path("")) + "/", "/")
    assert effects(machine)[0] == "mkfs.ext4 -q -F -m 0 -L gpuorch-scratch /dev/nvme1n1"


def test_the_images_own_mount_is_used_as_it_is(tmp_path: Path) -> None:
    machine = Machine(tmp_path, a_machine_launch(image={"scratch": "/opt/image/nvme"})).disk("nvme1n1")
    machine.set("mounts", "/opt/image/nvme\n").run("scratch")
    assert effects(machine) == []
    assert machine.path("/var/lib/gpuorch/scratch").read_text() == "/opt/image/nvme\n"


def test_an_image_that_mounts_nothing_means_no_scratch(tmp_path: Path) -> None:
    machine = Machine(tmp_path, a_machine_launch(image={"scratch": "/opt/image/nvme"})).disk("nvme1n1")
    ended = machine.run("scratch")
    assert ended.returncode == 0
    assert "no scratch: the image has mounted nothing at /opt/image/nvme" in ended.stdout
    assert effects(machine) == []
    assert scratch(machine) == ""


def test_a_disk_that_breaks_is_a_failed_step_with_the_tools_own_words(tmp_path: Path) -> None:
    machine = Machine(tmp_path).disk("nvme1n1").set("mkfs-fails")
    assert [machine.run().returncode for _ in range(4)] == [1, 1, 1, 2]
    assert machine.status["failed"] == "ScratchFailed: mkfs.ext4: Input/output error"
    assert machine.status["step"] == "scratch"
