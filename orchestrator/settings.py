"""Settings, each with its origin: options beat environment, project file, user file, system file, default."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from orchestrator.errors import ConfigInvalid

__all__ = ["SETTINGS", "Setting", "Settings", "Value", "parse_duration", "split_words"]

PROJECT_FILE = "gpuorch.toml"

# Longer than anything runs, and far from where times overflow.
_LONGEST_SECONDS = 3650 * 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: its key in files, its meaning, how text becomes its value, and its default (``None``: none)."""

    key: str
    help: str
    parse: Callable[[Any], Any]
    default: Any = None

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return f"GPUORCH_{self.key.upper()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A setting's value and its origin: ``--state-dir``, ``GPUORCH_MARKET``, ``/path/gpuorch.toml`` or ``default``."""

    value: Any
    origin: str


def parse_duration(value: Any) -> timedelta:
    """``90s``, ``30m``, ``8h``, ``2d``, or ``1d12h``. ``ValueError`` otherwise, and for zero."""
    text = str(value).strip().lower()
    seconds, digits = 0, ""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    for letter in text:
        if letter.isascii() and letter.isdigit():
            digits += letter
        elif letter in units and digits and len(digits) <= 9:
            seconds += int(digits) * units[letter]
            digits = ""
        else:
            raise ValueError("write a time as 90s, 30m, 8h or 2d")
    if digits or not seconds:
        raise ValueError("write a time as 90s, 30m, 8h or 2d, more than zero")
    if seconds > _LONGEST_SECONDS:
        raise ValueError("write a time of at most ten years")
    return timedelta(seconds=seconds)


def split_words(value: Any) -> tuple[str, ...]:
    """A list, or words between commas."""
    parts = value if isinstance(value, list | tuple) else str(value).split(",")
    return tuple(word for word in (str(part).strip() for part in parts) if word)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("write some text")
    return value.strip()


def _path(value: Any) -> Path:
    return Path(_text(str(value) if isinstance(value, Path) else value)).expanduser().absolute()


def _paths(value: Any) -> tuple[Path, ...]:
    parts = value if isinstance(value, list | tuple) else str(value).split(os.pathsep)
    return tuple(_path(part) for part in parts if part)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not str(value).strip().isdecimal() or int(value) < 1:
        raise ValueError("write a whole number above zero")
    return int(value)


def _positive(value: Any) -> Decimal:
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        raise ValueError("write a number") from None
    if isinstance(value, bool) or not number.is_finite() or number <= 0:
        raise ValueError("write a number above zero")
    return number


def _rates(value: Any) -> dict[str, Decimal]:
    if isinstance(value, str):
        pairs = [pair.partition("=") for pair in split_words(value)]
        if not all(currency.strip() and rate for currency, _, rate in pairs):
            raise ValueError("write CNY=0.14,EUR=1.10")
        value = {currency.strip(): rate for currency, _, rate in pairs}
    if not isinstance(value, Mapping):
        raise ValueError("write a table such as exchange_rates = { CNY = 0.14 }")
    return {str(currency).upper(): _positive(rate) for currency, rate in value.items()}


def _tables(value: Any) -> dict[str, dict[str, str]]:
    if not isinstance(value, Mapping) or not all(isinstance(table, Mapping) for table in value.values()):
        raise ValueError("write a table for each cloud, such as [cloud_settings.NAME]")
    return {str(cloud): {str(key): str(text) for key, text in table.items()} for cloud, table in value.items()}


def one_of(*words: str) -> Callable[[Any], str]:
    """A parser that takes one of ``words``."""

    def parse(value: Any) -> str:
        if value not in words:
            raise ValueError(f"write one of {', '.join(words)}")
        return str(value)

    return parse


SETTINGS: Mapping[str, Setting] = {
    setting.key: setting
    for setting in (
        Setting(key="state_dir", help="Inventory, Terraform roots and their state.", parse=_path),
        Setting(key="cache_dir", help="The price book and other things that can be fetched again.", parse=_path),
        Setting(key="terraform", help="Terraform or OpenTofu: a name on PATH or a path.", parse=_text),
        Setting(key="tf_mirror", help="Folders to take Terraform providers from, before the registry.", parse=_paths),
        Setting(
            key="market",
            help="spot, on-demand, subscription-monthly, or auto (spot or on-demand, the cheaper first).",
            parse=one_of("spot", "on-demand", "subscription-monthly", "auto"),
            default="on-demand",
        ),
        Setting(key="clouds", help="Clouds that may be used (globs).", parse=split_words, default=()),
        Setting(key="denied_clouds", help="Clouds that must not be used (globs).", parse=split_words, default=()),
        Setting(key="regions", help="Regions that may be used (globs).", parse=split_words, default=()),
        Setting(key="denied_regions", help="Regions that must not be used (globs).", parse=split_words, default=()),
        Setting(key="max_price", help="Highest price per hour for a machine, in USD.", parse=_positive),
        Setting(key="max_price_age", help="Oldest price that may be chosen.", parse=parse_duration),
        Setting(key="ttl", help="Time after which a machine ends itself.", parse=parse_duration),
        Setting(key="owner", help="Who asks; stands in tags.", parse=_text),
        Setting(
            key="access",
            help="How people reach machines: ssh, session or none. Default: ssh where there is a key, else none.",
            parse=one_of("ssh", "session", "none"),
        ),
        Setting(key="ssh_key", help="Public key file to log in with. Default: the first in ~/.ssh.", parse=_path),
        Setting(key="ssh_from", help="Addresses (CIDR) that may reach SSH. Default: your own.", parse=split_words),
        Setting(key="disk_gib", help="Size of the root disk in GiB.", parse=_count, default=200),
        Setting(
            key="ready_timeout",
            help="How long to wait for a machine to report itself ready.",
            parse=parse_duration,
            default=timedelta(minutes=30),
        ),
        Setting(
            key="cloud_settings",
            help="Settings that only one cloud has, as a table for each cloud.",
            parse=_tables,
            default={},
        ),
        Setting(key="exchange_rates", help="USD per unit of other currencies, as a table.", parse=_rates, default={}),
    )
}


