"""What the data sources read in the simulated AWS."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.clouds.aws.sandbox.places import zone_id, zone_names
from orchestrator.clouds.aws.sandbox.wording import ACCOUNT
from orchestrator.clouds.rules import CallRefused, CloudView, DataRules, Values
from orchestrator.clouds.sdk_checks import one_of

__all__ = ["DATA"]

# docs.aws.amazon.com/systems-manager/latest/userguide/parameter-store-public-parameters.html: AWS's own images.
_PUBLIC_IMAGE = re.compile(r"/aws/service/.*(?:ami|image).*")


def _image_id(text: str) -> str:
    """The same image for the same question, as a real parameter would give until AWS publishes a new one."""
    return f"ami-{hashlib.sha256(text.encode()).hexdigest()[:17]}"


def _parameter(config: Values, view: CloudView) -> Values:
    name = config["name"]
    if not _PUBLIC_IMAGE.fullmatch(name):
        raise CallRefused(f"reading SSM Parameter ({name}): couldn't find resource")
    image = _image_id(f"{view.region}{name}")
    return {
        "id": name,
        "arn": f"arn:aws:ssm:{view.region}::parameter{name}",
        "type": "String",
        "value": image,
        "insecure_value": image,
        "version": 1,
    }


def _offerings(config: Values, view: CloudView) -> Values:
    """Every type in every zone: what the simulated cloud sells is not limited by place."""
    types = _wanted(config, "instance-type") or ["p4d.24xlarge"]
    kind = config.get("location_type") or "region"
    names = zone_names(view.region)
    places = {"availability-zone": names, "availability-zone-id": [zone_id(name) for name in names]}
    locations = places.get(kind, [view.region])
    wanted = _wanted(config, "location")
    pairs = [(type_, place) for type_ in types for place in locations if not wanted or place in wanted]
    return {
        "id": view.region,
        "instance_types": [type_ for type_, _ in pairs],
        "locations": [place for _, place in pairs],
        "location_types": [kind for _ in pairs],
    }


def _wanted(config: Values, name: str) -> list[str]:
    return [value for each in config.get("filter") or [] if each["name"] == name for value in each["values"]]


def _subnet(config: Values, view: CloudView) -> Values:
    id_ = config.get("id")
    found = [each for each in view.live("aws_subnet") if not id_ or each["id"] == id_]
    for argument in ("vpc_id", "availability_zone", "cidr_block"):
        found = [each for each in found if config.get(argument) in (None, each[argument])]
    if not found:
        raise CallRefused("no matching EC2 Subnet found")
    if len(found) > 1:
        raise CallRefused(
            "multiple EC2 Subnets matched; use additional constraints to reduce matches to a single EC2 Subnet"
        )
    return {**_plain(found[0]), "state": "available", "available_ip_address_count": 250}


def _vpc(config: Values, view: CloudView) -> Values:
    found = [each for each in view.live("aws_vpc") if config.get("id") in (None, each["id"])]
    if config.get("default") or not found:
        raise CallRefused("no matching EC2 VPC found")
    if len(found) > 1:
        raise CallRefused("multiple EC2 VPCs matched; use additional constraints to reduce matches to a single EC2 VPC")
    return {**_plain(found[0]), "state": "available"}


def _plain(values: Values) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _image(config: Values, view: CloudView) -> Values:
    if config.get("owners") == ["self"]:
        raise CallRefused("Your query returned no results. Please change your search criteria and try again.")
    question = json.dumps({name: config.get(name) for name in ("filter", "owners", "name_regex")}, sort_keys=True)
    id_ = _image_id(view.region + question)
    return {
        "id": id_,
        "image_id": id_,
        "arn": f"arn:aws:ec2:{view.region}::image/{id_}",
        "architecture": "x86_64",
        "name": next(iter(_wanted(config, "name")), "simulated").replace("*", "1"),
        "root_device_name": "/dev/sda1",
        "root_device_type": "ebs",
        "state": "available",
        "virtualization_type": "hvm",
    }


def _zones(config: Values, view: CloudView) -> Values:
    hidden: Sequence[str] = config.get("exclude_names") or []
    names = [name for name in zone_names(view.region) if name not in hidden]
    return {
        "id": view.region,
        "names": names,
        "zone_ids": [zone_id(name) for name in names],
        "group_names": [view.region],
    }


def _identity(config: Values, view: CloudView) -> Values:
    user = f"arn:aws:iam::{ACCOUNT}:user/sandbox"
    return {"id": ACCOUNT, "account_id": ACCOUNT, "arn": user, "user_id": "AIDASANDBOXSANDBOXSAN"}


def _partition(config: Values, view: CloudView) -> Values:
    return {"id": "aws", "partition": "aws", "dns_suffix": "amazonaws.com", "reverse_dns_prefix": "com.amazonaws"}


def _region(config: Values, view: CloudView) -> Values:
    name = config.get("name") or view.region
    return {"id": name, "name": name, "endpoint": f"ec2.{name}.amazonaws.com", "description": name}


DATA: Mapping[str, DataRules] = {
    "aws_ami": DataRules(read=_image),
    "aws_availability_zones": DataRules(read=_zones),
    "aws_caller_identity": DataRules(read=_identity),
    "aws_ec2_instance_type_offerings": DataRules(
        read=_offerings,
        validate=one_of("location_type", "region", "availability-zone", "availability-zone-id", "outpost"),
    ),
    "aws_partition": DataRules(read=_partition),
    "aws_region": DataRules(read=_region),
    "aws_ssm_parameter": DataRules(read=_parameter),
    "aws_subnet": DataRules(read=_subnet),
    "aws_vpc": DataRules(read=_vpc),
}
