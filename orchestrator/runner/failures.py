"""Third-party text to typed failures: the one place where it is done."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from orchestrator.model.failure import Diagnostic, Failure, FailureKind, FailureRule, Scope
from orchestrator.runner.failure_rules import FIRST, LAST

__all__ = ["MOST_DECISIVE_FIRST", "classify", "first_line", "lock_holder"]

# When a run fails in several ways at once, the one that says most about what to do next wins.
# First what ends the search: no other offer helps against missing credentials or a wrong configuration, and trying on
# would only bury the cause. Then what is true of the most other offers and for the longest time: a region that is off,
# a quota. Then what is wrong with this offer: for good (type, image), at this price, for now. A throttled call beside
# any of these says nothing, and an unknown text least of all.
MOST_DECISIVE_FIRST = (
    FailureKind.AUTH,
    FailureKind.INVALID,
    FailureKind.REGION_DISABLED,
    FailureKind.QUOTA,
    FailureKind.UNSUPPORTED,
    FailureKind.IMAGE,
    FailureKind.PRICE,
    FailureKind.CAPACITY,
    FailureKind.THROTTLED,
    FailureKind.UNKNOWN,
)
_RANK = {kind: rank for rank, kind in enumerate(MOST_DECISIVE_FIRST)}
_REASON_LENGTH = 300
_LOCKED = re.compile(r"^Error (acquiring the state lock|locking state)\b")
_LOCK_FIELD = re.compile(r"^\s*(Who|Created|Operation):[ \t]*(\S.*?)\s*$", re.MULTILINE)
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# "RequestID: 1b2c…," "request id: …" "Request ID=…" "opc-request-id: …", with what sets them off from the rest.
_REQUEST_ID = re.compile(
    rf"[\s,:;.(\[]*\b(?:[a-z]+-)?request[ _-]?id\b[\"']?\s*[:=]?\s*[\"']?(?:{_UUID}|[0-9A-Z/_+=-]{{12,}})[\"')\]]*",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Match:
    rule: FailureRule
    reason: str

    @property
    def order(self) -> tuple[int, timedelta]:
        return _RANK[self.rule.kind], -self.rule.cool_down


def classify(
    diagnostics: Iterable[Diagnostic], rules: Sequence[FailureRule], *, fallback_cool_down: timedelta
) -> Failure:
    """What ``diagnostics`` (warnings among them are passed over) mean.

    Each error takes the first rule that matches it: terraform's own texts, then the cloud's ``rules`` in order, then
    the network's. Of several errors the most decisive wins (``MOST_DECISIVE_FIRST``), among equals the one with the
    longest cool-down, then the first. Where nothing matches, the kind is UNKNOWN, for this offer and
    ``fallback_cool_down``.
    """
    errors = [found for found in diagnostics if found.severity == "error"]
    table = _compiled((*FIRST, *rules, *LAST))
    matches = [match for error in errors if (match := _match(error, table)) is not None]
    if not matches:
        return Failure(
            kind=FailureKind.UNKNOWN,
            scope=Scope.OFFER,
            cool_down=fallback_cool_down,
            reason=first_line(errors[0].text) if errors else "terraform gave no reason",
        )
    best = min(matches, key=lambda match: match.order)
    return Failure(
        kind=best.rule.kind,
        scope=best.rule.scope,
        cool_down=best.rule.cool_down,
        reason=best.reason,
        hint=best.rule.hint,
        leftovers=any(match.rule.leftovers for match in matches),
    )


def first_line(text: str) -> str:
    """The first line of ``text`` without request ids, at most 300 characters."""
    return _tidy(next((line for line in text.splitlines() if line.strip()), ""))


def lock_holder(diagnostics: Iterable[Diagnostic]) -> str | None:
    """Who holds the state's lock, as terraform tells it, where that is why it failed; ``None`` where it is not."""
    for diagnostic in diagnostics:
        if diagnostic.severity == "error" and _LOCKED.match(diagnostic.summary):
            fields: dict[str, str] = dict(_LOCK_FIELD.findall(diagnostic.detail))
            since = f" since {fields['Created'][:19]} UTC" if "Created" in fields else ""
            return fields.get("Who", "another process") + since
    return None


@lru_cache(maxsize=32)
def _compiled(rules: tuple[FailureRule, ...]) -> tuple[tuple[re.Pattern[str], FailureRule], ...]:
    return tuple((re.compile(rule.pattern), rule) for rule in rules)


def _match(diagnostic: Diagnostic, table: Iterable[tuple[re.Pattern[str], FailureRule]]) -> _Match | None:
    text = diagnostic.text
    for pattern, rule in table:
        found = pattern.search(text)
        if found is not None:
            return _Match(rule=rule, reason=_around(text, found))
    return None


def _around(text: str, found: re.Match[str]) -> str:
    """The line that was matched: with some providers the first line is only the resource's name."""
    start = text.rfind("\n", 0, found.start()) + 1
    end = text.find("\n", found.start())
    line = text[start : None if end < 0 else end]
    if len(line) > _REASON_LENGTH and found.start() - start > _REASON_LENGTH // 2:
        line = "… " + text[found.start() : None if end < 0 else end]
    return _tidy(line)


def _tidy(line: str) -> str:
    text = _SPACE.sub(" ", _REQUEST_ID.sub("", line)).strip()
    return text if len(text) <= _REASON_LENGTH else text[: _REASON_LENGTH - 1].rstrip() + "…"
