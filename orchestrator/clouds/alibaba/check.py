"""What Alibaba Cloud will not take, said before anything is made."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from ipaddress import ip_network

from orchestrator.clouds.alibaba.options import OPTIONS
from orchestrator.clouds.alibaba.types import INSTANCE_TYPE
from orchestrator.errors import ConfigInvalid, UsageError
from orchestrator.model.launch import Launch

__all__ = ["check"]

# cloud_essd: help.aliyun.com/zh/ecs/user-guide/essds. An image of Ubuntu wants 20 GiB.
_SMALLEST_DISK_GIB, _LARGEST_DISK_GIB = 20, 2048

# "Overview of tags": 20 a resource, of which the module sets these itself.
_MOST_TAGS = 20
_OWN_TAGS = (
    "gpuorch:deployment",
    "gpuorch:expires-at",
    "gpuorch:managed-by",
    "gpuorch:name",
    "gpuorch:owner",
    "gpuorch:profile",
)

_REGION = re.compile(r"[a-z]{2}-[a-z]+(?:-[a-z0-9]+)*")
_SUBNET = re.compile(r"vsw-[a-z0-9]{4,40}")
# Neither * nor ? nor $: in the policy of the machine's role they would be patterns and reach beyond the prefix.
_CHECKPOINT = re.compile(r"oss://[a-z0-9][a-z0-9-]{1,61}[a-z0-9](?:/[A-Za-z0-9!_.'()/=+@:, -]*)?")
# The signs that the module takes; the cloud itself takes more, of which not all reach every one of its parts.
_TAG = re.compile(r"[\w .:/=+@-]*")
_RESERVED = ("aliyun", "acs:", "gpuorch:")


def check(launch: Launch) -> None:
    """Raise :class:`UsageError` for what the module or Alibaba Cloud would refuse, in a sentence that names the value.

    Raises :class:`ConfigInvalid` for a setting of the cloud that is none.
    """
    _check_place(launch)
    _check_access(launch)
    _check_labels(launch)
    _check_settings(launch)
    if launch.subnet and not _SUBNET.fullmatch(launch.subnet):
        raise UsageError(
            f"{launch.subnet!r} is no vSwitch of Alibaba Cloud", hint="give its id, such as vsw-bp1s5fnvk4gn2tws03624"
        )
    if launch.checkpoint_uri and not _CHECKPOINT.fullmatch(launch.checkpoint_uri):
        raise UsageError(
            f"{launch.checkpoint_uri!r} is no place for checkpoints on Alibaba Cloud",
            hint="give oss://bucket/prefix, without wildcards",
        )
    if not _SMALLEST_DISK_GIB <= launch.disk_gib <= _LARGEST_DISK_GIB:
        raise UsageError(
            f"a disk of {launch.disk_gib} GiB is not to be had on Alibaba Cloud",
            hint=f"{_SMALLEST_DISK_GIB} to {_LARGEST_DISK_GIB}",
        )


def _check_place(launch: Launch) -> None:
    offer = launch.offer
    if not _REGION.fullmatch(offer.region):
        raise UsageError(f"{offer.region!r} is no region of Alibaba Cloud", hint="such as cn-shanghai")
    # cn-beijing-h, us-east-1a
    if offer.zone and not re.fullmatch(re.escape(offer.region) + "-?[a-z]", offer.zone):
        raise UsageError(
            f"{offer.zone!r} is no zone of {offer.region}", hint="as Alibaba Cloud names them: cn-beijing-h"
        )
    if not INSTANCE_TYPE.fullmatch(offer.instance_type):
        raise UsageError(
            f"{offer.instance_type!r} is no instance type of Alibaba Cloud", hint="such as ecs.gn6v-c8g1.2xlarge"
        )


def _check_access(launch: Launch) -> None:
    kind = launch.ssh_public_key.partition(" ")[0]
    # ImportKeyPair, PublicKeyBody: the types that it lists.
    if launch.ssh_public_key and kind not in ("ssh-rsa", "ssh-ed25519", "ecdsa-sha2-nistp256"):
        raise UsageError(
            f"Alibaba Cloud takes no SSH key of type {kind!r}", hint="use an RSA or Ed25519 key: ssh-keygen -t ed25519"
        )
    for cidr in launch.ssh_allowed_cidrs:
        try:
            network = ip_network(cidr)
        except ValueError as problem:
            raise UsageError(f"{cidr!r} is no block of addresses: {problem}", hint="such as 203.0.113.7/32") from None
        if network.prefixlen == 0:
            raise UsageError(f"SSH is never opened to the whole internet ({cidr})", hint="name your own address, /32")


def _check_labels(launch: Launch) -> None:
    for key, value in launch.labels.items():
        whole = f"{key}\n{value}"
        if not 1 <= len(key) <= 128 or len(value) > 128 or not _TAG.fullmatch(key) or not _TAG.fullmatch(value):
            raise UsageError(
                f"Alibaba Cloud takes no tag {key!r} = {value!r}",
                hint="up to 128 letters, digits, spaces and _ . : / = + @ -",
            )
        if "http://" in whole.lower() or "https://" in whole.lower():
            raise UsageError(f"label {key!r} holds an address (http://), which no tag may", hint="leave it out")
        if key.lower().startswith(_RESERVED) or value.lower().startswith(_RESERVED[:2]):
            raise UsageError(f"label {key!r} begins with a word that is reserved", hint="choose another one")
    if len(launch.labels) + len(_OWN_TAGS) > _MOST_TAGS:
        raise UsageError(
            f"{len(launch.labels)} labels are too many: Alibaba Cloud takes {_MOST_TAGS} tags, and gpuorch sets "
            f"{len(_OWN_TAGS)} of them",
            hint="take some away",
        )


def _check_settings(launch: Launch) -> None:
    for key, option in OPTIONS.items():
        text = launch.cloud_settings.get(key) or option.default
        try:
            fits = option.fits(Decimal(text))
        except InvalidOperation:
            fits = False
        if not fits:
            raise ConfigInvalid(f"cloud_settings.alibaba.{key}: {text!r} is none", hint=option.hint)
