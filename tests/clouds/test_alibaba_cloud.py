"""Alibaba Cloud as data: the cloud, its images, its settings, and what is refused before anything is made."""

from __future__ import annotations

import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.alibaba.cloud import CLOUD
from orchestrator.clouds.alibaba.types import family_of, has_nvswitch, is_share
from orchestrator.clouds.alibaba.upload import UPLOAD_COMMAND
from orchestrator.clouds.registry import cloud, cloud_names
from orchestrator.errors import ConfigInvalid, UsageError
from orchestrator.model.launch import Launch
from orchestrator.model.offer import Offer
from tests.build import a_launch, an_offer


def an_alibaba_offer(**changes: Any) -> Offer:
    values: dict[str, Any] = {
        "cloud": "alibaba",
        "instance_type": "ecs.gn6v-c8g1.2xlarge",
        "region": "cn-shanghai",
        "zone": "cn-shanghai-f",
        "accelerator": "V100-16GB",
        "gpu_count": Decimal(1),
    }
    return an_offer(**(values | changes))


def a_launch_there(**changes: Any) -> Launch:
    offer = changes.pop("offer", an_alibaba_offer())
    return a_launch(**({"offer": offer, "image": CLOUD.image(offer)} | changes))


def test_is_registered_and_complete() -> None:
    assert "alibaba" in cloud_names()
    assert cloud("alibaba") is CLOUD
    assert (CLOUD.module / "main.tf").is_file()
    assert CLOUD.user_data_limit_bytes == 32768


def test_provider_files_hold_no_value() -> None:
    (text,) = CLOUD.provider_files.values()
    assert "region = var.region" in text
    assert "key" not in text


def test_session_command_names_region_and_machine() -> None:
    assert CLOUD.session_command is not None
    assert list(CLOUD.session_command("cn-shanghai", "i-1"))[:2] == ["ali-instance-cli", "session"]
    assert {"cn-shanghai", "i-1"} <= set(CLOUD.session_command("cn-shanghai", "i-1"))


def test_our_own_address_is_asked_of_the_user() -> None:
    with pytest.raises(UsageError) as caught:
        CLOUD.caller_address()
    assert "--ssh-from" in caught.value.hint


# -- credentials


@pytest.mark.parametrize("variable", ["ALICLOUD_ACCESS_KEY", "ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_PROFILE"])
def test_credentials_by_variable(tmp_path: Path, variable: str) -> None:
    assert CLOUD.no_credentials({"HOME": str(tmp_path), variable: "x"}) == ""


def test_credentials_by_file_and_none(tmp_path: Path) -> None:
    assert "aliyun configure" in CLOUD.no_credentials({"HOME": str(tmp_path)})
    (tmp_path / ".aliyun").mkdir()
    (tmp_path / ".aliyun" / "config.json").write_text("{}")
    assert CLOUD.no_credentials({"HOME": str(tmp_path)}) == ""


def test_a_machine_of_theirs_may_have_a_role(tmp_path: Path) -> None:
    from orchestrator.clouds.alibaba.credentials import no_credentials

    vendor = tmp_path / "sys_vendor"
    vendor.write_text("Alibaba Cloud\n")
    assert no_credentials({"HOME": str(tmp_path)}, vendor=vendor) == ""


# -- types and images


@pytest.mark.parametrize(
    ("instance_type", "family", "share", "nvswitch"),
    [
        ("ecs.gn6v-c8g1.2xlarge", "gn6v", False, False),
        ("ecs.gn7e-c16g1.32xlarge", "gn7e", False, True),
        ("ecs.ebmgn7e.32xlarge", "ebmgn7e", False, True),
        ("ecs.gn7i-c8g1.2xlarge", "gn7i", False, False),
        ("ecs.vgn6i-m4.xlarge", "vgn6i", True, False),
        ("ecs.sgn7i-vws-m2.xlarge", "sgn7i", True, False),
        ("p4d.24xlarge", "", False, False),
    ],
)
def test_what_names_of_types_tell(instance_type: str, family: str, share: bool, nvswitch: bool) -> None:
    assert (family_of(instance_type), is_share(instance_type), has_nvswitch(instance_type)) == (family, share, nvswitch)


