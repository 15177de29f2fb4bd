"""``python -m orchestrator.sandbox.provider CLOUD``: what the mirror's executable starts."""

from __future__ import annotations

import os
import signal
import sys

from orchestrator.errors import GpuorchError

__all__ = ["main"]


def main(arguments: list[str]) -> int:
    """Serve the cloud's stand-in provider to the terraform that started this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from orchestrator.sandbox.provider.handshake import COOKIE

    name, value = COOKIE
    if os.environ.get(name) != value or len(arguments) != 1:
        print("This is a plugin: terraform starts it, see gpuorch --sandbox.", file=sys.stderr)  # noqa: T201
        return 1
    try:
        _serve(arguments[0])
    except GpuorchError as error:
        print(f"{error} {error.hint}".strip(), file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _serve(cloud_name: str) -> None:
    import importlib

    from orchestrator.clouds.registry import cloud
    from orchestrator.errors import ConfigInvalid
    from orchestrator.sandbox.cloud import SimulatedCloud
    from orchestrator.sandbox.database import database_path
    from orchestrator.sandbox.provider.lifecycle import Provider
    from orchestrator.sandbox.provider.schema import read_schema
    from orchestrator.sandbox.provider.serve import serve
    from orchestrator.sandbox.provider.servicer import Servicer

    found = cloud(cloud_name)
    if found.sandbox is None:
        raise ConfigInvalid(f"cloud {cloud_name!r} brings no sandbox")
    rules = importlib.import_module(found.sandbox.rules).RULES
    simulated = SimulatedCloud(database_path())
    provider = Provider(cloud_name, read_schema(found.sandbox.schema), rules, simulated)
    serve(Servicer(provider), provider)


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Terraform waits for the end of its plugins; taking an interpreter down in good order costs it 50 ms a command.
    os._exit(status)
