"""The environment that terraform runs in: the caller's, without what would silently change terraform's behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["REFUSED", "ChildEnvironment", "Refusal", "child_environment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Names that start with ``prefix`` are not passed on, for ``reason``."""

    prefix: str
    reason: str


# In order: the first row that matches gives the reason. The last two catch everything else of theirs.
REFUSED: tuple[Refusal, ...] = (
    Refusal(prefix="TF_CLI_ARGS", reason="would add options to every command line"),
    Refusal(prefix="TF_CLI_CONFIG_FILE", reason="gpuorch writes its own, from the setting tf_mirror"),
    Refusal(prefix="TERRAFORM_CONFIG", reason="gpuorch writes its own, from the setting tf_mirror"),
    Refusal(
        prefix="TF_VAR_", reason="would override terraform.tfvars.json, so that the shown plan is not the applied one"
    ),
    Refusal(prefix="TF_WORKSPACE", reason="would select another state"),
    Refusal(prefix="TF_DATA_DIR", reason="would share one working folder between deployments"),
    Refusal(prefix="TF_REATTACH_PROVIDERS", reason="would replace the provider by a running process"),
    Refusal(prefix="TF_PLUGIN_CACHE", reason="is not safe for several deployments at a time"),
    Refusal(prefix="TF_LOG", reason="would write requests, and with them secrets, into the log"),
    Refusal(prefix="TF_INPUT", reason="terraform cannot ask: its input is closed"),
    Refusal(prefix="TF_", reason="would change what terraform does"),
    Refusal(prefix="TOFU_", reason="would change what OpenTofu does"),
)

# GOGC: these processes are short; collecting garbage a quarter as often saves up to a second of CPU in each.
_OURS: Mapping[str, str] = MappingProxyType(
    {"TF_IN_AUTOMATION": "1", "TF_INPUT": "0", "CHECKPOINT_DISABLE": "1", "GOGC": "400"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEnvironment:
    """``variables`` for the child; ``refused`` are the names, sorted, that the caller had set and were left out."""

    variables: Mapping[str, str]
    refused: tuple[str, ...] = ()

    @property
    def notice(self) -> str:
        """One line for people, ``""`` where nothing was left out."""
        if not self.refused:
            return ""
        reasons = "; ".join(f"{name} ({_reason(name)})" for name in self.refused)
        return f"not passed on to terraform: {reasons}"


def child_environment(
    environ: Mapping[str, str], *, cli_config: str | None = None, extra: Mapping[str, str] | None = None
) -> ChildEnvironment:
    """The child's environment from the caller's ``environ``.

    ``cli_config`` is the path of our own CLI configuration. ``extra`` is set last and may hold any name: what gpuorch
    itself wants terraform to see. A name that the caller has set to the value that we set anyway is no refusal.
    """
    ours = dict(_OURS)
    if cli_config is not None:
        ours["TF_CLI_CONFIG_FILE"] = cli_config
    ours.update(extra or {})
    variables = {name: value for name, value in environ.items() if not _reason(name)}
    refused = sorted(name for name, value in environ.items() if _reason(name) and ours.get(name) != value)
    return ChildEnvironment(variables=MappingProxyType(variables | ours), refused=tuple(refused))


def _reason(name: str) -> str:
    return next((row.reason for row in REFUSED if name.startswith(row.prefix)), "")
