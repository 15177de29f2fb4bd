from __future__ import annotations

import gzip
import io
import lzma
import zipfile
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.catalog.report import Reason
from orchestrator.catalog.store import PriceBook
from orchestrator.errors import ConfigInvalid, UsageError
from orchestrator.model.offer import Market
from tests.build import NOW, an_offer
from tests.catalog.build_catalog import (
    GPUHUNT_HEADER,
    SKYPILOT_HEADER,
    a_file,
    a_row,
    imported,
    many_rows,
    neutral,
    prices,
)

A100_INFO = "\"{'Gpus': [{'Name': 'A100', 'Manufacturer': 'NVIDIA', 'Count': 8, 'MemoryInfo': {'SizeInMiB': 40960}}]}\""


@pytest.fixture
def book(tmp_path: Path) -> PriceBook:
    with PriceBook.open(tmp_path / "cache" / "prices.db") as book:
        book.replace([], now=NOW)
    return PriceBook.open(tmp_path / "cache" / "prices.db")


def test_a_neutral_file(book: PriceBook, tmp_path: Path) -> None:
    report = imported(book, tmp_path / "my prices.csv", neutral(a_row(), a_row(zone="use1-az2", usd_per_hour="")))
    assert (report.format, report.rows, report.merged.new, report.quarantined) == ("neutral", 2, 2, {})
    assert (report.source, report.time_basis) == ("file my prices.csv", "row")
    [known, unknown] = book.find()
    assert known == an_offer("12.5", zone="use1-az1", source="file my prices.csv")
    assert unknown.price_per_hour is None


def test_other_column_names_and_a_currency(book: PriceBook, tmp_path: Path) -> None:
    content = (
        "Provider, instance_type,region,gpu,gpu_count,gpu_mem_gib,ram_gib,market,"
        "price_per_hour,currency,source,available\n"
        "aliyun,ecs.gn7e,cn-beijing,A100,8,80,1000,on-demand,280.5,cny,price list,yes\n"
    )
    imported(book, tmp_path / "prices.csv", content)
    [offer] = book.find()
    assert (offer.cloud, offer.accelerator, offer.memory_gib) == ("alibaba", "A100-80GB", Decimal(1000))
    assert (str(offer.price_per_hour), offer.currency, offer.source) == ("280.5", "CNY", "price list")
    assert (offer.zone, offer.vcpus, offer.available) == ("", None, True)


def test_rows_without_a_time_get_the_files_or_the_stated_one(book: PriceBook, tmp_path: Path) -> None:
    content = neutral(a_row(observed_at="-"))
    path = a_file(tmp_path / "prices.csv", content, modified=NOW - timedelta(days=3))
    assert imported(book, path).time_basis == "file"
    assert book.find()[0].observed_at == NOW - timedelta(days=3)
    assert imported(book, path, observed_at=NOW - timedelta(days=1)).time_basis == "argument"
    assert book.find()[0].observed_at == NOW - timedelta(days=1)


def test_a_stated_time_in_the_future_is_a_usage_error(book: PriceBook, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="future"):
        imported(book, tmp_path / "prices.csv", neutral(a_row()), observed_at=NOW + timedelta(hours=1))


def test_a_skypilot_file_gives_an_offer_for_each_price(book: PriceBook, tmp_path: Path) -> None:
    content = (
        f"{SKYPILOT_HEADER}\n"
        f"p4d.24xlarge,A100,8.0,96.0,1152.0,{A100_INFO},21.9576,7.0377,us-east-1,use1-az1,x86_64\n"
        f"p4d.24xlarge,A100,8.0,96.0,1152.0,{A100_INFO},21.9576,,us-east-1,use1-az2,x86_64\n"
        "m5.large,,,2.0,8.0,,0.096,0.04,us-east-1,use1-az1,x86_64\n"
    )
    report = imported(book, tmp_path / "v8" / "aws" / "vms.csv", content)
    assert (report.format, report.source, report.rows) == ("skypilot", "skypilot-catalog aws", 3)
    assert (report.merged.new, report.quarantined) == (5, {})
    offers = book.offers(("A100-40GB",))
    assert prices(offers) == ["7.0377", "21.9576", "21.9576"]
    assert (offers[0].market, offers[0].gpu_memory_gib, offers[0].vcpus) == (Market.SPOT, Decimal(40), Decimal(96))
    assert book.without_accelerator() == 2


