"""The book between processes: read while imported, killed while imported, read where it cannot be written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.catalog.shipped import shipped_offers
from orchestrator.catalog.store import PriceBook
from orchestrator.errors import Failure
from tests.build import NOW, an_offer
from tests.catalog.build_catalog import a_file, imported, many_rows, neutral

ROOT = Path(__file__).parents[2]
IMPORT = """
import sys
from datetime import datetime
from pathlib import Path
from orchestrator.catalog.importers import import_file
from orchestrator.catalog.store import PriceBook
from orchestrator.catalog import merge, store

if sys.argv[4] == "die-in-transaction":
    def then_stop(self, *names, **more):
        real_remember(self, *names, **more)
        print("written", flush=True)
        sys.stdin.read()
    real_remember, merge.Staging.remember = merge.Staging.remember, then_stop
if sys.argv[4] == "die-while-reading":
    def then_stop(self, *names, **more):
        print("read", flush=True)
        sys.stdin.read()
    merge.Staging.settle = then_stop
with PriceBook.open(Path(sys.argv[1])) as book:
    report = import_file(book, Path(sys.argv[2]), now=datetime.fromisoformat(sys.argv[3]))
print(report.merged.new, flush=True)
"""


def start(book: Path, prices: Path, mode: str = "run") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", IMPORT, str(book), str(prices), NOW.isoformat(), mode],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(("mode", "word"), [("die-while-reading", "read"), ("die-in-transaction", "written")])
def test_a_killed_import_leaves_the_old_book(tmp_path: Path, mode: str, word: str) -> None:
    path = tmp_path / "prices.db"
    with PriceBook.open(path) as book:
        book.replace([an_offer("12", zone="old")], now=NOW)
        revision = book.revision
    process = start(path, a_file(tmp_path / "prices.csv", neutral(*many_rows(5000))), mode)
    assert process.stdout
    assert process.stdout.readline().strip() == word
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with PriceBook.open(path) as book:
        assert book.revision == revision
        assert book.find() == [an_offer("12", zone="old")]
        assert book.sources()[0].last_import is None
        assert imported(book, tmp_path / "prices.csv").merged.new == 5000


def test_readers_see_the_old_book_or_the_new_one_and_nothing_between(tmp_path: Path) -> None:
    path = tmp_path / "prices.db"
    with PriceBook.open(path) as book:
        book.replace([an_offer("12", zone="old")], now=NOW)
    process = start(path, a_file(tmp_path / "prices.csv", neutral(*many_rows(8000))))
    seen = set()
    while process.poll() is None:
        with PriceBook.open(path) as book:
            seen.add(len(book.offers()))
    assert process.communicate()[0].strip() == "8000"
    with PriceBook.open(path) as book:
        seen.add(len(book.offers()))
    assert seen == {1, 8001}


def test_imports_at_the_same_time_both_arrive(tmp_path: Path) -> None:
    path = tmp_path / "prices.db"
    one = start(path, a_file(tmp_path / "one.csv", neutral(*many_rows(2000))))
    other = start(path, a_file(tmp_path / "other.csv", neutral(*many_rows(2000, region="eu-west-1"))))
    assert [process.communicate()[0].strip() for process in (one, other)] == ["2000", "2000"]
    with PriceBook.open(path) as book:
        assert len(book.find(instance_type="p4d.24xlarge", region="*-1")) >= 4000
        assert {status.source for status in book.sources()} >= {"file one.csv", "file other.csv"}


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that every user can reach and only its owner can write."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        Path(folder).chmod(0o755)


@contextmanager
def without_rights(folder: Path) -> Iterator[None]:
    """Inside, ``folder`` and what is in it can be read and not written, also where root runs the tests."""
    folder.chmod(0o555)
    for path in folder.iterdir():
        path.chmod(0o444)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def refuses_to_merge(book: PriceBook) -> bool:
    with pytest.raises(Failure, match="cannot be") as caught:
        book.merge([an_offer()], now=NOW)
    return "--cache-dir" in caught.value.hint


def test_a_book_in_a_read_only_folder_can_be_read(public_folder: Path) -> None:
    with PriceBook.open(public_folder / "prices.db") as book:
        book.replace([an_offer("12")], now=NOW)
    with without_rights(public_folder), PriceBook.open(public_folder / "prices.db") as book:
        assert book.find() == [an_offer("12")]
        assert book.notice == ""
        assert refuses_to_merge(book)
        assert book.find() == [an_offer("12")]


def test_an_older_shipped_book_in_a_read_only_folder_can_be_read(
    public_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PriceBook.open(public_folder / "prices.db").close()
    monkeypatch.setattr("orchestrator.catalog.store.shipped_digest", lambda: "next-release")
    with without_rights(public_folder), PriceBook.open(public_folder / "prices.db") as book:
        assert len(book.find()) == len(shipped_offers())
        assert book.notice == ""


def test_without_a_book_in_a_read_only_folder_the_shipped_prices_serve(public_folder: Path) -> None:
    shipped = shipped_offers()
    with without_rights(public_folder), PriceBook.open(public_folder / "cache" / "prices.db") as book:
        assert len(book.find()) == len(shipped)
        assert "shipped prices only" in book.notice
        assert refuses_to_merge(book)


@pytest.mark.slow
def test_a_book_of_real_size_is_fast_and_small(tmp_path: Path) -> None:
    """110,000 rows, one in twenty with an accelerator: import within 15 s and 100 MB, a query within 50 ms."""
    rows = many_rows(5_500) + many_rows(105_000, gpu="", gpu_count="0", gpu_memory_gib="", instance_type="m5.large")
    path = tmp_path / "prices.db"
    began = time.monotonic()
    process = start(path, a_file(tmp_path / "prices.csv", neutral(*rows)))
    assert process.communicate()[0].strip() == "110500"
    assert time.monotonic() - began < 15
    with PriceBook.open(path) as book:
        began = time.monotonic()
        assert book.offers(("T4",), markets=None) != []
        assert time.monotonic() - began < 0.05
