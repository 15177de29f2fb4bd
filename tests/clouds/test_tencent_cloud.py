"""Tencent Cloud as data: the cloud, its images, its credentials, and what is refused before anything is made."""

from __future__ import annotations

import base64
import fnmatch
import gzip
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import orchestrator
from orchestrator.clouds.registry import cloud
from orchestrator.clouds.tencent.cloud import CLOUD
from orchestrator.clouds.tencent.credentials import find_credentials, no_credentials, role_credentials, shared_file
from orchestrator.clouds.tencent.images import image, own_image
from orchestrator.clouds.tencent.upload import UPLOAD_COMMAND
from orchestrator.errors import CloudCallFailed, UsageError
from orchestrator.model.demand import Access
from orchestrator.model.launch import Launch
from orchestrator.model.offer import Market, Offer
from orchestrator.stack.cloudinit import user_data
from tests.build import a_launch, an_offer
from tests.clouds.build_tencent import cos_signature


def an_offer_here(**changes: Any) -> Offer:
    values: dict[str, Any] = {
        "cloud": "tencent",
        "region": "ap-guangzhou",
        "zone": "ap-guangzhou-3",
        "instance_type": "GN7.5XLARGE80",
        "accelerator": "T4",
        "gpu_count": Decimal(1),
        "gpu_memory_gib": Decimal(16),
    }
    return an_offer(**(values | changes))


def a_launch_here(**changes: Any) -> Launch:
    offer = changes.pop("offer", {})
    made = an_offer_here(**offer) if isinstance(offer, dict) else offer
    return a_launch(**({"offer": made, "image": image(made)} | changes))


# --- the cloud itself ------------------------------------------------------------------------------------------------


def test_is_registered() -> None:
    assert cloud("tencent") is CLOUD
    assert CLOUD.provider.source == "tencentcloudstack/tencentcloud"
    assert CLOUD.provider.constraint == "~> 1.83"


def test_the_provider_block_holds_no_value() -> None:
    (text,) = CLOUD.provider_files.values()
    assert "region = var.region" in text
    assert "secret" not in text


@pytest.mark.parametrize(
    ("settings", "variables"),
    [
        ({}, {"disk_type": "CLOUD_PREMIUM", "disk_encrypted": True}),
        ({"disk_type": "CLOUD_HSSD", "disk_encryption": "off"}, {"disk_type": "CLOUD_HSSD", "disk_encrypted": False}),
        ({"disk_type": "", "disk_encryption": ""}, {"disk_type": "CLOUD_PREMIUM", "disk_encrypted": True}),
    ],
)
def test_settings_are_the_modules_variables(settings: dict[str, str], variables: dict[str, Any]) -> None:
    assert CLOUD.module_variables(a_launch_here(cloud_settings=settings)) == variables


def test_no_service_tells_the_callers_address() -> None:
    with pytest.raises(UsageError) as refused:
        CLOUD.caller_address()
    assert "--ssh-from" in refused.value.hint


def test_user_data_with_everything_fits_in_the_module_s_form() -> None:
    launch = a_launch_here(
        name="n" * 60, owner="o" * 100, checkpoint_uri=f"cos://ckpt-1250000000/{'p' * 200}", labels={"team": "vision"}
    )
    text = user_data(launch)
    assert len(base64.b64encode(gzip.compress(text.encode()))) < 12 * 1024
    assert len(text.encode()) < CLOUD.user_data_limit_bytes


# --- images ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instance_type", "accelerator", "words"),
    [
        ("GN7.5XLARGE80", "T4", ("nvidia-headless-570-server", "nvidia-utils-570-server", "modprobe nvidia")),
        ("GN10Xp.2XLARGE40", "V100-32GB", ("nvidia-headless-570-server",)),
        ("GT4.41XLARGE948", "A100-40GB", ("nvidia-headless-570-server", "nvidia-fabricmanager-570")),
    ],
)
def test_a_whole_gpu_gets_ubuntu_and_a_driver(instance_type: str, accelerator: str, words: tuple[str, ...]) -> None:
    found = image(an_offer_here(instance_type=instance_type, accelerator=accelerator))
    assert found.reference == r"name:^Ubuntu Server 22\.04 LTS 64\S*$"
    assert (found.ssh_user, found.driver, found.python, found.scratch) == ("ubuntu", "nvidia", "", "")
    program, option, script = found.install_driver
    assert (program, option) == ("bash", "-c")
    assert [word for word in words if word not in script] == []
    assert ("fabricmanager" in script) == instance_type.startswith("GT4")
    assert subprocess.run(["bash", "-n", "-c", script], check=False).returncode == 0


