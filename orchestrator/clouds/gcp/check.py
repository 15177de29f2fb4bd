"""What Google Cloud will not take, said before anything is made; and the values of the module's own variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_network
from math import ceil
from typing import Any

from orchestrator.clouds.gcp.machine_types import machine_type
from orchestrator.errors import UsageError
from orchestrator.model.launch import Launch
from orchestrator.model.offer import Market

__all__ = ["check", "module_variables"]

# cloud.google.com/compute/docs/disks/persistent-disks: up to 64 TiB; no smaller than the image, which has 10 GiB.
_DISK_GIB = (10, 65536)
# cloud.google.com/compute/docs/labeling-resources: 64 a resource, of which the module sets these itself.
_MOST_LABELS = 64 - 6
# cloud.google.com/compute/docs/instances/limit-vm-runtime
_RUN_SECONDS = (30, 10_368_000)

_PROJECT = re.compile(r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]")
_REGION = re.compile(r"[a-z]+-[a-z]+\d+")
_SUBNET = re.compile(r"(?:projects/[a-z0-9.:-]+/regions/([a-z0-9-]+)/subnetworks/)?[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")
# Neither quotation marks nor wildcards: the prefix stands in a string of an IAM condition, and in gcloud's arguments.
_CHECKPOINT = re.compile(r"gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](?:/[A-Za-z0-9!_.'()/=+@:, -]*)?")
_KEYS = ("ssh-rsa", "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521")


def check(launch: Launch) -> None:
    """Raise :class:`UsageError` for what the module or Google Cloud would refuse, in a sentence with the value."""
    project = launch.cloud_settings.get("project", "")
    if not _PROJECT.fullmatch(project):
        raise UsageError(
            f"{project!r} is no Google Cloud project" if project else "Google Cloud needs a project",
            hint="set GOOGLE_CLOUD_PROJECT, or project in [cloud_settings.gcp], to the project's id",
        )
    _check_place(launch)
    _check_access(launch)
    _check_labels(launch)
    subnet = _SUBNET.fullmatch(launch.subnet)
    if launch.subnet and (subnet is None or subnet[1] not in (None, launch.offer.region)):
        raise UsageError(
            f"{launch.subnet!r} is no subnet in {launch.offer.region}",
            hint="give its name, or projects/PROJECT/regions/REGION/subnetworks/NAME",
        )
    if launch.checkpoint_uri and not _CHECKPOINT.fullmatch(launch.checkpoint_uri):
        raise UsageError(
            f"{launch.checkpoint_uri!r} is no place for checkpoints on Google Cloud",
            hint="give gs://bucket/prefix, without wildcards",
        )
    if not _DISK_GIB[0] <= launch.disk_gib <= _DISK_GIB[1]:
        raise UsageError(
            f"a disk of {launch.disk_gib} GiB is not to be had on Google Cloud",
            hint=f"{_DISK_GIB[0]} to {_DISK_GIB[1]}",
        )


def module_variables(launch: Launch) -> Mapping[str, Any]:
    """The module's own variables: project, user, and the time after which Google Cloud deletes the machine.

    A time outside of what Google Cloud can count is left to the machine's own clock.
    """
    seconds = ceil(launch.ttl.total_seconds()) if launch.ttl is not None else None
    counted = seconds is not None and _RUN_SECONDS[0] <= seconds <= _RUN_SECONDS[1]
    return {
        "project": launch.cloud_settings.get("project", ""),
        "ssh_user": launch.image.ssh_user,
        "max_run_seconds": seconds if counted else None,
    }


def _check_place(launch: Launch) -> None:
    offer = launch.offer
    if not _REGION.fullmatch(offer.region):
        raise UsageError(f"{offer.region!r} is no Google Cloud region", hint="such as us-central1")
    if offer.zone and not re.fullmatch(re.escape(offer.region) + r"-[a-z0-9]+", offer.zone):
        raise UsageError(f"{offer.zone!r} is no zone of {offer.region}", hint=f"such as {offer.region}-a")
    if machine_type(offer.instance_type) is None:
        raise UsageError(
            f"{offer.instance_type!r} is no Google Cloud machine type",
            hint="such as a2-highgpu-1g, or n1-standard-8+T4x1 for one with attached accelerators",
        )
    if offer.accelerator.startswith("TPU"):
        raise UsageError(
            f"{offer.accelerator} cannot be had by gpuorch: Google sells its TPU machines by another API",
            hint="ask for a GPU, or leave Google Cloud out with --cloud",
        )
    if offer.market is Market.SUBSCRIPTION_MONTHLY:
        raise UsageError("Google Cloud sells no monthly subscriptions", hint="use --market on-demand or --market spot")


def _check_access(launch: Launch) -> None:
    kind = launch.ssh_public_key.strip().partition(" ")[0]
    if kind and kind not in _KEYS:
        raise UsageError(
            f"Google Cloud takes no SSH key of type {kind!r}", hint="use an Ed25519 key: ssh-keygen -t ed25519"
        )
    for cidr in launch.ssh_allowed_cidrs:
        try:
            network = ip_network(cidr)
        except ValueError as problem:
            raise UsageError(f"{cidr!r} is no block of addresses: {problem}", hint="such as 203.0.113.7/32") from None
        if network.prefixlen == 0:
            raise UsageError(f"SSH is never opened to the whole internet ({cidr})", hint="name your own address, /32")
        if network.version != 4:
            raise UsageError(
                f"SSH from {cidr} cannot work: the machine has an IPv4 address only",
                hint="name an IPv4 block with --ssh-from, or use --access session",
            )


def _check_labels(launch: Launch) -> None:
    for key in launch.labels:
        if not key.strip() or key.lower().startswith(("goog", "gpuorch")):
            raise UsageError(
                f"label {key!r} is empty or begins with a word that is reserved", hint="choose another key"
            )
    if len(launch.labels) > min(_MOST_LABELS, 50):
        raise UsageError(f"{len(launch.labels)} labels are too many for Google Cloud", hint="50 at most")
