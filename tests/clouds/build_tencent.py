"""A loopback server that answers as Tencent Cloud's API 3.0 and COS do, over a few rows of data.

Shapes: the API documentation of CVM, VPC, CAM and STS (``{"Response": {…, "RequestId": …}}``, errors inside of it with
status 200), and COS's XML errors. Signatures are checked: TC3-HMAC-SHA256 and COS's own.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from orchestrator.clouds.tencent.calls import Clients, Limits
from orchestrator.clouds.tencent.machines import TencentMachines

__all__ = [
    "ANSWERS",
    "DEPLOYMENT",
    "ENVIRON",
    "REGION",
    "ROLE_ID",
    "SECRET_ID",
    "SECRET_KEY",
    "TOKEN",
    "Double",
    "an_instance",
    "clients",
    "cos_signature",
    "double",
    "machines",
    "tags",
]

REGION = "ap-guangzhou"
DEPLOYMENT = "g0123456789ab"
SECRET_ID, SECRET_KEY, TOKEN = "AKIDEXAMPLE0000000000", "secret-key-of-nobody", "a-token"
ENVIRON = {"TENCENTCLOUD_SECRET_ID": SECRET_ID, "TENCENTCLOUD_SECRET_KEY": SECRET_KEY}
ROLE_ID = "4611686018427733635"

Row = dict[str, Any]
Answer = Callable[["Double", Mapping[str, Any]], Row]


class Refused(Exception):
    def __init__(self, code: str, message: str = "no") -> None:
        super().__init__(code)
        self.code, self.message = code, message


@dataclass
class Double:
    """The account. ``refuse`` maps an action to the code that it is refused with; ``calls`` are those that came."""

    url: str = ""
    instances: list[Row] = field(default_factory=list)
    lists: dict[str, list[Row]] = field(default_factory=dict)
    rules: set[str] = field(default_factory=set)
    roles: dict[str, Row] = field(default_factory=dict)
    attached: dict[str, list[Row]] = field(default_factory=dict)
    policies: list[Row] = field(default_factory=list)
    quotas: dict[str, list[Row]] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    refuse: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[str, Row]] = field(default_factory=list)
    raw: dict[str, tuple[int, str, bytes]] = field(default_factory=dict)
    page: int = 100

    def actions(self) -> list[str]:
        return [action for action, _ in self.calls]


def tags(deployment: str = DEPLOYMENT, **more: str) -> list[Row]:
    return [{"Key": key, "Value": value} for key, value in {"gpuorch-deployment": deployment, **more}.items()]


def an_instance(id_: str = "ins-00000001", **changes: Any) -> Row:
    """A row of DescribeInstances: the fields that we read, and some that we do not."""
    row: Row = {
        "InstanceId": id_,
        "InstanceName": "train",
        "InstanceType": "GN7.5XLARGE80",
        "InstanceState": "RUNNING",
        "InstanceChargeType": "SPOTPAID",
        "RestrictState": "NORMAL",
        "Placement": {"Zone": "ap-guangzhou-3", "ProjectId": 0},
        "VirtualPrivateCloud": {"VpcId": "vpc-00000001", "SubnetId": "subnet-00000001"},
        "PublicIpAddresses": ["203.0.113.5"],
        "PrivateIpAddresses": ["10.86.0.2"],
        "CreatedTime": "2026-11-30T10:00:00Z",
        "LatestOperation": "RunInstances",
        "LatestOperationState": "SUCCESS",
        "Tags": tags(),
        "Uuid": "cfac763a-7094-446b-a8a9-b995e638471a",
    }
    return row | changes


# -- what the actions answer


def _matching(rows: list[Row], parameters: Mapping[str, Any]) -> list[Row]:
    for each in parameters.get("Filters") or ():
        name, values = each["Name"], each["Values"]
        if name.startswith("tag:"):
            rows = [row for row in rows if _tag(row, name.removeprefix("tag:")) in values]
        elif name == "instance-id":
            rows = [row for row in rows if row["InstanceId"] in values]
        else:
            raise Refused("InvalidFilter", f"the filter {name} is unknown")
    return rows


def _tag(row: Row, key: str) -> str | None:
    return next((tag["Value"] for tag in row.get("Tags") or row.get("TagSet") or () if tag["Key"] == key), None)


def _paged(account: Double, name: str, rows: list[Row], parameters: Mapping[str, Any]) -> Row:
    found = _matching(rows, parameters)
    offset = int(parameters.get("Offset") or 0)
    limit = min(int(parameters.get("Limit") or 20), account.page)
    return {name: found[offset : offset + limit], "TotalCount": len(found)}


def _listed(name: str, kind: type) -> Answer:
    def answer(account: Double, parameters: Mapping[str, Any]) -> Row:
        # VPC takes the numbers of pages as text, CVM as numbers, and each refuses the other.
        if not all(isinstance(parameters.get(key, kind()), kind) for key in ("Offset", "Limit")):
            raise Refused("InvalidParameter", "The type of Limit is wrong")
        return _paged(account, name, account.lists.get(name, []), parameters)

    return answer


def _terminate(account: Double, parameters: Mapping[str, Any]) -> Row:
    [id_] = parameters["InstanceIds"]
    row = next((each for each in account.instances if each["InstanceId"] == id_), None)
    if row is None:
        raise Refused("InvalidInstanceId.NotFound", f"no {id_}")
    row["InstanceState"] = "TERMINATING"
    return {}


def _role(account: Double, parameters: Mapping[str, Any]) -> Row:
    name = parameters["RoleName"]
    if name not in account.roles:
        raise Refused("InvalidParameter.RoleNotExist", "role not exist")
    return {"RoleInfo": {"RoleId": ROLE_ID, "RoleName": name, **account.roles[name]}}


def _policies(account: Double, parameters: Mapping[str, Any]) -> Row:
    found = [row for row in account.policies if parameters["Keyword"] in row["PolicyName"]]
    return {"List": found, "TotalNum": len(found)}


def _run(account: Double, parameters: Mapping[str, Any]) -> Row:
    assert parameters["DryRun"] is True, "doctor must make nothing"
    return {}


ANSWERS: dict[str, Answer] = {
    "DescribeInstances": lambda account, given: _paged(account, "InstanceSet", account.instances, given),
    "DescribeVpcs": _listed("VpcSet", str),
    "DescribeSubnets": _listed("SubnetSet", str),
    "DescribeSecurityGroups": _listed("SecurityGroupSet", str),
    "DescribeKeyPairs": _listed("KeyPairSet", int),
    "DescribeSecurityGroupPolicies": lambda account, given: {
        "SecurityGroupPolicySet": {
            "Version": "1",
            "Ingress": [],
            "Egress": [{"Action": "ACCEPT"}] if given["SecurityGroupId"] in account.rules else [],
        }
    },
    "TerminateInstances": _terminate,
    "GetRole": _role,
    "ListAttachedRolePolicies": lambda account, given: {"List": account.attached.get(given["RoleName"], [])},
    "ListPolicies": _policies,
    "GetCallerIdentity": lambda account, given: {"Arn": "qcs::cam::uin/100000000001:uin/100000000001", "Type": "User"},
    "DescribeZones": lambda account, given: {
        "ZoneSet": [
            {"Zone": "ap-guangzhou-2", "ZoneState": "UNAVAILABLE"},
            {"Zone": "ap-guangzhou-3", "ZoneState": "AVAILABLE"},
        ]
    },
    "RunInstances": _run,
    "DescribeAccountQuota": lambda account, given: {
        "AccountQuotaOverview": {
            "Region": REGION,
            "AccountQuota": {kind: account.quotas.get(kind) for kind in given["Filters"][0]["Values"]},
        }
    },
}


# -- the wire


def tc3(method: str, headers: Message, body: bytes) -> str:
    """The TC3-HMAC-SHA256 authorization that a request must carry: product/213/33224."""
    said = re.match(
        r"TC3-HMAC-SHA256 Credential=([^/]+)/([^/]+)/([^/]+)/tc3_request, SignedHeaders=([^,]+),",
        headers["Authorization"],
    )
    assert said is not None, headers["Authorization"]
    secret_id, date, service, signed = said.groups()
    canonical = "".join(f"{name}:{headers[name].strip().lower()}\n" for name in signed.split(";"))
    request = f"{method}\n/\n\n{canonical}\n{signed}\n{hashlib.sha256(body).hexdigest()}"
    scope = f"{date}/{service}/tc3_request"
    to_sign = f"TC3-HMAC-SHA256\n{headers['X-TC-Timestamp']}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = f"TC3{SECRET_KEY}".encode()
    for part in (date, service, "tc3_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
    return f"TC3-HMAC-SHA256 Credential={secret_id}/{scope}, SignedHeaders={signed}, Signature={signature}"


def cos_signature(method: str, path: str, headers: Message, secret_key: str) -> str:
    """The q-signature that a COS request must carry: product/436/7778."""
    said = dict(part.split("=", 1) for part in headers["Authorization"].split("&"))
    assert said["q-header-list"] == "host"
    key = hmac.new(secret_key.encode(), said["q-key-time"].encode(), hashlib.sha1).hexdigest()
    request = f"{method.lower()}\n{path}\n\nhost={headers['Host'].lower()}\n"
    to_sign = f"sha1\n{said['q-sign-time']}\n{hashlib.sha1(request.encode()).hexdigest()}\n"
    assert said["q-signature"] == hmac.new(key.encode(), to_sign.encode(), hashlib.sha1).hexdigest(), (
        "SignatureDoesNotMatch"
    )
    return said["q-ak"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    account: Double

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        action = self.headers["X-TC-Action"]
        given = json.loads(body)
        self.account.calls.append((action, given))
        if action in self.account.raw:
            return self._send(*self.account.raw[action])
        try:
            if self.headers["Authorization"] != tc3("POST", self.headers, body):
                raise Refused("AuthFailure.SignatureFailure", "The provided credentials could not be validated.")
            if code := self.account.refuse.get(action):
                raise Refused(code, "as the test wants it")
            answer = ANSWERS[action](self.account, given)
        except Refused as refused:
            answer = {"Error": {"Code": refused.code, "Message": refused.message}}
        document = {"Response": {**answer, "RequestId": "6ef60bec-0242-43af-bb20-270359fb54a7"}}
        return self._send(200, "application/json", json.dumps(document).encode())

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        assert cos_signature("get", path, self.headers, SECRET_KEY) == SECRET_ID
        key = f"{self.headers['Host'].partition('.')[0]}{path}"
        content = self.account.objects.get(key)
        if code := self.account.refuse.get("GetObject"):
            return self._send(403, "application/xml", f"<Error><Code>{code}</Code></Error>".encode())
        if content is None:
            return self._send(404, "application/xml", b"<Error><Code>NoSuchKey</Code><Message>x</Message></Error>")
        return self._send(200, "application/octet-stream", content)

    def _send(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def double(**data: Any) -> Iterator[Double]:
    """The account, served on a port of this machine."""
    account = Double(**data)
    handler = type("Handler", (_Handler,), {"account": account})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    account.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield account
    finally:
        server.shutdown()
        server.server_close()


def clients(account: Double, **changes: Any) -> Clients:
    values: dict[str, Any] = {"environ": ENVIRON, "endpoint": account.url, "limits": Limits(seconds=5)}
    return Clients(REGION, **(values | changes))


def machines(account: Double) -> TencentMachines:
    return TencentMachines(clients(account))