@pytest.mark.parametrize(
    ("instance_type", "count"), [("GN7.LARGE20", "0.25"), ("GN7.2XLARGE40", "0.5"), ("GN9.X", "0.125")]
)
def test_a_share_of_a_gpu_gets_the_guest_driver(instance_type: str, count: str) -> None:
    found = image(an_offer_here(instance_type=instance_type, gpu_count=Decimal(count)))
    assert re.search(found.reference.removeprefix("name:"), "Ubuntu 20.04 LTS 64-bit GRID 11.1")
    assert found.install_driver == ()


@pytest.mark.parametrize("name", ["Ubuntu Server 22.04 LTS 64bit", "Ubuntu Server 22.04 LTS 64位"])
def test_the_images_name_is_that_of_both_sites_and_no_other(name: str) -> None:
    pattern = image(an_offer_here()).reference.removeprefix("name:")
    assert re.search(pattern, name)
    for other in ("Ubuntu Server 22.04 LTS 64bit UEFI", "Ubuntu Server 22.04 LTS Arm64", "CentOS 8.0 64-bit"):
        assert not re.search(pattern, other)


def test_a_machine_without_accelerator_gets_no_driver() -> None:
    found = image(an_offer_here(instance_type="S5.MEDIUM4", accelerator="", gpu_count=Decimal(0)))
    assert (found.driver, found.install_driver) == ("none", ())


def test_what_no_driver_of_ours_serves() -> None:
    with pytest.raises(UsageError, match=r"no default image for GA4\.X") as refused:
        image(an_offer_here(instance_type="GA4.X", accelerator="MI50"))
    assert "--image" in refused.value.hint


@pytest.mark.parametrize(
    ("text", "installs"),
    [
        ("img-487zeit5", False),
        ("name:^Ubuntu Server 24", True),
        ("name:Ubuntu.*GRID", False),
        ("name:^TencentOS Server 4", False),
    ],
)
def test_own_image(text: str, installs: bool) -> None:
    found = own_image(text, an_offer_here())
    assert (found.reference, bool(found.install_driver), found.driver) == (text, installs, "nvidia")


@pytest.mark.parametrize("text", ["", "ubuntu", "img-", "img-12345678 ", "name:", "ami-01234567", "IMG-487ZEIT5"])
def test_what_is_no_image(text: str) -> None:
    with pytest.raises(UsageError, match="is no image of Tencent Cloud"):
        own_image(text, an_offer_here())


