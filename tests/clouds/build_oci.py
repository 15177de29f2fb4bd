"""A loopback OCI that answers in the documented shapes, and builders for tests against it."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from orchestrator.clouds.oci.calls import Clients, Limits
from orchestrator.clouds.oci.machines import OciMachines
from orchestrator.clouds.oci.tagged import TAG

__all__ = [
    "COMPARTMENT",
    "DEPLOYMENT",
    "FOREIGN",
    "REGION",
    "TENANCY",
    "OciDouble",
    "clients_of",
    "key_pem",
    "machines_of",
]

REGION = "us-ashburn-1"
TENANCY = "ocid1.tenancy.oc1..aaaaaaaatenancy"
COMPARTMENT = "ocid1.compartment.oc1..aaaaaaaacompartment"
DEPLOYMENT = "g0123456789ab"
FOREIGN = "gffffffffffff"
_CREATED = "2026-11-30T12:00:00.000Z"
_LISTS = {
    "vcns": "ocid1.vcn",
    "securityLists": "ocid1.securitylist",
    "internetGateways": "ocid1.internetgateway",
    "routeTables": "ocid1.routetable",
    "subnets": "ocid1.subnet",
    "networkSecurityGroups": "ocid1.networksecuritygroup",
    "policies": "ocid1.policy",
    "instances": "ocid1.instance",
}


@dataclass(kw_only=True)
class Fault:
    """An answer in place of the double's own to calls whose method and path match, ``times`` times or always."""

    match: str
    status: int = 500
    code: str = "InternalError"
    message: str = "An internal server error has occurred."
    times: int | None = None
    delay: float = 0.0


