"""What a machine on OCI does for itself: machine.py, against a metadata service and an API on loopback."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from orchestrator.assets import asset
from orchestrator.clouds.oci.images import OWN_COMMAND

PROGRAM = asset("terraform", "modules", "oci", "machine.py")
INSTANCE = "ocid1.instance.oc1.iad.itself"
TENANCY = "ocid1.tenancy.oc1..tenancy"
TOKEN = "header.payload.signature"

pytest.importorskip("cryptography", reason="it comes with the SDK of this cloud, which is an extra")
pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on PATH")


@dataclass
class Cloud:
    """The metadata service, the token service and the API in one; every signed call is verified."""

    key: Any
    certificate: str
    facts: Mapping[str, Any]
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    objects: dict[str, bytes] = field(default_factory=dict)
    session: Any = None
    refuse: int = 0
    url: str = ""

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        if path.startswith("/opc/v2"):
            assert headers["authorization"] == "Bearer Oracle"
            return 200, self._metadata(path.removeprefix("/opc/v2"))
        key_id = self._verified(method, path, headers, body)
        self.calls.append((method, path, key_id))
        if path == "/v1/x509":
            return 200, self._token(json.loads(body))
        if self.refuse:
            return self.refuse, b'{"code": "NotAuthorizedOrNotFound"}'
        if method == "PUT":
            self.objects[path] = body
        return 200 if method == "PUT" else 204, b""

    def _metadata(self, path: str) -> bytes:
        from cryptography.hazmat.primitives import serialization as forms

        pem = self.key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.TraditionalOpenSSL, forms.NoEncryption())
        answers: dict[str, bytes] = {
            "/instance/": json.dumps(self.facts).encode(),
            "/identity/cert.pem": self.certificate.encode(),
            "/identity/key.pem": pem,
            "/identity/intermediate.pem": self.certificate.encode(),
        }
        return answers[path]

    def _token(self, asked: Mapping[str, Any]) -> bytes:
        from cryptography.hazmat.primitives.serialization import load_der_public_key

        assert asked["certificate"] == _bare(self.certificate)
        assert asked["intermediateCertificates"] == [_bare(self.certificate)]
        self.session = load_der_public_key(base64.b64decode(asked["publicKey"]))
        return json.dumps({"token": TOKEN}).encode()

    def _verified(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> str:
        """The key of a call whose signature is right: docs.oracle.com/iaas/Content/API/Concepts/signingrequests.htm"""
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.hashes import SHA256

        words = headers["authorization"].removeprefix("Signature ").split(",")
        said = {name: value.strip('"') for name, _, value in (word.partition("=") for word in words)}
        assert (said["version"], said["algorithm"]) == ("1", "rsa-sha256")
        names = said["headers"].split()
        if body or method in ("PUT", "POST"):
            assert {"content-length", "content-type", "x-content-sha256"} <= set(names)
            assert headers["x-content-sha256"] == base64.b64encode(hashlib.sha256(body).digest()).decode()
        values = {**headers, "(request-target)": f"{method.lower()} {path}"}
        text = "\n".join(f"{name}: {values[name]}" for name in names)
        key = self.session if said["keyId"] == f"ST${TOKEN}" else self.key.public_key()
        key.verify(base64.b64decode(said["signature"]), text.encode(), PKCS1v15(), SHA256())
        return said["keyId"]


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    key, certificate = _identity()
    facts = {
        "id": INSTANCE,
        "tenantId": TENANCY,
        "regionInfo": {"regionIdentifier": "us-ashburn-1", "realmDomainComponent": "oraclecloud.com"},
    }
    with _serving(Cloud(key=key, certificate=certificate, facts=facts)) as made:
        yield made


def run(cloud: Cloud, *words: str, folder: Path, program: Path = PROGRAM, code: int | None = 0) -> str:
    """The program as the machine starts it, with ``folder``/bin before all other programs."""
    done = subprocess.run(
        [*OWN_COMMAND[:-1], str(program), *words],
        env={
            **os.environ,
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
            "OCI_METADATA_BASE_URL": f"{cloud.url}/opc/v2",
            "GPUORCH_ENDPOINT": cloud.url,
            "GPUORCH_ROOT": str(folder),
            "no_proxy": "127.0.0.1",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert code is None or done.returncode == code, done.stderr
    return done.stdout


def a_program(folder: Path, name: str, text: str) -> None:
    path = folder / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_uploads_a_file_with_a_token_for_a_key_of_its_own(cloud: Cloud, tmp_path: Path) -> None:
    (tmp_path / "status.json").write_text('{"ready": true}')
    run(cloud, "put", str(tmp_path / "status.json"), "oci://ckpt@ns/runs/a 1/.gpuorch/x.json", folder=tmp_path)
    assert cloud.objects == {"/n/ns/b/ckpt/o/runs%2Fa%201%2F.gpuorch%2Fx.json": b'{"ready": true}'}
    asked, put = cloud.calls
    fingerprint = hashlib.sha1(base64.b64decode(_bare(cloud.certificate))).hexdigest().upper()
    pairs = ":".join(fingerprint[place : place + 2] for place in range(0, 40, 2))
    assert asked == ("POST", "/v1/x509", f"{TENANCY}/fed-x509/{pairs}")
    assert put[2] == f"ST${TOKEN}"


def test_terminates_itself_and_its_disk(cloud: Cloud, tmp_path: Path) -> None:
    run(cloud, "terminate", folder=tmp_path)
    assert cloud.calls[-1][:2] == ("DELETE", f"/20160918/instances/{INSTANCE}?preserveBootVolume=false")


def test_that_it_is_ending_already_is_no_failure(cloud: Cloud, tmp_path: Path) -> None:
    cloud.refuse = 409
    run(cloud, "terminate", folder=tmp_path)


def test_a_refusal_is_a_failure(cloud: Cloud, tmp_path: Path) -> None:
    cloud.refuse = 404
    assert run(cloud, "terminate", folder=tmp_path, code=None) == ""
    run(cloud, "terminate", folder=tmp_path, code=1)


@pytest.mark.parametrize(
    ("jobs", "ends"),
    [
        ("123 poweroff.target start waiting", True),
        ("9 halt.target start waiting", True),
        ("123 reboot.target start waiting\n124 shutdown.target start waiting", False),
        ("", False),
    ],
)
def test_ends_with_a_power_off_and_not_with_a_reboot(cloud: Cloud, tmp_path: Path, jobs: str, ends: bool) -> None:
    a_program(tmp_path, "systemctl", f'[ "$1" = list-jobs ] && printf "%s\\n" "{jobs}"')
    run(cloud, "end", folder=tmp_path)
    assert bool(cloud.calls) is ends


def test_installs_itself_its_unit_and_the_whole_disk(cloud: Cloud, tmp_path: Path) -> None:
    a_program(tmp_path, "systemctl", f'echo "$*" >>{tmp_path}/told')
    for folder in ("etc/systemd/system", "usr/libexec"):
        (tmp_path / folder).mkdir(parents=True)
    grow = tmp_path / "usr/libexec/oci-growfs"
    grow.write_text(f'#!/bin/sh\necho "grow $*" >>{tmp_path}/told\n')
    grow.chmod(0o755)
    copy = tmp_path / "part-002"
    shutil.copyfile(PROGRAM, copy)
    copy.chmod(0o755)
    run(cloud, folder=tmp_path, program=copy)
    installed = tmp_path / OWN_COMMAND[-1].lstrip("/")
    assert installed.read_bytes() == PROGRAM.read_bytes()
    unit = (tmp_path / "etc/systemd/system/gpuorch-end.service").read_text()
    assert f"\nExecStop={' '.join(OWN_COMMAND)} end\n" in unit
    assert "%s" not in unit
    assert (tmp_path / "told").read_text() == "enable --now --no-block gpuorch-end.service\ngrow -y\n"


def test_it_is_small_plain_and_starts_like_a_program() -> None:
    text = PROGRAM.read_text()
    assert text.isascii()
    assert text.startswith("#!/bin/sh\n")
    assert len(text) < 8 * 1024
    # Terraform reads the file as it is, but cloud-init passes it on in a text with parts.
    assert "\r" not in text and "\n--" not in text


def _identity() -> tuple[Any, str]:
    """A key and a certificate for it, made for the test."""
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.x509.oid import NameOID

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, INSTANCE)])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(hours=1))
    return key, made.sign(key, SHA256()).public_bytes(Encoding.PEM).decode()


def _bare(pem: str) -> str:
    return "".join(line for line in pem.splitlines() if not line.startswith("-----"))


@contextmanager
def _serving(cloud: Cloud) -> Iterator[Cloud]:
    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                status, content = cloud.answer(self.command, self.path, headers, body)
            except Exception as error:  # a test that fails must not leave the program waiting
                status, content = 500, repr(error).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = _serve

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    cloud.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield cloud
    finally:
        server.shutdown()
        server.server_close()
