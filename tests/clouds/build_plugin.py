"""Packages as an installer would leave them, and a machine room that answers."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import pytest

from orchestrator.catalog.importers import import_file
from orchestrator.catalog.store import PriceBook
from orchestrator.clouds import registry
from orchestrator.model.offer import Offer
from tests.build import NOW
from tests.docs.build_docs import ROOT

__all__ = ["EXAMPLE", "a_room", "a_row", "a_site", "declare", "install_example", "offers"]

EXAMPLE = ROOT / "examples" / "plugin-cloud"


def declare(site: Path, package: str, entry_points: Mapping[str, str]) -> None:
    """What an installer leaves of a package: its name, and its entry points in our group."""
    folder = site / f"{package.replace('-', '_')}-0.1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.1.0\n")
    lines = [f"{name} = {value}" for name, value in entry_points.items()]
    (folder / "entry_points.txt").write_text("\n".join([f"[{registry.ENTRY_POINTS}]", *lines, ""]))


def forget() -> None:
    """Have the registry look again."""
    for found in vars(registry).values():
        if hasattr(found, "cache_clear"):
            found.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("homelab_cloud", "odd_cloud")]:
        del sys.modules[name]


@contextmanager
def a_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path of this process and of those that it starts, as is the example's code."""
    folder = tmp_path / "site"
    folder.mkdir()
    for path in (EXAMPLE, folder):
        monkeypatch.syspath_prepend(path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(EXAMPLE), os.environ.get("PYTHONPATH", "")]))
    forget()
    yield folder
    forget()


def install_example(site: Path) -> None:
    """The example, as its pyproject.toml would install it."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    declare(site, project["name"], project["entry-points"][registry.ENTRY_POINTS])


@cache
def offers() -> tuple[Offer, ...]:
    """The example's prices, as the price book takes them; cheapest first."""
    with TemporaryDirectory() as folder, PriceBook.open(Path(folder) / "prices.db") as book:
        import_file(book, EXAMPLE / "prices.csv", now=NOW, replace=True)
        found = [offer for offer in book.offers(("RTX-3090",)) if offer.cloud == "homelab"]
    return tuple(sorted(found, key=lambda offer: offer.price_per_hour or 0))


def a_row(**changes: Any) -> dict[str, Any]:
    values = {
        "id": "m-1",
        "room": "cellar",
        "rack": "rack-1",
        "type": "rig-3090x2",
        "market": "spot",
        "state": "on",
        "reason": "",
        "labels": {"gpuorch:deployment": "g0123456789ab"},
        "address": "203.0.113.9",
        "private_address": "10.0.0.9",
        "since": "2026-11-30T11:00:00Z",
    }
    return values | changes


@contextmanager
def a_room(answers: Mapping[str, tuple[int, Any]], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A machine room on this machine that answers ``METHOD /path`` with a status and a body; gives what was asked."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            what = f"{self.command} {self.path}"
            asked.append(what)
            known = self.headers["Authorization"] == "Bearer secret"
            status, body = answers.get(what, (404, {})) if known else (401, {"error": "unauthorized"})
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

        do_GET = do_DELETE = _answer

        def log_message(self, *words: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HOMELAB_URL", f"http://127.0.0.1:{server.server_port}/")
        monkeypatch.setenv("HOMELAB_TOKEN", "secret")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        try:
            yield asked
        finally:
            server.shutdown()
