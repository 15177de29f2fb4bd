"""Which machine image serves which size of machine.

Sources: Azure's HPC images for Ubuntu, github.com/Azure/azhpc-images (README: microsoft-dsvm:ubuntu-hpc, 2204,
2204-v100 and 2204-rocm; made every quarter, with driver, InfiniBand and NCCL or RCCL, without PyTorch); the same in
learn.microsoft.com/azure/virtual-machines/linux/azure-n-series-amd-gpu-driver-linux-installation-guide. Local disks:
``nvme-Microsoft_NVMe_Direct_Disk_*`` under /dev/disk/by-id, as several public scripts have it; the temporary SCSI disk
of older sizes is mounted at /mnt by cloud-init itself.
"""

from __future__ import annotations

import re

from orchestrator.clouds.azure.commands import END_COMMAND, INSTALL_GRID, UPLOAD_COMMAND
from orchestrator.errors import UsageError
from orchestrator.model.launch import Image
from orchestrator.model.offer import Offer

__all__ = ["SSH_USER", "image", "own_image"]

# Set by terraform/modules/azure, whatever the image.
SSH_USER = "azureuser"

_HPC = "microsoft-dsvm:ubuntu-hpc:2204:latest"
# The open kernel modules of the common image need Turing or newer.
_HPC_V100 = "microsoft-dsvm:ubuntu-hpc:2204-v100:latest"
_HPC_ROCM = "microsoft-dsvm:ubuntu-hpc:2204-rocm:latest"
_UBUNTU = "Canonical:0001-com-ubuntu-server-jammy:22_04-lts-gen2:latest"

_V100 = re.compile(r"Standard_(NC\d+r?s_v3|ND40rs_v2)")
_A10 = re.compile(r"Standard_NV\d+adm?s_A10_v5")
_MI300X = re.compile(r"Standard_ND\d+isr?_MI300X_v5")
# Other AMD cards, and NVIDIA's before Volta, which have no image of their own.
_NO_IMAGE = re.compile(
    r"Standard_(NV\w+_v4|NG\w+|NV\w*_V710_v5|NC\d+r?(_Promo)?|NC\d+r?s_v2|ND\d+r?s|NV\d+s?(_v2|_v3)?)"
)
_ARM = re.compile(r"Standard_\w*GB\d+\w*")

_LOCAL_DISKS = ("nvme-Microsoft_NVMe_Direct_Disk_*",)

_URN = re.compile(r"[A-Za-z0-9_.-]+(?::[A-Za-z0-9_.-]+){3}")
_ID = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/"
    r"(images/[^/]+|galleries/[^/]+/images/[^/]+(/versions/[^/]+)?)"
    r"|/(communityGalleries|sharedGalleries)/[^/]+/images/[^/]+(/versions/[^/]+)?",
    re.IGNORECASE,
)


def image(offer: Offer) -> Image:
    """The default image: the newest of a fixed line. Raises :class:`UsageError` for sizes that none serves."""
    size = offer.instance_type
    if not offer.accelerator:
        return _image(_UBUNTU, "none")
    if _MI300X.fullmatch(size):
        return _image(_HPC_ROCM, "rocm")
    if _A10.fullmatch(size):
        return _image(_UBUNTU, "nvidia", install_driver=INSTALL_GRID)
    if _NO_IMAGE.fullmatch(size) or _ARM.fullmatch(size):
        raise UsageError(
            f"there is no default image for {size} on Azure",
            hint="name one that has its driver, with --image publisher:offer:sku:version or an image's id",
        )
    return _image(_HPC_V100 if _V100.fullmatch(size) else _HPC, "nvidia")


def own_image(text: str, offer: Offer) -> Image:
    """The user's ``--image``: ``publisher:offer:sku:version``, or the id of an image of a subscription or gallery.

    Nothing is known of what is in it, so the bootstrap will look for itself. Raises :class:`UsageError` for other text.
    """
    if not _URN.fullmatch(text) and not _ID.fullmatch(text):
        raise UsageError(
            f"{text!r} is no Azure image",
            hint="give publisher:offer:sku:version, such as microsoft-dsvm:ubuntu-hpc:2204:latest, or an image's id",
        )
    amd = "MI300X" in offer.instance_type
    return _image(text, "rocm" if amd else "nvidia" if offer.accelerator else "none")


def _image(reference: str, driver: str, install_driver: tuple[str, ...] = ()) -> Image:
    return Image(
        reference=reference,
        ssh_user=SSH_USER,
        driver=driver,
        local_disks=_LOCAL_DISKS,
        install_driver=install_driver,
        upload_command=UPLOAD_COMMAND,
        end_command=END_COMMAND,
    )