# --- what is refused before anything is made -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"offer": {"zone": ""}},
        {"offer": {"region": "ap-shanghai-fsi", "zone": "ap-shanghai-fsi-1"}},
        {"offer": {"market": Market.SUBSCRIPTION_MONTHLY}},
        {"subnet": "subnet-0a1b2c3d"},
        {"checkpoint_uri": "cos://ckpt-1250000000"},
        {"checkpoint_uri": "cos://ckpt-1250000000/runs/llm 7b/"},
        {"labels": {"team": "视觉", "a:b": "c/d=e"}},
        {"owner": 'x" y'},
        {"cloud_settings": {"disk_type": "CLOUD_HSSD", "disk_encryption": "off"}},
        {"access": Access.NONE, "ssh_public_key": "", "ssh_allowed_cidrs": ()},
    ],
)
def test_takes(changes: dict[str, Any]) -> None:
    CLOUD.check(a_launch_here(**changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"offer": {"region": "us-east-1", "zone": ""}}, "'us-east-1' is no region"),
        ({"offer": {"zone": "ap-beijing-3"}}, "'ap-beijing-3' is no zone of ap-guangzhou"),
        ({"offer": {"zone": "100003"}}, "'100003' is no zone"),
        ({"offer": {"instance_type": "p4d-24xlarge"}}, "is no machine type"),
        ({"subnet": "vpc-0a1b2c3d"}, "is no subnet"),
        ({"checkpoint_uri": "cos://ckpt/runs"}, "is no place for checkpoints"),
        ({"checkpoint_uri": "s3://ckpt-1250000000/x"}, "is no place for checkpoints"),
        ({"checkpoint_uri": "cos://ckpt-1250000000/*"}, "is no place for checkpoints"),
        ({"checkpoint_uri": "cos://ckpt-1250000000/a?b"}, "is no place for checkpoints"),
        ({"checkpoint_uri": "cos://ckpt-1250000000/${uin}"}, "is no place for checkpoints"),
        ({"disk_gib": 20}, "a disk of 20 GiB"),
        ({"disk_gib": 4000}, "a disk of 4000 GiB"),
        ({"max_price_per_hour": Decimal(0)}, "more than 0"),
        ({"access": Access.SESSION}, "no session service"),
        ({"ssh_public_key": "ssh-rsa"}, "no text behind its kind"),
        ({"ssh_allowed_cidrs": ("here",)}, "'here' is no block of addresses"),
        ({"ssh_allowed_cidrs": ("0.0.0.0/0",)}, "never opened to the whole internet"),
        ({"ssh_allowed_cidrs": ("::/0",)}, "never opened to the whole internet"),
        ({"labels": {"": "x"}}, "takes no tag ''"),
        ({"labels": {"a" * 128: "x"}}, "takes no tag"),
        ({"labels": {"a": "x" * 256}}, "takes no tag"),
        ({"labels": {"a": "${x}"}}, "takes no tag"),
        ({"labels": {"qcs:x": "y"}}, "reserved"),
        ({"labels": {"Project": "y"}}, "reserved"),
        ({"labels": {"gpuorch-deployment": "y"}}, "reserved"),
        ({"labels": {f"k{number}": "" for number in range(45)}}, "45 labels are too many"),
        ({"cloud_settings": {"disk_type": "gp3"}}, "'gp3' is no kind of cloud disk"),
        ({"cloud_settings": {"disk_encryption": "maybe"}}, "disk_encryption is 'maybe'"),
    ],
)
def test_refuses_in_a_sentence(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        CLOUD.check(a_launch_here(**changes))
    assert words in refused.value.message
    assert refused.value.hint


def test_what_is_checked_here_and_in_the_module_is_the_same() -> None:
    """The bucket's form stands in both; a place that passes here must not fail there."""
    module = (CLOUD.module / "variables.tf").read_text()
    check = (Path(orchestrator.__file__).parent / "clouds" / "tencent" / "check.py").read_text()
    for part in ("cos://[a-z0-9][a-z0-9-]*-[0-9]{8,12}", "[A-Za-z0-9!_.'()/=+@:, -]*"):
        assert part in module
        assert part in check


# --- credentials -----------------------------------------------------------------------------------------------------


def a_file(home: Path, text: str, name: str = "default") -> dict[str, str]:
    folder = home / ".tccli"
    folder.mkdir()
    (folder / f"{name}.credential").write_text(text)
    return {"HOME": str(home)}


SHARED = json.dumps({"secretId": "AKIDFILE", "secretKey": "k", "token": "t"})


def test_the_environment_comes_first(tmp_path: Path) -> None:
    environ = a_file(tmp_path, SHARED) | {"TENCENTCLOUD_SECRET_ID": "AKIDENV", "TENCENTCLOUD_SECRET_KEY": "s"}
    found = find_credentials(environ)
    assert found is not None
    assert (found.secret_id, found.token) == ("AKIDENV", "")


def test_then_the_file_of_tccli(tmp_path: Path) -> None:
    environ = a_file(tmp_path, SHARED)
    found = find_credentials(environ)
    assert found is not None
    assert (found.secret_id, found.secret_key, found.token) == ("AKIDFILE", "k", "t")
    assert found.source == str(tmp_path / ".tccli" / "default.credential")
    assert no_credentials(environ) == ""


def test_of_the_profile_and_the_folder_that_are_named(tmp_path: Path) -> None:
    a_file(tmp_path, SHARED, "work")
    environ = {"HOME": str(tmp_path), "TENCENTCLOUD_PROFILE": "work", "TENCENTCLOUD_SHARED_CREDENTIALS_DIR": "~/.tccli"}
    assert shared_file(environ) == tmp_path / ".tccli" / "work.credential"
    assert find_credentials(environ) is not None
    assert find_credentials({"HOME": str(tmp_path)}) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"secretId": "a"}'])
