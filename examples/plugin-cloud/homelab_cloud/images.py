"""The images of the machine room; which there are, README.md says."""

from __future__ import annotations

import re

from orchestrator.errors import UsageError
from orchestrator.model.launch import Image
from orchestrator.model.offer import Offer

__all__ = ["image", "own_image"]

_NAME = re.compile(r"[a-z][a-z0-9.-]{2,62}")


def image(offer: Offer) -> Image:
    """The default image. What stands in no field (here: an interpreter with torch) the bootstrap sees to itself."""
    return own_image("ubuntu-24.04-cuda" if offer.accelerator else "ubuntu-24.04", offer)


def own_image(text: str, offer: Offer) -> Image:
    """The user's ``--image``; :class:`UsageError` for what cannot be one."""
    if not _NAME.fullmatch(text):
        raise UsageError(f"{text[:80]!r} is no Homelab image", hint="give its name, such as ubuntu-24.04-cuda")
    return Image(reference=text, ssh_user="ubuntu", driver="nvidia" if offer.accelerator else "none")
