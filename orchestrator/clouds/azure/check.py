"""What Azure will not take, said before anything is made."""

from __future__ import annotations

import re
from ipaddress import ip_network

from orchestrator.errors import UsageError
from orchestrator.model.demand import Access
from orchestrator.model.launch import Launch
from orchestrator.model.offer import Market

__all__ = ["check"]

# learn.microsoft.com/azure/virtual-machines/managed-disks-overview: an OS disk has at most 4,095 GiB, and Ubuntu's
# images want 30. The HPC images want more; Azure says how many, which is classified as invalid.
_SMALLEST_DISK_GIB, _LARGEST_DISK_GIB = 30, 4095

# learn.microsoft.com/azure/azure-resource-manager/management/tag-resources: 50 a resource.
_MOST_TAGS = 50
_OWN_TAGS = (
    "gpuorch:deployment",
    "gpuorch:expires-at",
    "gpuorch:managed-by",
    "gpuorch:name",
    "gpuorch:owner",
    "gpuorch:profile",
)

_REGION = re.compile(r"[a-z]+[a-z0-9]*")
_ZONE = re.compile(r"(?:(?P<region>[a-z0-9]+)-)?[1-9]")
_SIZE = re.compile(r"Standard_[A-Za-z0-9_-]+")
_SUBNET = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Network/virtualNetworks/[^/]+/subnets/[^/]+",
    re.IGNORECASE,
)
# Neither quote nor wildcard: in the condition of the role assignment they would end the text or reach beyond it.
_CHECKPOINT = re.compile(
    r"https://[a-z0-9]{3,24}\.blob\.[a-z0-9.]+/[a-z0-9](?:-?[a-z0-9]){2,62}(?:/[A-Za-z0-9!_.()/=+@:, -]*)?"
)
_SUBSCRIPTION = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TAG_KEY = re.compile(r"[^\x00-\x1f\x7f<>%&\\?/]{1,512}")
_TAG_VALUE = re.compile(r"[^\x00-\x1f\x7f]{0,256}")
_RESERVED = ("microsoft", "azure", "windows")


def check(launch: Launch) -> None:
    """Raise :class:`UsageError` for what the module or Azure would refuse, in a sentence that names the value."""
    _check_place(launch)
    _check_access(launch)
    _check_labels(launch)
    _check_settings(launch)
    if launch.subnet and not _SUBNET.fullmatch(launch.subnet):
        raise UsageError(
            f"{launch.subnet!r} is no Azure subnet",
            hint="give its id: az network vnet subnet show --query id -g GROUP --vnet-name NETWORK -n SUBNET",
        )
    if launch.checkpoint_uri and not _CHECKPOINT.fullmatch(launch.checkpoint_uri):
        raise UsageError(
            f"{launch.checkpoint_uri!r} is no place for checkpoints on Azure",
            hint="give https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX, without wildcards",
        )
    if not _SMALLEST_DISK_GIB <= launch.disk_gib <= _LARGEST_DISK_GIB:
        raise UsageError(
            f"a disk of {launch.disk_gib} GiB is not to be had on Azure",
            hint=f"{_SMALLEST_DISK_GIB} to {_LARGEST_DISK_GIB}",
        )


def _check_place(launch: Launch) -> None:
    offer = launch.offer
    if not _REGION.fullmatch(offer.region):
        raise UsageError(f"{offer.region!r} is no Azure region", hint="its short name, such as eastus")
    zone = _ZONE.fullmatch(offer.zone)
    if offer.zone and (zone is None or zone["region"] not in (None, offer.region)):
        raise UsageError(f"{offer.zone!r} is no zone of {offer.region}", hint="such as 1, or none")
    if not _SIZE.fullmatch(offer.instance_type):
        raise UsageError(f"{offer.instance_type!r} is no size of machine on Azure", hint="such as Standard_ND96asr_v4")
    if offer.market is Market.SUBSCRIPTION_MONTHLY:
        raise UsageError("Azure sells no machine by the month", hint="use --on-demand or --spot")


def _check_access(launch: Launch) -> None:
    if launch.access is Access.SESSION:
        raise UsageError(
            "Azure has no session service that needs neither an open port nor a further machine",
            hint="use --access ssh or --access none",
        )
    kind = launch.ssh_public_key.strip().partition(" ")[0]
    # learn.microsoft.com/azure/virtual-machines/linux/mac-create-ssh-keys; the provider takes the same two.
    if launch.ssh_public_key and kind not in ("ssh-rsa", "ssh-ed25519"):
        raise UsageError(
            f"Azure takes no SSH key of type {kind!r}", hint="use an RSA or Ed25519 key: ssh-keygen -t ed25519"
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
        if not _TAG_KEY.fullmatch(key) or not _TAG_VALUE.fullmatch(value):
            raise UsageError(
                f"Azure takes no tag {key!r} = {value!r}",
                hint="up to 512 (key) and 256 (value) characters, in keys none of < > % & \\ ? /",
            )
        if key.lower().startswith((*_RESERVED, "gpuorch:")):
            raise UsageError(f"label {key!r} begins with a word that is reserved", hint="choose another key")
    # Azure does not tell upper from lower case in a tag's key.
    if len({key.casefold() for key in launch.labels}) != len(launch.labels):
        raise UsageError("two labels differ in upper and lower case only, which Azure takes for one", hint="rename one")
    if len(launch.labels) + len(_OWN_TAGS) > _MOST_TAGS:
        raise UsageError(
            f"{len(launch.labels)} labels are too many: Azure takes {_MOST_TAGS} tags, and gpuorch sets "
            f"{len(_OWN_TAGS)} "
            "of them",
            hint="take some away",
        )


def _check_settings(launch: Launch) -> None:
    subscription = launch.cloud_settings.get("subscription_id", "")
    if not _SUBSCRIPTION.fullmatch(subscription):
        raise UsageError(
            f"{subscription!r} is no id of an Azure subscription",
            hint="az account show --query id, then ARM_SUBSCRIPTION_ID or cloud_settings.azure.subscription_id",
        )
    if launch.cloud_settings.get("encryption_at_host", "") not in ("", "true", "false"):
        raise UsageError(
            f"cloud_settings.azure.encryption_at_host is {launch.cloud_settings['encryption_at_host']!r}",
            hint="true or false",
        )
