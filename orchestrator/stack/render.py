"""A launch as a Terraform root: constant HCL, and every value in ``terraform.tfvars.json``.

The HCL depends on the cloud alone, so a hostile value cannot become code: JSON is the only place where one stands, and
Terraform reads a ``.tfvars.json`` literally (no ``${…}`` is looked at).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from orchestrator.assets import asset
from orchestrator.errors import ConfigInvalid, UsageError
from orchestrator.model.launch import Launch, ProviderPin, Stack
from orchestrator.stack.write import write

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["CloudOfRoot", "render", "variables", "write"]

CLOUD_INIT = "cloud-init.yaml"
VALUES = "terraform.tfvars.json"

_BLOCK = re.compile(r'^(?P<kind>variable|output) "(?P<name>\w+)" \{\n.*?^\}$', re.MULTILINE | re.DOTALL)
_DESCRIPTION = re.compile(r"^  description = (\".*\")$", re.MULTILINE)
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")


class CloudOfRoot(Protocol):
    """What is needed of a :class:`~orchestrator.clouds.contract.Cloud`, which this package may not import."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def provider(self) -> ProviderPin: ...
    @property
    def module(self) -> Path: ...
    @property
    def provider_files(self) -> Mapping[str, str]: ...
    @property
    def user_data_limit_bytes(self) -> int: ...
    def module_variables(self, launch: Launch, /) -> Mapping[str, Any]: ...


def render(launch: Launch, cloud: CloudOfRoot) -> Stack:
    """The files of one deployment. The same launch gives the same bytes.

    Raises :class:`ConfigInvalid` when the cloud-init text is longer than the cloud takes, :class:`UsageError` when a
    value is not text that can be written down (bytes that are not UTF-8).
    """
    from orchestrator.stack.cloudinit import user_data

    own = cloud.module_variables(launch)
    values = _values(variables(launch) | dict(own))
    cloud_init = user_data(launch)
    _check_size(cloud_init, cloud)
    fingerprint = hashlib.sha256(f"{values}\0{cloud_init}".encode()).hexdigest()
    files = _root(cloud, tuple(sorted(own)), f"sha256:{fingerprint}")
    files |= {VALUES: values, CLOUD_INIT: cloud_init}
    files |= {f"modules/{cloud.name}/{name}": text for name, text in _module_files(cloud.module).items()}
    return Stack(files=files)


def variables(launch: Launch) -> dict[str, Any]:
    """The contract's variables with this launch's values, JSON-ready, ``user_data`` left out (it has its own file).

    The price limit is there only when one was asked for: without it the machine may cost up to the on-demand price.
    """
    offer = launch.offer
    values: dict[str, Any] = {
        "deployment_id": launch.deployment_id,
        "name": launch.name,
        "owner": launch.owner,
        "profile": launch.profile,
        "expires_at": launch.expires_at,
        "labels": dict(launch.labels),
        "region": offer.region,
        "zone": offer.zone,
        "instance_type": offer.instance_type,
        "market": offer.market.value,
        "image": launch.image.reference,
        "access": launch.access.value,
        "ssh_public_key": launch.ssh_public_key,
        "ssh_allowed_cidrs": list(launch.ssh_allowed_cidrs),
        "subnet": launch.subnet,
        "disk_gib": launch.disk_gib,
        "checkpoint_uri": launch.checkpoint_uri,
    }
    if launch.max_price_per_hour is not None:
        values["max_price_per_hour"] = f"{launch.max_price_per_hour:f}"
    return values


def _values(values: Mapping[str, Any]) -> str:
    text = json.dumps(values, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        text.encode()
    except UnicodeEncodeError:
        guilty = next(name for name, value in values.items() if not _encodable(value))
        raise UsageError(
            f"{guilty} holds bytes that are not UTF-8 text", hint="check the terminal's or file's encoding"
        ) from None
    return text


def _encodable(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_size(cloud_init: str, cloud: CloudOfRoot) -> None:
    size = len(cloud_init.encode())
    if size > cloud.user_data_limit_bytes:
        raise ConfigInvalid(
            f"the machine's cloud-init text has {size} bytes, and {cloud.title} takes {cloud.user_data_limit_bytes}",
            hint="shorten the owner, labels or SSH key that stand in it",
        )


def _root(cloud: CloudOfRoot, own: tuple[str, ...], launch: str) -> dict[str, str]:
    facts = _Facts(
        cloud=cloud.name,
        title=cloud.title,
        provider=cloud.provider,
        provider_files=tuple(sorted(cloud.provider_files)),
        own=own,
    )
    main = _templates().get_template("main.tf.j2").render(_context(facts), launch=launch)
    return {"main.tf": main, **_constant_files(facts), **cloud.provider_files}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What the root is made of besides the launch."""

    cloud: str
    title: str
    provider: ProviderPin
    provider_files: tuple[str, ...]
    own: tuple[str, ...]


@cache
def _constant_files(facts: _Facts) -> dict[str, str]:
    """The files that every launch on a cloud shares."""
    names = ("variables.tf", "outputs.tf", "versions.tf", "README.md")
    files = {name: _templates().get_template(f"{name}.j2").render(_context(facts)) for name in names}
    return {**files, ".gitignore": asset("templates", "stack", "gitignore").read_text()}


@cache
def _context(facts: _Facts) -> dict[str, Any]:
    blocks = _contract("variables.tf")
    for name in facts.own:
        if name in blocks or not _IDENTIFIER.fullmatch(name):
            raise ConfigInvalid(f"cloud {facts.cloud} brings a module variable called {name!r}, which cannot be")
    names = (*blocks, *facts.own)
    width = max(map(len, names))
    local = facts.provider.local_name
    configurations = [local, *(f"{local}.{alias}" for alias in facts.provider.aliases)]
    longest = max(map(len, configurations))
    return {
        "cloud": facts.cloud,
        "title": facts.title,
        "provider": facts.provider,
        # Said only where there is more than the one that a module inherits anyway.
        "providers": [(name, " " * (longest - len(name))) for name in configurations if facts.provider.aliases],
        "provider_files": facts.provider_files,
        "variables": [(name, " " * (width - len(name))) for name in names],
        "blocks": [block for name, block in blocks.items() if name != "user_data"]
        + [f'variable "{name}" {{\n  type = any\n}}' for name in facts.own],
        "outputs": [(name, _description(block)) for name, block in _contract("outputs.tf").items()],
    }


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(asset("templates", "stack")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        # HCL, not HTML; and no value of a user's comes here.
        autoescape=False,
    )


@cache
def _contract(file: str) -> dict[str, str]:
    """Name → text of each block of a file of the contract, in its order."""
    text = asset("terraform", "contract", file).read_text()
    return {match["name"]: match[0] for match in _BLOCK.finditer(text)}


def _description(block: str) -> str:
    match = _DESCRIPTION.search(block)
    return match[1] if match else '""'


@cache
def _module_files(module: Path) -> dict[str, str]:
    """The module's own files: HCL, its README, and programs that it hands to the machine."""
    kept = (".tf", ".md", ".py", ".sh")
    return {path.name: path.read_text() for path in sorted(module.iterdir()) if path.suffix in kept}
