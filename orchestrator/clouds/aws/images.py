"""Which machine image serves which instance type.

Sources: the lookup rule and its example, docs.aws.amazon.com/dlami/latest/devguide/find-dlami-id.html (the parameter is
``/aws/service/deeplearning/ami/<architecture>/<name of the image less "deep", "learning" and "ami">/latest/ami-id``);
the supported instance families, ``python_location`` and ``nvme_location``, the release notes under the same address
(PyTorch 2.10 and 2.11 on Ubuntu 24.04, Base AMI with Single CUDA on Ubuntu 24.04, August to October 2026).
"""

from __future__ import annotations

import re

from orchestrator.errors import UsageError
from orchestrator.model.launch import Image
from orchestrator.model.offer import Offer

__all__ = ["image", "own_image"]

_DLAMI = "/aws/service/deeplearning/ami/"
_PYTORCH_VENV = "/opt/pytorch/bin/python"
_MOUNTED_DISKS = "/opt/dlami/nvme"

# The open kernel modules need Turing or newer. A line of images is one PyTorch release, for which AWS makes patches for
# a year; 2.10 is the newest whose parameter name we have seen in use on both architectures' naming rule.
_PYTORCH = "oss-nvidia-driver-gpu-pytorch-2.10-ubuntu-24.04"
_PYTORCH_X86_FAMILIES = frozenset({"g4dn", "g5", "g6", "gr6", "g6e", "p4d", "p4de", "p5", "p5e", "p5en", "p6-b200"})
_PYTORCH_ARM_FAMILIES = frozenset({"g5g", "p6e-gb200"})

# Newer families come to the base image first; the bootstrap then makes the PyTorch environment itself.
_BASE = "base-with-single-cuda-ubuntu-24.04"

# Older than Turing: the proprietary driver. AWS makes no new images for these (the last Ubuntu one is 20.04), so the
# name follows the lookup rule but is not to be relied on for ever: --image is the way out.
_PROPRIETARY = "base-proprietary-nvidia-driver-gpu-ubuntu-20.04"
_BEFORE_TURING = frozenset({"p2", "p3", "p3dn", "g3", "g3s"})

_NOT_NVIDIA = re.compile(r"(g4ad|trn\d|inf\d|dl\d|vt\d|f\d)")
_ARM = re.compile(r"(p6e-gb\d+|[a-z]+\d+g[a-z]*)")

_UBUNTU = "/aws/service/canonical/ubuntu/server/24.04/stable/current/{architecture}/hvm/ebs-gp3/ami-id"

_AMI = re.compile(r"ami-(?:[0-9a-f]{8}|[0-9a-f]{17})")
_PARAMETER = re.compile(r"ssm:(/[A-Za-z0-9_./-]+)")


def image(offer: Offer) -> Image:
    """The default image: the newest Deep Learning AMI of a fixed line, looked up by Terraform when it plans.

    Raises :class:`UsageError` for accelerators that none of AWS's images for NVIDIA GPUs serves.
    """
    family = offer.instance_type.partition(".")[0]
    if _NOT_NVIDIA.match(family):
        raise UsageError(
            f"there is no default image for {offer.instance_type} on AWS, which has no NVIDIA GPU",
            hint="name one that has its driver, with --image ami-… or --image ssm:/aws/service/…",
        )
    if not offer.accelerator:
        return _plain(_UBUNTU.format(architecture="arm64" if _ARM.fullmatch(family) else "amd64"))
    if family in _BEFORE_TURING:
        return _dlami("x86_64", _PROPRIETARY)
    if _ARM.fullmatch(family):
        return _dlami("arm64", _PYTORCH if family in _PYTORCH_ARM_FAMILIES else _BASE)
    return _dlami("x86_64", _PYTORCH if family in _PYTORCH_X86_FAMILIES else _BASE)


def own_image(text: str, offer: Offer) -> Image:
    """The user's ``--image``: an AMI's id, or ``ssm:`` and the path of a parameter that holds one.

    Nothing is known of what is in an AMI, so the bootstrap will look for itself; a Deep Learning AMI is known by its
    parameter's name. Raises :class:`UsageError` for any other text.
    """
    parameter = _PARAMETER.fullmatch(text)
    if parameter:
        name = parameter[1]
        known = name.startswith(_DLAMI)
        return Image(
            reference=text,
            ssh_user="ec2-user" if "amazon-linux" in name or "al2023" in name else "ubuntu",
            python=_PYTORCH_VENV if known and "-pytorch-" in name else "",
            driver=_driver(offer),
            scratch=_MOUNTED_DISKS if known and "-ubuntu-" in name else "",
        )
    if _AMI.fullmatch(text):
        return Image(reference=text, ssh_user="ubuntu", driver=_driver(offer))
    raise UsageError(
        f"{text!r} is no AWS image",
        hint="give ami- and 8 or 17 hexadecimal digits, or ssm: and a parameter's path, such as ssm:/aws/service/…",
    )


def _dlami(architecture: str, name: str) -> Image:
    return Image(
        reference=f"ssm:{_DLAMI}{architecture}/{name}/latest/ami-id",
        ssh_user="ubuntu",
        python=_PYTORCH_VENV if "-pytorch-" in name else "",
        driver="nvidia",
        scratch=_MOUNTED_DISKS,
    )


def _plain(parameter: str) -> Image:
    return Image(reference=f"ssm:{parameter}", ssh_user="ubuntu", driver="none")


def _driver(offer: Offer) -> str:
    return "nvidia" if offer.accelerator else "none"
