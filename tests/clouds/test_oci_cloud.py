"""OCI as data: the cloud, its images, its settings and credentials, and what is refused before anything is made."""

from __future__ import annotations

import base64
import gzip
import random
import re
import subprocess
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.shipped import shipped_offers
from orchestrator.clouds.oci.cloud import CLOUD
from orchestrator.clouds.oci.credentials import auth_kind, config_file, no_credentials, profile
from orchestrator.clouds.oci.images import OWN_COMMAND
from orchestrator.clouds.oci.sandbox.rights import _STATEMENT
from orchestrator.clouds.registry import cloud
from orchestrator.errors import UsageError
from orchestrator.model.demand import Access
from orchestrator.model.launch import Launch
from orchestrator.model.offer import Market, Offer
from tests.build import a_launch, an_offer

COMPARTMENT = "ocid1.compartment.oc1..aaaaaaaagpu"
SETTINGS = {"compartment_id": COMPARTMENT, "home_region": "us-phoenix-1", "machine_rights": "policy"}
PAGE = Path(__file__).parents[2] / "docs" / "clouds" / "oci.md"


def an_oci_offer(instance_type: str = "BM.GPU4.8", **changes: Any) -> Offer:
    values: dict[str, Any] = {
        "cloud": "oci",
        "region": "us-ashburn-1",
        "zone": "",
        "instance_type": instance_type,
        "market": Market.ON_DEMAND,
    }
    return an_offer(**(values | changes))


def an_oci_launch(**changes: Any) -> Launch:
    offer = changes.pop("offer", None) or an_oci_offer()
    settings: Mapping[str, str] = changes.pop("settings", {})
    return a_launch(offer=offer, cloud_settings={**SETTINGS, **settings}, **changes)


# --- the cloud itself ------------------------------------------------------------------------------------------------


def test_is_registered_and_complete() -> None:
    assert cloud("oci") is CLOUD
    assert (CLOUD.module / "main.tf").is_file()
    assert (CLOUD.provider.source, CLOUD.provider.constraint) == ("oracle/oci", "~> 7.19")
    assert CLOUD.sandbox is not None
    assert CLOUD.sandbox.schema.is_file()


