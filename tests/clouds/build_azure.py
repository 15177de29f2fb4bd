"""A loopback Azure: answers in the documented shapes of Resource Manager and of blob storage, and notes every call."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

from azure.core.credentials import AccessToken
from azure.core.pipeline.transport._requests_basic import RequestsTransport

from orchestrator.clouds.azure.addresses import assignment_name, resource_name
from orchestrator.clouds.azure.calls import Connection, Limits

SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"
DEPLOYMENT = "g0123456789ab"
FOREIGN = "gffffffffffff"
REGION = "eastus"
ROOT = f"/subscriptions/{SUBSCRIPTION}"
IMPATIENT = Limits(connect_seconds=2, read_seconds=2, retries=0)
CONSOLE_HOST = "md-console.z1.blob.storage.azure.net"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    method: str
    host: str
    path: str
    query: Mapping[str, str]
    token: str


@dataclass
class AzureDouble:
    """What it has: ``rows`` by lower-case path (a list is answered in pages of two), ``blobs`` by URI, and refusals."""

    rows: dict[str, Any] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    refusals: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    calls: list[Noted] = field(default_factory=list)
    stalled: bool = False

    def __enter__(self) -> AzureDouble:
        double = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                double._answer(self)

            do_POST = do_DELETE = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.block_on_close = False
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def connection(self, **changes: Any) -> Connection:
        """A connection whose wire leads here."""
        values: dict[str, Any] = {"signed_in": FixedToken(), "transport": Rerouted(self._server.server_port)}
        return Connection(SUBSCRIPTION, IMPATIENT, **(values | changes))

    def refuse(self, path: str, status: int, code: str, message: str = "no") -> None:
        """Every call to the path (a regular expression) is answered so."""
        self.refusals[path] = (status, code, message)

    def put(self, path: str, row: Any) -> None:
        self.rows[path.lower()] = row

    def made(self, method: str) -> list[str]:
        return [call.path for call in self.calls if call.method == method]

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        call = self._noted(request)
        if self.stalled:
            threading.Event().wait(5)
        refusal = next((each for pattern, each in self.refusals.items() if re.search(pattern, call.path, re.I)), None)
        if refusal:
            _send(request, refusal[0], {"error": {"code": refusal[1], "message": refusal[2]}})
        elif call.host == "management.azure.com":
            self._managed(request, call)
        else:
            self._blob(request, f"https://{call.host}{call.path}")

    def _noted(self, request: BaseHTTPRequestHandler) -> Noted:
        parts = urlsplit(request.path)
        host, path = request.headers["X-Host"], parts.path
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        call = Noted(method=request.command, host=host, path=path, query=query, token=token)
        self.calls.append(call)
        return call

    def _managed(self, request: BaseHTTPRequestHandler, call: Noted) -> None:
        key, found = call.path.rstrip("/").lower(), self.rows.get(call.path.rstrip("/").lower())
        if call.method == "DELETE":
            _send(request, 202 if self.rows.pop(key, None) else 204, None)
        elif found is None:
            message = f"{call.path} was not found."
            _send(request, 404, {"error": {"code": "ResourceNotFound", "message": message}})
        elif isinstance(found, list):
            _send(request, 200, _page(found, call))
        else:
            _send(request, 200, found)

    def _blob(self, request: BaseHTTPRequestHandler, uri: str) -> None:
        content = self.blobs.get(uri)
        if not content:
            code = "BlobNotFound" if content is None else "InvalidRange"
            _send(request, 404 if content is None else 416, None, {"x-ms-error-code": code})
            return
        first, last = request.headers["x-ms-range"].removeprefix("bytes=").split("-")
        part = content[int(first) : int(last) + 1]
        request.send_response(206)
        request.send_header("Content-Length", str(len(part)))
        request.end_headers()
        request.wfile.write(part)


def _page(rows: list[Any], call: Noted) -> Row:
    start = int(call.query.get("$skiptoken", 0))
    page: Row = {"value": rows[start : start + 2]}
    if start + 2 < len(rows):
        version = call.query["api-version"]
        page["nextLink"] = f"https://{call.host}{call.path}?api-version={version}&$skiptoken={start + 2}"
    return page


def _send(request: BaseHTTPRequestHandler, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
    content = b"" if body is None else json.dumps(body).encode()
    request.send_response(status)
    for name, value in (headers or {}).items():
        request.send_header(name, value)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    request.wfile.write(content)


class FixedToken:
    """A credential that signs nobody in; the token tells what it was asked for."""

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        return AccessToken(scopes[0], 4_000_000_000)


class Rerouted(RequestsTransport):
    """Every host is the loopback server; which one was meant stands in a header."""

    def __init__(self, port: int) -> None:
        limits = IMPATIENT
        super().__init__(connection_timeout=limits.connect_seconds, read_timeout=limits.read_seconds)
        self._port = port

    def send(self, request: Any, **options: Any) -> Any:
        parts = urlsplit(request.url)
        request.headers["X-Host"] = parts.netloc
        request.url = urlunsplit(("http", f"127.0.0.1:{self._port}", parts.path, parts.query, ""))
        return super().send(request, **options)


def a_group(azure: AzureDouble, deployment: str = DEPLOYMENT, *, tag: str | None = None, location: str = REGION) -> str:
    """The deployment's resource group; ``tag`` is whose it is said to be (``""``: nobody's)."""
    path = f"{ROOT}/resourceGroups/{resource_name(deployment)}"
    owner = deployment if tag is None else tag
    tags = {"gpuorch:deployment": owner} if owner else {}
    azure.put(path, {"id": path, "name": resource_name(deployment), "location": location, "tags": tags})
    azure.put(f"{path}/providers/Microsoft.Compute/virtualMachines", [])
    azure.put(f"{path}/resources", [])
    return path


def a_machine(azure: AzureDouble, deployment: str = DEPLOYMENT, **changes: Any) -> str:
    """A running spot machine with its interface and address, as Azure shows them; its id as Terraform has it."""
    name = changes.pop("name", resource_name(deployment))
    owner = changes.pop("tag", deployment)
    power = changes.pop("power", "running")
    group = f"{ROOT}/resourceGroups/{resource_name(deployment)}"
    shouted = f"{ROOT}/resourceGroups/{resource_name(deployment).upper()}"
    path = f"{group}/providers/Microsoft.Compute/virtualMachines/{name}"
    statuses = [{"code": f"ProvisioningState/{changes.get('provisioning', 'Succeeded').lower()}"}]
    if message := changes.pop("message", ""):
        statuses[0] |= {"message": message, "level": "Error"}
    if power:
        statuses.append({"code": f"PowerState/{power}", "level": "Info", "displayStatus": f"VM {power}"})
    row = {
        # Azure answers lists with the group in capitals.
        "id": path.replace(group, shouted),
        "name": name,
        "location": REGION,
        "tags": {"gpuorch:deployment": owner} if owner else {},
        "zones": changes.pop("zones", ["2"]),
        "properties": {
            "hardwareProfile": {"vmSize": "Standard_ND96asr_v4"},
            "provisioningState": changes.pop("provisioning", "Succeeded"),
            "priority": changes.pop("priority", "Spot"),
            "timeCreated": changes.pop("created", "2026-11-30T12:00:00.123+00:00"),
            "networkProfile": {
                "networkInterfaces": [{"id": f"{shouted}/providers/Microsoft.Network/networkInterfaces/{name}"}]
            },
            "instanceView": {"statuses": statuses},
        },
    }
    azure.put(path, row)
    azure.rows[f"{group}/providers/Microsoft.Compute/virtualMachines".lower()].append(row)
    address = f"{group}/providers/Microsoft.Network/publicIPAddresses/{name}"
    azure.put(address, {"id": address, "properties": {"ipAddress": "203.0.113.9"}})
    azure.put(
        f"{group}/providers/Microsoft.Network/networkInterfaces/{name}",
        {
            "properties": {
                "networkSecurityGroup": {"id": f"{shouted}/providers/Microsoft.Network/networkSecurityGroups/{name}"},
                "ipConfigurations": [
                    {"properties": {"privateIPAddress": "10.86.0.4", "publicIPAddress": {"id": address}}}
                ],
            }
        },
    )
    return path


def a_network(azure: AzureDouble, deployment: str = DEPLOYMENT) -> None:
    """Everything that Azure lists in the group of a deployment with a machine, a disk of it, and one left behind."""
    name, group = resource_name(deployment), f"{ROOT}/resourceGroups/{resource_name(deployment)}"
    machine = f"{group}/providers/Microsoft.Compute/virtualMachines/{name}"
    listed: list[Row] = [
        {"type": "Microsoft.Compute/virtualMachines", "name": name},
        {"type": "Microsoft.Compute/disks", "name": name, "managedBy": machine},
        {"type": "Microsoft.Compute/disks", "name": f"{name}_old"},
        {"type": "Microsoft.Network/networkInterfaces", "name": name},
        {"type": "Microsoft.Network/networkSecurityGroups", "name": name},
        # Azure is not of one mind about this one's capitals.
        {"type": "Microsoft.Network/publicIpAddresses", "name": name},
        {"type": "Microsoft.Network/virtualNetworks", "name": name},
    ]
    rows = [{**row, "id": f"{group.upper()}/providers/{row['type']}/{row['name']}"} for row in listed]
    azure.put(f"{group}/resources", rows)
    network = f"{group}/providers/Microsoft.Network/virtualNetworks/{name}"
    azure.put(network, {"properties": {"subnets": [{"name": "machine"}]}})


def an_assignment(deployment: str, purpose: str, scope: str, **changes: Any) -> Row:
    guid = assignment_name(deployment, purpose)
    values = {"scope": scope, "description": resource_name(deployment), "principalId": SUBSCRIPTION} | changes
    return {
        "name": guid,
        "id": f"{scope}/providers/Microsoft.Authorization/roleAssignments/{guid}",
        "properties": values,
    }


def assignments(azure: AzureDouble, *rows: Row) -> None:
    azure.put(f"{ROOT}/providers/Microsoft.Authorization/roleAssignments", list(rows))