class OciDouble:
    """Compute, network, identity, limits, search and object storage of one tenancy, in memory."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {kind: [] for kind in _LISTS}
        self.rules: dict[str, list[dict[str, Any]]] = {}
        self.vnics: dict[str, dict[str, Any]] = {}
        self.attachments: list[dict[str, Any]] = []
        self.searched: list[dict[str, Any]] = []
        self.consoles: dict[str, str] = {}
        self.histories: dict[str, str] = {}
        self.console_state = "SUCCEEDED"
        self.objects: dict[tuple[str, str, str], bytes] = {}
        self.limits: dict[str, int] = {}
        self.home_region = REGION
        self.calls: list[str] = []
        self.bodies: list[Any] = []
        self.authorizations: list[str] = []
        self._faults: list[Fault] = []
        self._numbers = count(1)
        self._lock = threading.Lock()
        self.url = ""

    @contextmanager
    def serving(self) -> Iterator[OciDouble]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()

    # -- what a test puts there

    def fault(self, match: str, **changes: Any) -> None:
        self._faults.append(Fault(match=match, **changes))

    def add(self, kind: str, deployment: str | None = DEPLOYMENT, **changes: Any) -> dict[str, Any]:
        """A row of a list, with the deployment's tag (``None``: no tag)."""
        row: dict[str, Any] = {
            "id": f"{_LISTS[kind]}.oc1.iad.{next(self._numbers):04d}",
            "compartmentId": COMPARTMENT,
            "displayName": "x",
            "lifecycleState": "ACTIVE" if kind == "policies" else "AVAILABLE",
            "freeformTags": {} if deployment is None else {TAG: deployment, "gpuorch-managed-by": "gpuorch"},
            "timeCreated": _CREATED,
        }
        self.rows[kind].append(row | changes)
        return self.rows[kind][-1]

    def network(self, deployment: str = DEPLOYMENT) -> dict[str, str]:
        """Ids of a network with everything that the module puts into it."""
        vcn = self.add("vcns", deployment, cidrBlock="10.86.0.0/24")["id"]
        found = {"vcns": vcn}
        for kind in ("securityLists", "internetGateways", "routeTables", "subnets", "networkSecurityGroups"):
            found[kind] = self.add(kind, deployment, vcnId=vcn)["id"]
        self.rules[found["networkSecurityGroups"]] = [a_rule("04ABEC", "203.0.113.7/32")]
        return found

    def instance(
        self, deployment: str | None = DEPLOYMENT, *, subnet: str = "ocid1.subnet.oc1.iad.given", **changes: Any
    ) -> str:
        """An instance with an interface; its id."""
        row = self.add(
            "instances",
            deployment,
            **{
                "availabilityDomain": "Uocm:US-ASHBURN-AD-1",
                "shape": "BM.GPU4.8",
                "region": "iad",
                "lifecycleState": "RUNNING",
                **changes,
            },
        )
        vnic = f"ocid1.vnic.oc1.iad.{next(self._numbers):04d}"
        self.vnics[vnic] = {
            "id": vnic,
            "isPrimary": True,
            "publicIp": "203.0.113.20",
            "privateIp": "10.86.0.2",
            "lifecycleState": "AVAILABLE",
        }
        self.attachments.append(
            {
                "id": f"{vnic}-at",
                "instanceId": row["id"],
                "vnicId": vnic,
                "subnetId": subnet,
                "lifecycleState": "ATTACHED",
                "compartmentId": COMPARTMENT,
            }
        )
        return str(row["id"])

    def count(self, match: str) -> int:
        return sum(re.search(match, call) is not None for call in self.calls)

    # -- what it answers

    def answer(self, method: str, target: str, body: Any) -> tuple[int, Any, dict[str, str]]:
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        path = unquote(re.sub(r"^/20\d{6}", "", parts.path))
        with self._lock:
            self.calls.append(f"{method} {path}")
            self.bodies.append(body)
            fault = next((each for each in self._faults if re.search(each.match, f"{method} {path}")), None)
            if fault is not None and fault.times is not None:
                fault.times -= 1
                if fault.times <= 0:
                    self._faults.remove(fault)
        if fault is not None:
            time.sleep(fault.delay)
            return fault.status, {"code": fault.code, "message": fault.message}, {}
        for pattern, found in self._routes().items():
            match = re.fullmatch(pattern, f"{method} {path}")
            if match:
                answer: tuple[int, Any, dict[str, str]] = found(*match.groups(), query=query, body=body)
                return answer
        return _missing()

    def _routes(self) -> Mapping[str, Any]:
        return {
            f"GET /({'|'.join(_LISTS)})/?": self._list,
            r"GET /(instances|subnets)/([^/]+)": self._get,
            r"DELETE /instances/([^/]+)": self._terminate,
            r"GET /vnicAttachments/?": self._attachments,
            r"GET /vnics/([^/]+)": lambda id_, **_: _found(self.vnics.get(id_)),
            r"GET /networkSecurityGroups/([^/]+)/securityRules": lambda id_, **_: (200, self.rules.get(id_, []), {}),
            r"POST /resources": lambda **_: (200, {"items": self.searched}, {}),
            r"POST /instanceConsoleHistories/?": self._capture,
            r"GET /instanceConsoleHistories/([^/]+)": self._history,
            r"GET /instanceConsoleHistories/([^/]+)/data": lambda id_, **_: (
                200,
                self.consoles.get(self.histories[id_], "").encode(),
                {"opc-bytes-remaining": "0"},
            ),
            r"DELETE /instanceConsoleHistories/([^/]+)": lambda id_, **_: (204, self.histories.pop(id_) and None, {}),
            r"GET /n/?": lambda **_: (200, "examplens", {}),
            r"GET /n/([^/]+)/b/([^/]+)/o/(.+)": self._object,
            r"GET /tenancies/[^/]+/regionSubscriptions": self._subscriptions,
            r"GET /compartments/([^/]+)": lambda id_, **_: (
                200,
                {"id": id_, "name": "gpu", "lifecycleState": "ACTIVE"},
                {},
            ),
            r"GET /availabilityDomains/?": lambda **_: (
                200,
                [{"name": f"Uocm:US-ASHBURN-AD-{n}", "compartmentId": TENANCY} for n in (1, 2, 3)],
                {},
            ),
            r"GET /services/compute/limits/([^/]+)/resourceAvailability": self._availability,
        }

    def _list(self, kind: str, *, query: Mapping[str, str], body: Any) -> tuple[int, Any, dict[str, str]]:
        rows = [row for row in self.rows[kind] if row["compartmentId"] == query["compartmentId"]]
        start, size = int(query.get("page", "0")), 50
        more = {"opc-next-page": str(start + size)} if start + size < len(rows) else {}
        return 200, rows[start : start + size], more

    def _get(self, kind: str, id_: str, **_: Any) -> tuple[int, Any, dict[str, str]]:
        return _found(next((row for row in self.rows[kind] if row["id"] == id_), None))

    def _terminate(self, id_: str, *, query: Mapping[str, str], body: Any) -> tuple[int, Any, dict[str, str]]:
        row = next((row for row in self.rows["instances"] if row["id"] == id_), None)
        if row is None:
            return _missing()
        row["lifecycleState"] = "TERMINATED"
        row["preserved"] = query.get("preserveBootVolume")
        return 204, None, {}

    def _attachments(self, *, query: Mapping[str, str], body: Any) -> tuple[int, Any, dict[str, str]]:
        return 200, [row for row in self.attachments if row["instanceId"] == query["instanceId"]], {}

    def _capture(self, *, query: Mapping[str, str], body: Any) -> tuple[int, Any, dict[str, str]]:
        instance = body["instanceId"]
        if not any(row["id"] == instance for row in self.rows["instances"]):
            return _missing()
        id_ = f"ocid1.consolehistory.oc1.iad.{next(self._numbers):04d}"
        self.histories[id_] = instance
        return self._history_row(id_, "REQUESTED")

    def _history(self, id_: str, **_: Any) -> tuple[int, Any, dict[str, str]]:
        return self._history_row(id_, self.console_state)

    def _history_row(self, id_: str, state: str) -> tuple[int, Any, dict[str, str]]:
        row = {"id": id_, "instanceId": self.histories[id_], "lifecycleState": state, "timeCreated": _CREATED}
        return 200, {**row, "availabilityDomain": "Uocm:US-ASHBURN-AD-1", "compartmentId": COMPARTMENT}, {}

    def _object(self, namespace: str, bucket: str, name: str, **_: Any) -> tuple[int, Any, dict[str, str]]:
        if bucket not in {key[1] for key in self.objects}:
            return 404, {"code": "BucketNotFound", "message": f"Either the bucket '{bucket}' does not exist"}, {}
        content = self.objects.get((namespace, bucket, name))
        if content is None:
            return 404, {"code": "ObjectNotFound", "message": "The object was not found"}, {}
        return 200, content, {}

    def _subscriptions(self, **_: Any) -> tuple[int, Any, dict[str, str]]:
        names = {self.home_region, REGION, "eu-frankfurt-1"}
        rows = [
            {"regionName": name, "regionKey": "KEY", "status": "READY", "isHomeRegion": name == self.home_region}
            for name in sorted(names)
        ]
        return 200, rows, {}

    def _availability(self, name: str, *, query: Mapping[str, str], body: Any) -> tuple[int, Any, dict[str, str]]:
        first = query["availabilityDomain"].endswith("AD-1")
        return 200, {"available": self.limits.get(name, 0) if first else 0, "used": 0}, {}