def test_skypilot_without_a_zone_column(book: PriceBook, tmp_path: Path) -> None:
    header = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,Generation"
    content = f'{header}\nStandard_ND96,A100-80GB,8,96,1800,,32.77,8.5202,eastus,"V1,V2"\n'
    imported(book, tmp_path / "azure" / "vms.csv", content)
    assert {(offer.zone, offer.accelerator) for offer in book.find()} == {("", "A100-80GB")}


def test_skypilot_without_spot_prices(book: PriceBook, tmp_path: Path) -> None:
    header = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo"
    imported(book, tmp_path / "lambda" / "vms.csv", f"{header}\ngpu_8x_v100,V100,8.0,92.0,448.0,6.32,us-east-1,\n")
    assert [(offer.market, offer.accelerator) for offer in book.find()] == [(Market.ON_DEMAND, "V100-16GB")]


def test_skypilot_machines_and_accelerators_priced_apart_are_put_together(book: PriceBook, tmp_path: Path) -> None:
    header = (
        "InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,AvailabilityZone,Price,SpotPrice"
    )
    memory = "{'Gpus': [{'MemoryInfo': {'SizeInMiB': 40960}}]}"
    content = (
        f"{header}\n"
        "a2-highgpu-8g,96.0,680.0,,,,us-central1,us-central1-a,5.91582,2.958\n"
        "a2-highgpu-8g,96.0,680.0,,,,us-central1,us-central1-z,5.91582,2.958\n"
        "n1-standard-8,8.0,30.0,,,,us-central1,us-central1-a,0.38,0.134\n"
        f",,,A100,8,{memory},us-central1,us-central1-a,23.47,\n"
        ",,,T4,1,,us-central1,us-central1-a,0.35,0.1654\n"
        ",,,T4,3,,us-central1,us-central1-a,1.05,0.5\n"
        ",,,tpu-v3-8,1,tpu-v3-8,us-central1,us-central1-a,8.0,2.04\n"
    )
    report = imported(book, tmp_path / "gcp" / "vms.csv", content)
    found = {(o.instance_type, o.market.value, o.accelerator, str(o.price_per_hour)) for o in book.find()}
    assert found == {
        ("a2-highgpu-8g", "on-demand", "A100-40GB", "29.38582"),
        ("n1-standard-8", "on-demand", "", "0.38"),
        ("n1-standard-8", "spot", "", "0.134"),
        ("n1-standard-8+T4x1", "on-demand", "T4", "0.73"),
        ("n1-standard-8+T4x1", "spot", "T4", "0.2994"),
        ("v3-8", "on-demand", "TPU-v3", "8.0"),
        ("v3-8", "spot", "TPU-v3", "2.04"),
    }
    assert report.quarantined == {Reason.PRICED_APART: 2}
    assert [(row.line, row.cloud) for row in report.examples] == [(7, ""), (3, "")]


@pytest.mark.parametrize("part", ["0.0", "-1", "nan"])
def test_a_bad_part_is_not_hidden_by_the_other(book: PriceBook, tmp_path: Path, part: str) -> None:
    content = (
        f"{SKYPILOT_HEADER}\n"
        f"a2-highgpu-8g,,,96,680,,{part},,us-central1,us-central1-a,\n"
        ",A100,8,,,,23.47,,us-central1,us-central1-a,\n"
        "a2-highgpu-8g,,,96,680,,5.9,,us-central1,us-central1-b,\n"
        ",A100,8,,,,23.47,,us-central1,us-central1-b,\n"
    )
    report = imported(book, tmp_path / "gcp" / "vms.csv", content)
    assert [offer.zone for offer in book.find()] == ["us-central1-b"]
    assert sum(report.quarantined.values()) == 1


def test_conflicting_accelerator_prices_make_no_machine(book: PriceBook, tmp_path: Path) -> None:
    content = (
        f"{SKYPILOT_HEADER}\n"
        "a2-highgpu-8g,,,96,680,,5.9,,us-central1,us-central1-a,\n"
        ",A100,8,,,,23.47,,us-central1,us-central1-a,\n"
        ",A100,8,,,,3.47,,us-central1,us-central1-a,\n"
        "m1,,,96,680,,5.9,,us-central1,us-central1-a,\n"
    )
    report = imported(book, tmp_path / "gcp" / "vms.csv", content)
    assert [offer.instance_type for offer in book.find()] == ["m1"]
    assert Reason.CONFLICT in report.quarantined


