"""Rules of IAM's resources and of key pairs."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping

from orchestrator.clouds.aws.sandbox.tags import tags_all
from orchestrator.clouds.aws.sandbox.wording import ACCOUNT, ec2_refused, iam_refused
from orchestrator.clouds.rules import CallRefused, CloudView, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import Check, at, between, conflicting, every, matching

__all__ = ["IDENTITY"]

# docs.aws.amazon.com/AWSEC2/latest/UserGuide/create-key-pairs.html: only these two kinds can be imported.
_KEY_KINDS = {"ssh-rsa": "rsa", "ssh-ed25519": "ed25519"}

_NAME = matching("name", r"[\w+=,.@-]*", r"must match [\w+=,.@-]")


def _policy(argument: str) -> Check:
    """The provider's internal/verify, ``ValidIAMPolicyJSON``: the text before AWS sees it."""

    def check(config: Values) -> Iterator[Problem]:
        for where, text in at(config, argument):
            problem = _not_a_policy(text)
            if problem:
                words = f'"{argument}" contains an invalid JSON policy: {problem}'
                yield Problem(summary=words, path=where)

    return check


def _not_a_policy(text: str) -> str:
    if not text.lstrip().startswith("{"):
        return "not a JSON object"
    try:
        json.loads(text)
    except ValueError as error:
        return str(error)
    return ""


def _arn(config: Values) -> Iterator[Problem]:
    for where, text in at(config, "policy_arn"):
        if not text.startswith("arn:"):
            words = f'"policy_arn" ({text}) is an invalid ARN: arn: invalid prefix'
            yield Problem(summary=words, path=where)
        elif text.count(":") < 5:
            words = f'"policy_arn" ({text}) is an invalid ARN: arn: not enough sections'
            yield Problem(summary=words, path=where)


# -- key pairs


def _create_key(values: Values, view: CloudView) -> Values:
    id_ = view.new_id("key-")
    name = values.get("key_name") or f"{values.get('key_name_prefix') or 'terraform-'}{id_[4:]}"
    doing, operation = f"importing EC2 Key Pair ({name})", "ImportKeyPair"
    kind, material = _key_material(values["public_key"])
    if kind is None:
        message = "Key is not in valid OpenSSH public key format"
        raise ec2_refused(doing, operation, "InvalidKey.Format", message)
    if view.get("aws_key_pair", name) is not None:
        raise ec2_refused(doing, operation, "InvalidKeyPair.Duplicate", "The keypair already exists")
    return {
        "id": name,
        "key_name": name,
        "key_pair_id": id_,
        "key_type": kind,
        "fingerprint": _fingerprint(material),
        "arn": f"arn:aws:ec2:{view.region}:{ACCOUNT}:key-pair/{name}",
    }


def _key_material(text: str) -> tuple[str | None, bytes]:
    """The kind that EC2 names, and the key itself; ``None`` for what EC2 would not import."""
    word, _, rest = text.strip().partition(" ")
    try:
        material = base64.b64decode(rest.split(" ")[0], validate=True)
    except (binascii.Error, IndexError):
        return None, b""
    # A public key says its own kind in its first field: four bytes of length, then the word.
    if word not in _KEY_KINDS or material[4 : 4 + len(word)] != word.encode():
        return None, b""
    return _KEY_KINDS[word], material


def _fingerprint(material: bytes) -> str:
    digest = hashlib.md5(material, usedforsecurity=False).hexdigest()
    return ":".join(digest[place : place + 2] for place in range(0, 32, 2))


# -- IAM


def _named(type_: str, kind: str, doing: str, operation: str, prefix: str) -> Callable[[Values, CloudView], Values]:
    """A ``create`` of a role or an instance profile: the name is the id."""

    def create(values: Values, view: CloudView) -> Values:
        digits = view.new_id("", 26)
        name = values.get("name") or f"{values.get('name_prefix') or 'terraform-'}{digits}"
        if view.get(type_, name) is not None:
            message = f"{kind} {name} already exists."
            raise iam_refused(f"{doing} ({name})", operation, "EntityAlreadyExists", message, 409)
        path = values.get("path") or "/"
        return {
            "id": name,
            "name": name,
            "arn": f"arn:aws:iam::{ACCOUNT}:{kind.lower().replace(' ', '-')}{path}{name}",
            "create_date": f"{view.now():%Y-%m-%dT%H:%M:%SZ}",
            "unique_id": prefix + digits[:17].upper(),
        }

    return create