def test_a_file_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="cannot be read") as refused:
        find_credentials(a_file(tmp_path, text))
    assert "tccli configure" in refused.value.hint


def test_a_secret_is_never_shown(tmp_path: Path) -> None:
    found = find_credentials(a_file(tmp_path, json.dumps({"secretId": "AKID", "secretKey": "hush", "token": "psst"})))
    assert "hush" not in repr(found)
    assert "psst" not in repr(found)


def test_none_at_all_is_a_sentence(tmp_path: Path) -> None:
    said = no_credentials({"HOME": str(tmp_path)})
    assert "TENCENTCLOUD_SECRET_ID" in said
    assert "\n" not in said
    assert no_credentials({"HOME": str(tmp_path), "TENCENTCLOUD_CAM_ROLE_NAME": "builder"}) == ""


# --- on a machine of Tencent Cloud -----------------------------------------------------------------------------------

ROLE = {"TmpSecretId": "AKIDROLE", "TmpSecretKey": "role key", "Token": "role token", "Code": "Success"}


class _Machine:
    """The metadata service and a bucket, as a machine sees them."""

    def __init__(self) -> None:
        self.metadata: dict[str, str] = {
            "/cam/security-credentials/": "gpuorch-g0123456789ab\n",
            "/cam/security-credentials/gpuorch-g0123456789ab": json.dumps(ROLE),
            "/placement/region": "ap-guangzhou",
        }
        self.puts: list[tuple[str, Message, bytes]] = []
        self.url = ""


@contextmanager
def a_machine() -> Iterator[_Machine]:
    seen = _Machine()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = seen.metadata.get(self.path.removeprefix("/latest/meta-data"))
            self._answer(200 if found is not None else 404, (found or "").encode())

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.puts.append((unquote(self.path), self.headers, body))
            self._answer(200, b"")

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    seen.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield seen
    finally:
        server.shutdown()
        server.server_close()


def test_a_role_gives_credentials() -> None:
    found = find_credentials({"HOME": "/nowhere", "TENCENTCLOUD_CAM_ROLE_NAME": "gpuorch-g0123456789ab"})
    assert found is not None
    with a_machine() as machine:
        filled = role_credentials(found, timeout_seconds=5, metadata=f"{machine.url}/latest/meta-data/")
    assert (filled.secret_id, filled.secret_key, filled.token) == ("AKIDROLE", "role key", "role token")
    assert filled.source == "the role gpuorch-g0123456789ab of this machine"


@pytest.mark.parametrize("answer", [None, "", "[]", '{"Code": "Failed"}'])
def test_a_role_that_gives_none(answer: str | None) -> None:
    found = find_credentials({"HOME": "/nowhere", "TENCENTCLOUD_CAM_ROLE_NAME": "other"})
    assert found is not None
    with a_machine() as machine:
        if answer is not None:
            machine.metadata["/cam/security-credentials/other"] = answer
        with pytest.raises(CloudCallFailed, match="gives no credentials of the role other") as failed:
            role_credentials(found, timeout_seconds=5, metadata=f"{machine.url}/latest/meta-data/")
    assert "\n" not in failed.value.message


