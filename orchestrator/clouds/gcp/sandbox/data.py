"""What the data sources read in the simulated Google Cloud."""

from __future__ import annotations

import re
from collections.abc import Mapping

from orchestrator.clouds.gcp.sandbox.network import subnet_at
from orchestrator.clouds.gcp.sandbox.places import zone_names
from orchestrator.clouds.gcp.sandbox.wording import link, project_of, refused
from orchestrator.clouds.rules import CallRefused, CloudView, DataRules, Values
from orchestrator.clouds.sdk_checks import every, exactly_one, one_of

__all__ = ["DATA"]

# Projects whose images everybody may use: cloud.google.com/compute/docs/images/os-details
_PUBLIC_PROJECTS = frozenset(
    {
        "ubuntu-os-accelerator-images",
        "deeplearning-platform-release",
        "ubuntu-os-cloud",
        "debian-cloud",
        "rocky-linux-cloud",
    }
)
_FILTER = re.compile(r'name\s*(?:=|eq)\s*["\']?([a-z0-9-]+)["\']?')


def _image(config: Values, view: CloudView) -> Values:
    project = config.get("project") or project_of({}, view)
    name, family = config.get("name"), config.get("family")
    if project not in _PUBLIC_PROJECTS or not (family or name):
        what = f"family/{family}" if family else name
        path = f"projects/{project}/global/images/{what}"
        doing = "error retrieving image information"
        raise refused(doing, 404, f"The resource '{path}' was not found", "notFound")
    name = name or f"{family}-v20260522"
    path = f"projects/{project}/global/images/{name}"
    return {
        "id": path,
        "self_link": link(path),
        "name": name,
        "family": family or "",
        "project": project,
        "disk_size_gb": 10,
        "status": "READY",
    }


def _zones(config: Values, view: CloudView) -> Values:
    project = project_of(config, view)
    region = config.get("region") or view.region
    names = [] if config.get("status") == "DOWN" else zone_names(region)
    return {"id": f"projects/{project}/regions/{region}", "project": project, "names": names}


def _machine_types(config: Values, view: CloudView) -> Values:
    """Every type in every zone: what the simulated cloud sells is not limited by place."""
    project, zone = project_of(config, view), config.get("zone") or view.provider.get("zone")
    if not zone:
        raise CallRefused("Cannot determine zone: set in this resource, or set provider-level zone.")
    found = _FILTER.fullmatch(config.get("filter") or "")
    types = [found[1]] if found else ["n1-standard-8"]
    rows: list[dict[str, object]] = [
        {
            "name": name,
            "self_link": link(f"projects/{project}/zones/{zone}/machineTypes/{name}"),
            "description": "",
            "guest_cpus": 8,
            "memory_mb": 30720,
            "is_shared_cpus": False,
            "maximum_persistent_disks": 128,
            "maximum_persistent_disks_size_gb": 263168,
            "accelerators": [],
            "deprecated": [],
        }
        for name in types
    ]
    return {
        "id": f"projects/{project}/zones/{zone}/machineTypes/filters/{config.get('filter') or ''}",
        "machine_types": rows,
    }


def _subnetwork(config: Values, view: CloudView) -> Values:
    project, region = project_of(config, view), config.get("region") or view.region
    path = config.get("self_link") or f"projects/{project}/regions/{region}/subnetworks/{config.get('name')}"
    found = subnet_at(path, view)
    if found is None:
        raise CallRefused(f"data source Subnetwork Not Found : {config.get('name') or path} not found")
    return {name: value for name, value in found.items() if value is not None}


DATA: Mapping[str, DataRules] = {
    "google_compute_image": DataRules(read=_image, validate=exactly_one("family", "filter", "name")),
    "google_compute_machine_types": DataRules(read=_machine_types),
    "google_compute_subnetwork": DataRules(read=_subnetwork),
    "google_compute_zones": DataRules(read=_zones, validate=every(one_of("status", "UP", "DOWN"))),
}