def test_a_memory_that_an_api_overstates_does_not_lose_the_row(book: PriceBook, tmp_path: Path) -> None:
    info = "\"{'Gpus': [{'Name': 'L4', 'Count': 8, 'MemoryInfo': {'SizeInMiB': 183105}}]}\""
    content = f"{SKYPILOT_HEADER}\ng6.48xlarge,L4,8,192,768,{info},13.35,2.44,us-east-1,use1-az1,x86_64\n"
    imported(book, tmp_path / "aws" / "vms.csv", content)
    assert {(offer.accelerator, offer.gpu_memory_gib) for offer in book.find()} == {("L4", Decimal(24))}


GPUHUNT_ROW = "a2-highgpu-8g,us-central1-a,29.39,96,680.0,8,A100,40.0,False,,nvidia,,x86,{}\n"


def test_a_gpuhunt_file(book: PriceBook, tmp_path: Path) -> None:
    content = f"{GPUHUNT_HEADER}\n{GPUHUNT_ROW}{GPUHUNT_ROW.replace('False', 'True').replace('29.39', '15.4')}"
    report = imported(book, tmp_path / "gcp.csv", content)
    assert (report.format, report.source, report.merged.new) == ("gpuhunt", "gpuhunt gcp", 2)
    [spot, on_demand] = book.find()
    assert (spot.market, on_demand.market) == (Market.SPOT, Market.ON_DEMAND)
    assert (spot.region, spot.zone, spot.accelerator) == ("us-central1", "us-central1-a", "A100-40GB")


