"""What Tencent Cloud will not take, said before anything is made."""

from __future__ import annotations

import re
from ipaddress import ip_network

from orchestrator.errors import UsageError
from orchestrator.model.demand import Access
from orchestrator.model.launch import Launch
from orchestrator.model.offer import Market

__all__ = ["check"]

# A system disk: product/213/11518, 20 to 2048 GiB; the public images want 50.
_SMALLEST_DISK_GIB, _LARGEST_DISK_GIB = 50, 2048

# 50 tags a resource: product/651/13354. The module sets these itself.
_MOST_TAGS = 50
_OWN_TAGS = (
    "gpuorch-deployment",
    "gpuorch-expires-at",
    "gpuorch-managed-by",
    "gpuorch-name",
    "gpuorch-owner",
    "gpuorch-profile",
)

# ap-guangzhou, na-siliconvalley, ap-shanghai-fsi: product/213/6091.
_REGION = re.compile(r"[a-z]{2}-[a-z]+(?:-[a-z]+)?")
_INSTANCE_TYPE = re.compile(r"[A-Za-z0-9]+\.[A-Z0-9]+")
_SUBNET = re.compile(r"subnet-[0-9a-z]{8}")
_CHECKPOINT = re.compile(r"cos://[a-z0-9][a-z0-9-]*-[0-9]{8,12}(?:/[A-Za-z0-9!_.'()/=+@:, -]*)?")
_TAG = re.compile(r"[\w .:/=+@-]*")
_RESERVED = ("qcs:", "qcloud", "tencent", "project", "gpuorch-")
_DISK_TYPE = re.compile(r"CLOUD_[A-Z]+")


def check(launch: Launch) -> None:
    """Raise :class:`UsageError` for what the module or the cloud would refuse, in a sentence that names the value."""
    _check_place(launch)
    _check_access(launch)
    _check_labels(launch)
    _check_settings(launch)
    if launch.subnet and not _SUBNET.fullmatch(launch.subnet):
        raise UsageError(
            f"{launch.subnet!r} is no subnet of Tencent Cloud", hint="give its id, such as subnet-0a1b2c3d"
        )
    if launch.checkpoint_uri and not _CHECKPOINT.fullmatch(launch.checkpoint_uri):
        raise UsageError(
            f"{launch.checkpoint_uri!r} is no place for checkpoints on Tencent Cloud",
            hint="give cos://BUCKET-APPID/prefix, a bucket of the machine's region, without wildcards",
        )
    if not _SMALLEST_DISK_GIB <= launch.disk_gib <= _LARGEST_DISK_GIB:
        raise UsageError(
            f"a disk of {launch.disk_gib} GiB is not to be had on Tencent Cloud",
            hint=f"{_SMALLEST_DISK_GIB} to {_LARGEST_DISK_GIB}",
        )
    if launch.max_price_per_hour is not None and launch.offer.market is Market.SPOT and launch.max_price_per_hour <= 0:
        raise UsageError("the highest spot price must be more than 0", hint="leave --max-price out for no limit")


def _check_place(launch: Launch) -> None:
    offer = launch.offer
    if not _REGION.fullmatch(offer.region):
        raise UsageError(f"{offer.region!r} is no region of Tencent Cloud", hint="such as ap-guangzhou")
    if offer.zone and not re.fullmatch(rf"{re.escape(offer.region)}-\d+", offer.zone):
        raise UsageError(f"{offer.zone!r} is no zone of {offer.region}", hint=f"such as {offer.region}-3")
    if not _INSTANCE_TYPE.fullmatch(offer.instance_type):
        raise UsageError(
            f"{offer.instance_type!r} is no machine type of Tencent Cloud", hint="such as GN10Xp.2XLARGE40"
        )


def _check_access(launch: Launch) -> None:
    if launch.access is Access.SESSION:
        raise UsageError(
            "Tencent Cloud has no session service that gpuorch could use", hint="use --access ssh, or --access none"
        )
    for cidr in launch.ssh_allowed_cidrs:
        try:
            network = ip_network(cidr)
        except ValueError as problem:
            raise UsageError(f"{cidr!r} is no block of addresses: {problem}", hint="such as 203.0.113.7/32") from None
        if network.prefixlen == 0:
            raise UsageError(f"SSH is never opened to the whole internet ({cidr})", hint="name your own address, /32")
    if launch.ssh_public_key and len(launch.ssh_public_key.split()) < 2:
        raise UsageError("the SSH key has no text behind its kind", hint="give the .pub file of a key")


def _check_labels(launch: Launch) -> None:
    for key, value in launch.labels.items():
        if not 1 <= len(key) <= 127 or len(value) > 255 or not _TAG.fullmatch(key) or not _TAG.fullmatch(value):
            raise UsageError(
                f"Tencent Cloud takes no tag {key!r} = {value!r}",
                hint="up to 127 (key) and 255 (value) letters, digits, spaces and _ . : / = + @ -",
            )
        if key.lower().startswith(_RESERVED):
            raise UsageError(f"label {key!r} begins with a word that is reserved", hint="choose another key")
    if len(launch.labels) + len(_OWN_TAGS) > _MOST_TAGS:
        raise UsageError(
            f"{len(launch.labels)} labels are too many: Tencent Cloud takes {_MOST_TAGS} tags, and gpuorch sets "
            f"{len(_OWN_TAGS)} of them",
            hint="take some away",
        )


def _check_settings(launch: Launch) -> None:
    kind = launch.cloud_settings.get("disk_type", "")
    if kind and not _DISK_TYPE.fullmatch(kind):
        raise UsageError(f"disk_type {kind!r} is no kind of cloud disk", hint="such as CLOUD_PREMIUM or CLOUD_HSSD")
    said = launch.cloud_settings.get("disk_encryption", "")
    if said not in ("", "on", "off"):
        raise UsageError(f"disk_encryption is {said!r}", hint="on, or off")
