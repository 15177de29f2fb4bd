"""What OCI's provider and OCI itself refuse is refused in the sandbox, in their words."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.oci.cloud import CLOUD
from orchestrator.clouds.oci.sandbox.places import domain_names, short_domain
from orchestrator.clouds.oci.sandbox.rules import RULES
from orchestrator.clouds.rules import UNKNOWN
from orchestrator.sandbox.cloud import SimulatedCloud
from orchestrator.sandbox.provider.lifecycle import Provider
from orchestrator.sandbox.provider.schema import complete, read_schema
from tests.sandbox.build_sandbox import a_plan, made

DEPLOYMENT = "g0123456789ab"
TAGS = {"gpuorch-deployment": DEPLOYMENT}
COMPARTMENT = "ocid1.compartment.oc1..aaaaaaaagpu"
HERE = {"compartment_id": COMPARTMENT, "freeform_tags": TAGS}
DOMAIN = "Uocm:US-ASHBURN-AD-1"
IMAGE = "ocid1.image.oc1.iad.aaaaaaaabcdefgh"
SOURCE = {"source_type": "image", "source_id": IMAGE}
INSTANCE = {"compartment_id": COMPARTMENT, "availability_domain": DOMAIN, "shape": "BM.GPU4.8"}
SPOT = {"preemption_action": [{"type": "TERMINATE"}]}
POLICY = {"compartment_id": COMPARTMENT, "name": f"gpuorch-{DEPLOYMENT}", "description": "d"}
STATEMENT = (
    f"Allow any-user to {{INSTANCE_DELETE, INSTANCE_READ}} in compartment id {COMPARTMENT} "
    "where all {request.principal.type = 'instance', target.instance.id = 'ocid1.instance.oc1.iad.x'}"
)


def a_provider(tmp_path: Path, region: str = "us-ashburn-1") -> Provider:
    assert CLOUD.sandbox is not None
    cloud = SimulatedCloud(tmp_path / "cloud.sqlite")
    provider = Provider("oci", read_schema(CLOUD.sandbox.schema), RULES, cloud)
    assert not provider.configure({"region": region})
    return provider


# --- the provider's own checks, before the plan ----------------------------------------------------------------------

WRONG: list[tuple[str, dict[str, Any], str]] = [
    (
        "oci_core_instance",
        {**INSTANCE, "source_details": [{**SOURCE, "source_type": "disk"}]},
        'expected source_type to be one of ["bootVolume" "image"], got disk',
    ),
    (
        "oci_core_instance",
        {**INSTANCE, "source_details": [{**SOURCE, "boot_volume_size_in_gbs": "big"}]},
        "must be a 64-bit integer",
    ),
    (
        "oci_core_instance",
        {**INSTANCE, "preemptible_instance_config": [{"preemption_action": [{"type": "STOP"}]}]},
        'expected type to be one of ["TERMINATE"], got STOP',
    ),
    ("oci_core_instance", {**INSTANCE, "state": "PAUSED"}, 'expected state to be one of ["RUNNING" "STOPPED"]'),
    ("oci_core_instance", {**INSTANCE, "public_ip": "203.0.113.1"}, "Value for unconfigurable attribute"),
    (
        "oci_core_vcn",
        {**HERE, "cidr_block": "10.0.0.0/16", "cidr_blocks": ["10.0.0.0/16"]},
        "conflicts with",
    ),
]


@pytest.mark.parametrize(
    ("type_", "config", "words"), WRONG, ids=[f"{type_[4:]}-{words[:40]}" for type_, _, words in WRONG]
)
def test_refused_before_the_plan(tmp_path: Path, type_: str, config: dict[str, Any], words: str) -> None:
    provider = a_provider(tmp_path)
    problems = provider.validate(type_, complete(provider.schema.resources[type_].block, config))
    assert any(words in f"{problem.summary}\n{problem.detail}\n{problem.path}" for problem in problems), problems


def test_what_is_not_known_yet_passes(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    block = provider.schema.resources["oci_core_instance"].block
    unknown = {
        **dict.fromkeys(INSTANCE, UNKNOWN),
        "state": UNKNOWN,
        "source_details": [{"source_type": UNKNOWN, "source_id": UNKNOWN, "boot_volume_size_in_gbs": UNKNOWN}],
        "preemptible_instance_config": [{"preemption_action": [{"type": UNKNOWN}]}],
    }
    assert not provider.validate("oci_core_instance", complete(block, unknown))


def test_words_are_compared_as_the_provider_compares_them(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    block = provider.schema.resources["oci_core_instance"].block
    config = {**INSTANCE, "source_details": [{**SOURCE, "source_type": "IMAGE"}], "state": "running"}
    assert not provider.validate("oci_core_instance", complete(block, config))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"region": "us-ashburn-1", "auth": "Password"}, "expected auth to be one of"),
        ({"region": "IAD"}, "did not find a proper configuration for region"),
        ({}, "did not find a proper configuration for region"),
    ],
)
def test_the_provider_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: dict[str, str], words: str
) -> None:
    monkeypatch.delenv("OCI_REGION", raising=False)
    [problem] = a_provider(tmp_path).configure(config)
    assert words in problem.summary


def test_the_region_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCI_REGION", "uk-london-1")
    assert not a_provider(tmp_path).configure({"auth": "apikey"})


# --- the cloud's refusals at the call --------------------------------------------------------------------------------


def a_network(provider: Provider) -> dict[str, str]:
    """Network, gateway, table, subnet and group; the ids of all."""
    vcn = made(provider, "oci_core_vcn", **HERE, cidr_blocks=["10.86.0.0/16"])["id"]
    gateway = made(provider, "oci_core_internet_gateway", **HERE, vcn_id=vcn)["id"]
    route = {"destination": "0.0.0.0/0", "network_entity_id": gateway}
    table = made(provider, "oci_core_route_table", **HERE, vcn_id=vcn, route_rules=[route])["id"]
    subnet = made(provider, "oci_core_subnet", **HERE, vcn_id=vcn, cidr_block="10.86.0.0/24", route_table_id=table)
    group = made(provider, "oci_core_network_security_group", **HERE, vcn_id=vcn)["id"]
    return {"vcn": vcn, "gateway": gateway, "table": table, "subnet": str(subnet["id"]), "group": group}


def refusal(provider: Provider, type_: str, **config: Any) -> str:
    outcome = provider.create(type_, a_plan(provider, type_, **config))
    assert outcome.problems, "it was made"
    [problem] = outcome.problems
    lines = problem.summary.splitlines()
    assert lines[1].startswith("Suggestion: ")
    assert [line.partition(":")[0] for line in lines[-4:]] == [
        "Provider version",
        "Service",
        "Operation Name",
        "OPC request ID",
    ]
    return lines[0]


def instance(ids: dict[str, str], **changes: Any) -> dict[str, Any]:
    values = {
        **INSTANCE,
        "freeform_tags": TAGS,
        "source_details": [SOURCE],
        "create_vnic_details": [{"subnet_id": ids["subnet"], "nsg_ids": [ids["group"]]}],
    }
    return {**values, **changes}


NOT_FOUND = "404-NotAuthorizedOrNotFound, Authorization failed or requested resource not found."


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"availability_domain": "Uocm:PHX-AD-1"}, NOT_FOUND),
        ({"shape": "p4d.24xlarge"}, "404-NotAuthorizedOrNotFound, shape p4d.24xlarge not found"),
        (
            {"source_details": [{**SOURCE, "source_id": "latest"}]},
            "400-InvalidParameter, Invalid sourceDetails.imageId",
        ),
        (
            {"source_details": [{**SOURCE, "boot_volume_size_in_gbs": "10"}]},
            "400-InvalidParameter, Boot volume size 10 GB must be between 50 GB and 32768 GB",
        ),
        (
            {"preemptible_instance_config": [SPOT]},
            "400-InvalidParameter, Preemptible instances are not supported for shape BM.GPU4.8",
        ),
        ({"shape": "VM.Standard3.Flex"}, "400-InvalidParameter, Invalid ShapeConfig: null"),
        ({"create_vnic_details": [{"subnet_id": "ocid1.subnet.oc1.iad.gone"}]}, NOT_FOUND),
        (
            {"metadata": {"user_data": base64.b64encode(b"x" * 24000).decode()}},
            "400-InvalidParameter, The size of metadata and extendedMetadata is 32009 bytes",
        ),
        (
            {"metadata": {"user_data": "#cloud-config"}},
            "400-InvalidParameter, Invalid metadata: user_data must be base64",
        ),
    ],
)
def test_a_launch_that_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    provider = a_provider(tmp_path)
    ids = a_network(provider)
    assert refusal(provider, "oci_core_instance", **instance(ids, **changes)).startswith(said)


def test_a_launch_into_a_group_that_is_gone(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    ids = a_network(provider)
    vnic = {"subnet_id": ids["subnet"], "nsg_ids": ["ocid1.networksecuritygroup.oc1.iad.gone"]}
    assert refusal(provider, "oci_core_instance", **instance(ids, create_vnic_details=[vnic])) == NOT_FOUND


def test_no_public_address_in_a_private_subnet(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    ids = a_network(provider)
    private = made(
        provider,
        "oci_core_subnet",
        **HERE,
        vcn_id=ids["vcn"],
        cidr_block="10.86.1.0/24",
        prohibit_public_ip_on_vnic=True,
    )["id"]
    public, none = ({"subnet_id": private, "assign_public_ip": word} for word in ("true", "false"))
    said = refusal(provider, "oci_core_instance", **instance(ids, create_vnic_details=[public]))
    assert said == "400-InvalidParameter, Public IP address cannot be assigned to a VNIC in a private subnet"
    assert made(provider, "oci_core_instance", **instance(ids, create_vnic_details=[none]))["public_ip"] == ""


def test_a_full_subnet(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    ids = a_network(provider)
    small = made(provider, "oci_core_subnet", **HERE, vcn_id=ids["vcn"], cidr_block="10.86.2.0/30")["id"]
    values = instance(ids, create_vnic_details=[{"subnet_id": small}])
    # OCI keeps three of the four for itself.
    assert made(provider, "oci_core_instance", **values)["private_ip"] == "10.86.2.2"
    assert refusal(provider, "oci_core_instance", **values).startswith("400-LimitExceeded, There are no free private")


@pytest.mark.parametrize(
    ("type_", "config", "said"),
    [
        (
            "oci_core_vcn",
            {"cidr_blocks": ["10.0.0.0/8"]},
            "400-InvalidParameter, The requested cidrBlock 10.0.0.0/8 is",
        ),
        ("oci_core_vcn", {"cidr_blocks": ["10.0.0.1/24"]}, "400-InvalidParameter, The requested cidrBlock"),
        ("oci_core_vcn", {}, "400-InvalidParameter, cidrBlocks must not be empty"),
        (
            "oci_core_subnet",
            {"cidr_block": "10.87.0.0/24"},
            "400-InvalidParameter, The CIDR 10.87.0.0/24 is not within",
        ),
        (
            "oci_core_subnet",
            {"cidr_block": "10.86.0.128/25"},
            "400-InvalidParameter, The requested CIDR 10.86.0.128/25",
        ),
        ("oci_core_subnet", {"cidr_block": "10.86.3.0/31"}, "400-InvalidParameter, The requested cidrBlock"),
        ("oci_core_subnet", {"cidr_block": "10.86.3.0/24", "availability_domain": "AD-1"}, NOT_FOUND),
        ("oci_core_subnet", {"cidr_block": "10.86.3.0/24", "vcn_id": "ocid1.vcn.oc1.iad.gone"}, NOT_FOUND),
        ("oci_core_internet_gateway", {}, "400-LimitExceeded, Internet gateway already exists for VCN"),
        ("oci_core_internet_gateway", {"vcn_id": "ocid1.vcn.oc1.iad.gone"}, NOT_FOUND),
        ("oci_core_network_security_group", {"vcn_id": "ocid1.vcn.oc1.iad.gone"}, NOT_FOUND),
        (
            "oci_core_route_table",
            {"route_rules": [{"destination": "0.0.0.0/0", "network_entity_id": "ocid1.natgateway.oc1.iad.gone"}]},
            NOT_FOUND,
        ),
    ],
)
def test_a_network_that_is_refused(tmp_path: Path, type_: str, config: dict[str, Any], said: str) -> None:
    provider = a_provider(tmp_path)
    where = {} if type_ == "oci_core_vcn" else {"vcn_id": a_network(provider)["vcn"]}
    assert refusal(provider, type_, **{**HERE, **where, **config}).startswith(said)


def test_a_default_list_of_no_network(tmp_path: Path) -> None:
    said = refusal(
        a_provider(tmp_path),
        "oci_core_default_security_list",
        manage_default_resource_id="ocid1.securitylist.oc1.iad.gone",
    )
    assert said == NOT_FOUND


RULE = {"direction": "INGRESS", "protocol": "6", "source": "203.0.113.7/32", "source_type": "CIDR_BLOCK"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"direction": "IN"}, "400-InvalidParameter, direction must be one of INGRESS, EGRESS, but was IN"),
        ({"direction": "EGRESS"}, "400-InvalidParameter, destination must be provided for EGRESS rules"),
        ({"source": "203.0.113.7/24"}, "400-InvalidParameter, source 203.0.113.7/24 is not a valid CIDR block"),
        (
            {"tcp_options": [{"destination_port_range": [{"min": 23, "max": 22}]}]},
            "400-InvalidParameter, Invalid port range 23-22",
        ),
        ({"network_security_group_id": "ocid1.networksecuritygroup.oc1.iad.gone"}, NOT_FOUND),
    ],
)
def test_a_rule_that_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    provider = a_provider(tmp_path)
    values = {**RULE, "network_security_group_id": a_network(provider)["group"], **changes}
    assert refusal(provider, "oci_core_network_security_group_security_rule", **values) == said


# --- rights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "a b"}, "400-InvalidParameter, Invalid policy name"),
        ({"statements": ["Let any-user do anything"]}, "400-InvalidParameter, Unable to parse policy statement: Let"),
        ({"statements": [STATEMENT, STATEMENT + " and more"]}, "400-InvalidParameter, Unable to parse"),
    ],
)
def test_a_policy_that_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    values = {**POLICY, "statements": [STATEMENT], **changes}
    assert refusal(a_provider(tmp_path), "oci_identity_policy", **values).startswith(said)


def test_policies_are_written_at_home_and_once(tmp_path: Path) -> None:
    values = {**POLICY, "statements": [STATEMENT]}
    said = refusal(a_provider(tmp_path, "eu-frankfurt-1"), "oci_identity_policy", **values)
    assert said.startswith("403-NotAllowed, Please go to your home region IAD to execute CREATE, UPDATE and DELETE")
    home = a_provider(tmp_path)
    made(home, "oci_identity_policy", **values)
    assert refusal(home, "oci_identity_policy", **values).startswith("409-PolicyAlreadyExists")


# --- what is there ---------------------------------------------------------------------------------------------------


def test_nothing_is_removed_from_under_another(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    ids = a_network(provider)
    machine = made(provider, "oci_core_instance", **instance(ids))
    types = {
        "vcn": "oci_core_vcn",
        "gateway": "oci_core_internet_gateway",
        "table": "oci_core_route_table",
        "subnet": "oci_core_subnet",
        "group": "oci_core_network_security_group",
    }
    for name, type_ in types.items():
        [problem] = provider.delete(type_, {"id": ids[name]}).problems
        assert problem.summary.startswith(f"409-Conflict, The resource {ids[name]} is in use"), name
    assert not provider.delete("oci_core_instance", machine).problems
    for name in ("subnet", "table", "gateway", "group", "vcn"):
        assert not provider.delete(types[name], {"id": ids[name]}).problems, name


def test_a_machine_is_what_it_was_asked_to_be(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    ids = a_network(provider)
    parts = "Content-Type: multipart/mixed; boundary=x\nMIME-Version: 1.0\n\n--x\nContent-Type: text/plain\n\n"
    text = f"{parts}#cloud-config\n--x\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n--x--\n"
    sent = base64.b64encode(gzip.compress(text.encode())).decode()
    values = made(
        provider,
        "oci_core_instance",
        **instance(ids, shape="VM.GPU3.1", preemptible_instance_config=[SPOT], metadata={"user_data": sent}),
    )
    machine = RULES.resources["oci_core_instance"].machine
    assert machine is not None
    facts = machine(values)
    assert (facts.zone, facts.zone_id, facts.instance_type, facts.market) == (DOMAIN, "AD-1", "VM.GPU3.1", "spot")
    assert facts.user_data.strip() == "#cloud-config"
    assert facts.private_address == "10.86.0.2"
    assert facts.address.startswith("203.0.113.")
    assert (values["region"], values["state"]) == ("iad", "RUNNING")
    assert RULES.deployment(values) == DEPLOYMENT
    assert RULES.deployment({}) == ""


@pytest.mark.parametrize(
    ("user_data", "text"),
    [
        ("", ""),
        (base64.b64encode(b"#cloud-config\n").decode(), "#cloud-config\n"),
        (base64.b64encode(b"\x1f\x8bbroken").decode(), ""),
        (base64.b64encode(b"Content-Type: multipart/mixed; boundary=x\n\n--x--\n").decode(), ""),
    ],
)
def test_user_data_is_read_as_cloud_init_reads_it(tmp_path: Path, user_data: str, text: str) -> None:
    provider = a_provider(tmp_path)
    values = made(provider, "oci_core_instance", **instance(a_network(provider), metadata={"user_data": user_data}))
    machine = RULES.resources["oci_core_instance"].machine
    assert machine is not None
    assert machine(values).user_data == text


def test_domains_carry_the_tenancys_prefix() -> None:
    assert domain_names("us-phoenix-1") == [f"Uocm:PHX-AD-{number}" for number in (1, 2, 3)]
    assert domain_names("ap-tokyo-1") == ["Uocm:AP-TOKYO-1-AD-1"]
    assert short_domain("Uocm:AP-TOKYO-1-AD-1") == "AD-1"


# --- data sources ----------------------------------------------------------------------------------------------------


def read(provider: Provider, type_: str, **config: Any) -> dict[str, Any]:
    outcome = provider.read_data(type_, complete(provider.schema.data[type_].block, config))
    assert outcome.values is not None, outcome.problems
    return dict(outcome.values)


def by_name(pattern: str) -> list[dict[str, Any]]:
    return [{"name": "display_name", "values": [pattern], "regex": True}]


@pytest.mark.parametrize(
    ("shape", "pattern", "found"),
    [
        ("BM.GPU4.8", r"^Oracle-Linux-9\.[0-9]+-Gen2-GPU", 1),
        ("BM.GPU.MI300X.8", r"^Oracle-Linux-9\.[0-9]+-Gen2-GPU", 0),
        ("BM.GPU.MI300X.8", "Gen2-AMD-GPU", 1),
        ("BM.GPU4.8", "AMD", 0),
        ("VM.Standard3.Flex", "GPU", 0),
        ("BM.GPU4.8", "^Windows", 0),
    ],
)
def test_images_by_shape_and_name(tmp_path: Path, shape: str, pattern: str, found: int) -> None:
    values = read(
        a_provider(tmp_path), "oci_core_images", compartment_id=COMPARTMENT, shape=shape, filter=by_name(pattern)
    )
    assert len(values["images"]) == found


def test_images_by_the_providers_own_arguments(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    asked = {"compartment_id": COMPARTMENT, "operating_system": "Canonical Ubuntu", "operating_system_version": "24.04"}
    [image] = read(provider, "oci_core_images", **asked)["images"]
    assert image["display_name"].startswith("Canonical-Ubuntu-24.04")
    exactly = [{"name": "display_name", "values": [image["display_name"]]}]
    assert read(provider, "oci_core_images", **asked, filter=exactly)["images"] == [image]


def test_a_pattern_and_an_order_that_are_none(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    block = provider.schema.data["oci_core_images"].block
    broken = {"compartment_id": COMPARTMENT, "filter": by_name("(")}
    [problem] = provider.read_data("oci_core_images", complete(block, broken)).problems
    assert "invalid regular expression" in problem.summary
    [problem] = provider.validate_data("oci_core_images", complete(block, {**broken, "sort_by": "AGE"}))
    assert "sort_by" in f"{problem.summary} {problem.path}"


def test_domains_and_shapes(tmp_path: Path) -> None:
    provider = a_provider(tmp_path, "eu-frankfurt-1")
    where = {"compartment_id": COMPARTMENT}
    domains = read(provider, "oci_identity_availability_domains", **where)["availability_domains"]
    assert [row["name"] for row in domains] == domain_names("eu-frankfurt-1")
    wanted = [{"name": "name", "values": ["BM.GPU4.8"]}]
    shapes = read(provider, "oci_core_shapes", **where, availability_domain=domains[0]["name"], filter=wanted)["shapes"]
    assert [row["name"] for row in shapes] == ["BM.GPU4.8"]
    strange = [{"name": "name", "values": ["p4d.24xlarge"]}]
    assert read(provider, "oci_core_shapes", **where, filter=strange)["shapes"] == []


def test_a_subnet_by_its_id(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    ids = a_network(provider)
    found = read(provider, "oci_core_subnet", subnet_id=ids["subnet"])
    assert (found["vcn_id"], found["cidr_block"]) == (ids["vcn"], "10.86.0.0/24")
    block = provider.schema.data["oci_core_subnet"].block
    [problem] = provider.read_data("oci_core_subnet", complete(block, {"subnet_id": "ocid1.subnet.x"})).problems
    assert problem.summary.startswith(NOT_FOUND)
    assert "Operation Name: GetSubnet" in problem.summary


# --- schema and rules ------------------------------------------------------------------------------------------------


def test_every_resource_of_the_schema_has_rules_and_every_rule_a_resource() -> None:
    assert CLOUD.sandbox is not None
    schema = read_schema(CLOUD.sandbox.schema)
    assert schema.resources.keys() == RULES.resources.keys()
    assert schema.data.keys() == RULES.data.keys()
    for type_, rules in RULES.resources.items():
        for path in {*rules.force_new, *rules.defaults, *rules.kept_blocks}:
            block = schema.resources[type_].block
            *blocks, last = path.split(".")
            for name in blocks:
                block = block.blocks[name].block
            assert last in block.attributes or last in block.blocks, f"{type_}.{path}"
