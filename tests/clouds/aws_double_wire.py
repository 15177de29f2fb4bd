"""AWS's wire forms, as far as the double needs them: what a request asks for, and each protocol's answers."""

from __future__ import annotations

import io
import json
import re
import urllib.parse
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

__all__ = ["Answer", "WireCall", "error_answer", "json_answer", "read_call", "xml_answer"]

_SCOPE = re.compile(r"Credential=[^/]+/\d+/([^/]+)/([^/]+)/aws4_request")
_S3_OBJECT = {"GET": "GetObject", "HEAD": "HeadObject", "PUT": "PutObject", "DELETE": "DeleteObject"}
_S3_BUCKET = {"GET": "ListObjects", "HEAD": "HeadBucket", "PUT": "CreateBucket", "DELETE": "DeleteBucket"}
EC2_NAMESPACE = "http://ec2.amazonaws.com/doc/2016-11-15/"


@dataclass(frozen=True, slots=True, kw_only=True)
class WireCall:
    """One request: ``service`` is the signing name (``ec2``), ``params`` its flat parameters (``Filter.1.Name``)."""

    service: str
    region: str
    action: str
    params: Mapping[str, str]
    is_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    content_type: str
    body: bytes

    def send(self, start_response: Any) -> Iterable[bytes]:
        headers = [("Content-Type", self.content_type), ("Content-Length", str(len(self.body)))]
        start_response(f"{self.status} {'OK' if self.status < 400 else 'Error'}", headers)
        return [self.body]


def read_call(environ: dict[str, Any]) -> WireCall:
    """What the request asks for. The body is left in ``environ`` to be read once more."""
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body = environ["wsgi.input"].read(length) if length else b""
    environ["wsgi.input"] = io.BytesIO(body)
    scope = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
    region, service = scope.groups() if scope else ("", "")
    target = environ.get("HTTP_X_AMZ_TARGET", "")
    if service == "s3":
        return _s3_call(environ, region)
    if target:
        values = json.loads(body or b"{}")
        flat = {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
        return WireCall(service=service, region=region, action=target.rsplit(".", 1)[-1], params=flat, is_json=True)
    form = dict(urllib.parse.parse_qsl(body.decode("latin-1"), keep_blank_values=True))
    action = form.pop("Action", "")
    form.pop("Version", None)
    return WireCall(service=service, region=region, action=action, params=form)


def _s3_call(environ: Mapping[str, Any], region: str) -> WireCall:
    bucket, _, key = environ["PATH_INFO"].lstrip("/").partition("/")
    actions = _S3_OBJECT if key else _S3_BUCKET
    method = environ["REQUEST_METHOD"]
    return WireCall(
        service="s3", region=region, action=actions.get(method, method), params={"Bucket": bucket, "Key": key}
    )


def json_answer(values: Mapping[str, Any], status: int = 200) -> Answer:
    return Answer(status=status, content_type="application/x-amz-json-1.1", body=json.dumps(values).encode())


def xml_answer(action: str, inner: str) -> Answer:
    """EC2's answer to ``action`` around the given elements."""
    text = f'<{action}Response xmlns="{EC2_NAMESPACE}"><requestId>{uuid.uuid4()}</requestId>{inner}</{action}Response>'
    return Answer(status=200, content_type="text/xml", body=text.encode())


def error_answer(call: WireCall, *, code: str, message: str, status: int) -> Answer:
    """An error in the protocol of the call's service."""
    if call.is_json:
        return json_answer({"__type": code, "message": message, "Message": message}, status)
    error = f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message>"
    request_id = uuid.uuid4()
    if call.service == "ec2":
        text = f"<Response><Errors><Error>{error}</Error></Errors><RequestID>{request_id}</RequestID></Response>"
    elif call.service == "s3":
        text = f"<Error>{error}<RequestId>{request_id}</RequestId></Error>"
    else:
        sender = f"<Error><Type>Sender</Type>{error}</Error>"
        text = f"<ErrorResponse>{sender}<RequestId>{request_id}</RequestId></ErrorResponse>"
    return Answer(status=status, content_type="text/xml", body=f'<?xml version="1.0"?>{text}'.encode())
