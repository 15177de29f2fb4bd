"""The simulated regions' availability domains, and OCIDs."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.clouds.rules import CloudView

__all__ = ["domain_names", "ocid", "region_key", "short_domain"]

# docs.oracle.com/iaas/Content/General/Concepts/regions.htm: the regions with three domains; all others have one.
_THREE = frozenset({"us-ashburn-1", "us-phoenix-1", "eu-frankfurt-1", "uk-london-1"})
# The two oldest regions have short names of their own in OCIDs, domains and an instance's facts.
_KEYS: Mapping[str, str] = {"us-ashburn-1": "iad", "us-phoenix-1": "phx"}
_DOMAINS: Mapping[str, str] = {"us-ashburn-1": "US-ASHBURN", "us-phoenix-1": "PHX"}
# Each tenancy has its own prefix; this is the one in OCI's documentation.
_TENANCY = "Uocm"


def domain_names(region: str) -> list[str]:
    """``Uocm:PHX-AD-1`` and so on, as many as the real region has."""
    stem = _DOMAINS.get(region, region.upper())
    return [f"{_TENANCY}:{stem}-AD-{number}" for number in range(1, 4 if region in _THREE else 2)]


def short_domain(name: str) -> str:
    """``AD-1``: what is the same in every tenancy."""
    return "-".join(name.rsplit("-", 2)[-2:])


def region_key(region: str) -> str:
    """``iad`` for ``us-ashburn-1``; most regions go by their own name."""
    return _KEYS.get(region, region)


def ocid(view: CloudView, kind: str) -> str:
    """An OCID in the region of the call."""
    return view.new_id(f"ocid1.{kind}.oc1.{region_key(view.region)}.aaaaaaaa", 52)