@pytest.mark.parametrize("key", ["runs/status.json", "runs/llm 7b/@(a)+b='c',d!/状态.json"])
def test_the_status_is_put_with_the_role_and_a_right_signature(tmp_path: Path, key: str) -> None:
    """The command of the machine, really run; only the two servers' names are ours."""
    file = tmp_path / "status.json"
    file.write_text('{"ready": true}')
    with a_machine() as machine:
        program, option, script, *_ = UPLOAD_COMMAND
        local = script.replace("http://metadata.tencentyun.com", machine.url)
        # To the loopback, with the genuine bucket's name as the host.
        to = local.replace('"https://"+h+"/"', f'"{machine.url}/"').replace("n={", 'n={"Host":h,')
        assert to.count(machine.url) == 2
        words = [sys.executable if program == "python3" else program, option, to, str(file)]
        done = subprocess.run(
            [*words, f"cos://ckpt-1250000000/{key}"], capture_output=True, text=True, timeout=30, check=False
        )
    assert done.returncode == 0, done.stderr
    [(path, headers, body)] = machine.puts
    assert (path, body) == (f"/{key}", file.read_bytes())
    assert headers["Host"] == "ckpt-1250000000.cos.ap-guangzhou.myqcloud.com"
    assert headers["x-cos-security-token"] == "role token"
    assert cos_signature("put", path, headers, "role key") == "AKIDROLE"


def test_a_machine_without_a_role_fails_the_upload(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("x")
    with a_machine() as machine:
        machine.metadata.clear()
        script = UPLOAD_COMMAND[2].replace("http://metadata.tencentyun.com", machine.url)
        words = [sys.executable, "-c", script, str(tmp_path / "s"), "cos://b-1250000000/x"]
        assert subprocess.run(words, capture_output=True, timeout=30, check=False).returncode != 0


# --- the page about it -----------------------------------------------------------------------------------------------

# What the provider's source calls for up and down of every kind of launch, and what gpuorch calls itself.
CALLED = """
cam:AttachRolePolicy cam:CreatePolicy cam:CreateRole cam:DeletePolicy cam:DeleteRole cam:DescribeRoleList
cam:DetachRolePolicy cam:GetPolicy cam:GetRole cam:ListAttachedRolePolicies cam:ListPolicies cam:PassRole
cvm:DeleteInstancesActionTimer cvm:DeleteKeyPairs cvm:DescribeAccountQuota cvm:DescribeImages cvm:DescribeInstances
cvm:DescribeInstancesActionTimer cvm:DescribeKeyPairs cvm:DescribeZoneInstanceConfigInfos cvm:DescribeZones
cvm:ImportInstancesActionTimer cvm:ImportKeyPair cvm:RunInstances cvm:TerminateInstances sts:GetCallerIdentity
tag:ModifyResourceTags tag:TagResources vpc:CreateSecurityGroup vpc:CreateSubnet vpc:CreateVpc vpc:DeleteSecurityGroup
vpc:DeleteSubnet vpc:DeleteVpc vpc:DescribeSecurityGroupPolicies vpc:DescribeSecurityGroups vpc:DescribeSubnets
vpc:DescribeVpcs vpc:ModifySecurityGroupPolicies
"""


def test_the_policy_in_the_docs_allows_what_is_called_and_not_everything() -> None:
    page = (Path(__file__).parents[2] / "docs" / "clouds" / "tencent.md").read_text()
    block = page.partition("<!-- policy: begin -->\n```json\n")[2].partition("```\n<!-- policy: end -->")[0]
    policy = json.loads(block)
    assert policy["version"] == "2.0"
    actions = [action for statement in policy["statement"] for action in statement["action"]]
    missing = [call for call in CALLED.split() if not any(fnmatch.fnmatch(call, action) for action in actions)]
    assert missing == []
    assert not [action for action in actions if action.endswith(":*") or action == "*"]
    wide = [action for action in actions if "*" in action]
    assert all(action.split(":")[1].startswith("Describe") for action in wide)
    ends = next(each for each in policy["statement"] if "cvm:TerminateInstances" in each["action"])
    assert ends["condition"] == {"for_any_value:string_equal": {"qcs:resource_tag": ["gpuorch-managed-by&gpuorch"]}}
    # A policy may have 6,144 characters.
    assert len(re.sub(r"\s", "", block)) <= 6144
