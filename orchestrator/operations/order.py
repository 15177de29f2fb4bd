"""What a user asks to have made, beyond which offer: the words of `up`, `render` and a specification file."""

from __future__ import annotations

import contextlib
import getpass
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from orchestrator.clouds.contract import Cloud
from orchestrator.errors import UsageError
from orchestrator.model.demand import Access, Request
from orchestrator.model.launch import Launch
from orchestrator.model.offer import Offer
from orchestrator.operations.world import World

__all__ = ["Order", "caller", "launch_for", "specification"]

# The sandbox has no internet to come from: an address set aside for documentation (RFC 5737).
_SANDBOX_CALLER = "203.0.113.1"
_PUBLIC_KEY = re.compile(r"(ssh-(rsa|ed25519)|ecdsa-sha2-nistp\d+|sk-[a-z0-9@.-]+) [A-Za-z0-9+/]+={0,3}( .*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A request with everything around it; ``None`` or empty where nothing was said and the settings decide."""

    request: Request
    name: str | None = None
    owner: str | None = None
    ttl: timedelta | None = None
    image: str = ""
    access: Access | None = None
    ssh_key: Path | None = None
    ssh_from: tuple[str, ...] = ()
    subnet: str = ""
    disk_gib: int | None = None
    checkpoint_uri: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    sandbox: bool = False


def specification(world: World, order: Order, label: str) -> dict[str, Any]:
    """The JSON-ready specification of a deployment: the order with every default filled in.

    Reads the key file. ``ssh_allowed_cidrs`` is empty where nobody named an address: :func:`caller` answers that
    later, because it asks the network. Raises :class:`UsageError` for a key or address that is none.
    """
    settings = world.settings
    ttl = order.ttl or settings["ttl"]
    access, key = _access(world, order)
    cap = order.request.max_price_per_hour
    return {
        "profile": label,
        "owner": order.owner or settings["owner"] or _login(world.environ),
        "ttl_seconds": int(ttl.total_seconds()) if ttl else None,
        "max_price_per_hour": str(cap) if cap is not None else None,
        "image": order.image,
        "access": str(access),
        "ssh_public_key": key,
        "ssh_allowed_cidrs": _callers(world, order) if access is Access.SSH else [],
        "subnet": order.subnet,
        "disk_gib": order.disk_gib or settings["disk_gib"],
        "checkpoint_uri": order.checkpoint_uri.rstrip("/"),
        "labels": dict(sorted(order.labels.items())),
        "cloud_settings": {},
    }


def caller(clouds: Iterable[Cloud], *, sandbox: bool) -> list[str]:
    """The address that we come from, as the one that may reach SSH.

    The first of ``clouds`` that has a service for it answers: the address is the same for all of them. Raises what
    that answer raises, and the last one's :class:`UsageError` where none has a service.
    """
    if sandbox:
        return [_network(_SANDBOX_CALLER)]
    refused: UsageError | None = None
    for cloud in clouds:
        try:
            return [_network(cloud.caller_address())]
        except UsageError as error:
            refused = error
    raise refused or UsageError("nobody can say which address this is", hint="name it with --ssh-from")


def launch_for(
    spec: Mapping[str, Any], offer: Offer, cloud: Cloud, *, deployment_id: str, name: str, expires_at: str = ""
) -> Launch:
    """The launch of one offer under a specification."""
    cap = spec["max_price_per_hour"]
    ttl = spec["ttl_seconds"]
    return Launch(
        deployment_id=deployment_id,
        name=name,
        owner=spec["owner"],
        profile=spec["profile"],
        offer=offer,
        max_price_per_hour=Decimal(cap) if cap is not None else None,
        ttl=timedelta(seconds=ttl) if ttl else None,
        expires_at=expires_at,
        image=cloud.own_image(spec["image"], offer) if spec["image"] else cloud.image(offer),
        access=Access(spec["access"]),
        ssh_public_key=spec["ssh_public_key"],
        ssh_allowed_cidrs=tuple(spec["ssh_allowed_cidrs"]),
        subnet=spec["subnet"],
        disk_gib=spec["disk_gib"],
        checkpoint_uri=spec["checkpoint_uri"],
        cloud_settings=spec["cloud_settings"].get(offer.cloud, {}),
        labels=spec["labels"],
    )


def _login(environ: Mapping[str, str]) -> str:
    with contextlib.suppress(KeyError, OSError):
        return environ.get("USER") or environ.get("LOGNAME") or getpass.getuser()
    return ""


def _access(world: World, order: Order) -> tuple[Access, str]:
    said = order.access or (Access(world.settings["access"]) if world.settings["access"] else None)
    if said in (Access.NONE, Access.SESSION):
        return said, ""
    path = order.ssh_key or world.settings["ssh_key"] or _usual_key(world.environ)
    if path is None and said is None and not order.ssh_from:
        return Access.NONE, ""
    if path is None:
        raise UsageError(
            "SSH needs a public key, and ~/.ssh holds none",
            hint="make one with ssh-keygen -t ed25519, or name one with --ssh-key FILE",
        )
    return Access.SSH, _public_key(path)


def _usual_key(environ: Mapping[str, str]) -> Path | None:
    folder = Path(environ.get("HOME") or Path.home()) / ".ssh"
    names = ("id_ed25519.pub", "id_ecdsa.pub", "id_rsa.pub")
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _public_key(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--ssh-key: {path} cannot be read: {error}", hint="name a public key file") from error
    if "PRIVATE KEY" in text:
        raise UsageError(f"--ssh-key: {path} is a private key", hint=f"name the public one: {path}.pub")
    if not _PUBLIC_KEY.fullmatch(text):
        raise UsageError(
            f"--ssh-key: {path} is not an OpenSSH public key",
            hint="it should be one line such as ssh-ed25519 AAAA… you",
        )
    return text


def _callers(world: World, order: Order) -> list[str]:
    return [_network(word) for word in order.ssh_from or world.settings["ssh_from"] or ()]


def _network(word: str) -> str:
    try:
        network = ip_network(word, strict=False)
    except ValueError as error:
        raise UsageError(
            f"--ssh-from: {word!r} is no address or CIDR block", hint="write 203.0.113.7 or 203.0.113.0/24"
        ) from error
    if network.prefixlen == 0:
        raise UsageError(
            f"--ssh-from: {word} opens SSH to the whole internet, which gpuorch does not do",
            hint="name your own address, or use --access session",
        )
    return str(network)
