"""The shape of a cloud's sandbox rules: what the provider's schema cannot say.

A rules module has one name, ``RULES`` (:class:`ProviderRules`). The stand-in provider in ``orchestrator.sandbox``
serves the cloud's real schema and asks these rules for the rest: what the genuine provider refuses in its code, which
changes replace a resource, and what the cloud itself fills in. Values are plain data by the schema's names (``dict``,
``list``, ``str``, ``int``, ``float``, ``bool``, ``None``), with :data:`UNKNOWN` for what is not known before the apply.

A *path* is a dotted name (``root_block_device.volume_size``) that stands for that argument in every block of the name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Protocol

__all__ = [
    "UNKNOWN",
    "CallRefused",
    "CloudView",
    "DataRules",
    "MachineFacts",
    "Problem",
    "ProviderRules",
    "ResourceRules",
    "Unknown",
    "Values",
]


class Unknown(Enum):
    """Terraform's unknown value: one that only the apply will tell."""

    UNKNOWN = "(known after apply)"

    def __bool__(self) -> bool:
        return False


UNKNOWN = Unknown.UNKNOWN

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One error in the genuine provider's words. ``path`` leads to the argument: names, and numbers for list items."""

    summary: str
    detail: str = ""
    path: tuple[str | int, ...] = ()


class CallRefused(Exception):
    """The simulated cloud refuses a call; ``problem`` is what the genuine provider would print."""

    def __init__(self, summary: str, detail: str = "") -> None:
        super().__init__(summary)
        self.problem = Problem(summary=summary, detail=detail)


class CloudView(Protocol):
    """What a rule may see of the simulated cloud, inside the transaction of its call."""

    @property
    def region(self) -> str:
        """The region of the call."""
        ...

    @property
    def provider(self) -> Values:
        """The configuration of the provider block."""
        ...

    def now(self) -> datetime:
        """The simulated time."""
        ...

    def get(self, type_: str, id_: str) -> Values | None:
        """A resource that exists, by type and id."""
        ...

    def live(self, type_: str) -> Sequence[Values]:
        """All resources of a type that exist in the region."""
        ...

    def new_id(self, prefix: str, length: int = 17) -> str:
        """An id that was never given before: the prefix and hexadecimal digits."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """What the simulated cloud needs to know of a resource that is a machine.

    ``market`` is ``on-demand`` or ``spot``; ``user_data`` is the text that the machine boots with, decoded. ``zone_id``
    is the zone's second name, where the cloud has two.
    """

    zone: str
    instance_type: str
    market: str
    user_data: str
    zone_id: str = ""
    address: str = ""
    private_address: str = ""


def _nothing_wrong(config: Values) -> Iterable[Problem]:
    return ()


def _nothing_planned(config: Values, prior: Values | None, provider: Values) -> Values:
    return {}


def _nothing_filled(values: Values, view: CloudView) -> Values:
    return {}


def _nothing_against(values: Values, view: CloudView) -> None:
    return None


def _own_id(values: Values) -> str:
    return str(values["id"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRules:
    """Rules of one resource type.

    - ``validate(config)``: what the provider refuses before the plan;
    - ``force_new``: paths whose change replaces the resource;
    - ``defaults``: path → value that the provider plans where the configuration has none;
    - ``kept_blocks``: names of blocks that are optional *and computed*, which the schema's form cannot say: without
      them in the configuration they stay as they are;
    - ``plan(config, prior, provider)``: further planned top-level values (merged tags, say);
    - ``create(values, view)``: path → what the cloud fills in, ``id`` among it; a callable value is asked once per
      block, and a block's own name gives the blocks that come to be where none was configured. Computed values that it
      leaves out become empty. Raises :class:`CallRefused`;
    - ``update(values, view)``: the same for a change in place;
    - ``delete(values, view)``: raises :class:`CallRefused` where something still depends on it;
    - ``import_id(values)``: what ``terraform import`` takes for it;
    - ``parent``: ``(type, argument)`` of the resource that it belongs to, for types that carry no tags of their own;
    - ``address(values)``: where it stands in the rendered root, for a type that stands there more than once;
    - ``machine(values)``: the facts, for a type that is a machine;
    - ``is_global``: whether it is the same in all regions.
    """

    validate: Callable[[Values], Iterable[Problem]] = _nothing_wrong
    force_new: frozenset[str] = frozenset()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    kept_blocks: frozenset[str] = frozenset()
    plan: Callable[[Values, Values | None, Values], Values] = _nothing_planned
    create: Callable[[Values, CloudView], Values] = _nothing_filled
    update: Callable[[Values, CloudView], Values] = _nothing_filled
    delete: Callable[[Values, CloudView], None] = _nothing_against
    import_id: Callable[[Values], str] = _own_id
    parent: tuple[str, str] | None = None
    address: Callable[[Values], str] | None = None
    machine: Callable[[Values], MachineFacts] | None = None
    is_global: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRules:
    """Rules of one data source: ``read(config, view)`` gives path → value, or raises :class:`CallRefused`."""

    read: Callable[[Values, CloudView], Values]
    validate: Callable[[Values], Iterable[Problem]] = _nothing_wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRules:
    """Everything that a cloud adds to its schema.

    - ``configure(config)``: what the provider refuses in its own block;
    - ``region(provider, values)``: where a call goes;
    - ``deployment(values)``: the deployment in a resource's tags, ``""`` where there is none;
    - ``address(type)``: where a resource of the type stands in the rendered root, ``""``: nowhere;
    - ``capacity_error(facts, region)``: what a launch fails with when the simulated stock is used up;
    - ``interrupted``: the cloud's reason on a machine that it took back (spot);
    - ``ended``: its reason on one that was ended by a call, ``shut_down`` on one that powered itself off.
    """

    resources: Mapping[str, ResourceRules]
    data: Mapping[str, DataRules]
    configure: Callable[[Values], Iterable[Problem]]
    region: Callable[[Values, Values], str]
    deployment: Callable[[Values], str]
    address: Callable[[str], str]
    capacity_error: Callable[[MachineFacts, str], Problem]
    interrupted: str
    ended: str
    shut_down: str
