"""What a cloud must bring to be one: data and three small interfaces.

A cloud is a package with a module-level ``CLOUD`` (:class:`Cloud`): a folder under ``orchestrator/clouds/``, or any
package named by the entry-point group ``gpuorch.clouds``. Importing it must import no SDK: the callables do that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from orchestrator.model.failure import FailureRule
from orchestrator.model.launch import Image, Launch, ProviderPin
from orchestrator.model.machine import Finding, FoundResource, Machine
from orchestrator.model.offer import Offer

__all__ = ["Cloud", "CloudSetting", "Machines", "SandboxCloud"]


class Machines(Protocol):
    """A cloud's own API in one region, for what Terraform is the wrong tool for. Every call has a time limit.

    Every method raises :class:`~orchestrator.errors.CloudCallFailed` when the cloud refuses or does not answer; none
    ever touches a resource that lacks the deployment's tag.
    """

    def find(self, deployment_id: str) -> list[Machine]:
        """All machines with the deployment's tag, also stopped and (while the cloud shows them) gone ones."""
        ...

    def resources(self, deployment_id: str) -> list[FoundResource]:
        """All resources with the deployment's tag that still exist, machines included, in the order of their import."""
        ...

    def terminate(self, machine_id: str, deployment_id: str) -> None:
        """End one machine, after checking that it carries the deployment's tag. Ending a gone one is no error."""
        ...

    def console(self, machine_id: str) -> str:
        """The newest serial console output, ``""`` where there is none yet."""
        ...

    def read_object(self, uri: str) -> str | None:
        """A small text object of the cloud's object store, ``None`` where there is none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudSetting:
    """A setting that only one cloud has (a project, a compartment), by its key in ``[cloud_settings.<cloud>]``.

    Without one there, ``GPUORCH_<CLOUD>_<KEY>`` counts, then the cloud's own ``variables``, then ``default``.
    ``sandbox`` stands in for it where the cloud is simulated. ``required``: without it the cloud cannot be used.
    """

    help: str
    variables: tuple[str, ...] = ()
    default: str = ""
    required: bool = False
    sandbox: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxCloud:
    """What the sandbox needs to stand in for the provider: its real schema and the rules the schema cannot say.

    ``schema`` is a JSON file in the form of ``terraform providers schema -json``, ``rules`` the import path of a module
    (see ``orchestrator.clouds.rules`` for its shape), ``version`` the provider version that the schema was read from.
    """

    schema: Path
    rules: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """A cloud, as data and functions.

    ``provider_files`` are constant HCL files of the root (path → text), such as the provider block; they may use
    the variables of the contract and no user value. ``image(offer)`` is the default image; ``own_image(text)`` is the
    user's ``--image``, raising ``UsageError`` when it is none. ``check(launch)`` raises ``UsageError`` or ``Refused``
    for what the cloud cannot do (before any effect). ``machines(region)`` opens the API, ``findings()`` is the cloud's
    part of ``gpuorch doctor``, ``caller_address()`` the public address that the cloud sees us come from.
    ``settings`` are its own settings; their values stand in ``Launch.cloud_settings``. A cloud whose API cannot be
    asked without them brings ``machines_with(region, settings)`` and ``findings_with(settings)``, which are then called
    instead. ``no_credentials(environ)`` is ``""``, or, where it is certain without asking anybody that there are none,
    a sentence that says so and how to get them.
    """

    name: str
    title: str
    provider: ProviderPin
    module: Path
    provider_files: Mapping[str, str]
    failures: Sequence[FailureRule]
    image: Callable[[Offer], Image]
    own_image: Callable[[str, Offer], Image]
    check: Callable[[Launch], None]
    machines: Callable[[str], Machines]
    findings: Callable[[], list[Finding]]
    caller_address: Callable[[], str]
    user_data_limit_bytes: int
    module_variables: Callable[[Launch], Mapping[str, Any]] = lambda launch: {}
    settings: Mapping[str, CloudSetting] = field(default_factory=dict)
    no_credentials: Callable[[Mapping[str, str]], str] = lambda environ: ""
    machines_with: Callable[[str, Mapping[str, str]], Machines] | None = None
    findings_with: Callable[[Mapping[str, str]], list[Finding]] | None = None
    session_command: Callable[[str, str], Sequence[str]] | None = None
    sandbox: SandboxCloud | None = None
