"""Which machine image serves which instance type.

Sources: the table of GPU machine types, www.tencentcloud.com/document/product/560/19700, column "Available Image" (a
whole GPU takes any Ubuntu from 16.04 on and wants a driver installed; a share of a T4 takes images with NVIDIA's guest
driver, "Ubuntu 20.04 LTS 64-bit GRID 11.1"); the names of public images, as users' notes show them ("Ubuntu Server
22.04 LTS 64bit" and, on the Chinese site, "… 64位"; "… 64bit UEFI" is another one).
"""

from __future__ import annotations

import re

from orchestrator.clouds.tencent.types import NVSWITCH_FAMILIES, family_of, is_share
from orchestrator.clouds.tencent.upload import UPLOAD_COMMAND
from orchestrator.errors import UsageError
from orchestrator.model.launch import Image
from orchestrator.model.offer import Offer

__all__ = ["image", "own_image"]

# The regular expressions are read by Go: the provider looks through the region's public images with them.
_UBUNTU = r"name:^Ubuntu Server 22\.04 LTS 64\S*$"
_GUEST_DRIVER = "name:^Ubuntu.*GRID"

# Tencent's public images have no driver. Ubuntu's own packages come from a mirror that Tencent sets up in its images.
# 570: serves Pascal to Blackwell, and every build of torch that the bootstrap takes.
_DRIVER = "570"

_NO_NVIDIA = re.compile(r"GA\d")
_ID = re.compile(r"img-[0-9a-z]{8}")
_NAME = re.compile(r"name:.+")


def image(offer: Offer) -> Image:
    """The default image: the public one with a fixed name, looked up by Terraform when it plans.

    Raises :class:`UsageError` for accelerators that no driver of ours serves.
    """
    if _NO_NVIDIA.match(offer.instance_type):
        raise UsageError(
            f"there is no default image for {offer.instance_type} on Tencent Cloud, which has no NVIDIA GPU",
            hint="name one that has its driver, with --image img-…",
        )
    if offer.accelerator and (is_share(offer.instance_type) or offer.gpu_count % 1):
        return _image(_GUEST_DRIVER, offer)
    return _image(_UBUNTU, offer, install=bool(offer.accelerator))


def own_image(text: str, offer: Offer) -> Image:
    """The user's ``--image``: an image's id, or ``name:`` and a regular expression over the names of public images.

    Nothing is known of what is in an image, so the bootstrap will look for itself; public images of Ubuntu get a driver
    where they have none. Raises :class:`UsageError` for any other text.
    """
    if _ID.fullmatch(text):
        return _image(text, offer)
    if _NAME.fullmatch(text):
        plain_ubuntu = "ubuntu" in text.lower() and "grid" not in text.lower()
        return _image(text, offer, install=plain_ubuntu and bool(offer.accelerator))
    raise UsageError(
        f"{text!r} is no image of Tencent Cloud",
        hint="give an id (img-487zeit5), or name: and a regular expression over the names of public images",
    )


def _image(reference: str, offer: Offer, *, install: bool = False) -> Image:
    return Image(
        reference=reference,
        ssh_user="ubuntu",
        driver="nvidia" if offer.accelerator else "none",
        install_driver=_install(offer.instance_type) if install else (),
        upload_command=UPLOAD_COMMAND,
    )


def _install(instance_type: str) -> tuple[str, ...]:
    packages = [f"nvidia-headless-{_DRIVER}-server", f"nvidia-utils-{_DRIVER}-server"]
    if family_of(instance_type) in NVSWITCH_FAMILIES:
        packages.append(f"nvidia-fabricmanager-{_DRIVER}")
    apt = "apt-get -qyo DPkg::Lock::Timeout=300"
    script = (
        f"export DEBIAN_FRONTEND=noninteractive; {apt} update && "
        f"{apt} install linux-headers-$(uname -r) {' '.join(packages)} && modprobe nvidia"
    )
    return ("bash", "-c", script)
