"""Which machine image serves which shape.

Sources: the platform images with GPU drivers and their names, docs.oracle.com/iaas/images (Oracle Linux 8.10 and 9.6,
``Oracle-Linux-9.6-Gen2-GPU-2025.10.23-0``; for AMD ``Oracle-Linux-8.10-Gen2-AMD-GPU-2025.08.31-0``); that images are
listed by the shape that they fit, ``ListImages`` in OCI's API reference. A line is published anew every month or two.
"""

from __future__ import annotations

import re

from orchestrator.clouds.oci.shapes import has_amd_gpus, has_gpus, is_bare_metal
from orchestrator.errors import UsageError
from orchestrator.model.launch import Image
from orchestrator.model.offer import Offer

__all__ = ["OWN_COMMAND", "image", "own_image"]

# What the module's machine.py has put on the machine; by the shell, for what systemd may run itself differs.
OWN_COMMAND = ("/bin/sh", "/usr/local/lib/gpuorch/cloud")

_DATED = r"-[0-9.]+-[0-9]+$"
_NVIDIA = rf"name:^Oracle-Linux-9\.[0-9]+-Gen2-GPU{_DATED}"
# Older than Turing: the images for Oracle Linux 8 name these shapes, and later drivers leave them out.
_NVIDIA_BEFORE_TURING = rf"name:^Oracle-Linux-8\.[0-9]+-Gen2-GPU{_DATED}"
_AMD = rf"name:^Oracle-Linux-[89]\.[0-9]+-Gen2-AMD-GPU{_DATED}"
_PLAIN = rf"name:^Oracle-Linux-9\.[0-9]+{_DATED}"

_BEFORE_TURING = re.compile(r"(?:VM|BM)\.GPU[23]\.")
_ARM = re.compile(r"BM\.GPU\.GB\d+|.*\.A[12]\b")

_OCID = re.compile(r"ocid1\.image\.[a-z0-9-]+\.[a-z0-9.-]{8,}")
# A regular expression of the kind that both Go and Python read, without what would only be a mistake in a name.
_NAME = re.compile(r"name:[A-Za-z0-9 _.^$*+?()\[\]|\\-]{1,200}")
_HINT = "give an image's OCID (ocid1.image.…), or name: and a regular expression for the names of images"


def image(offer: Offer) -> Image:
    """The default image: the newest of Oracle's line for the shape's GPUs, looked up by Terraform when it plans.

    Raises :class:`UsageError` for shapes that none of the lines serves.
    """
    shape = offer.instance_type
    if _ARM.match(shape):
        raise UsageError(
            f"there is no default image for {shape} on OCI, which has Arm processors",
            hint="name one that has its driver, with --image ocid1.image.… or --image name:…",
        )
    if not offer.accelerator or not has_gpus(shape):
        return _image(_PLAIN, offer)
    if has_amd_gpus(shape):
        return _image(_AMD, offer)
    return _image(_NVIDIA_BEFORE_TURING if _BEFORE_TURING.match(shape) else _NVIDIA, offer)


def own_image(text: str, offer: Offer) -> Image:
    """The user's ``--image``: an image's OCID, or ``name:`` and a regular expression for the names of images.

    Nothing is known of what is in it, so the bootstrap will look for itself. Raises :class:`UsageError` for other text.
    """
    if _OCID.fullmatch(text):
        return _image(text, offer)
    if _NAME.fullmatch(text):
        try:
            re.compile(text.removeprefix("name:"))
        except re.error as error:
            raise UsageError(f"{text!r} is no regular expression: {error}", hint=_HINT) from None
        return _image(text, offer)
    raise UsageError(f"{text[:80]!r} is no OCI image", hint=_HINT)


def _image(reference: str, offer: Offer) -> Image:
    driver = "none"
    if offer.accelerator:
        driver = "rocm" if has_amd_gpus(offer.instance_type) else "nvidia"
    return Image(
        reference=reference,
        ssh_user="ubuntu" if "ubuntu" in reference.lower() else "opc",
        driver=driver,
        # Boot and block volumes come over iSCSI or a virtual SCSI bus; what is NVMe on bare metal is in the machine.
        local_disks=("nvme-*",) if is_bare_metal(offer.instance_type) else (),
        upload_command=(*OWN_COMMAND, "put", "{file}", "{uri}"),
        # docs.oracle.com/iaas/Content/Compute/Tasks/resource-billing-stopped-instances.htm: a machine that its own
        # system shut down is billed on, and one with GPUs also when OCI has stopped it.
        end_command=(*OWN_COMMAND, "terminate"),
    )
