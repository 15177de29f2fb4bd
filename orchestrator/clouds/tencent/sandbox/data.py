"""What the data sources read in the simulated cloud."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from orchestrator.clouds.rules import CallRefused, CloudView, DataRules, Values
from orchestrator.clouds.sdk_checks import conflicting
from orchestrator.clouds.tencent.sandbox.places import check_region, zone_names
from orchestrator.clouds.tencent.types import FAMILIES

__all__ = ["DATA"]

# Names and ids of public images. The first three are shown in many users' notes; those with NVIDIA's guest driver stand
# in the table of GPU machine types (product/560/19700) without an id.
_IMAGES = {
    "Ubuntu Server 22.04 LTS 64bit": "img-487zeit5",
    "Ubuntu Server 22.04 LTS 64bit UEFI": "img-0d2f5mku",
    "Ubuntu Server 20.04 LTS 64bit": "img-22trbn9x",
    "TencentOS Server 3.1(TK4)": "img-eb30mz89",
    "Ubuntu 20.04 LTS 64-bit GRID 11.1": "img-0grid11u",
    "CentOS 8.0 64-bit GRID 11.1": "img-0grid11c",
}


def _images(config: Values, view: CloudView) -> Values:
    check_region(view.region)
    pattern, os_name = config.get("image_name_regex") or "", (config.get("os_name") or "").lower()
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise CallRefused(f"image_name_regex format error,error parsing regexp: {error}") from None
    public = "PUBLIC_IMAGE" in (config.get("image_type") or ["PUBLIC_IMAGE"])
    found = [
        {"image_id": id_, "image_name": name, "os_name": name, "image_type": "PUBLIC_IMAGE", "image_state": "NORMAL"}
        for name, id_ in _IMAGES.items()
        if public and wanted.search(name) and os_name in name.lower() and config.get("image_id") in (None, id_)
    ]
    return {"id": view.region, "images": [{**_NO_IMAGE, **image} for image in found]}


_NO_IMAGE: Mapping[str, Any] = {
    "architecture": "x86_64",
    "created_time": "",
    "image_creator": "",
    "image_description": "",
    "image_size": 20,
    "image_source": "OFFICIAL",
    "platform": "",
    "snapshots": [],
    "support_cloud_init": True,
    "sync_percent": 0,
}


def _types(config: Values, view: CloudView) -> Values:
    """Every documented type in every zone, in every way to pay: what is on sale is not limited by place."""
    check_region(view.region)
    filters = {each["name"]: each["values"] for each in config.get("filter") or []}
    zone = config.get("availability_zone")
    zones = [zone] if zone else filters.get("zone", zone_names(view.region))
    charges = filters.get("instance-charge-type", ["POSTPAID_BY_HOUR"])
    rows = [
        {
            "availability_zone": zone,
            "instance_type": type_,
            "family": family,
            "instance_charge_type": charge,
            "status": "SELL",
            "cpu_core_count": 0,
            "gpu_core_count": 0,
            "memory_size": 0,
            "cbs_configs": [],
        }
        for family in filters.get("instance-family", FAMILIES)
        for type_ in FAMILIES.get(family, ())
        for zone in zones
        for charge in charges
    ]
    return {"id": view.region, "instance_types": rows}


def _subnets(config: Values, view: CloudView) -> Values:
    found = [
        {
            "availability_zone": each["availability_zone"],
            "available_ip_count": each["available_ip_count"],
            "cidr_block": each["cidr_block"],
            "create_time": each["create_time"],
            "is_default": False,
            "is_multicast": False,
            "name": each["name"],
            "route_table_id": each["route_table_id"],
            "subnet_id": each["id"],
            "tags": each["tags"] or {},
            "vpc_id": each["vpc_id"],
        }
        for each in view.live("tencentcloud_subnet")
        if config.get("subnet_id") in (None, each["id"]) and config.get("vpc_id") in (None, each["vpc_id"])
    ]
    return {"id": view.region, "instance_list": found}


DATA: Mapping[str, DataRules] = {
    "tencentcloud_images": DataRules(read=_images, validate=conflicting("image_name_regex", "os_name")),
    "tencentcloud_instance_types": DataRules(read=_types, validate=conflicting("availability_zone", "filter")),
    "tencentcloud_vpc_subnets": DataRules(read=_subnets),
}