def _no_role(role: str, doing: str, operation: str) -> CallRefused:
    message = f"The role with name {role} cannot be found."
    return iam_refused(doing, operation, "NoSuchEntity", message, 404)


def _create_policy(values: Values, view: CloudView) -> Values:
    digits = view.new_id("", 26)
    name = values.get("name") or f"{values.get('name_prefix') or 'terraform-'}{digits}"
    role = values["role"]
    if view.get("aws_iam_role", role) is None:
        raise _no_role(role, f"putting IAM Role ({role}) Policy ({name})", "PutRolePolicy")
    return {"id": f"{role}:{name}", "name": name}


def _create_attachment(values: Values, view: CloudView) -> Values:
    role, policy = values["role"], values["policy_arn"]
    if view.get("aws_iam_role", role) is None:
        raise _no_role(role, f"attaching IAM Policy ({policy}) to IAM Role ({role})", "AttachRolePolicy")
    return {"id": f"{role}-{view.new_id('', 26)}"}


def _create_profile(values: Values, view: CloudView) -> Values:
    role = values.get("role")
    if role and view.get("aws_iam_role", role) is None:
        name = values.get("name") or ""
        doing = f"creating IAM Instance Profile ({name}): adding IAM Role ({role})"
        raise _no_role(role, doing, "AddRoleToInstanceProfile")
    create = _named(
        "aws_iam_instance_profile",
        "Instance Profile",
        "creating IAM Instance Profile",
        "CreateInstanceProfile",
        "AIPA",
    )
    return create(values, view)


def _delete_role(values: Values, view: CloudView) -> None:
    role = values["id"]
    in_the_way = {
        "aws_iam_role_policy": "Cannot delete entity, must delete policies first.",
        "aws_iam_role_policy_attachment": "Cannot delete entity, must detach all policies first.",
        "aws_iam_instance_profile": "Cannot delete entity, must remove roles from instance profile first.",
    }
    for type_, message in in_the_way.items():
        if any(other.get("role") == role for other in view.live(type_)):
            raise iam_refused(f"deleting IAM Role ({role})", "DeleteRole", "DeleteConflict", message, 409)


IDENTITY: Mapping[str, ResourceRules] = {
    "aws_key_pair": ResourceRules(
        validate=conflicting("key_name", "key_name_prefix"),
        force_new=frozenset({"key_name", "key_name_prefix", "public_key"}),
        plan=tags_all,
        create=_create_key,
    ),
    "aws_iam_role": ResourceRules(
        validate=every(
            conflicting("name", "name_prefix"),
            _NAME,
            _policy("assume_role_policy"),
            between("max_session_duration", 3600, 43200),
        ),
        force_new=frozenset({"name", "name_prefix", "path"}),
        defaults={"force_detach_policies": False, "max_session_duration": 3600, "path": "/"},
        plan=tags_all,
        create=_named("aws_iam_role", "Role", "creating IAM Role", "CreateRole", "AROA"),
        delete=_delete_role,
        is_global=True,
    ),
    "aws_iam_role_policy": ResourceRules(
        validate=every(conflicting("name", "name_prefix"), _NAME, _policy("policy")),
        force_new=frozenset({"name", "name_prefix", "role"}),
        create=_create_policy,
        parent=("aws_iam_role", "role"),
        is_global=True,
    ),
    "aws_iam_role_policy_attachment": ResourceRules(
        validate=_arn,
        force_new=frozenset({"role", "policy_arn"}),
        create=_create_attachment,
        import_id=lambda values: f"{values['role']}/{values['policy_arn']}",
        parent=("aws_iam_role", "role"),
        is_global=True,
    ),
    "aws_iam_instance_profile": ResourceRules(
        validate=every(conflicting("name", "name_prefix"), _NAME),
        force_new=frozenset({"name", "name_prefix", "path"}),
        defaults={"path": "/"},
        plan=tags_all,
        create=_create_profile,
        is_global=True,
    ),
}
