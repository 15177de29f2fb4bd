"""The simulated cloud's own API, and the boot that it plays."""

from __future__ import annotations

import base64
import gzip
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.errors import Busy, CloudCallFailed, ConfigInvalid, StoreDamaged
from orchestrator.model.machine import Machine, MachineState
from orchestrator.sandbox.cloud import SimulatedCloud
from orchestrator.sandbox.database import Database, database_path
from orchestrator.sandbox.faults import Fault
from orchestrator.sandbox.machines import SandboxMachines, preempt
from orchestrator.stack.cloudinit import user_data
from orchestrator.stack.readiness import STEPS, from_console, from_status_json, status_uri
from tests.build import a_launch
from tests.sandbox.build_sandbox import AWS, DEPLOYMENT, KEY, TAGS, USER_DATA, a_machine, a_provider, machines_of, made

BOOT = timedelta(hours=1)


def a_cloud(tmp_path: Path, user_data: str = USER_DATA) -> tuple[SimulatedCloud, SandboxMachines, str]:
    """One machine, whose boot takes an hour of simulated time, so that real time does not matter."""
    simulated = SimulatedCloud(tmp_path / "provider.sqlite")
    simulated.boot_seconds = BOOT.total_seconds()
    machine = a_machine(a_provider(tmp_path), user_data=user_data)
    return simulated, machines_of(simulated), str(machine["id"])


def the_machine(api: SandboxMachines) -> Machine:
    (machine,) = api.find(DEPLOYMENT)
    return machine


def test_a_machine_is_pending_then_running_then_gone(tmp_path: Path) -> None:
    simulated, api, id_ = a_cloud(tmp_path)
    machine = the_machine(api)
    assert machine.state is MachineState.PENDING
    assert (machine.region, machine.zone, machine.instance_type) == ("us-east-1", "us-east-1b", "p4d.24xlarge")
    assert machine.market == "spot"
    assert machine.address.startswith("203.0.113.")
    assert machine.launched_at is not None
    simulated.advance(BOOT / 5)
    assert the_machine(api).state is MachineState.RUNNING
    api.terminate(id_, DEPLOYMENT)
    api.terminate(id_, DEPLOYMENT)
    gone = the_machine(api)
    assert (gone.state, gone.address) == (MachineState.GONE, "")
    assert gone.state_reason.startswith("Client.UserInitiatedShutdown")


def test_the_boot_is_played_step_by_step_on_the_simulated_clock(tmp_path: Path) -> None:
    simulated, api, id_ = a_cloud(tmp_path)
    assert api.console(id_) == ""
    seen = []
    for _ in range(len(STEPS)):
        simulated.advance(BOOT / len(STEPS))
        report = from_console(api.console(id_), DEPLOYMENT)
        assert report is not None
        seen.append((report.step, report.number, report.ready))
    assert seen == [(step, number, step == "ready") for number, step in enumerate(STEPS, start=1)]
    assert f"gpuorch-ready {DEPLOYMENT}" in api.console(id_)
    assert "simulated" in api.console(id_).splitlines()[0]


def test_the_status_is_uploaded_where_the_bootstrap_would_put_it(tmp_path: Path) -> None:
    simulated, api, _ = a_cloud(tmp_path)
    uri = status_uri("s3://bucket/prefix", DEPLOYMENT)
    assert api.read_object(uri) is None
    simulated.advance(BOOT / 2)
    text = api.read_object(uri)
    assert text is not None
    report = from_status_json(text, "marker", DEPLOYMENT)
    assert report is not None
    assert not report.ready
    assert api.read_object(status_uri("s3://other/prefix", DEPLOYMENT)) is None
    simulated.put_object(uri, "mine")
    assert api.read_object(uri) == "mine"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("#!/bin/sh\necho hello\n", "its first line is not #cloud-config"),
        ("#cloud-config\n: : :\n  - [\n", "not YAML"),
        ("#cloud-config\n- a\n", "not a mapping"),
        ("#cloud-config\n", "has no /etc/gpuorch/deployment.env"),
        (
            '#cloud-config\nwrite_files:\n- path: /etc/gpuorch/deployment.env\n  content: "A=\'"\n',
            "a line that no shell reads",
        ),
        (
            "#cloud-config\nwrite_files:\n- path: /etc/gpuorch/deployment.env\n  encoding: gz+b64\n  content: QQ==\n",
            "is not gz+b64",
        ),
    ],
)
def test_user_data_that_would_not_boot_never_gets_ready_and_says_why(tmp_path: Path, text: str, words: str) -> None:
    simulated, api, id_ = a_cloud(tmp_path, text)
    simulated.advance(BOOT * 2)
    assert words in api.console(id_)
    assert "gpuorch-ready" not in api.console(id_)
    assert from_console(api.console(id_), DEPLOYMENT) is None


def test_the_user_data_that_we_render_boots(tmp_path: Path) -> None:
    launch = a_launch(deployment_id=DEPLOYMENT, ttl=timedelta(hours=8))
    simulated, api, id_ = a_cloud(tmp_path, user_data(launch))
    simulated.advance(BOOT)
    report = from_console(api.console(id_), DEPLOYMENT)
    assert report is not None
    assert report.ready
    simulated.advance(timedelta(hours=7, minutes=1))
    machine = the_machine(api)
    assert machine.state is MachineState.GONE
    assert machine.state_reason.startswith("Client.InstanceInitiatedShutdown")


