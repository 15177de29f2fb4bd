"""Rules of the machine's service account and its right on a bucket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.clouds.gcp.sandbox.checks import regexp
from orchestrator.clouds.gcp.sandbox.wording import project_of, refused
from orchestrator.clouds.rules import CloudView, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import at, every

__all__ = ["IDENTITY"]

# docs of google_storage_bucket_iam: who a right can be given to.
_MEMBERS = ("user:", "serviceAccount:", "group:", "domain:", "principal:", "principalSet:", "deleted:")
_MEMBERS_WITHOUT_NAME = ("allUsers", "allAuthenticatedUsers")


def _display_name(config: Values) -> Iterator[Problem]:
    for name, most in (("display_name", 100), ("description", 256)):
        for where, text in at(config, name):
            if len(text) > most:
                words = f"expected length of {name} to be in the range (0 - {most}), got {text}"
                yield Problem(summary=words, path=where)


def _member(config: Values) -> Iterator[Problem]:
    """tpgiamresource.iamMemberCaseDiffSuppress and ValidateIamMember."""
    for where, text in at(config, "member"):
        kind = text.partition(":")[0] + ":"
        if text not in _MEMBERS_WITHOUT_NAME and not (kind in _MEMBERS and text != kind):
            yield Problem(
                summary="invalid value for member (IAM members must have one of the values outlined here: "
                "https://cloud.google.com/billing/docs/reference/rest/v1/Policy#Binding)",
                path=where,
            )


def _create_account(values: Values, view: CloudView) -> Values:
    project = project_of(values, view)
    email = f"{values['account_id']}@{project}.iam.gserviceaccount.com"
    path = f"projects/{project}/serviceAccounts/{email}"
    if view.get("google_service_account", path) is not None:
        words = f"Service account {values['account_id']} already exists within project projects/{project}."
        raise refused("Error creating service account", 409, words, "alreadyExists")
    return {
        "id": path,
        "name": path,
        "project": project,
        "email": email,
        "member": f"serviceAccount:{email}",
        "unique_id": str(int(view.new_id("1", 17), 16)),
    }


def _create_member(values: Values, view: CloudView) -> Values:
    bucket = values["bucket"].removeprefix("b/")
    where = f'IAM policy for storage bucket "b/{bucket}"'
    doing = f"Error applying {where}: Error setting {where}"
    kind, _, email = values["member"].partition(":")
    accounts = {account["email"] for account in view.live("google_service_account")}
    if kind == "serviceAccount" and email.startswith("gpuorch-") and email not in accounts:
        raise refused(doing, 400, f"Service account {email} does not exist.", "invalid")
    title = (values.get("condition") or [{}])[0].get("title") or ""
    path = "/".join(part for part in (f"b/{bucket}", values["role"], values["member"], title) if part)
    return {"id": path, "etag": view.new_id("CA", 10)}


def _member_import(values: Values) -> str:
    """docs of google_storage_bucket_iam: bucket, role, member, and the title of a condition, with spaces between."""
    title = (values.get("condition") or [{}])[0].get("title") or ""
    parts = (f"b/{values['bucket'].removeprefix('b/')}", values["role"], values["member"], title)
    return " ".join(part for part in parts if part)


IDENTITY: Mapping[str, ResourceRules] = {
    "google_service_account": ResourceRules(
        # verify.ServiceAccountNameRegex
        validate=every(regexp("account_id", r"^[a-z](?:[-a-z0-9]{4,28}[a-z0-9])$"), _display_name),
        force_new=frozenset({"account_id", "project"}),
        create=_create_account,
        is_global=True,
    ),
    "google_storage_bucket_iam_member": ResourceRules(
        validate=_member,
        force_new=frozenset({"bucket", "role", "member", "condition"}),
        create=_create_member,
        import_id=_member_import,
        is_global=True,
    ),
}
