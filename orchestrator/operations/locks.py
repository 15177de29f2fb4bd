"""One process at a time per deployment."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.errors import Busy
from orchestrator.model.deployment import Deployment
from orchestrator.operations.world import World

__all__ = ["deployment_lock"]

_PAUSE_SECONDS = 0.2


@contextmanager
def deployment_lock(world: World, deployment: Deployment, *, wait_seconds: float = 0) -> Iterator[int]:
    """Hold the deployment's lock; gives the descriptor that carries it.

    The descriptor is handed on to terraform: when this process is killed, the lock stays until terraform has ended and
    written its state, so that nobody repairs what is still being built. :class:`Busy` when another holds it.
    """
    folder = world.folder(deployment)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _acquire(world, deployment, descriptor, wait_seconds)
        yield descriptor
    finally:
        os.close(descriptor)


def _acquire(world: World, deployment: Deployment, descriptor: int, wait_seconds: float) -> None:
    waited = 0.0
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if waited >= wait_seconds:
                raise Busy(
                    f"deployment {deployment.name} is being worked on by another gpuorch or terraform",
                    hint="try again when it has ended",
                ) from error
        world.clock.sleep(_PAUSE_SECONDS)
        waited += _PAUSE_SECONDS