def test_the_default_image_gets_a_driver() -> None:
    image = CLOUD.image(an_alibaba_offer())
    assert (image.reference, image.ssh_user, image.driver) == ("family:acs:ubuntu_24_04_x64", "root", "nvidia")
    script = image.install_driver[-1]
    assert "nvidia-headless-570-server" in script
    assert "fabricmanager" not in script
    eight = an_alibaba_offer(instance_type="ecs.ebmgn7e.32xlarge", accelerator="A100-80GB", gpu_count=Decimal(8))
    assert "nvidia-fabricmanager-570" in CLOUD.image(eight).install_driver[-1]
    done = subprocess.run(["bash", "-n", "-c", script], capture_output=True, check=False)
    assert done.returncode == 0


def test_a_machine_without_gpus_gets_none() -> None:
    image = CLOUD.image(an_alibaba_offer(accelerator="", gpu_count=Decimal(0), instance_type="ecs.g8i.large"))
    assert (image.driver, image.install_driver) == ("none", ())


@pytest.mark.parametrize(
    "changes",
    [
        {"instance_type": "ecs.vgn6i-m4.xlarge", "gpu_count": Decimal("0.25")},
        {"gpu_count": Decimal("0.5")},
        {"accelerator": "MI300X"},
    ],
)
def test_no_default_image_for_parts_of_gpus_and_others(changes: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        CLOUD.image(an_alibaba_offer(**changes))
    assert "--image" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "installs"),
    [
        ("m-bp146shijn7hujkui9j8", False),
        ("ubuntu_22_04_x64_20G_alibase_20240101.vhd", True),
        ("aliyun_3_x64_20G_alibase_20240101.vhd", False),
        ("family:acs:ubuntu_22_04_x64", True),
        ("family:acs:alibaba_cloud_linux_3_2104_lts_x64", False),
    ],
)
def test_own_images(text: str, installs: bool) -> None:
    image = CLOUD.own_image(text, an_alibaba_offer())
    assert image.reference == text
    assert bool(image.install_driver) is installs


@pytest.mark.parametrize("text", ["ami-0123456789abcdef0", "family:ubuntu", "x y", ""])
def test_no_images(text: str) -> None:
    with pytest.raises(UsageError):
        CLOUD.own_image(text, an_alibaba_offer())


# -- settings


def test_settings_become_variables() -> None:
    assert CLOUD.module_variables(a_launch_there()) == {
        "price_limit_rate": 1.0,
        "spot_protected_hours": 1,
        "internet_mbps": None,
    }
    said = {"price_limit_rate": "7.1", "spot_protected_hours": "0", "internet_mbps": "5"}
    assert CLOUD.module_variables(a_launch_there(cloud_settings=said)) == {
        "price_limit_rate": 7.1,
        "spot_protected_hours": 0,
        "internet_mbps": 5,
    }


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("price_limit_rate", "0"),
        ("price_limit_rate", "inf"),
        ("price_limit_rate", "seven"),
        ("spot_protected_hours", "2"),
        ("internet_mbps", "2.5"),
        ("internet_mbps", "nan"),
        ("internet_mbps", "101"),
    ],
)
def test_settings_that_are_none(key: str, text: str) -> None:
    with pytest.raises(ConfigInvalid, match=key):
        CLOUD.check(a_launch_there(cloud_settings={key: text}))


# -- what is refused before anything is made