def test_packed_user_data_boots_as_well(tmp_path: Path) -> None:
    packed = base64.b64encode(gzip.compress(USER_DATA.encode())).decode()
    a_machine(a_provider(tmp_path), user_data=None, user_data_base64=packed)
    simulated = SimulatedCloud(tmp_path / "provider.sqlite")
    simulated.advance(timedelta(minutes=1))
    api = machines_of(simulated)
    assert f"gpuorch-ready {DEPLOYMENT}" in api.console(the_machine(api).id)


def test_a_step_that_was_ordered_to_fail_fails(tmp_path: Path) -> None:
    simulated, api, id_ = a_cloud(tmp_path)
    simulated.order_fault(Fault(operation="boot", error="gpus", detail="GpuCountShort: the driver shows 7 of 8 GPUs"))
    simulated.advance(BOOT)
    report = from_console(api.console(id_), DEPLOYMENT)
    assert report is not None
    assert (report.step, report.failed) == ("gpus", "GpuCountShort: the driver shows 7 of 8 GPUs")
    simulated.clear_faults()
    simulated.order_fault(Fault(operation="boot", delay_before=BOOT.total_seconds() * 2))
    assert api.console(id_) == "", "a slow boot"
    assert the_machine(api).state is MachineState.PENDING


def test_a_preempted_machine_is_gone_after_its_notice_for_the_cloud_s_reason(tmp_path: Path) -> None:
    simulated, api, id_ = a_cloud(tmp_path)
    simulated.preempt(DEPLOYMENT, reason="ours", notice=timedelta(minutes=2))
    assert the_machine(api).state is not MachineState.GONE
    simulated.advance(timedelta(minutes=2))
    assert (the_machine(api).state, the_machine(api).state_reason) == (MachineState.GONE, "ours")
    assert preempt(simulated.path, AWS, DEPLOYMENT) == (), "there is none left to take"
    assert id_ not in {each.id for each in api.resources(DEPLOYMENT)}


def test_interruption_is_told_in_the_provider_s_words(tmp_path: Path) -> None:
    simulated, api, id_ = a_cloud(tmp_path)
    assert preempt(simulated.path, AWS, DEPLOYMENT) == (id_,)
    assert the_machine(api).state_reason.startswith("Server.SpotInstanceTermination")


def test_somebody_else_s_machine_is_never_touched(tmp_path: Path) -> None:
    _, api, id_ = a_cloud(tmp_path)
    with pytest.raises(CloudCallFailed, match=f"belongs to {DEPLOYMENT}, not to dsomeoneelse"):
        api.terminate(id_, "dsomeoneelse")
    with pytest.raises(CloudCallFailed, match="has no machine i-0"):
        api.terminate("i-0", DEPLOYMENT)
    with pytest.raises(CloudCallFailed, match="has no machine i-0"):
        api.console("i-0")
    assert the_machine(api).state is not MachineState.GONE


def test_a_region_shows_its_own_machines(tmp_path: Path) -> None:
    simulated, _, id_ = a_cloud(tmp_path)
    elsewhere = machines_of(simulated, region="eu-west-1")
    assert elsewhere.find(DEPLOYMENT) == []
    assert elsewhere.resources(DEPLOYMENT) == []
    with pytest.raises(CloudCallFailed):
        elsewhere.terminate(id_, DEPLOYMENT)


def test_resources_are_found_by_tag_or_by_what_they_belong_to(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    machine = a_machine(provider)
    role = made(provider, "aws_iam_role", name="gpuorch-r", assume_role_policy="{}", tags=TAGS)
    made(provider, "aws_iam_role_policy", name="checkpoint", role=role["id"], policy="{}")
    made(provider, "aws_key_pair", key_name="other", public_key=KEY)
    found = machines_of(SimulatedCloud(tmp_path / "provider.sqlite")).resources(DEPLOYMENT)
    assert [(each.type, each.import_id) for each in found][2:] == [
        ("aws_instance", machine["id"]),
        ("aws_iam_role", "gpuorch-r"),
        ("aws_iam_role_policy", "gpuorch-r:checkpoint"),
    ]
    assert {each.type: each.address for each in found}["aws_instance"] == "module.machine.aws_instance.machine"


def test_the_cloud_s_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUORCH_SANDBOX_DB", raising=False)
    with pytest.raises(ConfigInvalid, match="GPUORCH_SANDBOX_DB is not set"):
        database_path()
    monkeypatch.setenv("GPUORCH_SANDBOX_DB", str(tmp_path / "a" / "b.sqlite"))
    path = database_path()
    assert SimulatedCloud(path).resources() == []
    with Database(path).writing() as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreDamaged, match="another version"):
        SimulatedCloud(path).resources()


def test_a_cloud_that_stays_locked_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = SimulatedCloud(tmp_path / "c.sqlite")
    with simulated.writing():
        monkeypatch.setattr("orchestrator.sandbox.database._WAIT_SECONDS", 0.1)
        with pytest.raises(Busy):
            simulated.advance(timedelta(1))
    with pytest.raises(ValueError, match="backwards"):
        simulated.advance(timedelta(-1))


def test_who_reads_to_write_later_waits_its_turn(tmp_path: Path) -> None:
    simulated = SimulatedCloud(tmp_path / "c.sqlite")

    def add_one(_: int) -> None:
        with simulated.writing() as transaction:
            before = transaction.setting("count", 0)
            time.sleep(0.05)
            transaction.set_setting("count", before + 1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add_one, range(8)))
    with simulated.reading() as transaction:
        assert transaction.setting("count", 0) == 8


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    simulated = SimulatedCloud(tmp_path / "c.sqlite")
    with pytest.raises(RuntimeError), simulated.writing() as transaction:
        transaction.set_setting("clock_offset", 1e6)
        raise RuntimeError
    with simulated.reading() as transaction:
        assert transaction.setting("clock_offset", 0.0) == 0.0