def test_a_gpuhunt_archive_names_the_cloud_by_its_members(book: PriceBook, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("gcp.csv", f"{GPUHUNT_HEADER}\n{GPUHUNT_ROW}")
        archive.writestr(
            "aws.csv", f"{GPUHUNT_HEADER}\np4d.24xlarge,us-east-1,0,96,1152,8,A100,40,True,,nvidia,,x86,{{}}\n"
        )
        archive.writestr("readme.txt", "not prices")
    report = imported(book, tmp_path / "catalog.zip", packed.getvalue())
    assert (report.rows, report.merged.new, report.quarantined) == (2, 1, {Reason.ZERO_PRICE: 1})
    assert report.examples[0].file.endswith("catalog.zip:aws.csv")
    assert [offer.cloud for offer in book.find()] == ["gcp"]


def test_a_gpuhunt_slice_is_not_taken_for_the_whole_accelerator(book: PriceBook, tmp_path: Path) -> None:
    content = (
        f"{GPUHUNT_HEADER}\n"
        "Standard_NV6ads_A10_v5,eastus,0.454,6,55.0,1,A10,4.0,False,,nvidia,,x86,{}\n"
        "Standard_NV36ads_A10_v5,eastus,3.2,36,440.0,1,A10,24.0,False,,nvidia,,x86,{}\n"
    )
    report = imported(book, tmp_path / "azure.csv", content)
    assert report.quarantined == {Reason.GPU_MEMORY: 1}
    assert prices(book.offers(("A10",))) == ["3.2"]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gz", "xz"])
def test_packed_files_are_told_by_content(book: PriceBook, tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    report = imported(book, tmp_path / "prices.csv", pack(neutral(a_row(), end="").encode()))
    assert (report.merged.new, report.quarantined) == (1, {})


def test_a_byte_order_mark_and_windows_line_ends(book: PriceBook, tmp_path: Path) -> None:
    content = "\ufeff" + neutral(a_row()).replace("\n", "\r\n")
    assert imported(book, tmp_path / "prices.csv", content).merged.new == 1


@pytest.mark.parametrize(
    ("content", "name", "options", "message"),
    [
        (neutral(a_row(cloud="-")), "prices.csv", {}, "does not say which cloud"),
        (neutral(a_row()), "prices.csv", {"cloud": "aws"}, "--cloud does not fit"),
        (f"{SKYPILOT_HEADER}\nx,,,,,,,,,,\n", "downloads/vms.csv", {}, "does not say which cloud"),
        (f"{GPUHUNT_HEADER}\n{GPUHUNT_ROW}", "prices.csv", {}, "does not say which provider"),
        (neutral(a_row(cloud="-")), "prices.csv", {"cloud": "a/b"}, "cannot be a cloud's name"),
    ],
)
def test_a_cloud_that_is_not_named_is_a_usage_error(
    book: PriceBook, tmp_path: Path, content: str, name: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        imported(book, tmp_path / name, content, **options)


@pytest.mark.parametrize(
    ("content", "cloud"),
    [
        (neutral(a_row(cloud="-")), "aws"),
        (f"{SKYPILOT_HEADER}\nm5,,,2,8,,0.1,,us-east-1,use1-az1,\n", "aws"),
        (f"{GPUHUNT_HEADER}\n{GPUHUNT_ROW}", "newco"),
    ],
)
def test_the_cloud_can_be_named(book: PriceBook, tmp_path: Path, content: str, cloud: str) -> None:
    imported(book, tmp_path / "prices.csv", content, cloud=cloud)
    assert [offer.cloud for offer in book.find()] == [cloud]


def test_a_file_that_is_not_there(book: PriceBook, tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", Path("a\0b.csv")):
        with pytest.raises(UsageError, match="there is no file"):
            imported(book, path)


def test_a_folder_is_no_price_file(book: PriceBook, tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="is not a file"):
        imported(book, tmp_path)


def test_replace_leaves_only_the_files_rows(book: PriceBook, tmp_path: Path) -> None:
    book.merge([an_offer(zone="old")], now=NOW)
    imported(book, tmp_path / "prices.csv", neutral(a_row()), replace=True)
    assert [offer.zone for offer in book.find()] == ["use1-az1"]


def test_a_refused_file_replaces_nothing(book: PriceBook, tmp_path: Path) -> None:
    book.merge([an_offer(zone="old")], now=NOW)
    with pytest.raises(ConfigInvalid):
        imported(book, tmp_path / "prices.csv", neutral(a_row(usd_per_hour="0")), replace=True)
    assert [offer.zone for offer in book.find()] == ["old"]


def test_what_left_a_catalog_is_gone_but_not_what_was_kept_out(book: PriceBook, tmp_path: Path) -> None:
    def catalog(*rows: str) -> str:
        return f"{SKYPILOT_HEADER}\n" + "".join(f"{row},us-east-1,use1-az1,\n" for row in rows)

    path = tmp_path / "aws" / "vms.csv"
    imported(book, path, catalog("g4dn.xlarge,T4,1,4,16,,0.526,0.2", "g5.xlarge,A10G,1,4,16,,1.006,0.5"))
    report = imported(book, path, catalog("g4dn.xlarge,T4,1,4,16,,0.526,", "g5.xlarge,A10G,1,4,16,,1.006,0.0"))
    assert report.merged.gone == 1
    assert prices(book.find()) == ["0.5", "0.526", "1.006"]


def test_quarantined_rows_and_sources_are_remembered(book: PriceBook, tmp_path: Path) -> None:
    content = neutral(a_row(), a_row(zone="b", usd_per_hour="0"), a_row(zone="c", usd_per_hour="-1"))
    imported(book, tmp_path / "prices.csv", content)
    rows = book.quarantined()
    assert [(row.line, row.reason, row.cloud) for row in rows] == [
        (3, Reason.ZERO_PRICE, "aws"),
        (4, Reason.NEGATIVE_PRICE, "aws"),
    ]
    assert rows[0].text.startswith("aws,p4d.24xlarge,us-east-1,b,")
    assert len(book.quarantined(1)) == 1
    [status] = book.sources()
    assert (status.last_import, status.quarantined, status.offers) == (NOW, 2, 1)
    imported(book, tmp_path / "prices.csv", neutral(a_row()))
    assert book.quarantined() == []


def test_a_book_of_many_bad_rows_keeps_few_of_them_and_counts_all(book: PriceBook, tmp_path: Path) -> None:
    content = neutral(a_row(zone="good"), *many_rows(300, usd_per_hour="0"))
    report = imported(book, tmp_path / "prices.csv", content)
    assert report.quarantined == {Reason.ZERO_PRICE: 300}
    assert len(report.examples) == 100
