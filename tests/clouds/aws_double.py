"""A loopback AWS for tests: moto's server, with faults, a call log, and mends where moto is not like AWS.

    with AwsDouble() as aws:
        aws.fault("ec2", "RunInstances", code="InsufficientInstanceCapacity", match={"Zone": "us-east-1a"})
        subprocess.run([...], env=aws.environment())
        assert aws.count("RunInstances") == 3

moto keeps its state in the process: only one double can be open at a time in a process, and it starts empty.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tests.clouds.aws_double_gaps import DEEP_LEARNING_IMAGE, Gaps, moto_ec2
from tests.clouds.aws_double_wire import WireCall, error_answer, read_call

__all__ = ["DEEP_LEARNING_IMAGE", "REGION", "AwsDouble", "Call", "Fault"]

REGION = "us-east-1"
_open = threading.Lock()


@dataclass(slots=True, kw_only=True)
class Fault:
    """What goes wrong, and when.

    ``match`` maps parameters of the call to regular expressions over the whole value; besides AWS's own there is
    ``Zone``, the zone of a RunInstances by its placement or subnet. The first ``after`` matching calls pass, the next
    ``times`` (``None``: all) are hit. Delays are in seconds, before and after moto acts. With a ``code`` the call
    answers that error: instead of its effect, or in spite of it where ``with_effect`` is set.
    """

    service: str
    action: str
    match: Mapping[str, str] = field(default_factory=dict)
    code: str = ""
    message: str = ""
    status: int = 400
    times: int | None = None
    after: int = 0
    delay_before: float = 0.0
    delay_after: float = 0.0
    with_effect: bool = False
    seen: int = 0

    def hits(self, call: WireCall, zone: str) -> bool:
        """Whether the fault strikes this call; counts it."""
        if (self.service, self.action) != (call.service, call.action):
            return False
        values = {**call.params, "Zone": zone}
        if not all(re.fullmatch(pattern, values.get(key, "")) for key, pattern in self.match.items()):
            return False
        self.seen += 1
        return self.after < self.seen and (self.times is None or self.seen <= self.after + self.times)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that the double answered with the HTTP ``status``; ``faulty`` where a fault struck."""

    service: str
    region: str
    action: str
    params: Mapping[str, str]
    status: int
    faulty: bool