def a_rule(id_: str, source: str, **changes: Any) -> dict[str, Any]:
    rule = {"id": id_, "direction": "INGRESS", "protocol": "6", "source": source, "sourceType": "CIDR_BLOCK"}
    return {**rule, **changes}


def clients_of(double: OciDouble, *, environ: Mapping[str, str] | None = None, **limits: Any) -> Clients:
    """Clients that call the double with an API key of the environment's."""
    given = {
        "OCI_TENANCY_OCID": TENANCY,
        "OCI_USER_OCID": "ocid1.user.oc1..aaaaaaaauser",
        "OCI_FINGERPRINT": "20:3b:97:13:55:1c:5b:0d:d3:37:d8:50:4e:c5:3a:34",
        "OCI_PRIVATE_KEY": key_pem(),
    }
    found = given if environ is None else environ
    return Clients(REGION, limits=Limits(**limits), environ=found, endpoint=double.url)


def machines_of(double: OciDouble, *, console_seconds: float = 0.3, **limits: Any) -> OciMachines:
    return OciMachines(clients_of(double, **limits), COMPARTMENT, REGION, console_seconds=console_seconds)


@cache
def key_pem() -> str:
    """An RSA key made for the test."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    ).decode()


def _found(row: Any) -> tuple[int, Any, dict[str, str]]:
    return _missing() if row is None else (200, row, {})


def _missing() -> tuple[int, Any, dict[str, str]]:
    message = "Authorization failed or requested resource not found."
    return 404, {"code": "NotAuthorizedOrNotFound", "message": message}, {}


def _handler(double: OciDouble) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            double.authorizations.append(self.headers.get("authorization", ""))
            length = int(self.headers.get("content-length") or 0)
            text = self.rfile.read(length) if length else b""
            status, answer, headers = double.answer(self.command, self.path, json.loads(text) if text else None)
            content = answer if isinstance(answer, bytes) else b"" if answer is None else json.dumps(answer).encode()
            try:
                self.send_response(status)
                kind = "application/octet-stream" if isinstance(answer, bytes) else "application/json"
                for name, value in {"content-type": kind, "content-length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)
            except OSError:
                pass  # The caller did not wait.

        do_GET = do_POST = do_PUT = do_DELETE = _serve

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    return Handler
