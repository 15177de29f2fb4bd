"""Read a provider's schema back out of its prebuilt CDKTF bindings: the wheels of ``cdktf-…-provider-NAME`` on PyPI.

The bindings are JavaScript generated from ``terraform providers schema``, one folder a type. They keep every name,
type, nesting, and which arguments are required, optional or read-only. They lose what no generated class needs: that a
settable argument is also computed, counts of blocks other than "exactly one" and "at least one", versions, sensitivity.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

Type = Any
"""A type as Terraform writes it in JSON: ``"string"``, ``["list", "string"]``, ``["object", {…}]``."""

_INDEX = re.compile(r"package/lib/([^/]+)/(?:index|index-structs/\w+)\.js")
# Large resources are split over files that refer to each other by these names.
_SPLIT = re.compile(r"(?:structs\d+_1|index_structs_1)\.")
_CLASS = re.compile(r"^class (\w+) extends cdktf\.(\w+) \{\n(.*?)^\}", re.M | re.S)
_TO_HCL = re.compile(r"^function (\w+)ToHclTerraform\(struct\) \{\n(.*?)^\}", re.M | re.S)
_ARGUMENT = re.compile(
    r'^\s{8,12}"?(?P<name>[\w-]+)"?: \{\n\s+value: .*?,\n\s+isBlock: (?P<block>true|false),\n'
    r'\s+type: "(?P<shape>\w+)",\n\s+storageClassType: "(?P<of>\w+)",',
    re.M,
)
_FLAGS = r"(?:// [\w-]+ - computed: (?P<computed>\w+), optional: (?P<optional>\w+), required: (?P<required>\w+)\n\s+)?"
_COMPLEX = re.compile(
    _FLAGS + r"this\._(?P<property>\w+) = new (?P<library>cdktf\.)?(?P<class>\w+)"
    r'\(this, "(?P<name>[\w-]+)"(?:, (?P<from_set>true|false))?\)'
)
_GETTER = re.compile(_FLAGS + r"get (?P<property>\w+)\(\) \{\n\s+return (?P<expression>.*?);\n")
_GETS = re.compile(r"(?:get(?P<of>\w*?)Attribute|forAttribute)\(['\"](?P<name>[\w-]+)['\"]\)")
_TYPE_NAME = re.compile(r'\.tfResourceType = "([\w-]+)"')

_MAIN = {"TerraformResource": "resource_schemas", "TerraformDataSource": "data_source_schemas"}
_ONE = {"string": "string", "number": "number", "boolean": "bool", "any": "dynamic"}
_META = frozenset({"provider", "lifecycle", "depends_on", "count", "for_each", "provisioner", "connection"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Argument:
    """How an argument is written to HCL: ``shape`` is simple, list, set, map or struct, ``of`` its storage class."""

    block: bool
    shape: str
    of: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """One attribute or block of a class. ``complex_class`` is empty where a plain getter reads it."""

    computed: bool = False
    optional: bool = False
    required: bool = False
    settable: bool = True
    argument: _Argument | None = None
    complex_class: str = ""
    library: bool = False
    from_set: bool = False
    expression: str = ""


class Bindings:
    """A wheel, or the archive of its JavaScript package."""

    def __init__(self, wheel: Path) -> None:
        """:class:`SystemExit` where ``wheel`` is no wheel with CDKTF bindings of one provider."""
        self._sources: dict[str, str] = {}
        try:
            with zipfile.ZipFile(wheel) as archive:
                (inner,) = (name for name in archive.namelist() if name.endswith(".jsii.tgz"))
                package = self._read(archive.read(inner))
            self.source: str = package["cdktf"]["provider"]["name"]
            self.version: str = package["cdktf"]["provider"]["version"]
        except (zipfile.BadZipFile, OSError, ValueError, KeyError) as error:
            raise SystemExit(f"{wheel} holds no CDKTF bindings of a provider: {error}") from error

    def _read(self, tgz: bytes) -> Mapping[str, Any]:
        package: Mapping[str, Any] = {}
        with tarfile.open(fileobj=io.BytesIO(tgz), mode="r:gz") as tar:
            for member in tar:
                file = tar.extractfile(member)
                if file is None:
                    continue
                if found := _INDEX.fullmatch(member.name):
                    text = _SPLIT.sub("", file.read().decode())
                    self._sources[found[1]] = self._sources.get(found[1], "") + "\n" + text
                elif member.name == "package/package.json":
                    package = json.loads(file.read())
        return package

    def schemas(self, resources: Collection[str], data: Collection[str]) -> dict[str, Any]:
        """In the form of ``terraform providers schema -json``: the provider's own block and the named types, without
        those that the bindings lack."""
        found: dict[str, Any] = {"provider": {}, "resource_schemas": {}, "data_source_schemas": {}}
        named = {"resource_schemas": frozenset(resources), "data_source_schemas": frozenset(data)}
        wanted = named["resource_schemas"] | named["data_source_schemas"]
        for folder, text in self._sources.items():
            if folder != "provider" and wanted.isdisjoint(_TYPE_NAME.findall(text)):
                continue
            classes = _Classes(text)
            for name, (base, _) in classes.bodies.items():
                if base == "TerraformProvider":
                    found["provider"] = {"version": 0, "block": classes.block(name)}
                elif (part := _MAIN.get(base)) and (type_ := _type_of(text, name)) in named[part]:
                    found[part][type_] = {"version": 0, "block": classes.block(name)}
        return {"format_version": "1.0", "provider_schemas": {self.source: found}}


def _type_of(text: str, class_name: str) -> str:
    found = re.search(rf'^{class_name}\.tfResourceType = "([\w-]+)"', text, re.M)
    return found[1] if found else ""


class _Classes:
    """The classes of one type's JavaScript."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def bodies(self) -> dict[str, tuple[str, str]]:
        """Name of the class → its base class and its body."""
        return {match[1]: (match[2], match[3]) for match in _CLASS.finditer(self._text)}

    @cached_property
    def _structs(self) -> dict[str, dict[str, _Argument]]:
        return {match[1]: _arguments(match[2]) for match in _TO_HCL.finditer(self._text)}

    def block(self, class_name: str) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        blocks: dict[str, Any] = {}
        for name, member in sorted(self._members(class_name).items()):
            if self._is_block(member):
                blocks[name] = self._nested(member)
            elif name not in _META or member.expression or member.complex_class:
                attributes[name] = self._attribute(name, member)
        return {key: value for key, value in (("attributes", attributes), ("block_types", blocks)) if value}

    def _is_block(self, member: _Member) -> bool:
        argument = member.argument
        if argument is None or not argument.block or member.library or not member.settable:
            return False
        return bool(member.complex_class) or _struct(argument.of) in self._structs

    def _nested(self, member: _Member) -> dict[str, Any]:
        assert member.argument is not None
        if not member.complex_class:
            return self._only_written(member)
        many = member.complex_class.endswith("List")
        item = member.complex_class.removesuffix("List") + "OutputReference" if many else member.complex_class
        mode = "single" if member.argument.shape == "struct" else member.argument.shape
        nested: dict[str, Any] = {"nesting_mode": mode, "block": self.block(item)}
        if mode in ("list", "set"):
            nested |= {"min_items": 1} if member.required else {}
            nested |= {} if many else {"max_items": 1}
        return nested

    def _only_written(self, member: _Member) -> dict[str, Any]:
        """A block of the provider's own, which nothing reads back: only its writing says what is in it, and neither
        whether that is required nor how many there may be."""
        assert member.argument is not None
        attributes: dict[str, Any] = {}
        blocks: dict[str, Any] = {}
        for name, argument in self._structs[_struct(member.argument.of)].items():
            inner = _Member(optional=True, argument=argument)
            if self._is_block(inner):
                blocks[name] = self._nested(inner)
            else:
                attributes[name] = self._attribute(name, inner)
        block = {key: value for key, value in (("attributes", attributes), ("block_types", blocks)) if value}
        mode = "single" if member.argument.shape == "struct" else member.argument.shape
        return {"nesting_mode": mode, "block": block} | ({"min_items": 1} if member.required else {})

    def _attribute(self, name: str, member: _Member) -> dict[str, Any]:
        attribute: dict[str, Any] = {"type": self._type(member)}
        for flag in ("required", "optional", "computed"):
            if getattr(member, flag):
                attribute[flag] = True
        if name == "id" and member.optional:
            # Terraform's plug-in library adds this one itself, always optional and computed.
            attribute["computed"] = True
        return attribute

    def _type(self, member: _Member) -> Type:
        if member.complex_class:
            return self._complex_type(member)
        if member.argument is not None and (type_ := _written_type(member.argument)):
            return type_
        return _read_type(member.expression)

    def _complex_type(self, member: _Member) -> Type:
        name = member.complex_class
        many = "set" if member.from_set else "list"
        if member.library:
            inner = name.removesuffix("List")
            map_ = ["map", _ONE[inner.removesuffix("Map").lower()]] if inner.endswith("Map") else "dynamic"
            return [many, map_] if name.endswith("List") else map_
        if name.endswith("List"):
            return [many, self._object(name.removesuffix("List") + "OutputReference")]
        if name.endswith("Map") and self.bodies[name][0] == "ComplexMap":
            return ["map", self._object(name.removesuffix("Map") + "OutputReference")]
        return self._object(name)

    def _object(self, class_name: str) -> Type:
        return ["object", {name: self._type(member) for name, member in sorted(self._members(class_name).items())}]

    def _members(self, class_name: str) -> dict[str, _Member]:
        body = self.bodies[class_name][1]
        _, writes, written = body.partition("synthesizeHclAttributes")
        struct = class_name[0].lower() + class_name[1:].replace("OutputReference", "")
        arguments = _arguments(written) if writes else self._structs.get(struct, {})
        found: dict[str, _Member] = {}
        for match in _COMPLEX.finditer(body):
            found[match["name"]] = _member(
                match,
                body,
                arguments,
                complex_class=match["class"],
                library=bool(match["library"]),
                from_set=match["from_set"] == "true",
            )
        for match in _GETTER.finditer(body):
            if gets := _GETS.search(match["expression"]):
                found[gets["name"]] = _member(match, body, arguments, expression=match["expression"], name=gets["name"])
        for name, argument in arguments.items():
            optional = not writes or re.search(rf"^\s+reset{_camel(name)}\(\)", body, re.M) is not None
            found.setdefault(name, _Member(optional=optional, required=not optional, argument=argument))
        return found


