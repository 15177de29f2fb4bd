"""What the provider's refusals mean: ``homelab: CODE: message``. The first row that matches counts."""

from __future__ import annotations

from datetime import timedelta

from orchestrator.model.failure import FailureKind, FailureRule, Scope

__all__ = ["FAILURES"]

_SOURCE = "README.md, Refusals"
_NOT_REMEMBERED = timedelta(0)  # it hangs on one deployment's own words, and what is remembered is shared

_ROWS = (
    ("no-capacity", FailureKind.CAPACITY, Scope.OFFER, timedelta(minutes=15), ""),
    ("price-too-low", FailureKind.PRICE, Scope.OFFER, timedelta(minutes=30), "raise --max-price, or leave it out"),
    ("quota", FailureKind.QUOTA, Scope.CLOUD, timedelta(hours=1), "ask the keeper of the room for more"),
    ("no-such-type", FailureKind.UNSUPPORTED, Scope.TYPE_IN_REGION, timedelta(hours=24), ""),
    ("no-such-room", FailureKind.REGION_DISABLED, Scope.REGION, timedelta(hours=24), ""),
    ("no-such-image", FailureKind.IMAGE, Scope.REGION, _NOT_REMEMBERED, "name another with --image"),
    ("slow-down", FailureKind.THROTTLED, Scope.CLOUD, timedelta(minutes=2), ""),
    ("unauthorized", FailureKind.AUTH, Scope.CLOUD, _NOT_REMEMBERED, "check HOMELAB_TOKEN"),
    ("invalid", FailureKind.INVALID, Scope.CLOUD, _NOT_REMEMBERED, ""),
)

FAILURES = tuple(
    FailureRule(pattern=rf"\bhomelab: {code}\b", kind=kind, scope=scope, cool_down=cool_down, hint=hint, source=_SOURCE)
    for code, kind, scope, cool_down, hint in _ROWS
)
