"""Everything of a deployment that Google Cloud still has, and where each thing belongs in the rendered root.

The instance and its disk carry the deployment's label. Networks, rules and service accounts carry none: they are looked
for by the one name that the module gives them, and count only with the deployment's marker in their description.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.clouds.gcp.addresses import LABEL, MARKER, PLACES, account_id, place_of, resource_name
from orchestrator.clouds.gcp.calls import Clients, google_call, quietly, refusal
from orchestrator.model.machine import FoundResource

__all__ = ["MarkedResources", "path_of"]

_BUCKET = re.compile(r" bucket=([a-z0-9._-]+)$")
_SUBNET = re.compile(r"projects/([^/]+)/regions/[^/]+/subnetworks/[^/]+$")


def path_of(link: str) -> str:
    """``https://…/compute/v1/projects/…`` → ``projects/…``."""
    return "projects/" + link.partition("/projects/")[2]


class MarkedResources:
    """The search. Raises :class:`~orchestrator.errors.CloudCallFailed` when Google refuses or does not answer."""

    def __init__(self, clients: Clients, region: str) -> None:
        self._clients = clients
        self._region = region

    def of(self, deployment_id: str, instances: Sequence[Any]) -> list[FoundResource]:
        """Every resource of the deployment, with the given instances, in the order of import."""
        found = [*self._network(deployment_id, instances), *self._identity(deployment_id), *_machines(instances)]
        order = [place.type for place in PLACES]
        return [*sorted(found, key=lambda each: order.index(each.type)), *self._disks(deployment_id)]

    def _network(self, deployment_id: str, instances: Sequence[Any]) -> Iterator[FoundResource]:
        project, name = self._clients.project, resource_name(deployment_id)
        for type_, client, permission, place in (
            ("google_compute_network", "Networks", "compute.networks.get", {"network": name}),
            (
                "google_compute_subnetwork",
                "Subnetworks",
                "compute.subnetworks.get",
                {"region": self._region, "subnetwork": name},
            ),
        ):
            row = self._get(client, permission, project, place)
            if row is not None and _ours(row.description, deployment_id):
                yield _placed(type_, path_of(row.self_link))
        # A rule lives in the project of its network, which for a shared one is not the machine's.
        for host in sorted({project, *_network_projects(instances)}):
            row = self._get("Firewalls", "compute.firewalls.get", host, {"firewall": name})
            if row is not None and _ours(row.description, deployment_id):
                yield _placed("google_compute_firewall", path_of(row.self_link))

    def _get(self, client: str, permission: str, project: str, place: dict[str, str]) -> Any:
        with quietly():
            from google.api_core.exceptions import NotFound

        with google_call(permission, project):
            try:
                return self._clients.compute(client).get(
                    request={"project": project, **place}, **self._clients.options()
                )
            except NotFound:
                return None

    def _identity(self, deployment_id: str) -> Iterator[FoundResource]:
        """The service account, and its right on the bucket that its description names."""
        project = self._clients.project
        email = f"{account_id(deployment_id)}@{project}.iam.gserviceaccount.com"
        path = f"projects/{project}/serviceAccounts/{email}"
        account = self._json("iam", path, "iam.serviceAccounts.get", project)
        description = "" if account is None else str(account.get("description", ""))
        if not _ours(description, deployment_id):
            return
        yield _placed("google_service_account", path)
        bucket = _BUCKET.search(description)
        if bucket is None:
            return
        policy = self._json(
            "storage",
            f"b/{bucket[1]}/iam?optionsRequestedPolicyVersion=3",
            "storage.buckets.getIamPolicy",
            bucket[1],
        )
        for binding in (policy or {}).get("bindings", ()):
            title = (binding.get("condition") or {}).get("title", "")
            if f"serviceAccount:{email}" in binding.get("members", ()):
                parts = (f"b/{bucket[1]}", binding["role"], f"serviceAccount:{email}", title)
                ours = title == resource_name(deployment_id)
                id_ = "/".join(part for part in parts if part)
                import_id = " ".join(part for part in parts if part)
                yield _placed("google_storage_bucket_iam_member", id_, import_id=import_id, by_hand=not ours)

    def _json(self, service: str, path: str, permission: str, where: str) -> Any:
        """The answer of a JSON API, ``None`` where there is no such thing."""
        with google_call(permission, where):
            answer = self._clients.request(service, path)
        if answer.status_code == 404:
            return None
        if answer.status_code != 200:
            raise refusal(permission, where, answer.status_code, answer.text[:300])
        return answer.json()

    def _disks(self, deployment_id: str) -> Iterator[FoundResource]:
        """A disk of a machine goes with it; listed is what no machine holds any more."""
        project = self._clients.project
        with google_call("compute.disks.list", project):
            request = {"project": project, "filter": f'labels.{LABEL}="{deployment_id}"'}
            pages = self._clients.compute("Disks").aggregated_list(request=request, **self._clients.options())
            rows = [row for place, page in pages if self._region in place for row in page.disks]
        for row in rows:
            if not row.users:
                yield FoundResource(type="google_compute_disk", id=path_of(row.self_link))


def _ours(description: str, deployment_id: str) -> bool:
    return description.partition(" ")[0] == MARKER + deployment_id


def _network_projects(instances: Sequence[Any]) -> Iterator[str]:
    for row in instances:
        for interface in row.network_interfaces:
            if match := _SUBNET.search(interface.subnetwork):
                yield match[1]


def _machines(instances: Sequence[Any]) -> Iterator[FoundResource]:
    """Living ones first, the newest first: that one is the deployment's machine, others are left over."""
    ordered: list[Any] = sorted(instances, key=lambda row: str(row.creation_timestamp), reverse=True)
    alive = ("PROVISIONING", "STAGING", "RUNNING", "REPAIRING")
    for number, row in enumerate(sorted(ordered, key=lambda row: row.status not in alive)):
        yield _placed("google_compute_instance", path_of(row.self_link), by_hand=number > 0)


def _placed(type_: str, id_: str, *, import_id: str = "", by_hand: bool = False) -> FoundResource:
    """The resource with its address, unless somebody made it by hand or it is left over."""
    place = place_of(type_)
    if place is None or by_hand:
        return FoundResource(type=type_, id=id_)
    return FoundResource(type=type_, id=id_, address=place.address, import_id=import_id or id_)
