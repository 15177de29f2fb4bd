"""The plugin side of HashiCorp's go-plugin: handshake on stdout, gRPC on a socket, end with terraform.

Protocol: go-plugin's docs/internals.md and client.go.
"""

from __future__ import annotations

import base64
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]

from orchestrator.errors import GpuorchError
from orchestrator.sandbox.provider.handshake import line
from orchestrator.sandbox.provider.lifecycle import Provider
from orchestrator.sandbox.provider.servicer import SERVICE, Servicer

__all__ = ["serve"]

# Terraform's parallelism is 10, the runner's may be more; a delayed call occupies its thread.
_THREADS = 64
_PARENT_CHECK_SECONDS = 0.5
_GRACE_SECONDS = 1.0


def serve(servicer: Servicer, provider: Provider) -> None:
    """Answer terraform until it asks for the end or is gone itself."""
    # A Ctrl-C reaches the whole process group; ending is terraform's word alone.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()
    ended = threading.Event()
    server = grpc.server(ThreadPoolExecutor(_THREADS))
    server.add_generic_rpc_handlers((_provider_handlers(servicer), *_plugin_handlers(ended)))
    with tempfile.TemporaryDirectory(prefix="gpuorch-provider-") as folder:
        socket = str(Path(folder) / "socket")
        certificate = _listen(server, f"unix:{socket}")
        server.start()
        sys.stdout.write(line(socket, certificate))
        sys.stdout.flush()
        # A terraform that was killed cannot say goodbye; without this look its providers would stay for ever.
        while not ended.wait(_PARENT_CHECK_SECONDS) and os.getppid() == parent:
            pass
        provider.stop()
        if ended.is_set():
            server.stop(_GRACE_SECONDS).wait()


def _listen(server: Any, address: str) -> str:
    """Open the socket; the certificate for the handshake, ``""`` where terraform wants none."""
    if not os.environ.get("PLUGIN_CLIENT_CERT"):
        server.add_insecure_port(address)
        return ""
    from orchestrator.sandbox.provider.certificate import self_signed

    key, certificate, der = self_signed()
    server.add_secure_port(address, grpc.ssl_server_credentials([(key, certificate)]))
    return base64.b64encode(der).decode().rstrip("=")


def _provider_handlers(servicer: Servicer) -> Any:
    handlers = {
        name: grpc.unary_unary_rpc_method_handler(
            _answering(handle),
            request_deserializer=request_class.FromString,
            response_serializer=lambda answer: answer.SerializeToString(),
        )
        for name, (handle, request_class) in servicer.methods().items()
    }
    return grpc.method_handlers_generic_handler(SERVICE, handlers)


def _answering(handle: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def answer(request: Any, context: Any) -> Any:
        try:
            return handle(request)
        except GpuorchError as error:
            return context.abort(grpc.StatusCode.UNKNOWN, f"{error} {error.hint}".strip())

    return answer


def _plugin_handlers(ended: threading.Event) -> tuple[Any, Any]:
    """go-plugin's own two services. Their messages are empty, so bytes will do."""

    def shutdown(request: bytes, context: Any) -> bytes:
        ended.set()
        return b""

    def stdio(request: bytes, context: Any) -> Any:
        return iter(())

    controller = {"Shutdown": grpc.unary_unary_rpc_method_handler(shutdown)}
    streams = {"StreamStdio": grpc.unary_stream_rpc_method_handler(stdio)}
    return (
        grpc.method_handlers_generic_handler("plugin.GRPCController", controller),
        grpc.method_handlers_generic_handler("plugin.GRPCStdio", streams),
    )
