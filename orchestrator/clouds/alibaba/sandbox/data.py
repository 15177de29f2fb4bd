"""What the data sources read in the simulated Alibaba Cloud."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from orchestrator.clouds.alibaba.sandbox.places import zone_names
from orchestrator.clouds.rules import CloudView, DataRules, Values
from orchestrator.clouds.sdk_checks import one_of

__all__ = ["DATA"]


def _zones(config: Values, view: CloudView) -> Values:
    """Every zone: what the simulated cloud sells is not limited by place."""
    names = zone_names(view.region)
    zones = [{"id": name, "local_name": "", "available_instance_types": []} for name in names]
    return {"id": _number(view.region), "ids": names, "zones": zones}


def _images(config: Values, view: CloudView) -> Values:
    """One image for a family of public ones, the same every time, as until the cloud publishes a newer one."""
    family = config.get("image_family")
    if not family or config.get("owners") not in (None, "system"):
        # As in an account that has none of its own: an empty list is no error.
        return {"id": _number(view.region), "ids": [], "images": []}
    id_ = f"{family.removeprefix('acs:')}_20G_alibase_20260630.vhd"
    image = {
        "id": id_,
        "image_id": id_,
        "name": id_,
        "architecture": "x86_64",
        "image_owner_alias": "system",
        "os_type": "linux",
        "size": 20,
        "state": "Available",
        "status": "Available",
    }
    return {"id": _number(id_), "ids": [id_], "images": [image]}


def _vswitches(config: Values, view: CloudView) -> Values:
    found = [
        each
        for each in view.live("alicloud_vswitch")
        if (not config.get("ids") or each["id"] in config["ids"])
        and all(config.get(name) in (None, "", each.get(name)) for name in ("vpc_id", "zone_id", "cidr_block"))
    ]
    rows = [
        {
            "id": each["id"],
            "vswitch_id": each["id"],
            "vpc_id": each["vpc_id"],
            "zone_id": each["zone_id"],
            "cidr_block": each["cidr_block"],
            "name": each.get("vswitch_name") or "",
            "vswitch_name": each.get("vswitch_name") or "",
            "status": "Available",
            "available_ip_address_count": 250,
            "tags": each.get("tags") or {},
        }
        for each in found
    ]
    ids = [each["id"] for each in found]
    return {"id": _number(",".join(ids)), "ids": ids, "names": [row["name"] for row in rows], "vswitches": rows}


def _instances(config: Values, view: CloudView) -> Values:
    wanted = config.get("tags") or {}
    found = [
        each
        for each in view.live("alicloud_instance")
        if (not config.get("ids") or each["id"] in config["ids"]) and wanted.items() <= (each.get("tags") or {}).items()
    ]
    same = (
        *("id", "availability_zone", "image_id", "instance_type", "instance_charge_type", "private_ip", "public_ip"),
        *("spot_strategy", "status", "vpc_id", "vswitch_id"),
    )
    rows = [{**{name: each[name] for name in same}, "region_id": view.region, "tags": each["tags"]} for each in found]
    ids = [each["id"] for each in found]
    return {"id": _number(",".join(ids)), "ids": ids, "total_count": len(ids), "instances": rows}


def _number(text: str) -> str:
    return str(int(hashlib.sha256(text.encode()).hexdigest()[:8], 16))


DATA: Mapping[str, DataRules] = {
    "alicloud_images": DataRules(
        read=_images, validate=one_of("owners", "system", "self", "others", "marketplace", "")
    ),
    "alicloud_instances": DataRules(read=_instances),
    "alicloud_vswitches": DataRules(read=_vswitches),
    "alicloud_zones": DataRules(
        read=_zones,
        validate=one_of("spot_strategy", "NoSpot", "SpotAsPriceGo", "SpotWithPriceLimit"),
    ),
}
