"""Rules of the machine itself."""

from __future__ import annotations

import base64
import binascii
import gzip
import ipaddress
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from orchestrator.clouds.aws.sandbox.network import arn
from orchestrator.clouds.aws.sandbox.places import zone_id, zone_names
from orchestrator.clouds.aws.sandbox.tags import tags_all
from orchestrator.clouds.aws.sandbox.wording import REQUEST, ec2_refused, request_id
from orchestrator.clouds.rules import CloudView, MachineFacts, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import Check, at, between, conflicting, every, one_of, some_of

__all__ = ["INSTANCE", "capacity_error"]

_DOING, _RUN = "creating EC2 Instance", "RunInstances"
# docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html: 16 KB, before it is base64-encoded.
_USER_DATA_BYTES = 16384

_IMAGE = re.compile(r"ami-(?:[0-9a-f]{8}|[0-9a-f]{17})")
_PRICE = re.compile(r"[0-9]+(?:\.[0-9]+)?")


# -- what the provider refuses before the plan


def _address(config: Values) -> Iterator[Problem]:
    for where, text in at(config, "private_ip"):
        try:
            ipaddress.IPv4Address(text)
        except ValueError:
            yield Problem(summary=f"expected private_ip to contain a valid IPv4 address, got: {text}", path=where)


def _valid_until(config: Values) -> Iterator[Problem]:
    for where, text in at(config, "instance_market_options.spot_options.valid_until"):
        try:
            complete = datetime.fromisoformat(text).tzinfo is not None
        except ValueError:
            complete = False
        if not complete:
            words = f'must be in RFC3339 time format "2006-01-02T15:04:05Z07:00". Example: cannot parse "{text}"'
            yield Problem(summary=words, path=where)


_SPOT = "instance_market_options.spot_options"

_VALIDATE: Check = every(
    some_of("ami", "launch_template"),
    some_of("instance_type", "launch_template"),
    some_of("launch_template", "ami", "instance_type"),
    conflicting("user_data", "user_data_base64"),
    conflicting("ipv6_address_count", "ipv6_addresses"),
    one_of("tenancy", "default", "dedicated", "host"),
    one_of("instance_market_options.market_type", "spot", "capacity-block"),
    one_of(f"{_SPOT}.spot_instance_type", "one-time", "persistent"),
    one_of(f"{_SPOT}.instance_interruption_behavior", "hibernate", "stop", "terminate"),
    one_of("metadata_options.http_endpoint", "disabled", "enabled"),
    one_of("metadata_options.http_tokens", "optional", "required"),
    one_of("metadata_options.instance_metadata_tags", "disabled", "enabled"),
    between("metadata_options.http_put_response_hop_limit", 1, 64),
    one_of("root_block_device.volume_type", "standard", "io1", "io2", "gp2", "sc1", "st1", "gp3"),
    one_of("ebs_block_device.volume_type", "standard", "io1", "io2", "gp2", "sc1", "st1", "gp3"),
    _address,
    _valid_until,
)


# -- what EC2 refuses at the launch


def _check_launch(values: Values, view: CloudView) -> None:
    ami, groups = values.get("ami"), values.get("vpc_security_group_ids") or []
    if ami and not _IMAGE.fullmatch(ami):
        raise ec2_refused(_DOING, _RUN, "InvalidAMIID.Malformed", f'Invalid id: "{ami}" (expecting "ami-...")')
    for price in (price for _, price in at(values, f"{_SPOT}.max_price") if price):
        if not _PRICE.fullmatch(price):
            message = f"Invalid value '{price}' for parameter spotPrice"
            raise ec2_refused(_DOING, _RUN, "InvalidParameterValue", message)
    for type_, id_, code, words in (
        ("aws_subnet", values.get("subnet_id"), "InvalidSubnetID.NotFound", "The subnet ID '{}' does not exist"),
        ("aws_key_pair", values.get("key_name"), "InvalidKeyPair.NotFound", "The key pair '{}' does not exist"),
        *(
            ("aws_security_group", group, "InvalidGroup.NotFound", "The security group '{}' does not exist")
            for group in groups
        ),
    ):
        if id_ and view.get(type_, id_) is None:
            raise ec2_refused(_DOING, _RUN, code, words.format(id_))
    profile = values.get("iam_instance_profile")
    if profile and view.get("aws_iam_instance_profile", profile) is None:
        message = (
            f"Value ({profile}) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name"
        )
        raise ec2_refused(_DOING, _RUN, "InvalidParameterValue", message)
    _check_user_data(values)
    _check_volumes(values)