def _camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def _struct(class_name: str) -> str:
    """``ThingDiskList`` → ``thingDisk``, as the function that writes one is called."""
    name = class_name.removesuffix("List")
    return name[:1].lower() + name[1:]


def _member(
    match: re.Match[str], body: str, arguments: Mapping[str, _Argument], *, name: str = "", **rest: Any
) -> _Member:
    property_ = match["property"]
    title = re.escape(property_[0].upper() + property_[1:])
    settable = re.search(rf"^\s+(?:set {re.escape(property_)}\(value\)|put{title}\()", body, re.M) is not None
    flags: dict[str, Any] = {"computed": True}
    if match["computed"]:
        flags = {flag: match[flag] == "true" for flag in ("computed", "optional", "required")}
    elif settable:
        optional = re.search(rf"^\s+reset{title}\(\)", body, re.M) is not None
        flags = {"optional": optional, "required": not optional}
    return _Member(**flags, settable=settable, argument=arguments.get(name or match["name"]), **rest)


def _arguments(body: str) -> dict[str, _Argument]:
    return {
        match["name"]: _Argument(block=match["block"] == "true", shape=match["shape"], of=match["of"])
        for match in _ARGUMENT.finditer(body)
    }


def _written_type(argument: _Argument) -> Type | None:
    """The type by how the argument is written; None where only its class knows (lists and maps of objects)."""
    shape, of = argument.shape, argument.of
    if shape == "simple":
        return _ONE.get(of)
    if shape == "map" and of.endswith("Map"):
        inner = _ONE.get(of.removesuffix("Map"))
        return ["map", inner] if inner else None
    if shape in ("list", "set") and of.endswith("ListList"):
        return [shape, ["list", _ONE.get(of.removesuffix("ListList"), "string")]]
    for suffix, kind in (("List", None), ("Map", "map")):
        inner = _ONE.get(of.removesuffix(suffix)) if of.endswith(suffix) else None
        if shape in ("list", "set") and inner:
            return [shape, [kind, inner] if kind else inner]
    return None


def _read_type(expression: str) -> Type:
    """The type by the getter, for what is only read."""
    found = _GETS.search(expression)
    kind = (found["of"] or "") if found else ""
    if kind.endswith("Map"):
        return ["map", _ONE.get(kind.removesuffix("Map").lower(), "dynamic")]
    if kind.endswith("List"):
        many = "set" if "Fn.tolist(" in expression else "list"
        return [many, _ONE.get(kind.removesuffix("List").lower(), "string")]
    return _ONE.get(kind.lower(), "dynamic")
