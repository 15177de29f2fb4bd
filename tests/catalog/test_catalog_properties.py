from __future__ import annotations

import gzip
import tempfile
from decimal import Decimal
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.catalog.sanity import price_fault
from orchestrator.catalog.store import PriceBook
from orchestrator.errors import GpuorchError
from orchestrator.model.offer import Offer
from tests.build import NOW, an_offer
from tests.catalog.build_catalog import GPUHUNT_HEADER, SKYPILOT_HEADER, a_file, a_row, imported, neutral

_CELL = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["", "0", "-1", "nan", "1e5", "A100", "8", "spot", "aws", "us-east-1", "12.5", '"', "USD", "tpu-v3-8"]
    ),
    st.decimals(allow_nan=True, allow_infinity=True).map(str),
)
_LINES = st.lists(st.lists(_CELL, min_size=8, max_size=14).map(",".join), max_size=8).map("\n".join)
_HEADERS = st.sampled_from([neutral(a_row()).splitlines()[0], SKYPILOT_HEADER, GPUHUNT_HEADER])
_FILES = st.one_of(
    st.binary(max_size=200),
    st.tuples(
        st.sampled_from([b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"\xef\xbb\xbf"]), st.binary()
    ).map(b"".join),
    st.tuples(_HEADERS, _LINES, st.sampled_from(["\n", ""])).map(lambda parts: "\n".join(parts).encode()),
    st.tuples(_HEADERS, _LINES).map(lambda parts: gzip.compress("\n".join(parts).encode())),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(content=_FILES, force=st.booleans(), cloud=st.sampled_from([None, "aws", "gcp"]))
def test_no_content_raises_anything_but_our_errors_or_lets_a_bad_price_in(
    content: bytes, force: bool, cloud: str | None
) -> None:
    with tempfile.TemporaryDirectory() as folder, PriceBook.open(Path(folder) / "prices.db") as book:
        book.replace([], now=NOW)
        path = a_file(Path(folder) / "gcp.csv", content)
        try:
            imported(book, path, force=force, cloud=cloud)
        except GpuorchError as error:
            assert error.message
            assert book.find() == []
        for offer in book.find():
            assert price_fault(offer, NOW) is None
            assert (offer.accelerator == "") == (offer.gpu_count == 0)


_PRICES = st.decimals(min_value="2.1", max_value="110", places=9).map(lambda price: price.normalize())
_OFFERS = st.builds(
    lambda zone, price, hours: an_offer(str(price), zone=zone, observed_at=NOW.replace(hour=hours)),
    st.sampled_from("abc"),
    _PRICES,
    st.integers(0, 11),
)


@settings(max_examples=100, deadline=None)
@given(batches=st.lists(st.lists(_OFFERS, max_size=4), max_size=4))
def test_the_book_holds_the_newest_undisputed_row_of_each_offer(batches: list[list[Offer]]) -> None:
    wanted: dict[str, Offer] = {}
    for batch in batches:
        for zone in {offer.zone for offer in batch}:
            rows = [offer for offer in batch if offer.zone == zone]
            newest = [row for row in rows if row.observed_at == max(other.observed_at for other in rows)]
            undisputed = len({row.price_per_hour for row in newest}) == 1
            if undisputed and (zone not in wanted or wanted[zone].observed_at <= newest[0].observed_at):
                wanted[zone] = newest[0]
    with tempfile.TemporaryDirectory() as folder, PriceBook.open(Path(folder) / "prices.db") as book:
        book.replace([], now=NOW)
        for batch in batches:
            book.merge(batch, now=NOW)
        assert {offer.zone: offer for offer in book.find()} == wanted


@settings(max_examples=100, deadline=None)
@given(price=st.decimals(min_value="0.000000001", max_value="999999999", allow_nan=False, allow_infinity=False))
def test_prices_come_back_to_the_last_digit(price: Decimal) -> None:
    offer = an_offer(str(price), accelerator="", gpu_count=Decimal(0), gpu_memory_gib=None)
    with tempfile.TemporaryDirectory() as folder, PriceBook.open(Path(folder) / "prices.db") as book:
        book.replace([offer], now=NOW)
        assert book.find() == [offer]
        assert book.find()[0].price_per_hour == price
