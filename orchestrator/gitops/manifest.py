"""A specification file: the words of `gpuorch up`, as YAML, checked before anything is done."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from orchestrator.errors import ConfigInvalid, UsageError
from orchestrator.model.demand import Access
from orchestrator.model.deployment import valid_name
from orchestrator.settings import parse_duration, split_words

__all__ = ["Manifest", "ManifestFile", "read_manifest"]

# Larger than any specification; a file named by mistake must not be read into memory whole.
_LARGEST_BYTES = 1_000_000


def _name(value: Any) -> Any:
    if isinstance(value, str) and not valid_name(value):
        raise ValueError("use 2 to 40 lower-case letters, digits and dashes, beginning with a letter")
    return value


def _plain_number(value: Any) -> Any:
    # YAML's `yes` would count as 1 and `.nan` as a number.
    if isinstance(value, bool) or (isinstance(value, float) and value != value):
        raise ValueError("write a number above zero")
    return str(value) if isinstance(value, int | float) else value


Words = Annotated[tuple[str, ...], BeforeValidator(split_words)]
Amount = Annotated[Decimal, BeforeValidator(_plain_number), Field(gt=0, allow_inf_nan=False)]
Time = Annotated[timedelta, BeforeValidator(parse_duration)]


class Checkpoint(BaseModel):
    """Where the machine may keep checkpoints."""

    model_config = ConfigDict(extra="forbid", strict=False)

    uri: str


class ManifestFile(BaseModel):
    """The fields of a specification. Every one but ``profile`` or ``gpu`` may be left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, BeforeValidator(_name)] | None = None
    profile: str | None = None
    gpu: str | None = None
    market: Literal["spot", "on-demand", "subscription-monthly", "auto"] | None = None
    clouds: Words | None = None
    denied_clouds: Words | None = None
    regions: Words | None = None
    denied_regions: Words | None = None
    max_price: Amount | None = None
    min_vcpus: Amount | None = None
    min_memory: Amount | None = None
    nodes: Annotated[int, Field(strict=True)] = 1
    owner: str | None = None
    ttl: Time | None = None
    image: str | None = None
    access: Access | None = None
    ssh_key: Path | None = None
    ssh_from: Words | None = None
    subnet: str | None = None
    disk_gib: Annotated[int, Field(strict=True, ge=8, le=16384)] | None = None
    checkpoint: Checkpoint | None = None
    labels: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_machine(self) -> ManifestFile:
        if (self.profile is None) == (self.gpu is None):
            raise ValueError("give exactly one of profile and gpu")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A file's content: ``request`` maps fields of a Request to (value, origin), ``around`` fields of an order."""

    request: Mapping[str, tuple[Any, str]]
    around: Mapping[str, Any]


# Field of the file → field of a Request.
_REQUEST = {
    "profile": "profile",
    "gpu": "gpu",
    "market": "market",
    "clouds": "clouds",
    "denied_clouds": "denied_clouds",
    "regions": "regions",
    "denied_regions": "denied_regions",
    "max_price": "max_price_per_hour",
    "min_vcpus": "min_vcpus",
    "min_memory": "min_memory_gib",
}
_AROUND = ("name", "owner", "ttl", "image", "access", "ssh_key", "ssh_from", "subnet", "disk_gib", "labels", "nodes")


_FIELDS = f"fields: {', '.join(ManifestFile.model_fields)}"


def read_manifest(path: Path) -> Manifest:
    """Read and check a specification.

    Raises :class:`UsageError` when there is no such file and :class:`ConfigInvalid`, with the line, for what is wrong.
    """
    text = _text(path)
    tree = _tree(path, text)
    content = yaml.safe_load(text)
    if not isinstance(content, dict):
        raise ConfigInvalid(f"{path}: a specification is a mapping such as 'profile: a100x8'", hint=_FIELDS)
    lines = _lines(tree)
    try:
        checked = ManifestFile.model_validate(content)
    except ValidationError as error:
        raise ConfigInvalid(_sentence(path, error, lines), hint=_FIELDS) from error
    request = {
        field: (value, f"{path.name}:{lines.get(key, 1)}")
        for key, field in _REQUEST.items()
        if (value := getattr(checked, key)) is not None
    }
    around = {key: value for key in _AROUND if (value := getattr(checked, key)) is not None}
    if checked.checkpoint is not None:
        around["checkpoint_uri"] = checked.checkpoint.uri
    if checked.ssh_key is not None:
        # Beside the file, not beside whoever runs the command.
        around["ssh_key"] = path.parent / checked.ssh_key.expanduser()
    return Manifest(request=request, around=around)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            content = stream.read(_LARGEST_BYTES + 1)
    except FileNotFoundError as error:
        raise UsageError(f"-f {path}: there is no such file", hint="name a specification file") from error
    except OSError as error:
        raise UsageError(f"-f {path} cannot be read: {error.strerror}", hint="name a specification file") from error
    if len(content) > _LARGEST_BYTES:
        raise ConfigInvalid(f"{path} is larger than {_LARGEST_BYTES} bytes", hint="name a specification file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigInvalid(f"{path} is not UTF-8 text", hint="name a specification file") from error


def _tree(path: Path, text: str) -> Any:
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or "nested too deeply or not text"
        raise ConfigInvalid(f"{where}: this is no YAML: {problem}", hint="mend the line") from error


def _lines(tree: Any) -> dict[str, int]:
    """Line of each top-level key; a key that stands twice is refused, because only the last would count."""
    lines: dict[str, int] = {}
    for key, _ in tree.value if isinstance(tree, yaml.MappingNode) else []:
        word, line = str(key.value), key.start_mark.line + 1
        if word in lines:
            raise ConfigInvalid(f"line {line}: {word} stands twice (line {lines[word]} too)", hint="remove one")
        lines[word] = line
    return lines


def _sentence(path: Path, error: ValidationError, lines: Mapping[str, int]) -> str:
    first = error.errors()[0]
    place = [str(part) for part in first["loc"]]
    key = ".".join(place)
    where = f"{path}:{lines.get(place[0], 1)}" if place else str(path)
    if first["type"] == "extra_forbidden":
        close = difflib.get_close_matches(place[-1], ManifestFile.model_fields, n=1)
        return f"{where}: unknown field {key!r}{f'; did you mean {close[0]}?' if close else ''}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {key}: {message}" if key else f"{where}: {message}"
