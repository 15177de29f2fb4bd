"""The settings that only one cloud has, and what a cloud lacks to be used by whoever asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator.clouds.contract import Cloud
from orchestrator.errors import ConfigInvalid
from orchestrator.model.machine import Finding
from orchestrator.operations.world import World

__all__ = ["SeenCloud", "cloud_settings", "findings_of", "not_set_up", "survey", "unset_settings"]


def cloud_settings(world: World, cloud: Cloud, *, sandbox: bool, looking: bool = False) -> dict[str, str]:
    """The values of ``cloud``'s own settings. Raises :class:`ConfigInvalid` for a key that it does not have.

    ``looking``: nothing will be made, so what is not set is filled in as in the sandbox, and the choice can be seen.
    """
    said = world.settings["cloud_settings"].get(cloud.name, {})
    unknown = sorted(said.keys() - cloud.settings.keys())
    if unknown:
        known = ", ".join(sorted(cloud.settings)) or "none"
        raise ConfigInvalid(
            f"cloud_settings.{cloud.name}: unknown setting {unknown[0]!r}", hint=f"settings of {cloud.title}: {known}"
        )
    values = {}
    for key, setting in cloud.settings.items():
        names = (f"GPUORCH_{cloud.name.upper()}_{key.upper()}", *setting.variables)
        found = next((world.environ[name] for name in names if world.environ.get(name)), setting.default)
        value = said.get(key) or (setting.sandbox if sandbox else found)
        values[key] = value or (setting.sandbox if looking else "")
    return values


def findings_of(world: World, cloud: Cloud) -> list[Finding]:
    """What the cloud says of credentials, rights and quotas here."""
    if cloud.findings_with is None:
        return cloud.findings()
    return cloud.findings_with(cloud_settings(world, cloud, sandbox=False))


def unset_settings(world: World, cloud: Cloud) -> str:
    """``""``, or a sentence about the first setting that the cloud requires and nobody has set."""
    values = cloud_settings(world, cloud, sandbox=False)
    unset = [key for key, setting in cloud.settings.items() if setting.required and not values[key]]
    return f"{cloud.title} needs the setting {unset[0]} ({cloud.settings[unset[0]].help})" if unset else ""


def not_set_up(world: World, clouds: Iterable[str]) -> dict[str, str]:
    """Cloud → what is missing, for those of ``clouds`` that are certain not to work here. Asks nobody."""
    missing = {}
    for name in clouds:
        cloud = world.cloud(name)
        if lacking := unset_settings(world, cloud):
            missing[name] = lacking
        elif sentence := cloud.no_credentials(world.environ):
            missing[name] = sentence
    return missing


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenCloud:
    """A cloud as it can be used here: ``missing`` is ``""`` where nothing is known to be missing."""

    name: str
    title: str
    missing: str
    offers: int
    settings: Mapping[str, str]
    findings: tuple[Finding, ...]


def survey(world: World, *, check: bool = False) -> list[SeenCloud]:
    """Every cloud; with ``check`` also what each that can be used says of credentials, rights and quotas."""
    offers: dict[str, int] = {}
    for source in world.book.sources():
        offers[source.cloud] = offers.get(source.cloud, 0) + source.offers
    world.tell_broken_clouds()
    seen = []
    for name in sorted(world.modules(False)):
        cloud = world.cloud(name)
        missing = not_set_up(world, [name]).get(name, "")
        seen.append(
            SeenCloud(
                name=name,
                title=cloud.title,
                missing=missing,
                offers=offers.get(name, 0),
                settings=cloud_settings(world, cloud, sandbox=False),
                findings=tuple(findings_of(world, cloud)) if check and not missing else (),
            )
        )
    return seen
