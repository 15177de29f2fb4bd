"""Labels: which deployment a resource belongs to, the merged labels that the provider plans, and their grammar."""

from __future__ import annotations

import re

from orchestrator.clouds.gcp.sandbox.wording import refused
from orchestrator.clouds.rules import UNKNOWN, Values

__all__ = ["check_labels", "deployment", "merged_labels"]

# Set by terraform/modules/gcp: the label on what can carry one, the marker in the descriptions of the rest.
_LABEL = "gpuorch-deployment"
_MARKER = re.compile(r"gpuorch-deployment=([a-z][a-z0-9]{7,31})(?: .*)?")

# cloud.google.com/compute/docs/labeling-resources
_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
_RULE = (
    "The {what} can only contain lowercase letters, numeric characters, underscores and dashes. The {what} can be at "
    "most 63 characters long. International characters are allowed."
)


def deployment(values: Values) -> str:
    labels = values.get("effective_labels") or values.get("labels") or {}
    if labels.get(_LABEL):
        return str(labels[_LABEL])
    condition = (values.get("condition") or [{}])[0]
    found = _MARKER.fullmatch(values.get("description") or condition.get("description") or "")
    return found[1] if found else ""


def merged_labels(config: Values, prior: Values | None, provider: Values) -> Values:
    """``terraform_labels`` and ``effective_labels``: the provider's default labels and its own attribution under the
    resource's (tpgresource/labels.go)."""
    own, defaults = config.get("labels"), provider.get("default_labels")
    if own is UNKNOWN or defaults is UNKNOWN:
        return {"terraform_labels": UNKNOWN, "effective_labels": UNKNOWN}
    labels = {**(defaults or {})}
    if provider.get("add_terraform_attribution_label") is not False:
        labels["goog-terraform-provisioned"] = "true"
    labels |= own or {}
    return {"terraform_labels": labels, "effective_labels": labels}


def check_labels(doing: str, field: str, labels: Values | None) -> None:
    """Raise as Compute Engine refuses labels outside its grammar."""
    for key, value in (labels or {}).items():
        for what, text, pattern in (("key", key, _KEY), ("value", value, _VALUE)):
            if not pattern.fullmatch(text):
                words = f"Label {what} '{text}' violates format constraints. {_RULE.format(what=what)}"
                raise refused(doing, 400, f"Invalid value for field '{field}': ''. {words}", "invalid")
    if len(labels or ()) > 64:
        raise refused(doing, 400, f"Invalid value for field '{field}': ''. Resource has too many labels.", "invalid")
