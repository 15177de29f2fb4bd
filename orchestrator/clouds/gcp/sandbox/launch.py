"""What Compute Engine refuses at a launch, and what a machine type brings with it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from orchestrator.clouds.gcp.machine_types import MachineType
from orchestrator.clouds.gcp.sandbox.labels import check_labels
from orchestrator.clouds.gcp.sandbox.wording import project_of, refused
from orchestrator.clouds.rules import CallRefused, CloudView, Values
from orchestrator.clouds.sdk_checks import at

__all__ = ["check_launch", "gpus_of", "local_disks_of"]

_DOING = "Error creating instance"

# cloud.google.com/compute/docs/metadata/overview: each value has 256 KB at most.
_METADATA_BYTES = 262144
# cloud.google.com/compute/docs/instances/limit-vm-runtime: 30 seconds to 120 days.
_RUN_SECONDS = (30, 10_368_000)
_SMALLEST_IMAGE_GB = 10

_MACHINE_TYPE = re.compile(r"(?:.*/)?([a-z][a-z0-9]*(?:-[a-z0-9]+)+)")
_IMAGE = re.compile(r"(?:.*/)?projects/[a-z0-9.:-]+/global/images/(?:family/)?[a-z][-a-z0-9]{0,62}")
_HYPERDISK_ONLY = re.compile(r"(?:a3-ultragpu|a4x?|c4[ad]?|g4|h4d|m4|n4|x4)-.*")
_GPUS = re.compile(r"-(\d+)g(?:-\w+)?$")
# g2-standard-N: cloud.google.com/compute/docs/accelerator-optimized-machines
_L4S = {"24": 2, "48": 4, "96": 8}
# Local disks that come with a type: cloud.google.com/compute/docs/disks/local-ssd, per GPU of the type.
_LOCAL_DISKS = {"a2-ultragpu-": 1, "a3-highgpu-": 2, "a3-megagpu-": 2}


def gpus_of(name: str) -> list[dict[str, Any]]:
    """The ``guest_accelerator`` blocks that the provider reads from a machine whose type has its GPUs built in."""
    accelerator = MachineType(name=name).built_in
    return [{"type": accelerator, "count": _count(name)}] if accelerator else []


def local_disks_of(name: str) -> list[dict[str, Any]]:
    """The ``scratch_disk`` blocks that appear with some types although nobody asked for them."""
    each = next((disks for start, disks in _LOCAL_DISKS.items() if name.startswith(start)), 0)
    return [
        {"device_name": f"local-ssd-{number}", "interface": "NVME", "size": 375}
        for number in range(each * _count(name))
    ]


def _count(name: str) -> int:
    found = _GPUS.search(name)
    return int(found[1]) if found else _L4S.get(name.rpartition("-")[2], 1)


def check_launch(values: Values, view: CloudView, zone: str) -> None:
    """Raise :class:`CallRefused` for what Compute Engine would not launch."""
    check_labels(_DOING, "resource.labels", values.get("effective_labels"))
    for check in _CHECKS:
        check(values, view, zone)


def _invalid(field: str, value: object, words: str) -> CallRefused:
    return refused(_DOING, 400, f"Invalid value for field '{field}': '{value}'. {words}", "invalid")


def _type_and_gpus(values: Values, view: CloudView, zone: str) -> None:
    said, gpus = values["machine_type"], values.get("guest_accelerator") or []
    name = _MACHINE_TYPE.fullmatch(said)
    if name is None:
        words = f"Machine type with name '{said}' does not exist in zone '{zone}'."
        raise _invalid("resource.machineType", f"zones/{zone}/machineTypes/{said}", words)
    for gpu in gpus:
        accelerator = gpu["type"].rpartition("/")[2]
        if not accelerator.startswith(("nvidia-", "ct")):
            path = f"projects/{project_of(values, view)}/zones/{zone}/acceleratorTypes/{accelerator}"
            words = "The referenced resource does not exist."
            raise _invalid("resource.guestAccelerators[0].acceleratorType", path, words)
        if not name[1].startswith("n1-") and MachineType(name=name[1]).built_in != accelerator:
            words = f"[{name[1]}, {accelerator}] features are not compatible for creating instance."
            raise refused(_DOING, 400, words, "badRequest")


def _disk(values: Values, view: CloudView, zone: str) -> None:
    name = values["machine_type"].rpartition("/")[2]
    for _, disk in at(values, "boot_disk.initialize_params"):
        image, size, kind = disk.get("image"), disk.get("size"), disk.get("type") or "pd-standard"
        if not image or not _IMAGE.fullmatch(image):
            raise CallRefused(
                f"Error resolving image name '{image or ''}': Could not find image or family {image or ''}"
            )
        if isinstance(size, int | float) and size < _SMALLEST_IMAGE_GB:
            words = f"Requested disk size cannot be smaller than the image size ({_SMALLEST_IMAGE_GB} GB)"
            raise _invalid("resource.disks[0].initializeParams.diskSizeGb", int(size), words)
        if kind.startswith("pd-") and _HYPERDISK_ONLY.fullmatch(name):
            words = f"[{kind}, {name}] features are not compatible for creating instance."
            raise refused(_DOING, 400, words, "badRequest")
        check_labels(_DOING, "resource.disks[0].initializeParams.labels", disk.get("labels"))


def _scheduling(values: Values, view: CloudView, zone: str) -> None:
    for _, said in at(values, "scheduling"):
        spot = said.get("provisioning_model") == "SPOT"
        if spot and not said.get("preemptible"):
            words = "Scheduling must have preemptible be true when provisioningModel is SPOT."
            raise _invalid("resource.scheduling.preemptible", "false", words)
        if said.get("preemptible") and said.get("automatic_restart"):
            words = "Scheduling must have preemptible be false when AutomaticRestart is true."
            raise _invalid("resource.scheduling.preemptible", "true", words)
        if said.get("preemptible") and said.get("on_host_maintenance") == "MIGRATE":
            words = "Scheduling must have preemptible be false when OnHostMaintenance isn't TERMINATE."
            raise _invalid("resource.scheduling.preemptible", "true", words)
        gpus = values.get("guest_accelerator") or gpus_of(values["machine_type"])
        if gpus and said.get("on_host_maintenance") == "MIGRATE":
            words = "Instances with guest accelerators do not support live migration."
            raise refused(_DOING, 400, words, "invalid")
        _time_limit(said, spot)


def _time_limit(said: Values, spot: bool) -> None:
    action, limits = said.get("instance_termination_action"), said.get("max_run_duration") or []
    if action and action not in ("STOP", "DELETE"):
        words = "Must be one of the following values: DELETE, STOP."
        raise _invalid("resource.scheduling.instanceTerminationAction", action, words)
    if action and not spot and not limits:
        words = (
            "You cannot specify a termination action for a VM instance that has the standard provisioning model and "
        )
        words += "no time limit."
        raise _invalid("resource.scheduling.instanceTerminationAction", action, words)
    if limits and not action:
        words = "Instance termination action must be specified when max run duration is set."
        raise _invalid("resource.scheduling.instanceTerminationAction", "", words)
    for limit in limits:
        if not _RUN_SECONDS[0] <= limit["seconds"] <= _RUN_SECONDS[1]:
            words = "Max run duration must be between 30 seconds and 120 days."
            raise _invalid("resource.scheduling.maxRunDuration.seconds", limit["seconds"], words)


def _metadata(values: Values, view: CloudView, zone: str) -> None:
    for place, text in enumerate((values.get("metadata") or {}).values()):
        size = len(text.encode())
        if size > _METADATA_BYTES:
            field = f"resource.metadata.items[{place}].value"
            words = f"Value for field '{field}' is too large: maximum size {_METADATA_BYTES} character(s); "
            words += f"actual size {size}."
            raise refused(_DOING, 413, words, "fieldSizeTooLarge")


def _identity(values: Values, view: CloudView, zone: str) -> None:
    accounts = {account["email"] for account in view.live("google_service_account")}
    for _, email in at(values, "service_account.email"):
        if email.startswith("gpuorch-") and email not in accounts:
            words = f"The resource '{email}' of type 'serviceAccount' was not found."
            raise refused(_DOING, 400, words, "invalidResourceUsage")


_CHECKS: tuple[Callable[[Values, CloudView, str], None], ...] = (
    _type_and_gpus,
    _disk,
    _scheduling,
    _metadata,
    _identity,
)