def _check_user_data(values: Values) -> None:
    if len(_user_data(values)) > _USER_DATA_BYTES:
        raise ec2_refused(_DOING, _RUN, "InvalidParameterValue", f"User data is limited to {_USER_DATA_BYTES} bytes")


def _check_volumes(values: Values) -> None:
    # docs.aws.amazon.com/ebs/latest/userguide/ebs-volume-types.html
    for _, volume in at(values, "root_block_device"):
        kind, size = volume.get("volume_type") or "gp2", volume.get("volume_size")
        most = 65536 if kind in ("gp3", "io2") else 1024 if kind == "standard" else 16384
        if size and not 1 <= size <= most:
            message = f"Volume of {size}GiB is not supported for volume type {kind}; the limits are 1 and {most}GiB"
            raise ec2_refused(_DOING, _RUN, "InvalidParameterValue", message)


# -- what EC2 fills in

# Where the configuration says nothing: docs of aws_instance, and DescribeInstances of a plain launch.
_ROOT_VOLUME = {"delete_on_termination": True, "encrypted": False, "kms_key_id": "", "tags": {}, "tags_all": {}}
_METADATA = {"http_endpoint": "enabled", "http_protocol_ipv6": "disabled"}


def _create(values: Values, view: CloudView) -> Values:
    _check_launch(values, view)
    id_ = view.new_id("i-")
    subnet = view.get("aws_subnet", values.get("subnet_id") or "") or {}
    zone = subnet.get("availability_zone") or values.get("availability_zone") or zone_names(view.region)[0]
    private = values.get("private_ip") or _free_address(subnet, view)
    public = ""
    if values.get("associate_public_ip_address") or (
        values.get("associate_public_ip_address") is not False and subnet.get("map_public_ip_on_launch", True)
    ):
        # RFC 5737 sets this block aside for documentation: nobody can be reached there by mistake.
        public = f"203.0.113.{int(id_[-2:], 16) % 254 + 1}"
    spot = bool(values.get("instance_market_options"))
    return {
        "id": id_,
        "arn": arn(view, "instance", id_),
        "availability_zone": zone,
        "associate_public_ip_address": bool(public),
        "instance_state": "running",
        "instance_lifecycle": "spot" if spot else "",
        "spot_instance_request_id": view.new_id("sir-", 8) if spot else "",
        "private_ip": private,
        "private_dns": f"ip-{private.replace('.', '-')}.{view.region}.compute.internal",
        "public_ip": public,
        "public_dns": f"ec2-{public.replace('.', '-')}.{view.region}.compute.amazonaws.com" if public else "",
        "primary_network_interface_id": view.new_id("eni-"),
        "vpc_security_group_ids": [],
        "instance_initiated_shutdown_behavior": "stop",
        "tenancy": "default",
        "monitoring": False,
        "ebs_optimized": False,
        "cpu_core_count": 48,
        "cpu_threads_per_core": 2,
        "root_block_device.device_name": "/dev/sda1",
        "root_block_device.volume_id": lambda: view.new_id("vol-"),
        "root_block_device.volume_size": 100,
        "root_block_device.volume_type": "gp2",
        "root_block_device.iops": 3000,
        "root_block_device.throughput": 125,
        "ebs_block_device.volume_id": lambda: view.new_id("vol-"),
        "instance_market_options.market_type": "spot",
        f"{_SPOT}.spot_instance_type": "one-time",
        f"{_SPOT}.instance_interruption_behavior": "terminate",
        f"{_SPOT}.max_price": "",
        "metadata_options.http_put_response_hop_limit": 1,
        "metadata_options.http_tokens": "optional",
        "metadata_options.instance_metadata_tags": "disabled",
        "root_block_device": [_ROOT_VOLUME],
        "metadata_options": [_METADATA],
    }


