"""Command lines, one function a subcommand. Pure: nothing is run and no file is read.

python-terraform turns options into words; only that part of it is used, because on today's Terraform its calls that
run something neither stream nor stop (and ``destroy`` passes a flag that is gone). No value that may be secret belongs
into a command line: credentials of a backend come from the environment, variables from ``terraform.tfvars.json``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = [
    "PLAN_FILE",
    "apply",
    "destroy",
    "fmt_check",
    "import_resource",
    "init",
    "output",
    "plan",
    "providers_lock",
    "state_pull",
    "untaint",
    "validate",
    "version",
]

PLAN_FILE = "gpuorch.tfplan"
LOCK_TIMEOUT = "60s"
PARALLELISM = 10


def init(
    binary: Sequence[str],
    *,
    json: bool = True,
    reconfigure: bool = True,
    upgrade: bool = False,
    backend_config: Mapping[str, str] | None = None,
) -> list[str]:
    """``terraform init``. ``json`` needs Terraform 1.9 or OpenTofu 1.10."""
    return _command(
        binary,
        "init",
        input=False,
        no_color=_flag(True),
        json=_flag(json),
        reconfigure=_flag(reconfigure),
        upgrade=_flag(upgrade),
        backend_config=dict(sorted((backend_config or {}).items())),
    )


def validate(binary: Sequence[str]) -> list[str]:
    """``terraform validate``: one JSON document on stdout."""
    return _command(binary, "validate", json=_flag(True), no_color=_flag(True))


def plan(
    binary: Sequence[str],
    *,
    out: str = PLAN_FILE,
    destroy: bool = False,
    refresh: bool = True,
    lock_timeout: str = LOCK_TIMEOUT,
    parallelism: int = PARALLELISM,
) -> list[str]:
    """``terraform plan`` into a file; ends with 0 for no changes, 2 for changes."""
    return _command(
        binary,
        "plan",
        input=False,
        no_color=_flag(True),
        json=_flag(True),
        detailed_exitcode=_flag(True),
        destroy=_flag(destroy),
        refresh=None if refresh else False,
        lock_timeout=lock_timeout,
        parallelism=parallelism,
        out=out,
    )


def apply(
    binary: Sequence[str],
    *,
    plan_file: str = PLAN_FILE,
    lock_timeout: str = LOCK_TIMEOUT,
    parallelism: int = PARALLELISM,
) -> list[str]:
    """``terraform apply`` of a saved plan: it asks nothing and does exactly what was planned."""
    return _command(
        binary,
        "apply",
        plan_file,
        input=False,
        no_color=_flag(True),
        json=_flag(True),
        lock_timeout=lock_timeout,
        parallelism=parallelism,
    )


def destroy(
    binary: Sequence[str], *, refresh: bool = True, lock_timeout: str = LOCK_TIMEOUT, parallelism: int = PARALLELISM
) -> list[str]:
    """``terraform apply -destroy``, in one step.

    Everything of the root is to go and gpuorch has asked before, so there is nothing to choose from a saved plan: one
    command reads the cloud once and takes the lock once, with no gap between plan and apply for the plan to go stale.
    """
    return _command(
        binary,
        "apply",
        destroy=_flag(True),
        auto_approve=_flag(True),
        input=False,
        no_color=_flag(True),
        json=_flag(True),
        refresh=None if refresh else False,
        lock_timeout=lock_timeout,
        parallelism=parallelism,
    )


def output(binary: Sequence[str]) -> list[str]:
    """``terraform output``, as JSON; sensitive values are in clear."""
    return _command(binary, "output", json=_flag(True), no_color=_flag(True))


def state_pull(binary: Sequence[str]) -> list[str]:
    """``terraform state pull``: the state as JSON; sensitive values are in clear."""
    return _command(binary, "state pull")


def import_resource(
    binary: Sequence[str],
    address: str,
    import_id: str,
    *,
    lock_timeout: str = LOCK_TIMEOUT,
    parallelism: int = PARALLELISM,
) -> list[str]:
    """``terraform import``: it has no JSON output."""
    return _command(
        binary,
        "import",
        address,
        import_id,
        input=False,
        no_color=_flag(True),
        lock_timeout=lock_timeout,
        parallelism=parallelism,
    )


def untaint(binary: Sequence[str], address: str, *, lock_timeout: str = LOCK_TIMEOUT) -> list[str]:
    """``terraform untaint``: it has no JSON output, and asks nothing."""
    return _command(binary, "untaint", address, no_color=_flag(True), lock_timeout=lock_timeout)


def version(binary: Sequence[str], *, json: bool = False) -> list[str]:
    """``terraform version``. Only the text form says which of Terraform and OpenTofu it is."""
    return _command(binary, "version", json=_flag(json))


def fmt_check(binary: Sequence[str], *targets: str, recursive: bool = True) -> list[str]:
    """``terraform fmt -check``: ends with 3 where something is not formatted, and names the files."""
    return _command(binary, "fmt", *targets, check=_flag(True), recursive=_flag(recursive))


def providers_lock(binary: Sequence[str], *, platforms: Sequence[str] = (), mirror: Path | None = None) -> list[str]:
    """``terraform providers lock``: checksums for other platforms; reads ``mirror`` or asks the registry."""
    return _command(
        binary, "providers lock", platform=list(platforms), fs_mirror=None if mirror is None else str(mirror)
    )


def _flag(given: bool) -> Any:
    from python_terraform import IsFlagged, IsNotFlagged

    return IsFlagged if given else IsNotFlagged


def _command(binary: Sequence[str], subcommand: str, *arguments: str, **options: Any) -> list[str]:
    from python_terraform import Terraform

    # It reads the state of its working folder when it is made: this one has none.
    builder = Terraform(working_dir=str(Path(__file__).parent), terraform_bin_path=binary[-1])
    words: list[str] = builder.generate_cmd_string(subcommand, *arguments, **options)
    return [*binary[:-1], *words]