class AwsDouble:
    """The server, in a thread of this process, on a free port of the loopback interface."""

    def __init__(self) -> None:
        self.url = ""
        self.calls: list[Call] = []
        self._faults: list[Fault] = []
        self._gaps = Gaps()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._session: Any = None
        self._clients: dict[tuple[str, str], Any] = {}

    def __enter__(self) -> Self:
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
        from werkzeug.serving import make_server

        if not _open.acquire(blocking=False):
            raise RuntimeError("another AwsDouble is open in this process, and moto has one state for all")

        class Quiet(MotoRequestHandler):  # type: ignore[misc]
            def log(self, type: str, message: str, *args: Any) -> None:
                """The call log is ours."""

        self._moto = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True, request_handler=Quiet)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.reset()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self.reset()
        _open.release()

    def environment(self) -> dict[str, str]:
        """What boto3 and the Terraform provider need in their environment to talk to the double and to nothing else."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "NO_PROXY": "127.0.0.1",
        }

    def client(self, service: str, region: str = REGION) -> Any:
        """A boto3 client of the double, independent of the environment."""
        import boto3

        if self._session is None:  # one for all: reading the services' models takes longer than most calls
            self._session = boto3.session.Session(aws_access_key_id="testing", aws_secret_access_key="testing")
        if (service, region) not in self._clients:
            client = self._session.client(service, region_name=region, endpoint_url=self.url)
            self._clients[service, region] = client
        return self._clients[service, region]

    def fault(self, service: str, action: str, **what: Any) -> Fault:
        """Let something go wrong from now on; see :class:`Fault`. Earlier faults strike first."""
        fault = Fault(service=service, action=action, **what)
        with self._lock:
            self._faults.append(fault)
        return fault

    def clear_faults(self) -> None:
        with self._lock:
            self._faults.clear()

    def count(self, action: str) -> int:
        """How often ``action`` was called."""
        with self._lock:
            return sum(call.action == action for call in self.calls)

    def set_console(self, instance_id: str, text: str) -> None:
        """The serial console output that the instance shows from now on; without this it shows none."""
        self._gaps.consoles[instance_id] = text

    def set_quota(self, code: str, value: float) -> None:
        """An EC2 quota (``L-417A185B``); one that was not set has no applied value."""
        self._gaps.quotas[code] = float(value)

    def set_default_quota(self, code: str, value: float) -> None:
        """AWS's default of an EC2 quota; one that was not set has none."""
        self._gaps.default_quotas[code] = float(value)

    def set_state(self, instance_id: str, state: str, region: str = REGION) -> None:
        """Put an instance into a state that moto's never stay in, such as ``pending`` or ``shutting-down``."""
        moto_ec2(region).get_instance(instance_id).instance_state.name = state

    def interrupt(self, instance_id: str, region: str = REGION) -> None:
        """Take a spot instance back, as AWS does."""
        from moto.ec2.models.instances import StateReason

        instance = moto_ec2(region).get_instance(instance_id)
        instance.terminate()
        code = "Server.SpotInstanceTermination"
        instance.state_reason = StateReason(f"{code}: Spot instance termination", code)

    def reset(self) -> None:
        """Forget everything: moto's state, faults, calls, consoles, quotas."""
        with self._lock:
            self._faults.clear()
            self.calls.clear()
            self._gaps.clear()
        _reset_moto()

    def _serve(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        call = read_call(environ)
        fault = self._struck(call)
        statuses: list[int] = []

        def start(status: str, headers: Any, exc_info: Any = None) -> Any:
            statuses.append(int(status.split(" ", 1)[0]))
            return start_response(status, headers, exc_info) if exc_info else start_response(status, headers)

        try:
            return self._answer(call, fault, environ, start)
        finally:
            with self._lock:
                self.calls.append(
                    Call(
                        service=call.service,
                        region=call.region,
                        action=call.action,
                        params=call.params,
                        status=statuses[-1] if statuses else 0,
                        faulty=fault is not None,
                    )
                )

    def _answer(self, call: WireCall, fault: Fault | None, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        if fault is None:
            return self._act(call, environ, start)
        self._closing.wait(fault.delay_before)
        error = None
        if fault.code:
            message = fault.message or fault.code
            error = error_answer(call, code=fault.code, message=message, status=fault.status)
        if error and not fault.with_effect:
            self._closing.wait(fault.delay_after)
            return error.send(start)
        if error:
            b"".join(self._act(call, environ, lambda status, headers, exc_info=None: None))
            self._closing.wait(fault.delay_after)
            return error.send(start)
        body = self._act(call, environ, start)
        self._closing.wait(fault.delay_after)
        return body

    def _act(self, call: WireCall, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        own = self._gaps.answer(call)
        if own is not None:
            return own.send(start)
        self._gaps.before(call)
        body: list[bytes] = list(self._moto(environ, start))
        self._gaps.after(call)
        return body

    def _struck(self, call: WireCall) -> Fault | None:
        zone = _zone(call)
        with self._lock:
            return next((fault for fault in self._faults if fault.hits(call, zone)), None)


def _zone(call: WireCall) -> str:
    if (call.service, call.action) != ("ec2", "RunInstances"):
        return ""
    if placed := call.params.get("Placement.AvailabilityZone"):
        return placed
    subnet = call.params.get("SubnetId") or call.params.get("NetworkInterface.1.SubnetId")
    return str(moto_ec2(call.region).get_subnet(subnet).availability_zone) if subnet else ""


def _reset_moto() -> None:
    from moto.core.base_backend import BackendDict
    from moto.core.model_instances import reset_model_data

    BackendDict.reset()
    reset_model_data()
