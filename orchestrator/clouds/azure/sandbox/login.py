"""What the provider asks of a machine's user and of the key to log in with."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator

from orchestrator.clouds.rules import Problem, Values
from orchestrator.clouds.sdk_checks import at

__all__ = ["ssh_keys", "user_name"]

# internal/services/compute/validate/linux_admin_username.go
_REFUSED_NAMES = (
    "administrator",
    "admin",
    "user",
    "user1",
    "test",
    "user2",
    "test1",
    "user3",
    "admin1",
    "1",
    "123",
    "a",
    "actuser",
    "adm",
    "admin2",
    "aspnet",
    "backup",
    "console",
    "david",
    "guest",
    "john",
    "owner",
    "root",
    "server",
    "sql",
    "support",
    "support_388945a0",
    "sys",
    "test2",
    "test3",
    "user4",
    "user5",
)


def user_name(config: Values) -> Iterator[Problem]:
    for where, name in at(config, "admin_username"):
        if not name.strip():
            yield Problem(summary='"admin_username" must not be empty', path=where)
        elif name in _REFUSED_NAMES:
            words = (
                f'"admin_username" specified is not allowed, got "{name}", cannot match: "{", ".join(_REFUSED_NAMES)}"'
            )
            yield Problem(summary=words, path=where)


def ssh_keys(config: Values) -> Iterator[Problem]:
    """internal/services/compute/validate/ssh_key.go."""
    for _, key in at(config, "admin_ssh_key.public_key"):
        if problem := _not_a_key(key, "public_key"):
            yield Problem(summary=problem, path=("admin_ssh_key",))


def _not_a_key(text: str, name: str) -> str:
    parts = text.split()
    if not parts:
        return f'expected "{name}" to not be an empty string or whitespace'
    if len(parts) < 2:
        return f'"{name}" is not a complete SSH2 Public Key'
    try:
        fields = _fields(base64.b64decode(parts[1], validate=True))
    except (binascii.Error, ValueError):
        return f'decoding "{name}" for public key data'
    except struct.error:
        return f'parsing "{name}" as a public key object'
    kind = fields[0].decode("ascii", "replace") if fields else ""
    if kind == "ssh-rsa" and len(fields) == 3:
        bits = len(fields[2].lstrip(b"\0")) * 8
        words = (
            f"- the provided RSA SSH key has {bits} bits. Only ssh-rsa keys with 2048 bits or higher are "
            "supported by Azure"
        )
        return words if bits < 2048 else ""
    if kind == "ssh-ed25519" and len(fields) == 2 and len(fields[1]) == 32:
        return ""
    if kind.startswith(("ecdsa-", "sk-", "ssh-dss")):
        return f"- the provided {kind} SSH key is not supported. Only RSA and ED25519 SSH keys are supported by Azure"
    return f'parsing "{name}" as a public key object'


def _fields(blob: bytes) -> list[bytes]:
    """The parts of a public key: each four bytes of length, then as many bytes."""
    found, place = [], 0
    while place < len(blob):
        (length,) = struct.unpack_from(">I", blob, place)
        if place + 4 + length > len(blob):
            raise struct.error("cut short")
        found.append(blob[place + 4 : place + 4 + length])
        place += 4 + length
    return found
