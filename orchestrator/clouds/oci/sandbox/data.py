"""What the data sources read in the simulated OCI."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestrator.clouds.oci.sandbox.places import domain_names, region_key
from orchestrator.clouds.oci.sandbox.wording import Operation, not_found
from orchestrator.clouds.rules import CallRefused, CloudView, DataRules, Values
from orchestrator.clouds.sdk_checks import one_of

__all__ = ["DATA"]

# Names of platform images as OCI publishes them (docs.oracle.com/iaas/images); the simulated cloud has these few.
_IMAGES = (
    "Oracle-Linux-9.6-Gen2-GPU-2025.10.23-0",
    "Oracle-Linux-8.10-Gen2-GPU-2025.08.31-0",
    "Oracle-Linux-8.10-Gen2-AMD-GPU-2025.08.31-0",
    "Oracle-Linux-9.6-2025.10.23-0",
    "Canonical-Ubuntu-22.04-2025.10.31-0",
    "Canonical-Ubuntu-24.04-2025.10.31-0",
)
_AMD = ("BM.GPU.MI",)
_SUBNET = Operation(service="Core Subnet", name="GetSubnet", method="GET", path="subnets/{id}")


def _filtered(rows: Sequence[Mapping[str, Any]], config: Values) -> list[Mapping[str, Any]]:
    """The provider's own ``filter`` blocks: each must meet, by one of its values."""
    for each in config.get("filter") or []:
        meets: Callable[[str, str], bool] = _like if each.get("regex") else _equal
        rows = [row for row in rows if any(meets(value, str(row.get(each["name"]))) for value in each["values"])]
    return list(rows)


def _like(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error as error:
        raise CallRefused(f"invalid regular expression {pattern!r} in filter: {error}") from None


def _equal(value: str, text: str) -> bool:
    return value == text


def _domains(config: Values, view: CloudView) -> Values:
    names = domain_names(view.region)
    rows = [
        {"name": name, "id": f"ocid1.availabilitydomain.oc1..{_digest(name)}", "compartment_id": ""} for name in names
    ]
    found = [{**row, "compartment_id": config["compartment_id"]} for row in _filtered(rows, config)]
    return {"id": f"IdentityAvailabilityDomainsDataSource-{_digest(view.region)[:9]}", "availability_domains": found}


def _shapes(config: Values, view: CloudView) -> Values:
    """Every shape that is asked for by its name, everywhere: what the simulated cloud sells is not limited by place."""
    wanted = [value for each in config.get("filter") or [] if each["name"] == "name" for value in each["values"]]
    rows = [{"name": name} for name in wanted or ["BM.GPU4.8"] if re.fullmatch(r"(VM|BM)\.[A-Za-z0-9.-]+", name)]
    return {"id": f"CoreShapesDataSource-{_digest(str(wanted))[:9]}", "shapes": _filtered(rows, config)}


def _images(config: Values, view: CloudView) -> Values:
    shape = config.get("shape") or ""
    rows = [
        {
            "display_name": name,
            "id": f"ocid1.image.oc1.{region_key(view.region)}.aaaaaaaa{_digest(view.region + name)}",
            "operating_system": "Oracle Linux" if name.startswith("Oracle") else "Canonical Ubuntu",
            "operating_system_version": name.split("-")[2],
            "state": "AVAILABLE",
            "size_in_mbs": "47694",
        }
        for name in _IMAGES
        if _fits(name, shape)
    ]
    for argument in ("display_name", "operating_system", "operating_system_version"):
        rows = [row for row in rows if config.get(argument) in (None, row[argument])]
    return {"id": f"CoreImagesDataSource-{_digest(shape)[:9]}", "images": _filtered(rows, config)}


def _fits(name: str, shape: str) -> bool:
    """An image for one maker's GPUs fits no machine with the other's, and none without."""
    if "AMD-GPU" in name:
        return shape.startswith(_AMD) or not shape
    if "Gen2-GPU" in name:
        return (".GPU" in shape and not shape.startswith(_AMD)) or not shape
    return True


def _subnet(config: Values, view: CloudView) -> Values:
    found = view.get("oci_core_subnet", config["subnet_id"])
    if found is None:
        raise not_found(_SUBNET, view.region)
    return {name: value for name, value in found.items() if value is not None and name != "timeouts"}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:52]


DATA: Mapping[str, DataRules] = {
    "oci_core_images": DataRules(
        read=_images,
        validate=lambda config: [
            *one_of("sort_by", "TIMECREATED", "DISPLAYNAME")(config),
            *one_of("sort_order", "ASC", "DESC")(config),
        ],
    ),
    "oci_core_shapes": DataRules(read=_shapes),
    "oci_core_subnet": DataRules(read=_subnet),
    "oci_identity_availability_domains": DataRules(read=_domains),
}
