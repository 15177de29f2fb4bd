"""Failures of terraform itself and of the network: the rows that every cloud's table has around it.

Patterns are anchored at the summary where the words are common ones, so that a cloud's text that quotes them is left to
the cloud's own table.
"""

from __future__ import annotations

from datetime import timedelta

from orchestrator.model.failure import FailureKind, FailureRule, Scope

__all__ = ["FIRST", "LAST", "PROVIDER_HINT"]

PROVIDER_HINT = (
    "let this machine reach the provider's registry, or set tf_mirror to a folder with the provider "
    "(terraform providers mirror DIR writes one)"
)
_NO_TIME = timedelta(0)
_RECORDED = "recorded from Terraform 1.11.4"


def _invalid(pattern: str, *, hint: str, source: str = _RECORDED) -> FailureRule:
    """A row for what another offer of this cloud cannot cure; nothing is to be remembered about the offer."""
    return FailureRule(
        pattern=pattern, kind=FailureKind.INVALID, scope=Scope.CLOUD, cool_down=_NO_TIME, hint=hint, source=source
    )


# Before the cloud's table.
FIRST: tuple[FailureRule, ...] = (
    _invalid(
        r"^(Failed to query available provider packages|Failed to install provider|Inconsistent dependency lock file"
        r"|Missing required provider|Required plugins are not installed|Provider development overrides)",
        hint=PROVIDER_HINT,
    ),
    _invalid(
        r"^(Failed to load plugin schemas|Failed to instantiate provider|Could not load plugin)",
        hint="the provider in the mirror or in .terraform cannot be run here: install the one for this platform",
    ),
    _invalid(
        r"^(Unsupported argument|Unsupported attribute|Unsupported block type|Missing required argument"
        r"|Insufficient [\w\"]+ blocks|Too many [\w\"]+ blocks|Invalid expression|Invalid resource type"
        r"|Invalid provider configuration|Reference to undeclared [\w ]+|Invalid value for (input )?variable"
        r"|No value for required variable|Incorrect attribute value type|Unclosed configuration block"
        r"|Argument or block definition required|Argument definition required|Invalid (block|argument) definition"
        r"|Invalid single-argument block definition|Unsuitable value type|Duplicate \w+|Cycle:|Module not installed)",
        hint="the Terraform files do not fit this terraform or provider: gpuorch render writes them to look at",
    ),
    _invalid(
        r"^(Backend initialization required|Backend configuration changed|Error configuring the backend"
        r"|Failed to get existing workspaces|Error loading state|Error refreshing state|Failed to load state"
        r"|state snapshot was created by)",
        hint="terraform cannot read its state: look at the backend's settings and credentials",
        source="Terraform's source, internal/command (backend and state errors)",
    ),
    _invalid(
        r"^(Failed to save state|Failed to persist state|Error saving state|Failed to update state)",
        hint="the state was not written: terraform left it in errored.tfstate, put it back by terraform state push",
        source="Terraform's source, internal/backend/local/backend_apply.go",
    ),
    _invalid(
        r"^(Saved plan is stale|Failed to load \"[^\"]*\" as a plan file|Invalid plan file)",
        hint="plan again: the state or the plan file changed after it was planned",
    ),
)

# After it: what a cloud's table has no word for. The region's other offers would fail just so, but not for long.
LAST: tuple[FailureRule, ...] = (
    FailureRule(
        pattern=r"dial tcp\b|no such host|connection (refused|reset by peer|timed out)|network is unreachable"
        r"|TLS handshake timeout|i/o timeout|x509: |proxyconnect tcp|Client\.Timeout exceeded",
        kind=FailureKind.UNKNOWN,
        scope=Scope.REGION,
        cool_down=timedelta(minutes=2),
        hint="the cloud's API was not reached: look at this machine's network and proxy",
        source="texts of Go's net, net/http and crypto/x509 packages",
    ),
)
