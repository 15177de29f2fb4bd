"""A double of the few calls of Google Cloud that gpuorch makes, on the loopback interface, in the documented shapes.

Compute Engine: cloud.google.com/compute/docs/reference/rest/v1; IAM: cloud.google.com/iam/docs/reference/rest; Cloud
Storage: cloud.google.com/storage/docs/json_api; projects: cloud.google.com/resource-manager/reference/rest.
"""

from __future__ import annotations

import json
import re
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

__all__ = [
    "DEPLOYMENT",
    "FOREIGN",
    "PROJECT",
    "REGION",
    "ZONE",
    "GoogleDouble",
    "an_instance",
    "an_operation",
    "found_by",
]

PROJECT = "my-project-1"
REGION = "us-central1"
ZONE = "us-central1-a"
DEPLOYMENT = "g0123456789ab"
FOREIGN = "gffffffffffff"
_API = "https://www.googleapis.com/compute/v1/"


def an_instance(deployment: str = DEPLOYMENT, *, zone: str = ZONE, **changes: Any) -> dict[str, Any]:
    """A running spot A2 machine of the deployment, as instances.get answers."""
    name = changes.pop("name", f"gpuorch-{deployment}")
    return {
        "kind": "compute#instance",
        "id": "4567",
        "name": name,
        "selfLink": f"{_API}projects/{PROJECT}/zones/{zone}/instances/{name}",
        "zone": f"{_API}projects/{PROJECT}/zones/{zone}",
        "machineType": f"{_API}projects/{PROJECT}/zones/{zone}/machineTypes/a2-highgpu-1g",
        "status": "RUNNING",
        "labels": {"gpuorch-deployment": deployment},
        "creationTimestamp": "2026-11-30T04:00:00.000-08:00",
        "scheduling": {"provisioningModel": "SPOT", "preemptible": True},
        "guestAccelerators": [
            {
                "acceleratorType": f"{_API}projects/{PROJECT}/zones/{zone}/acceleratorTypes/nvidia-tesla-a100",
                "acceleratorCount": 1,
            }
        ],
        "networkInterfaces": [
            {
                "subnetwork": f"{_API}projects/{PROJECT}/regions/{REGION}/subnetworks/{name}",
                "networkIP": "10.86.0.2",
                "accessConfigs": [{"natIP": "203.0.113.9"}],
            }
        ],
    } | changes


def an_operation(kind: str, when: str, *, deployment: str = DEPLOYMENT, **changes: Any) -> dict[str, Any]:
    name = f"gpuorch-{deployment}"
    return {
        "kind": "compute#operation",
        "name": f"operation-{kind}-{when}",
        "operationType": kind,
        "status": "DONE",
        "insertTime": when,
        "zone": f"{_API}projects/{PROJECT}/zones/{ZONE}",
        "targetLink": f"{_API}projects/{PROJECT}/zones/{ZONE}/instances/{name}",
    } | changes


