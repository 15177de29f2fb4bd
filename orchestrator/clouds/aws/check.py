"""What AWS will not take, said before anything is made."""

from __future__ import annotations

import re
from ipaddress import ip_network

from orchestrator.errors import UsageError
from orchestrator.model.launch import Launch

__all__ = ["check"]

# gp3 volumes: docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html. The Deep Learning AMIs themselves want
# tens of GiB; AWS says how many when a disk is too small for its image, which is classified as invalid.
_LARGEST_DISK_GIB = 65536

# docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html: 50 a resource, of which the module sets these itself.
_MOST_TAGS = 50
_OWN_TAGS = (
    "Name",
    "gpuorch:deployment",
    "gpuorch:expires-at",
    "gpuorch:managed-by",
    "gpuorch:name",
    "gpuorch:owner",
    "gpuorch:profile",
)

_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d+")
_ZONE_ID = re.compile(r"[a-z]+[0-9]+(?:-[a-z]+[0-9]+)?-az\d+")
_INSTANCE_TYPE = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")
_SUBNET = re.compile(r"subnet-(?:[0-9a-f]{8}|[0-9a-f]{17})")
# Neither * nor ? nor $: in the policy of the machine's role they would be patterns and reach beyond the prefix.
_CHECKPOINT = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:/[A-Za-z0-9!_.'()/=+@:, -]*)?")
# IAM's characters for tags, which are fewer than EC2's: letters, digits, spaces and a few signs.
_TAG = re.compile(r"[\w .:/=+@-]*")


def check(launch: Launch) -> None:
    """Raise :class:`UsageError` for what the module or AWS would refuse, in a sentence that names the value."""
    _check_place(launch)
    _check_access(launch)
    _check_labels(launch)
    if launch.subnet and not _SUBNET.fullmatch(launch.subnet):
        raise UsageError(f"{launch.subnet!r} is no AWS subnet", hint="give its id, such as subnet-0123456789abcdef0")
    if launch.checkpoint_uri and not _CHECKPOINT.fullmatch(launch.checkpoint_uri):
        raise UsageError(
            f"{launch.checkpoint_uri!r} is no place for checkpoints on AWS",
            hint="give s3://bucket/prefix, without wildcards",
        )
    if not 8 <= launch.disk_gib <= _LARGEST_DISK_GIB:
        raise UsageError(f"a disk of {launch.disk_gib} GiB is not to be had on AWS", hint=f"8 to {_LARGEST_DISK_GIB}")


def _check_place(launch: Launch) -> None:
    offer = launch.offer
    if not _REGION.fullmatch(offer.region):
        raise UsageError(f"{offer.region!r} is no AWS region", hint="such as us-east-1")
    zone = offer.zone
    if zone and not zone.startswith(offer.region) and not _ZONE_ID.fullmatch(zone):
        raise UsageError(
            f"{zone!r} is no zone of {offer.region}", hint=f"such as {offer.region}a, or a zone id such as use1-az4"
        )
    if not _INSTANCE_TYPE.fullmatch(offer.instance_type):
        raise UsageError(f"{offer.instance_type!r} is no AWS instance type", hint="such as p4d.24xlarge")


def _check_access(launch: Launch) -> None:
    kind = launch.ssh_public_key.partition(" ")[0]
    # docs.aws.amazon.com/AWSEC2/latest/UserGuide/create-key-pairs.html: RSA and ED25519 can be imported.
    if launch.ssh_public_key and kind not in ("ssh-rsa", "ssh-ed25519"):
        raise UsageError(
            f"AWS takes no SSH key of type {kind!r}", hint="use an RSA or Ed25519 key: ssh-keygen -t ed25519"
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
        if not 1 <= len(key) <= 128 or len(value) > 256 or not _TAG.fullmatch(key) or not _TAG.fullmatch(value):
            raise UsageError(
                f"AWS takes no tag {key!r} = {value!r}",
                hint="up to 128 (key) and 256 (value) letters, digits, spaces and _ . : / = + @ -",
            )
        if key.lower().startswith(("aws:", "gpuorch:")):
            raise UsageError(f"label {key!r} begins with a word that is reserved", hint="choose another key")
    # IAM does not tell upper from lower case in a tag's key.
    keys = [key.casefold() for key in launch.labels if key != "Name"]
    taken = {key.casefold() for key in _OWN_TAGS}
    if len(keys) != len(set(keys)) or taken & set(keys):
        raise UsageError("two labels differ in upper and lower case only, which AWS takes for one", hint="rename one")
    if len(keys) + len(_OWN_TAGS) > _MOST_TAGS:
        raise UsageError(
            f"{len(keys)} labels are too many: AWS takes {_MOST_TAGS} tags, and gpuorch sets {len(_OWN_TAGS)} of them",
            hint="take some away",
        )
