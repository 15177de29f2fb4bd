"""How to reach a machine."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.errors import UsageError
from orchestrator.model.demand import Access
from orchestrator.model.deployment import Deployment, DeploymentState
from orchestrator.operations.world import World

__all__ = ["reach", "ssh_command"]

_REACHABLE = (DeploymentState.BOOTSTRAPPING, DeploymentState.READY, DeploymentState.DEGRADED)


def ssh_command(world: World, deployment: Deployment, remote: Sequence[str] = (), *, batch: bool = False) -> list[str]:
    """The command line that logs in, or runs ``remote`` there. ``batch`` never asks and gives up after five seconds.

    Host keys are kept per deployment: addresses of clouds are used again by other machines.
    """
    known_hosts = world.folder(deployment) / "known_hosts"
    options = ["-o", f"UserKnownHostsFile={known_hosts}", "-o", "StrictHostKeyChecking=accept-new"]
    if batch:
        options += ["-o", "BatchMode=yes", "-o", "ConnectTimeout=5"]
    user, address = deployment.outputs.get("ssh_user", ""), deployment.outputs.get("address", "")
    return ["ssh", *options, f"{user}@{address}", *(["--", *remote] if remote else [])]


def reach(world: World, deployment: Deployment, remote: Sequence[str] = ()) -> list[str]:
    """The command line by which a person reaches the machine; :class:`UsageError` when there is no way."""
    if deployment.state not in _REACHABLE:
        raise UsageError(
            f"{deployment.name} is {deployment.state}: there is no machine to reach", hint="see gpuorch status"
        )
    if deployment.sandbox:
        raise UsageError(
            f"{deployment.name} is a simulated machine: nobody can log in to it",
            hint="what it did at boot: gpuorch status " + deployment.name + " --events",
        )
    access = Access(deployment.spec["access"])
    if access is Access.SSH and deployment.outputs.get("address"):
        return ssh_command(world, deployment, remote)
    cloud = world.cloud(deployment.offer.cloud)
    if access is Access.SESSION and cloud.session_command is not None:
        return list(cloud.session_command(deployment.offer.region, str(deployment.outputs["machine_id"])))
    raise UsageError(
        f"{deployment.name} was made with --access {access} and has no way in",
        hint="make it again with --access ssh or --access session",
    )
