"""Which machine image serves which machine type.

Canonical and Google publish Ubuntu with NVIDIA's driver in the project ``ubuntu-os-accelerator-images``; its families
are named ``ubuntu-accelerator-<release>-<architecture>-with-nvidia-<branch of the driver>`` (in use in
GoogleCloudPlatform/cluster-toolkit, examples/machine-learning for A3, A4, A4X and G4, and in public scripts for N1 with
T4, A2 and G2). They hold the driver and no PyTorch: the bootstrap makes the environment.

The same images serve Blackwell, which only NVIDIA's open kernel modules do; those need Turing or newer. Older GPUs get
plain Ubuntu, and the proprietary modules that Canonical signs for each kernel of Compute Engine:
documentation.ubuntu.com/server/how-to/graphics/install-nvidia-drivers.
"""

from __future__ import annotations

import re

from orchestrator.clouds.gcp.machine_types import machine_type
from orchestrator.errors import UsageError
from orchestrator.model.launch import Image
from orchestrator.model.offer import Offer

__all__ = ["image", "own_image"]

# The branch with long support that serves everything from Pascal to Blackwell.
_BRANCH = "580"
_ACCELERATOR = (
    "projects/ubuntu-os-accelerator-images/global/images/family/ubuntu-accelerator-2404-{}-with-nvidia-" + _BRANCH
)
_PLAIN = "projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-{}"

_BEFORE_TURING = frozenset({"P4", "P100", "V100-16GB", "V100-32GB"})
_INSTALL_PROPRIETARY = f"""\
export DEBIAN_FRONTEND=noninteractive && apt-get update -q && apt-get install -qy --no-install-recommends \
linux-modules-nvidia-{_BRANCH}-server-$(uname -r) nvidia-headless-no-dkms-{_BRANCH}-server \
nvidia-utils-{_BRANCH}-server && modprobe nvidia"""

_ARM = re.compile(r"(?:a4x|c4a|n4a|t2a)-.*")

# cloud.google.com/compute/docs/disks/add-local-ssd: the names that Google's udev rules give to local disks.
_LOCAL_DISKS = ("google-local-nvme-ssd-*", "google-local-ssd-*")
# Ubuntu's images for Compute Engine bring the gcloud CLI, which takes its rights from the machine's service account:
# documentation.ubuntu.com/gcp.
_UPLOAD = ("gcloud", "storage", "cp", "{file}", "{uri}")

_OWN = re.compile(
    r"(?:https://(?:www|compute)\.googleapis\.com/compute/v1/)?"
    r"(projects/([a-z0-9.:-]+)/global/images/(?:family/)?[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)"
)


def image(offer: Offer) -> Image:
    """The default image: the newest of a fixed family, looked up by Terraform when it plans.

    Raises :class:`UsageError` for accelerators that none of these images serves.
    """
    if not offer.accelerator:
        return _image(_PLAIN, offer, driver="none")
    if offer.accelerator.startswith("TPU") or offer.accelerator == "K80":
        raise UsageError(
            f"there is no default image for {offer.accelerator} on Google Cloud",
            hint="name one that has what it needs, with --image projects/PROJECT/global/images/NAME",
        )
    if offer.accelerator in _BEFORE_TURING:
        return _image(_PLAIN, offer, driver="nvidia", install=("sh", "-c", _INSTALL_PROPRIETARY))
    return _image(_ACCELERATOR, offer, driver="nvidia")


def own_image(text: str, offer: Offer) -> Image:
    """The user's ``--image``: ``projects/PROJECT/global/images/NAME``, or ``…/images/family/FAMILY``.

    Nothing is known of what is in it, so the bootstrap will look for itself. Raises :class:`UsageError` for any other
    text.
    """
    found = _OWN.fullmatch(text)
    if found is None:
        raise UsageError(
            f"{text[:80]!r} is no Google Cloud image",
            hint="give projects/PROJECT/global/images/NAME, or projects/PROJECT/global/images/family/FAMILY",
        )
    return Image(
        reference=found[1],
        ssh_user="ubuntu",
        driver="nvidia" if offer.accelerator else "none",
        local_disks=_LOCAL_DISKS,
        upload_command=_UPLOAD,
    )


def _image(family: str, offer: Offer, *, driver: str, install: tuple[str, ...] = ()) -> Image:
    machine = machine_type(offer.instance_type)
    architecture = "arm64" if machine is not None and _ARM.fullmatch(machine.name) else "amd64"
    return Image(
        reference=family.format(architecture),
        ssh_user="ubuntu",
        driver=driver,
        local_disks=_LOCAL_DISKS,
        install_driver=install,
        upload_command=_UPLOAD,
    )
