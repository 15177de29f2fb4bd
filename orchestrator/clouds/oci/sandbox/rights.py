"""Rules of the policy: what OCI says of a statement that it cannot read, and where a policy may be written."""

from __future__ import annotations

import re
from collections.abc import Mapping

from orchestrator.clouds.oci.sandbox.places import region_key
from orchestrator.clouds.oci.sandbox.wording import Operation, refused
from orchestrator.clouds.rules import CloudView, ResourceRules, Values

__all__ = ["HOME_REGION", "RIGHTS"]

# The simulated tenancy's home region; also the value that the settings have in the sandbox.
HOME_REGION = "us-ashburn-1"

_POLICY = Operation(service="Identity Policy", name="CreatePolicy", method="POST", path="policies", host="identity")
# docs.oracle.com/iaas/Content/Identity/policysyntax/policy-syntax.htm
_CONDITION = r"[a-z.]+\s*!?=\s*(?:'[^']*'|/[^/]*/|[\w.-]+)"
_STATEMENT = re.compile(
    r"(?is)allow\s+(?:any-user|any-group|group\s+\S.*?|dynamic-group\s+\S.*?|service\s+\S+)\s+to\s+"
    r"(?:(?:inspect|read|use|manage)\s+[a-z-]+|\{[A-Z_,\s]+\})\s+in\s+"
    r"(?:tenancy|compartment\s+(?:id\s+)?\S+)"
    rf"(?:\s+where\s+(?:{_CONDITION}|(?:all|any)\s*\{{\s*{_CONDITION}(?:\s*,\s*{_CONDITION})*\s*\}}))?"
)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


def _create(values: Values, view: CloudView) -> Values:
    region = view.provider.get("region")
    if region != HOME_REGION:
        home = region_key(HOME_REGION).upper()
        message = f"Please go to your home region {home} to execute CREATE, UPDATE and DELETE operations."
        raise refused(_POLICY, str(region), 403, "NotAllowed", message)
    if not _NAME.fullmatch(values["name"]):
        raise refused(_POLICY, str(region), 400, "InvalidParameter", "Invalid policy name")
    for statement in values["statements"]:
        if not _STATEMENT.fullmatch(statement):
            raise refused(
                _POLICY, str(region), 400, "InvalidParameter", f"Unable to parse policy statement: {statement}"
            )
    if any(other["name"] == values["name"] for other in view.live("oci_identity_policy")):
        message = f"Policy with name '{values['name']}' already exists"
        raise refused(_POLICY, str(region), 409, "PolicyAlreadyExists", message)
    return {
        "id": view.new_id("ocid1.policy.oc1..aaaaaaaa", 52),
        "state": "ACTIVE",
        "defined_tags": {},
        "freeform_tags": {},
        "time_created": f"{view.now():%Y-%m-%d %H:%M:%S} +0000 UTC",
    }


RIGHTS: Mapping[str, ResourceRules] = {
    "oci_identity_policy": ResourceRules(
        force_new=frozenset({"compartment_id", "name"}),
        create=_create,
        is_global=True,
    ),
}
