"""The simulated regions' zones."""

from __future__ import annotations

import re

from orchestrator.clouds.tencent.sandbox.wording import refused

__all__ = ["check_region", "zone_names"]

# ap-guangzhou, na-siliconvalley, ap-shanghai-fsi
_REGION = re.compile(r"[a-z]{2}-[a-z]+(?:-[a-z]+)?")


def zone_names(region: str) -> list[str]:
    """Nine zones in every region: as many as the largest real one has, so that every real zone's name is known."""
    return [f"{region}-{number}" for number in range(1, 10)]


def check_region(region: str) -> None:
    if not _REGION.fullmatch(region):
        raise refused("UnsupportedRegion", f"The specified region `{region}` is not supported.")