@dataclass(kw_only=True)
class GoogleDouble:
    """What exists, by the path of the call; ``refuse`` maps a path's beginning to a status and a message."""

    instances: list[dict[str, Any]] = field(default_factory=list)
    operations: list[dict[str, Any]] = field(default_factory=list)
    disks: list[dict[str, Any]] = field(default_factory=list)
    things: dict[str, dict[str, Any]] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    permissions: list[str] = field(default_factory=list)
    refuse: dict[str, tuple[int, str]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    delay: float = 0.0
    page_size: int = 1
    server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Self:
        double = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length) or b"{}")
                status, content = double.answer(self.command, self.path, body, self.headers.get("Authorization", ""))
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_DELETE = _answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.server is not None
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self) -> str:
        assert self.server is not None
        return f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, method: str, target: str, body: dict[str, Any], authorization: str) -> tuple[int, bytes]:
        time.sleep(self.delay)
        parts = urlsplit(target)
        path = unquote(parts.path).lstrip("/")
        self.calls.append(f"{method} {path}")
        for start, (status, message) in self.refuse.items():
            if path.startswith(start):
                return status, _error(status, message)
        if authorization != "Bearer a-token":
            return 401, _error(401, "Request had invalid authentication credentials.")
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if path.startswith("storage/v1/b/") and "/o/" in path:
            return self._object(path)
        found = self._found(method, path, query, body)
        if found is None:
            return 404, _error(404, f"The resource '{path.removeprefix('compute/v1/')}' was not found")
        return 200, json.dumps(found).encode()

    def _object(self, path: str) -> tuple[int, bytes]:
        bucket, _, name = path.removeprefix("storage/v1/b/").partition("/o/")
        if not any(uri.startswith(f"gs://{bucket}/") for uri in self.objects):
            return 404, _error(404, "The specified bucket does not exist.")
        content = self.objects.get(f"gs://{bucket}/{name}")
        return (404, f"No such object: {bucket}/{name}".encode()) if content is None else (200, content)

    def _found(self, method: str, path: str, query: dict[str, str], body: dict[str, Any]) -> dict[str, Any] | None:
        if path.endswith(":testIamPermissions"):
            return {"permissions": [each for each in body["permissions"] if each in self.permissions]}
        start = f"compute/v1/projects/{PROJECT}/aggregated/"
        if path.startswith(start):
            kind = path.removeprefix(start)
            rows = {"instances": self.instances, "operations": self.operations, "disks": self.disks}[kind]
            return self._pages(kind, [row for row in rows if _matches(row, query.get("filter", ""))], query)
        instance = re.fullmatch(rf"compute/v1/projects/{PROJECT}/zones/([^/]+)/instances/([^/]+)(/serialPort)?", path)
        if instance:
            return self._instance(method, *instance.groups())
        return self.things.get(path)

    def _pages(self, kind: str, rows: list[dict[str, Any]], query: dict[str, str]) -> dict[str, Any]:
        """One row a page, each in its zone, beside a zone that has none."""
        place = int(query.get("pageToken") or 0)
        items: dict[str, Any] = {"zones/europe-west4-b": {"warning": {"code": "NO_RESULTS_ON_PAGE"}}}
        for row in rows[place : place + self.page_size]:
            items.setdefault(f"zones/{row['zone'].rpartition('/')[2]}", {}).setdefault(kind, []).append(row)
        more = place + self.page_size < len(rows)
        return {"items": items} | ({"nextPageToken": str(place + self.page_size)} if more else {})

    def _instance(self, method: str, zone: str, name: str, serial: str | None) -> dict[str, Any] | None:
        link = f"{_API}projects/{PROJECT}/zones/{zone}/instances/{name}"
        row = next((row for row in self.instances if row["selfLink"] == link), None)
        if row is None:
            return None
        if serial:
            return {"kind": "compute#serialPortOutput", "contents": "line one\nline two\n", "next": "18"}
        if method == "DELETE":
            self.instances.remove(row)
            return {"kind": "compute#operation", "name": "operation-1", "operationType": "delete", "status": "RUNNING"}
        return row


def found_by(double: GoogleDouble, monkeypatch: pytest.MonkeyPatch) -> GoogleDouble:
    """The environment leads Google's libraries to the double, with a token, and to nothing of the caller's."""
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_PROJECT", "GCLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "a-token")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", PROJECT)
    monkeypatch.setenv("GOOGLE_COMPUTE_CUSTOM_ENDPOINT", f"{double.url}/compute/v1/")
    monkeypatch.setenv("GOOGLE_IAM_CUSTOM_ENDPOINT", f"{double.url}/v1/")
    monkeypatch.setenv("GOOGLE_STORAGE_CUSTOM_ENDPOINT", f"{double.url}/storage/v1/")
    monkeypatch.setenv("GOOGLE_RESOURCE_MANAGER_CUSTOM_ENDPOINT", f"{double.url}/v1/")
    return double


def _matches(row: dict[str, Any], text: str) -> bool:
    """The two forms of filters that gpuorch writes: a label's value, and a pattern over the operation's target."""
    if match := re.fullmatch(r'labels\.([\w-]+)="([^"]*)"', text):
        return bool(row.get("labels", {}).get(match[1]) == match[2])
    if match := re.fullmatch(r'targetLink eq "([^"]*)"', text):
        return re.fullmatch(match[1], row.get("targetLink", "")) is not None
    raise AssertionError(f"not a filter that Compute Engine would understand: {text!r}")


def _error(status: int, message: str) -> bytes:
    reasons = {401: "authError", 403: "forbidden", 404: "notFound", 429: "rateLimitExceeded"}
    reason = reasons.get(status, "backendError")
    detail = {"message": message, "domain": "global", "reason": reason}
    return json.dumps({"error": {"code": status, "message": message, "errors": [detail]}}).encode()