def _free_address(subnet: Values, view: CloudView) -> str:
    block = ipaddress.ip_network(subnet.get("cidr_block") or "172.31.0.0/20")
    taken = {other.get("private_ip") for other in view.live("aws_instance")}
    # EC2 keeps the first four addresses and the last one of every subnet for itself.
    for place in range(4, block.num_addresses - 1):
        if (address := str(block[place])) not in taken:
            return address
    message = f"There are not enough free addresses in subnet '{subnet.get('id', '')}' to satisfy the requested number."
    raise ec2_refused(_DOING, _RUN, "InsufficientFreeAddressesInSubnet", message)


def _user_data(values: Values) -> bytes:
    encoded = values.get("user_data_base64")
    if not encoded:
        return (values.get("user_data") or "").encode()
    try:
        return base64.b64decode("".join(encoded.split()), validate=True)
    except binascii.Error:
        raise ec2_refused(_DOING, _RUN, "InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.") from None


def _machine(values: Values) -> MachineFacts:
    data = _user_data(values)
    if data.startswith(b"\x1f\x8b"):
        try:
            # cloud-init unpacks gzip by itself.
            data = gzip.decompress(data)
        except (OSError, EOFError):
            data = b""
    return MachineFacts(
        zone=values["availability_zone"],
        zone_id=zone_id(values["availability_zone"]),
        instance_type=values.get("instance_type") or "",
        market="spot" if values["instance_lifecycle"] == "spot" else "on-demand",
        user_data=data.decode(errors="replace"),
        address=values["public_ip"],
        private_address=values["private_ip"],
    )


def capacity_error(facts: MachineFacts, region: str) -> Problem:
    """EC2's answer where the zone has no such machine; the provider has then tried three times (``max_retries``)."""
    if facts.market == "spot":
        message = "There is no Spot capacity available that matches your request."
    else:
        others = ", ".join(zone for zone in zone_names(region) if zone != facts.zone)
        message = f"We currently do not have sufficient {facts.instance_type} capacity in the Availability Zone you "
        message += f"requested ({facts.zone}). Our system will be working on provisioning additional capacity. You can "
        message += (
            f"currently get {facts.instance_type} capacity by not specifying an Availability Zone in your request "
        )
        message += f"or choosing {others}."
    request = REQUEST.format(status=500, request=request_id())
    words = f"{_DOING}: operation error EC2: {_RUN}, exceeded maximum number of attempts, 3, {request}, "
    return Problem(summary=f"{words}api error InsufficientInstanceCapacity: {message}")


# Which changes replace and which do not was asked of the genuine provider, one argument at a time.
_FORCE_NEW = frozenset(
    {
        "ami",
        "associate_public_ip_address",
        "availability_zone",
        "cpu_core_count",
        "cpu_threads_per_core",
        "ebs_optimized",
        "hibernation",
        "host_id",
        "instance_market_options.market_type",
        f"{_SPOT}.instance_interruption_behavior",
        f"{_SPOT}.max_price",
        f"{_SPOT}.spot_instance_type",
        f"{_SPOT}.valid_until",
        "ipv6_addresses",
        "key_name",
        "placement_group",
        "placement_partition_number",
        "private_ip",
        "root_block_device.encrypted",
        "root_block_device.kms_key_id",
        "security_groups",
        "subnet_id",
        "tenancy",
    }
)


def _defaults() -> dict[str, Any]:
    return {
        "get_password_data": False,
        "source_dest_check": True,
        "user_data_replace_on_change": False,
        "metadata_options.http_endpoint": "enabled",
        "metadata_options.http_protocol_ipv6": "disabled",
        "root_block_device.tags": {},
        "root_block_device.delete_on_termination": True,
    }


INSTANCE = ResourceRules(
    validate=_VALIDATE,
    force_new=_FORCE_NEW,
    defaults=_defaults(),
    plan=tags_all,
    kept_blocks=frozenset({"instance_market_options", "metadata_options", "root_block_device"}),
    create=_create,
    machine=_machine,
)
