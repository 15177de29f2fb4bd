"""Everything that the files of one deployment are rendered from, and the rendered files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from types import MappingProxyType

from orchestrator.model.demand import Access
from orchestrator.model.offer import Offer

__all__ = ["Image", "Launch", "ProviderPin", "Stack"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A machine image and what the bootstrap may rely on in it.

    ``reference`` is what the cloud's module takes as ``image``. ``python`` is an interpreter with a working torch in
    the image (``""``: none, the bootstrap builds one). ``driver`` is ``nvidia``, ``rocm`` or ``none``. ``scratch`` is
    where the image has mounted the local disks already (``""``: the bootstrap makes a RAID 0 of them). ``local_disks``
    are globs over ``/dev/disk/by-id`` that only disks local to the machine match (none: no disk is touched).
    ``install_driver`` is a command, run as root, that installs the driver where the image shows none.
    ``upload_command`` copies the status to the object store, with ``{file}`` and ``{uri}`` in its words, e.g.
    ``("cp-tool", "put", "{file}", "{uri}")`` (none: no marker is written). ``end_command`` has the cloud remove the
    machine when its time is over, run as root on it (none: it powers itself off, and that removes it).
    """

    reference: str
    ssh_user: str
    python: str = ""
    driver: str = "nvidia"
    scratch: str = ""
    local_disks: tuple[str, ...] = ()
    install_driver: tuple[str, ...] = ()
    upload_command: tuple[str, ...] = ()
    end_command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderPin:
    """The Terraform provider of a cloud: ``source`` ``hashicorp/aws``, ``constraint`` ``~> 5.100``.

    ``aliases`` are further configurations of it (``home``) that the ``provider_files`` make and the module takes.
    """

    local_name: str
    source: str
    constraint: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One attempt at one offer: what is rendered. Every value may be hostile text; none enters HCL.

    ``ttl`` counts from the machine's first boot. ``expires_at`` is an ISO time for the tag, ``""`` when not known
    (``gpuorch render``), so that the same launch always renders to the same bytes. ``ssh_allowed_cidrs`` is empty
    unless ``access`` is SSH. ``subnet`` ``""`` means an own network. ``checkpoint_uri`` is ``""`` or a prefix in an
    object store. ``cloud_settings`` are the values of the settings that only the offer's cloud has.
    """

    deployment_id: str
    name: str
    owner: str
    profile: str
    offer: Offer
    max_price_per_hour: Decimal | None = None
    ttl: timedelta | None = None
    expires_at: str = ""
    image: Image
    access: Access = Access.SSH
    ssh_public_key: str = ""
    ssh_allowed_cidrs: tuple[str, ...] = ()
    subnet: str = ""
    disk_gib: int = 200
    checkpoint_uri: str = ""
    cloud_settings: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A Terraform root as files: relative POSIX path → text. Same launch, same bytes."""

    files: Mapping[str, str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "files", MappingProxyType(dict(sorted(self.files.items()))))

    @property
    def fingerprint(self) -> str:
        """``sha256:…`` over paths and contents."""
        digest = hashlib.sha256()
        for path, text in self.files.items():
            digest.update(f"{path}\0{len(text.encode())}\0".encode())
            digest.update(text.encode())
        return f"sha256:{digest.hexdigest()}"
