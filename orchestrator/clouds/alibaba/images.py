"""Which machine image serves which instance type.

Sources: the families of public images, help.aliyun.com/zh/ecs/user-guide/public-mirroring-overview (column "image
family", such as ``acs:ubuntu_24_04_x64``; a family means its newest image); they carry no GPU driver, and log in as
root. Packages: Ubuntu's own archive, of which Alibaba's images use the mirror in its network.
"""

from __future__ import annotations

import re

from orchestrator.clouds.alibaba.types import has_nvswitch, is_share
from orchestrator.clouds.alibaba.upload import UPLOAD_COMMAND
from orchestrator.errors import UsageError
from orchestrator.model.launch import Image
from orchestrator.model.offer import Offer

__all__ = ["image", "own_image"]

_UBUNTU = "family:acs:ubuntu_24_04_x64"
# Serves Volta to Blackwell, and every build of torch that the bootstrap takes.
_DRIVER = "570"

_ID = re.compile(r"m-[a-z0-9]+|[A-Za-z0-9_.-]+\.vhd")
_FAMILY = re.compile(r"family:acs:[a-z0-9_.]+")
_NOT_DEBIAN_LIKE = re.compile(r"family:acs:(?!ubuntu)")


def image(offer: Offer) -> Image:
    """The default image: the newest of a public family, looked up by Terraform when it plans.

    Raises :class:`UsageError` for accelerators that no driver of ours serves.
    """
    if offer.accelerator and (is_share(offer.instance_type) or offer.gpu_count % 1):
        raise UsageError(
            f"there is no default image for {offer.instance_type} on Alibaba Cloud: a part of a GPU needs NVIDIA's "
            "licensed GRID driver",
            hint="name an image that has it, with --image m-…, or choose a whole GPU",
        )
    if offer.accelerator.startswith("MI"):
        raise UsageError(
            f"there is no default image for {offer.instance_type} on Alibaba Cloud, which has no NVIDIA GPU",
            hint="name one that has its driver, with --image m-…",
        )
    return _image(_UBUNTU, offer, install=True)


def own_image(text: str, offer: Offer) -> Image:
    """The user's ``--image``: the id of an image, or ``family:`` and a family of public ones.

    Nothing is known of what is in an image, so the bootstrap will look for itself; Ubuntu's public ones get a driver.
    Raises :class:`UsageError` for any other text.
    """
    if _ID.fullmatch(text):
        return _image(text, offer, install="ubuntu" in text)
    if _FAMILY.fullmatch(text):
        return _image(text, offer, install=not _NOT_DEBIAN_LIKE.match(text))
    raise UsageError(
        f"{text!r} is no image of Alibaba Cloud",
        hint="give an id (m-… or ….vhd), or family: and a family of public images, such as family:acs:ubuntu_24_04_x64",
    )


def _image(reference: str, offer: Offer, *, install: bool) -> Image:
    gpus = bool(offer.accelerator)
    return Image(
        reference=reference,
        ssh_user="root",
        driver="nvidia" if gpus else "none",
        install_driver=_install(offer.instance_type) if gpus and install else (),
        upload_command=UPLOAD_COMMAND,
    )


def _install(instance_type: str) -> tuple[str, ...]:
    """Ubuntu's own packages of the driver; the open kernel modules do not know Volta, the others know all."""
    packages = [f"nvidia-headless-{_DRIVER}-server", f"nvidia-utils-{_DRIVER}-server"]
    if has_nvswitch(instance_type):
        packages.append(f"nvidia-fabricmanager-{_DRIVER}")
    apt = "apt-get -qyo DPkg::Lock::Timeout=300"
    script = (
        f"export DEBIAN_FRONTEND=noninteractive; {apt} update && "
        f"{apt} install linux-headers-$(uname -r) {' '.join(packages)} && modprobe nvidia"
    )
    return ("bash", "-c", script)
