"""What OCI will not take, said before anything is made."""

from __future__ import annotations

import re
from ipaddress import ip_network

from orchestrator.clouds.oci.shapes import SHAPE, is_flexible, takes_preemptible
from orchestrator.errors import UsageError
from orchestrator.model.demand import Access
from orchestrator.model.launch import Launch
from orchestrator.model.offer import Market

__all__ = ["CHECKPOINT", "check"]

# docs.oracle.com/iaas/Content/Block/Concepts/bootvolumes.htm: boot volumes; the least is what Oracle's images want.
_SMALLEST_DISK_GIB, _LARGEST_DISK_GIB = 50, 32768

# docs.oracle.com/iaas/Content/Tagging/Concepts/taggingoverview.htm: free-form tags a resource may have; the module sets
# these itself.
_MOST_TAGS = 10
_OWN_TAGS = (
    "gpuorch-deployment",
    "gpuorch-expires-at",
    "gpuorch-managed-by",
    "gpuorch-name",
    "gpuorch-owner",
    "gpuorch-profile",
)

_REGION = re.compile(r"[a-z]+(?:-[a-z]+)+-\d+")
_ZONE = re.compile(r"(?:[A-Za-z0-9]+:)?(?:[A-Z0-9]+-)*AD-\d")
_SUBNET = re.compile(r"ocid1\.subnet\.[a-z0-9-]+\.[a-z0-9.-]{8,}")
_COMPARTMENT = re.compile(r"ocid1\.(?:compartment|tenancy)\.[a-z0-9.-]{8,}")
# Neither quotes nor *: in the machine's policy they would end the word or be a pattern, and reach beyond the prefix.
CHECKPOINT = re.compile(
    r"oci://(?P<bucket>[A-Za-z0-9._-]{1,256})@(?P<namespace>[A-Za-z0-9_-]+)(?:\.(?P<region>[a-z]+(?:-[a-z]+)+-\d+))?"
    r"(?:/(?P<name>[A-Za-z0-9!_.()/=+: -]*))?"
)
_TAG_KEY = re.compile(r"[A-Za-z0-9_-]{1,100}")


def check(launch: Launch) -> None:
    """Raise :class:`UsageError` for what the module or OCI would refuse, in a sentence that names the value."""
    _check_settings(launch)
    _check_place(launch)
    _check_shape(launch)
    _check_access(launch)
    _check_labels(launch)
    if launch.subnet and not _SUBNET.fullmatch(launch.subnet):
        raise UsageError(f"{launch.subnet!r} is no OCI subnet", hint="give its OCID, such as ocid1.subnet.oc1.iad.…")
    if launch.checkpoint_uri and not CHECKPOINT.fullmatch(launch.checkpoint_uri):
        raise UsageError(
            f"{launch.checkpoint_uri!r} is no place for checkpoints on OCI",
            hint="give oci://bucket@namespace/prefix, without wildcards; oci os ns get tells the namespace",
        )
    if not _SMALLEST_DISK_GIB <= launch.disk_gib <= _LARGEST_DISK_GIB:
        raise UsageError(
            f"a disk of {launch.disk_gib} GiB is not to be had on OCI",
            hint=f"{_SMALLEST_DISK_GIB} to {_LARGEST_DISK_GIB}",
        )


def _check_settings(launch: Launch) -> None:
    settings = launch.cloud_settings
    compartment = settings.get("compartment_id", "")
    if not _COMPARTMENT.fullmatch(compartment):
        raise UsageError(
            f"cloud_settings.oci.compartment_id is {compartment!r}, which is no compartment of OCI",
            hint="give the OCID of a compartment (ocid1.compartment.…), or of the tenancy for its root",
        )
    rights = settings.get("machine_rights", "policy")
    if rights not in ("policy", "none"):
        raise UsageError(
            f"cloud_settings.oci.machine_rights is {rights!r}",
            hint="policy: gpuorch writes a policy for each machine; none: an administrator has given machines rights",
        )
    home = settings.get("home_region", "")
    if rights == "policy" and not _REGION.fullmatch(home):
        raise UsageError(
            f"cloud_settings.oci.home_region is {home!r}, which is no region of OCI",
            hint="name the tenancy's home region, such as us-ashburn-1: oci iam region-subscription list shows it",
        )


def _check_place(launch: Launch) -> None:
    offer = launch.offer
    if not _REGION.fullmatch(offer.region):
        raise UsageError(f"{offer.region!r} is no OCI region", hint="such as us-ashburn-1")
    if offer.zone and not _ZONE.fullmatch(offer.zone):
        raise UsageError(
            f"{offer.zone!r} is no availability domain of {offer.region}", hint="such as AD-1, or Uocm:PHX-AD-1"
        )


def _check_shape(launch: Launch) -> None:
    offer = launch.offer
    if not SHAPE.fullmatch(offer.instance_type):
        raise UsageError(f"{offer.instance_type!r} is no OCI shape", hint="such as BM.GPU4.8 or VM.GPU.A10.1")
    if is_flexible(offer.instance_type) and not (offer.vcpus and offer.memory_gib):
        raise UsageError(
            f"the flexible shape {offer.instance_type} has to be told its size",
            hint="give vCPUs and memory in its row of the price book",
        )
    if offer.market is Market.SPOT and not takes_preemptible(offer.instance_type):
        raise UsageError(
            f"OCI sells no preemptible capacity of {offer.instance_type}",
            hint="of the shapes with GPUs only VM.GPU2 and VM.GPU3 have it: use --on-demand",
        )


def _check_access(launch: Launch) -> None:
    if launch.access is Access.SESSION:
        raise UsageError("gpuorch opens no sessions on OCI", hint="use --access ssh or --access none")
    blocks = []
    for cidr in launch.ssh_allowed_cidrs:
        try:
            blocks.append(ip_network(cidr))
        except ValueError as problem:
            raise UsageError(f"{cidr!r} is no block of addresses: {problem}", hint="such as 203.0.113.7/32") from None
        if blocks[-1].prefixlen == 0:
            raise UsageError(f"SSH is never opened to the whole internet ({cidr})", hint="name your own address, /32")
    if blocks and not launch.subnet and all(block.version == 6 for block in blocks):
        raise UsageError(
            "SSH is allowed from IPv6 addresses only, which the machine's own network on OCI does not have",
            hint="name an IPv4 address with --ssh-from, or a network that has both with --subnet",
        )


def _check_labels(launch: Launch) -> None:
    for key, value in launch.labels.items():
        if not _TAG_KEY.fullmatch(key) or len(value) > 256:
            raise UsageError(
                f"OCI takes no free-form tag {key!r} = {value!r}",
                hint="a key is up to 100 letters, digits, _ and -; a value up to 256 characters",
            )
        if key.lower().startswith("gpuorch-"):
            raise UsageError(f"label {key!r} begins with a word that is reserved", hint="choose another key")
    keys = {key.casefold() for key in launch.labels}
    if len(keys) != len(launch.labels):
        raise UsageError("two labels differ in upper and lower case only, which OCI takes for one", hint="rename one")
    if len(keys) + len(_OWN_TAGS) > _MOST_TAGS:
        raise UsageError(
            f"{len(keys)} labels are too many: OCI takes {_MOST_TAGS} free-form tags, and gpuorch sets "
            f"{len(_OWN_TAGS)} of them",
            hint="take some away",
        )
