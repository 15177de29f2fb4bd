"""What terraform and its plugins tell each other first."""

from __future__ import annotations

__all__ = ["COOKIE", "line"]

# Terraform's internal/plugin6/serve.go: environment variable and value by which a plugin knows who started it.
COOKIE = ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2")

_CORE_PROTOCOL, _PLUGIN_PROTOCOL = 1, 6


def line(socket: str, certificate: str) -> str:
    """The one line on stdout: versions, where to connect, and the certificate in base64 (``""``: not encrypted)."""
    return "|".join((str(_CORE_PROTOCOL), str(_PLUGIN_PROTOCOL), "unix", socket, "grpc", certificate)) + "\n"
