"""What Homelab will not take, said before anything is made."""

from __future__ import annotations

import re

from orchestrator.errors import UsageError
from orchestrator.model.demand import Access
from orchestrator.model.launch import Launch
from orchestrator.model.offer import Market

__all__ = ["check"]

_NETWORK = re.compile(r"net-[a-z0-9]{1,20}")


def check(launch: Launch) -> None:
    """Raise :class:`UsageError`, in a sentence that names the value, for what the room would refuse."""
    disk, market, subnet = launch.disk_gib, launch.offer.market, launch.subnet
    for wrong, message, hint in (
        (market not in (Market.SPOT, Market.ON_DEMAND), f"Homelab sells nothing {market}", "--spot or --on-demand"),
        (launch.access is Access.SESSION, "Homelab has no session service", "use --access ssh or --access none"),
        (launch.checkpoint_uri, "Homelab has no object store for checkpoints", "leave --checkpoint out"),
        (subnet and not _NETWORK.fullmatch(subnet), f"{subnet!r} is no Homelab network", "such as net-lab"),
        (not 20 <= disk <= 4000, f"Homelab has no disk of {disk} GiB", "choose 20 to 4000 with --disk-gib"),
    ):
        if wrong:
            raise UsageError(message, hint=hint)