def test_importing_it_loads_no_sdk_and_no_template_engine() -> None:
    code = (
        "import sys; from orchestrator.clouds.registry import cloud; cloud('oci'); "
        "heavy = {'oci', 'cryptography', 'requests', 'jinja2', 'pydantic', 'rich', 'click'}; "
        "sys.exit(','.join(sorted(heavy & sys.modules.keys())) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_provider_files_hold_no_value_and_bound_the_retries() -> None:
    (text,) = CLOUD.provider_files.values()
    assert text.count('provider "oci"') == 2
    assert text.count("retry_duration_seconds = 60") == 2
    assert re.findall(r"^  region += (.*)$", text, re.MULTILINE) == [
        "var.region",
        'var.home_region == "" ? var.region : var.home_region',
    ]
    assert 'alias  = "home"' in text


def test_the_user_data_limit_leaves_room_for_what_the_module_adds() -> None:
    """Base64 of what cannot be packed, the module's own part packed with it, and a key, in 32,000 bytes."""
    text = "".join(
        random.Random(1).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", k=24000)
    )
    program = (CLOUD.module / "machine.py").read_text()
    packed = base64.b64encode(gzip.compress((text + program).encode()))
    # Random letters of base64 are the worst that a script can hold; the bootstrap packs to a third.
    assert len(packed) < 32000 - 1024
    assert CLOUD.user_data_limit_bytes == len(text)


def test_settings_are_the_modules_variables() -> None:
    assert CLOUD.module_variables(an_oci_launch()) == {
        **SETTINGS,
        "flex_ocpus": None,
        "flex_memory_gib": None,
    }


@pytest.mark.parametrize(("vcpus", "ocpus"), [("8", 4), ("3", 1.5)])
def test_a_flexible_shape_is_told_its_size(vcpus: str, ocpus: float) -> None:
    offer = an_oci_offer("VM.Standard3.Flex", vcpus=Decimal(vcpus), memory_gib=Decimal(64))
    variables = CLOUD.module_variables(an_oci_launch(offer=offer))
    assert (variables["flex_ocpus"], variables["flex_memory_gib"]) == (ocpus, 64)


def test_required_settings_have_a_value_for_the_sandbox() -> None:
    required = {name for name, setting in CLOUD.settings.items() if setting.required}
    assert required == {"compartment_id", "home_region"}
    CLOUD.check(an_oci_launch(settings={name: setting.sandbox for name, setting in CLOUD.settings.items()}))


def test_nobody_tells_the_callers_address() -> None:
    with pytest.raises(UsageError, match="no service that tells") as refused:
        CLOUD.caller_address()
    assert "--ssh-from" in refused.value.hint


# --- images ----------------------------------------------------------------------------------------------------------

# Names as OCI publishes them (docs.oracle.com/iaas/images), one of each line.
PUBLISHED = (
    "Oracle-Linux-9.6-Gen2-GPU-2025.10.23-0",
    "Oracle-Linux-8.10-Gen2-GPU-2025.08.31-0",
    "Oracle-Linux-8.10-Gen2-AMD-GPU-2025.08.31-0",
    "Oracle-Linux-9.6-2025.10.23-0",
    "Oracle-Linux-9.6-aarch64-2025.10.23-0",
    "Oracle-Linux-9.6-Minimal-2025.10.23-0",
    "Oracle-Linux-8.10-2025.10.23-0",
    "Oracle-Linux-7.9-Gen2-GPU-2024.05.29-0",
    "Canonical-Ubuntu-24.04-2025.10.31-0",
)


@pytest.mark.parametrize(
    ("shape", "published", "driver"),
    [
        ("BM.GPU4.8", "Oracle-Linux-9.6-Gen2-GPU-2025.10.23-0", "nvidia"),
        ("BM.GPU.A100-v2.8", "Oracle-Linux-9.6-Gen2-GPU-2025.10.23-0", "nvidia"),
        ("VM.GPU.A10.1", "Oracle-Linux-9.6-Gen2-GPU-2025.10.23-0", "nvidia"),
        ("BM.GPU.H100.8", "Oracle-Linux-9.6-Gen2-GPU-2025.10.23-0", "nvidia"),
        ("BM.GPU.B200.8", "Oracle-Linux-9.6-Gen2-GPU-2025.10.23-0", "nvidia"),
        ("VM.GPU3.4", "Oracle-Linux-8.10-Gen2-GPU-2025.08.31-0", "nvidia"),
        ("BM.GPU3.8", "Oracle-Linux-8.10-Gen2-GPU-2025.08.31-0", "nvidia"),
        ("VM.GPU2.1", "Oracle-Linux-8.10-Gen2-GPU-2025.08.31-0", "nvidia"),
        ("BM.GPU.MI300X.8", "Oracle-Linux-8.10-Gen2-AMD-GPU-2025.08.31-0", "rocm"),
        ("BM.GPU.MI355X-v1.8", "Oracle-Linux-8.10-Gen2-AMD-GPU-2025.08.31-0", "rocm"),
    ],
)
def test_default_image(shape: str, published: str, driver: str) -> None:
    image = CLOUD.image(an_oci_offer(shape))
    pattern = image.reference.removeprefix("name:")
    assert pattern != image.reference
    assert [name for name in PUBLISHED if re.search(pattern, name)] == [published]
    assert (image.ssh_user, image.driver, image.python) == ("opc", driver, "")
    assert image.local_disks == (("nvme-*",) if shape.startswith("BM.") else ())
    assert image.end_command == (*OWN_COMMAND, "terminate")
    assert image.upload_command == (*OWN_COMMAND, "put", "{file}", "{uri}")


def test_a_machine_without_accelerator_gets_plain_linux() -> None:
    offer = an_oci_offer("VM.Standard3.Flex", accelerator="", gpu_count=Decimal(0))
    image = CLOUD.image(offer)
    assert [name for name in PUBLISHED if re.search(image.reference.removeprefix("name:"), name)] == [
        "Oracle-Linux-9.6-2025.10.23-0"
    ]
    assert image.driver == "none"


@pytest.mark.parametrize("shape", ["BM.GPU.GB200.4", "BM.GPU.GB300.4", "VM.Standard.A1.Flex", "BM.Standard.A1.160"])
def test_no_default_image_for_arm(shape: str) -> None:
    with pytest.raises(UsageError, match="no default image") as refused:
        CLOUD.image(an_oci_offer(shape))
    assert "--image" in refused.value.hint


def test_every_offer_of_the_shipped_book_has_an_image_and_passes_the_check() -> None:
    offers = [offer for offer in shipped_offers() if offer.cloud == "oci"]
    assert len(offers) > 20
    for offer in offers:
        CLOUD.check(an_oci_launch(offer=offer, image=CLOUD.image(offer)))
    assert {offer.instance_type for offer in offers if offer.market is Market.SPOT} == {
        "VM.GPU3.1",
        "VM.GPU3.2",
        "VM.GPU3.4",
    }


@pytest.mark.parametrize(
    ("text", "user"),
    [
        ("ocid1.image.oc1.iad.aaaaaaaabcdefgh", "opc"),
        ("ocid1.image.oc1.eu-frankfurt-1.aaaaaaaabcdefgh", "opc"),
        ("name:^my-image-[0-9]+$", "opc"),
        ("name:^Canonical-Ubuntu-24\\.04-[0-9.]+-[0-9]+$", "ubuntu"),
    ],
)
def test_own_image(text: str, user: str) -> None:
    image = CLOUD.own_image(text, an_oci_offer())
    assert (image.reference, image.ssh_user, image.driver) == (text, user, "nvidia")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ubuntu",
        "ocid1.image.",
        "ocid1.instance.oc1.iad.aaaaaaaabcdefgh",
        "name:",
        "name:${x}",
        'name:"',
        "ami-0123456789abcdef0",
        "name:" + "a" * 201,
    ],
)
def test_what_is_no_image(text: str) -> None:
    with pytest.raises(UsageError, match="is no OCI image"):
        CLOUD.own_image(text, an_oci_offer())