@pytest.mark.parametrize(
    "changes",
    [
        {"offer": an_alibaba_offer(region="Shanghai", zone="")},
        {"offer": an_alibaba_offer(zone="cn-beijing-h")},
        {"offer": an_alibaba_offer(instance_type="gn6v-c8g1.2xlarge")},
        {"subnet": "subnet-0123456789abcdef0"},
        {"checkpoint_uri": "s3://bucket/prefix"},
        {"checkpoint_uri": "oss://bucket/pre*"},
        {"disk_gib": 10},
        {"disk_gib": 4096},
        {"labels": {"acs:x": "1"}},
        {"labels": {"x": "aliyun"}},
        {"labels": {"x": "http://x"}},
        {"labels": {"gpuorch:x": "1"}},
        {"labels": {"x": "y" * 129}},
        {"labels": {f"k{number}": "v" for number in range(15)}},
        {"ssh_public_key": "ssh-dss AAAA x"},
        {"ssh_allowed_cidrs": ("0.0.0.0/0",)},
        {"ssh_allowed_cidrs": ("::/0",)},
        {"ssh_allowed_cidrs": ("203.0.113.300/32",)},
    ],
    ids=str,
)
def test_refused(changes: dict[str, Any]) -> None:
    if "offer" in changes:
        changes = {**changes, "image": CLOUD.image(an_alibaba_offer())}
    with pytest.raises(UsageError) as caught:
        CLOUD.check(a_launch_there(**changes))
    assert caught.value.hint


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"offer": an_alibaba_offer(region="us-east-1", zone="us-east-1a")},
        {"offer": an_alibaba_offer(region="cn-wulanchabu", zone="")},
        {"subnet": "vsw-bp1s5fnvk4gn2tws03624"},
        {"checkpoint_uri": "oss://models/run a"},
        {"labels": {"team": "研究", "cost centre": "4711"}},
    ],
    ids=str,
)
def test_taken(changes: dict[str, Any]) -> None:
    CLOUD.check(a_launch_there(**changes))


# -- what the machine runs to put its status to OSS


def test_the_upload_puts_a_signed_object(tmp_path: Path) -> None:
    """The script with its own urlopen replaced by a recorder, against the signature that the program checks."""
    from orchestrator.clouds.alibaba.calls import Keys
    from orchestrator.clouds.alibaba.oss import authorization

    python, flag, script, file, uri = UPLOAD_COMMAND
    assert (python, flag, file, uri) == ("python3", "-c", "{file}", "{uri}")
    status = tmp_path / "status.json"
    status.write_text('{"ready": true}')
    recorder = (
        "import io,json,urllib.request as u\n"
        "seen=[]\n"
        "def urlopen(r,timeout):\n"
        " h={k.lower():v for k,v in r.header_items()}\n"
        " seen.append((r.get_method(),r.full_url,h,r.data.decode() if r.data else ''))\n"
        " p=r.full_url\n"
        " if p.endswith('api/token'): a='TOKEN'\n"
        " elif p.endswith('credentials/'): a='gpuorch-g1a2b3c4d5e6'\n"
        " elif 'credentials/' in p: a=json.dumps({'AccessKeyId':'K','AccessKeySecret':'S','SecurityToken':'T'})\n"
        " elif p.endswith('region-id'): a='cn-shanghai'\n"
        " else: a=''\n"
        " return io.BytesIO(a.encode())\n"
        "u.urlopen=urlopen\n"
    )
    run = f"{recorder}\nexec({script!r})\nprint(json.dumps(seen[-1])); print(json.dumps(seen[1][2]))"
    done = subprocess.run(
        [sys.executable, "-c", run, str(status), "oss://models/run a/.gpuorch/g1/status.json"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ},
    )
    import json

    (method, url, headers, data), asked = (json.loads(line) for line in done.stdout.splitlines())
    assert asked["x-aliyun-ecs-metadata-token"] == "TOKEN"
    assert (method, data) == ("PUT", '{"ready": true}')
    assert url == "https://models.oss-cn-shanghai.aliyuncs.com/run%20a/.gpuorch/g1/status.json"
    signed = {name: value for name, value in headers.items() if name.startswith("x-oss-")}
    signed["content-type"] = headers["content-type"]
    keys = Keys(id="K", secret="S", token="T", origin="")
    path = "/models/run%20a/.gpuorch/g1/status.json"
    assert headers["authorization"] == authorization(keys, "cn-shanghai", path, signed, method="PUT")
