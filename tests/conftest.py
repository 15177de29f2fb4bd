"""What holds for every test: no network, no settings of whoever runs them, cheap ones first."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Cheap tests first: a mistake shows in seconds, not after the slow ones."""
    items.sort(key=lambda item: ("slow" in item.keywords, "genuine" in item.keywords))


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Neither settings nor credentials nor terraform's variables of the person who runs the tests."""
    for name in list(os.environ):
        if name.startswith(("GPUORCH_", "TF_", "TOFU_", "AWS_")) and name != "GPUORCH_TF_MIRROR":
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A connection to anything but this machine is a fault of the test."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in _LOOPBACK:
            raise AssertionError(f"a test tried to reach {address[0]}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    yield


@pytest.fixture
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder is empty, so that no project file is found."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