def test_a_pattern_that_is_none() -> None:
    with pytest.raises(UsageError, match="no regular expression"):
        CLOUD.own_image("name:^(mine", an_oci_offer())


# --- what is refused before anything is made -------------------------------------------------------------------------

FOUR = {f"label{number}": "x" for number in range(4)}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"offer": an_oci_offer(zone="AD-2")},
        {"offer": an_oci_offer(region="us-phoenix-1", zone="PHX-AD-1")},
        {"offer": an_oci_offer(region="ap-tokyo-1", zone="Uocm:AP-TOKYO-1-AD-1")},
        {"offer": an_oci_offer("VM.GPU3.1", market=Market.SPOT)},
        {"offer": an_oci_offer("VM.Standard.E5.Flex", market=Market.SPOT)},
        {"offer": an_oci_offer(region="us-gov-ashburn-1")},
        {"subnet": "ocid1.subnet.oc1.iad.aaaaaaaabcdefgh"},
        {"subnet": "ocid1.subnet.oc1.iad.aaaaaaaabcdefgh", "ssh_allowed_cidrs": ("2001:db8::/64",)},
        {"ssh_allowed_cidrs": ("203.0.113.7/32", "2001:db8::/64")},
        {"access": Access.NONE, "ssh_allowed_cidrs": ()},
        {"checkpoint_uri": "oci://bucket@namespace"},
        {"checkpoint_uri": "oci://bucket@namespace/run/1"},
        {"checkpoint_uri": "oci://my.bucket_1@axyz.eu-frankfurt-1/run one/1"},
        {"labels": FOUR},
        {"settings": {"machine_rights": "none", "home_region": ""}},
        {"settings": {"compartment_id": "ocid1.tenancy.oc1..aaaaaaaaroot"}},
        {"disk_gib": 50},
    ],
)
def test_takes(changes: dict[str, Any]) -> None:
    CLOUD.check(an_oci_launch(**changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"settings": {"compartment_id": ""}}, "no compartment"),
        ({"settings": {"compartment_id": "ocid1.user.oc1..aaaaaaaaada"}}, "no compartment"),
        ({"settings": {"home_region": ""}}, "home_region is ''"),
        ({"settings": {"home_region": "IAD"}}, "home_region is 'IAD'"),
        ({"settings": {"machine_rights": "all"}}, "machine_rights is 'all'"),
        ({"offer": an_oci_offer(region="us-east1")}, "no OCI region"),
        ({"offer": an_oci_offer(zone="us-ashburn-1a")}, "no availability domain"),
        ({"offer": an_oci_offer(zone="FAULT-DOMAIN-1")}, "no availability domain"),
        ({"offer": an_oci_offer("p4d.24xlarge")}, "no OCI shape"),
        ({"offer": an_oci_offer("VM.GPU3.1;x")}, "no OCI shape"),
        ({"offer": an_oci_offer("VM.Standard3.Flex", vcpus=None)}, "told its size"),
        ({"offer": an_oci_offer("BM.GPU4.8", market=Market.SPOT)}, "no preemptible capacity"),
        ({"offer": an_oci_offer("BM.GPU3.8", market=Market.SPOT)}, "no preemptible capacity"),
        ({"offer": an_oci_offer("VM.GPU.A10.1", market=Market.SPOT)}, "no preemptible capacity"),
        ({"access": Access.SESSION}, "no sessions"),
        ({"subnet": "subnet-0123456789abcdef0"}, "no OCI subnet"),
        ({"ssh_allowed_cidrs": ("203.0.113.7/24",)}, "no block of addresses"),
        ({"ssh_allowed_cidrs": ("0.0.0.0/0",)}, "whole internet"),
        ({"ssh_allowed_cidrs": ("::/0",)}, "whole internet"),
        ({"ssh_allowed_cidrs": ("2001:db8::/64",)}, "IPv6"),
        ({"checkpoint_uri": "s3://bucket/x"}, "no place for checkpoints"),
        ({"checkpoint_uri": "oci://bucket/x"}, "no place for checkpoints"),
        ({"checkpoint_uri": "oci://bucket@namespace/run*"}, "no place for checkpoints"),
        ({"checkpoint_uri": "oci://bucket@namespace/it's"}, "no place for checkpoints"),
        ({"labels": {**FOUR, "more": "x"}}, "too many"),
        ({"labels": {"a b": "x"}}, "free-form tag"),
        ({"labels": {"a.b": "x"}}, "free-form tag"),
        ({"labels": {"a": "x" * 257}}, "free-form tag"),
        ({"labels": {"gpuorch-name": "x"}}, "reserved"),
        ({"labels": {"Team": "x", "team": "y"}}, "upper and lower case"),
        ({"disk_gib": 49}, "a disk of 49 GiB"),
        ({"disk_gib": 40000}, "a disk of 40000 GiB"),
    ],
)
def test_refuses_in_a_sentence(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        CLOUD.check(an_oci_launch(**changes))
    assert words in str(refused.value)
    assert refused.value.hint
    assert "\n" not in str(refused.value)


# --- credentials -----------------------------------------------------------------------------------------------------


def test_an_environment_without_anything(tmp_path: Path) -> None:
    said = no_credentials({"HOME": str(tmp_path)}, asset_tag=tmp_path / "none")
    assert "oci setup config" in said
    assert "InstancePrincipal" not in said


def test_on_a_machine_of_oci_its_own_identity_is_named_first(tmp_path: Path) -> None:
    tag = tmp_path / "tag"
    tag.write_text("OracleCloud.com\n")
    assert "OCI_AUTH=InstancePrincipal, or" in no_credentials({"HOME": str(tmp_path)}, asset_tag=tag)


@pytest.mark.parametrize(
    "environ",
    [
        {"OCI_AUTH": "InstancePrincipal"},
        {"OCI_AUTH": "ResourcePrincipal"},
        {"OCI_CLI_AUTH": "instance_principal"},
        {"OCI_TENANCY_OCID": "t", "OCI_USER_OCID": "u", "OCI_FINGERPRINT": "f"},
    ],
)
def test_credentials_of_the_environment(environ: dict[str, str], tmp_path: Path) -> None:
    assert no_credentials({"HOME": str(tmp_path), **environ}, asset_tag=tmp_path / "none") == ""


def test_credentials_of_a_file(tmp_path: Path) -> None:
    (tmp_path / ".oci").mkdir()
    (tmp_path / ".oci" / "config").write_text("[DEFAULT]\n")
    assert no_credentials({"HOME": str(tmp_path)}) == ""
    assert config_file({"HOME": str(tmp_path)}) == tmp_path / ".oci" / "config"
    assert config_file({"OCI_CONFIG_FILE": str(tmp_path / "x")}) == tmp_path / "x"


def test_what_terraform_reads_comes_before_what_only_the_command_line_reads() -> None:
    environ = {"OCI_AUTH": "SecurityToken", "OCI_CLI_AUTH": "instance_principal"}
    assert auth_kind(environ) == "security_token"
    assert auth_kind({}) == auth_kind({"OCI_AUTH": "ApiKey"}) == "api_key"
    assert profile({"OCI_CONFIG_FILE_PROFILE": "a", "OCI_CLI_PROFILE": "b"}) == "a"
    assert profile({}) == "DEFAULT"


# --- the page about it -----------------------------------------------------------------------------------------------


def test_the_rights_in_the_docs_are_statements_and_not_everything() -> None:
    block = PAGE.read_text().partition("<!-- policy: begin -->\n```text\n")[2]
    statements = block.partition("```\n<!-- policy: end -->")[0].splitlines()
    assert len(statements) == 8
    for statement in statements:
        assert _STATEMENT.fullmatch(statement), statement
        assert "all-resources" not in statement
        # Nothing is managed outside the compartment.
        assert "in tenancy" not in statement or " inspect " in statement


def test_the_page_names_every_setting() -> None:
    page = PAGE.read_text()
    for name, setting in CLOUD.settings.items():
        assert f"`{name}`" in page
        assert f"`GPUORCH_OCI_{name.upper()}`" in page
        for variable in setting.variables:
            assert f"`{variable}`" in page


def test_an_administrators_statements_give_machines_what_their_own_policy_would() -> None:
    rights = (CLOUD.module / "rights.tf").read_text()
    page = PAGE.read_text().partition("### The machine's own")[2]
    said = {word for group in re.findall(r"\{([A-Z_, ]+)\}", page) for word in group.split(", ")}
    assert said == {word for group in re.findall(r"\{([A-Z_, ]+)\}", rights) for word in group.split(", ")}
