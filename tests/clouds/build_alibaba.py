"""A server on this machine that answers as Alibaba Cloud's API does: RPC over HTTP, JSON, errors with Code and Message.

Forms: the response examples in the API reference of ECS, VPC, RAM and STS; OSS's error XML.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from orchestrator.clouds.alibaba.calls import Clients, Limits

__all__ = [
    *("ID", "Answer", "Call", "FakeApi", "an_instance", "clients", "error", "listed", "running", "tags"),
    "with_keys",
]

ID = "g1a2b3c4d5e6"

Answer = tuple[int, Any]
Respond = Callable[[Mapping[str, str]], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    action: str
    parameters: Mapping[str, str]
    headers: Mapping[str, str]


@dataclass(slots=True)
class FakeApi:
    """What each action answers: a body, an error, or a function of the parameters. Unknown actions answer an error."""

    answers: dict[str, Answer | Respond | list[Answer]] = field(default_factory=dict)
    objects: dict[str, Answer] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    url: str = ""

    def actions(self) -> list[str]:
        return [call.action for call in self.calls]

    def answer(self, call: Call) -> Answer:
        self.calls.append(call)
        found = self.answers.get(call.action)
        if found is None:
            return error("InvalidAction.NotFound", f"no answer for {call.action}", 404)
        if isinstance(found, list):
            return found.pop(0) if len(found) > 1 else found[0]
        return found if isinstance(found, tuple) else found(call.parameters)


def error(code: str, message: str = "words", status: int = 400) -> Answer:
    return status, {
        "Code": code,
        "Message": message,
        "RequestId": "4C467B38-3910-447D-87BC-AC049166F216",
        "HostId": "x",
    }


def listed(*path: str, rows: list[dict[str, Any]], **more: Any) -> Answer:
    body: Any = rows
    for name in reversed(path):
        body = {name: body}
    return 200, {"RequestId": "4C467B38-3910-447D-87BC-AC049166F216", **body, **more}


def tags(deployment: str = ID, *, names: tuple[str, str] = ("TagKey", "TagValue")) -> dict[str, Any]:
    return {"Tag": [{names[0]: "gpuorch:deployment", names[1]: deployment}]}


def an_instance(**changes: Any) -> dict[str, Any]:
    return {
        "InstanceId": "i-bp67acfmxazb4p****",
        "InstanceName": f"gpuorch-{ID}",
        "InstanceType": "ecs.gn6v-c8g1.2xlarge",
        "InstanceChargeType": "PostPaid",
        "SpotStrategy": "NoSpot",
        "Status": "Running",
        "RegionId": "cn-shanghai",
        "ZoneId": "cn-shanghai-f",
        "CreationTime": "2026-11-30T04:04Z",
        "PublicIpAddress": {"IpAddress": ["203.0.113.9"]},
        "EipAddress": {"IpAddress": "", "AllocationId": ""},
        "VpcAttributes": {
            "VpcId": "vpc-bp67acfmxazb4p****",
            "VSwitchId": "vsw-bp67acfmxazb4p****",
            "PrivateIpAddress": {"IpAddress": ["10.86.0.1"]},
        },
        "OperationLocks": {"LockReason": []},
        "Tags": tags(),
        **changes,
    }


def with_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials that lead nowhere, and no proxy between us and the server."""
    monkeypatch.setenv("ALICLOUD_ACCESS_KEY", "LTAIexample")
    monkeypatch.setenv("ALICLOUD_SECRET_KEY", "secretexample")
    for name in ("ALICLOUD_SECURITY_TOKEN", "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def running(api: FakeApi) -> Iterator[FakeApi]:
    """Serve ``api`` on a free port for the length of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
            body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            call = Call(action=headers["x-acs-action"], parameters={**query, **dict(parse_qsl(body))}, headers=headers)
            status, answer = api.answer(call)
            self._send(status, json.dumps(answer).encode(), "application/json;charset=utf-8")

        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            api.calls.append(Call(action="GetObject", parameters={"path": self.path}, headers=headers))
            status, content = api.objects.get(self.path, (404, "<Error><Code>NoSuchKey</Code></Error>"))
            self._send(status, content.encode() if isinstance(content, str) else content, "application/xml")

        def _send(self, status: int, content: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def clients(api: FakeApi, *, region: str = "cn-shanghai", attempts: int = 2) -> Clients:
    limits = Limits(connect_seconds=1, read_seconds=2, attempts=attempts, pause_seconds=0)
    return Clients(region, limits, endpoints=dict.fromkeys(("ecs", "vpc", "ram", "sts", "oss"), api.url))