class Settings:
    """All settings with their origins. Immutable."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = dict(values)

    def __getitem__(self, key: str) -> Any:
        return self._values[key].value

    def value(self, key: str) -> Value:
        return self._values[key]

    def items(self) -> list[tuple[str, Value]]:
        return sorted(self._values.items())

    @classmethod
    def load(
        cls, options: Mapping[str, Any], environ: Mapping[str, str], folder: Path, *, system: Path | None = None
    ) -> Settings:
        """From options (``None`` values are not given), environment, and the files that ``folder`` sees.

        Raises :class:`ConfigInvalid` for an unknown key, a bad value or a file that is no TOML, naming file and key.
        """
        values = {key: Value(value=setting.default, origin="default") for key, setting in SETTINGS.items()}
        values |= _default_folders()
        for path in _files(environ, folder, system or Path("/etc/gpuorch/config.toml")):
            for key, value in _from_file(path).items():
                _put(values, key, value)
        for key, setting in SETTINGS.items():
            text = environ.get(setting.variable, "")
            if text:
                _put(values, key, Value(value=_parse(setting, text, setting.variable), origin=setting.variable))
        for key, value in options.items():
            if value is not None:
                origin = f"--{key.replace('_', '-')}"
                values[key] = Value(value=_parse(SETTINGS[key], value, origin), origin=origin)
        return cls(values)


# A denial is a promise: a nearer source adds to those of a farther one and takes none away.
_ADD_UP = ("denied_clouds", "denied_regions")


def _put(values: dict[str, Value], key: str, new: Value) -> None:
    old = values[key]
    if key in _ADD_UP and old.value:
        words = tuple(dict.fromkeys((*old.value, *new.value)))
        new = Value(value=words, origin=f"{old.origin}, {new.origin}")
    values[key] = new


def _default_folders() -> dict[str, Value]:
    import platformdirs

    folders = {
        "state_dir": platformdirs.user_state_path("gpuorch", appauthor=False),
        "cache_dir": platformdirs.user_cache_path("gpuorch", appauthor=False),
    }
    return {key: Value(value=path, origin="default") for key, path in folders.items()}


def _files(environ: Mapping[str, str], folder: Path, system: Path) -> list[Path]:
    """Configuration files that exist, the weakest first; the project file is the nearest one upwards of ``folder``."""
    import platformdirs

    user = Path(environ.get("XDG_CONFIG_HOME") or platformdirs.user_config_path("gpuorch", appauthor=False).parent)
    project = next(
        (place / PROJECT_FILE for place in (folder, *folder.parents) if (place / PROJECT_FILE).is_file()), None
    )
    named = environ.get("GPUORCH_CONFIG", "")
    candidates = [system, user / "gpuorch" / "config.toml", *([project] if project else [])]
    found = [path for path in candidates if path.is_file()]
    if named:
        path = Path(named).expanduser()
        if not path.is_file():
            raise ConfigInvalid(
                f"GPUORCH_CONFIG names {named}, and there is no such file", hint="unset it, or write the file"
            )
        found.append(path)
    return found


def _from_file(path: Path) -> dict[str, Value]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigInvalid(
            f"{path} cannot be read as TOML: {error}", hint="see gpuorch config show --origin"
        ) from error
    unknown = sorted(content.keys() - SETTINGS.keys())
    if unknown:
        raise ConfigInvalid(f"{path}: unknown setting {unknown[0]!r}", hint=f"settings: {', '.join(sorted(SETTINGS))}")
    return {
        key: Value(value=_parse(SETTINGS[key], value, str(path)), origin=str(path)) for key, value in content.items()
    }


def _parse(setting: Setting, value: Any, origin: str) -> Any:
    try:
        return setting.parse(value)
    except (ValueError, TypeError) as error:
        from orchestrator.errors import UsageError

        message = f"{origin}: {setting.key} = {value!r} is not usable: {error}"
        # A word of the command line is a usage error, everything that stands elsewhere a configuration error.
        raise (UsageError(message) if origin.startswith("--") else ConfigInvalid(message)) from error
