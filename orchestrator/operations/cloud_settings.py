"""The settings that only one cloud has, and what a cloud lacks to be used by whoever asks."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.clouds.contract import Cloud
from orchestrator.errors import ConfigInvalid
from orchestrator.operations.world import World

__all__ = ["cloud_settings", "not_set_up"]


def cloud_settings(world: World, cloud: Cloud, *, sandbox: bool) -> dict[str, str]:
    """The values of ``cloud``'s own settings. Raises :class:`ConfigInvalid` for a key that it does not have."""
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
        values[key] = said.get(key) or (setting.sandbox if sandbox and not said.get(key) else found)
    return values


def not_set_up(world: World, clouds: Iterable[str]) -> dict[str, str]:
    """Cloud → what is missing, for those of ``clouds`` that are certain not to work here. Asks nobody."""
    missing = {}
    for name in clouds:
        cloud = world.cloud(name)
        values = cloud_settings(world, cloud, sandbox=False)
        unset = [key for key, setting in cloud.settings.items() if setting.required and not values[key]]
        if unset:
            missing[name] = f"{cloud.title} needs the setting {unset[0]} ({cloud.settings[unset[0]].help})"
        elif sentence := cloud.no_credentials(world.environ):
            missing[name] = sentence
    return missing
