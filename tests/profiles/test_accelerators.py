"""The table of accelerators, the names it answers to, and its price bands."""

from __future__ import annotations

from decimal import Decimal

import pytest

from orchestrator.profiles.accelerators import (
    accelerator,
    accelerators,
    canonical,
    family_names,
    members,
    price_band,
)
from orchestrator.profiles.spelling import squash, tpu_slice

ASKED_FOR = [
    *("T4", "V100-16GB", "V100-32GB", "A10", "A10G", "L4", "L40S", "A100-40GB", "A100-80GB", "H100-SXM", "H100-PCIe"),
    *("H100-NVL", "H100-80GB", "H200", "B200", "MI250X", "MI300X", "TPU-v3"),
]
IN_PRICE_BOOKS = [
    *("P4", "P40", "P100", "K80", "M60", "A40", "RTX-A6000", "RTX-4090", "GH200", "L40", "RTX-PRO-6000", "B300"),
    *("GB200", "MI355X", "T4G", "V520", "MI25", "A30", "RTX-3090"),
]


@pytest.mark.parametrize("name", ASKED_FOR + IN_PRICE_BOOKS)
def test_known_by_its_own_name_only(name: str) -> None:
    one = accelerator(name)
    assert one is not None and one.name == name
    assert canonical(name) == name
    assert canonical(name, one.memory_gib) == name
    assert name in members(one.family)
    assert members(name.lower()) in ((name,), members(one.family))


@pytest.mark.parametrize("name", ASKED_FOR)
def test_profiled_accelerators_have_bandwidth_and_compute_figures(name: str) -> None:
    one = accelerator(name)
    assert one is not None
    assert one.bandwidth_gb_s and (one.fp16_tflops or one.bf16_tflops)
    assert one.capability or one.vendor == "Google"


def test_every_row_has_a_source_and_sensible_figures() -> None:
    for one in accelerators():
        assert one.sources and all(source.startswith("https://") for source in one.sources), one.name
        assert one.memory_gib > 0 and one.devices_per_card in (1, 2)
        low, high = one.price_band
        assert 0 < low < high and high / low <= 600, one.name
        figures = (one.tf32_tflops, one.fp16_tflops, one.fp8_tflops)
        known = [figure for figure in figures if figure is not None]
        assert known == sorted(known), f"{one.name}: a narrower type is never slower"


def test_no_two_rows_share_a_spelling() -> None:
    spellings = [spelling for one in accelerators() for spelling in {squash(one.name), *one.aliases}]
    assert len(spellings) == len(set(spellings))
    families = {squash(name) for name in family_names() if len(members(name)) > 1}
    assert not families & set(spellings)


# Wrong claims that go round, each against the vendor's figure.
@pytest.mark.parametrize(
    ("name", "field", "figure"),
    [
        ("V100-16GB", "fp32_tflops", "15.7"),
        ("V100-16GB", "fp16_tflops", "125"),
        ("V100-16GB", "bf16_tflops", None),
        ("T4", "fp32_tflops", "8.1"),
        ("T4", "tf32_tflops", None),
        ("A100-40GB", "fp16_tflops", "312"),
        ("A100-40GB", "tf32_tflops", "156"),
        ("A100-80GB", "fp8_tflops", None),
        ("A10", "bf16_tflops", "125"),
        ("A10G", "bf16_tflops", "70"),
        ("L4", "fp8_tflops", "242"),
        ("L40S", "fp8_tflops", "733"),
        ("H100-SXM", "bf16_tflops", "989"),
        ("H100-SXM", "fp8_tflops", "1979"),
        ("H100-NVL", "memory_gib", "94"),
        ("H200", "bf16_tflops", "989"),
        ("B200", "fp8_tflops", "4500"),
        ("MI250X", "devices_per_card", "2"),
        ("MI250X", "device_memory_gib", "64"),
        ("MI300X", "bf16_tflops", "1307.4"),
        ("TPU-v3", "bf16_tflops", "123"),
        ("TPU-v3", "memory_gib", "32"),
    ],
)
def test_figures_are_dense_and_per_unit(name: str, field: str, figure: str | None) -> None:
    assert getattr(accelerator(name), field) == (None if figure is None else Decimal(figure))


@pytest.mark.parametrize(
    ("word", "accepted"),
    [
        ("a100", ("A100-40GB", "A100-80GB")),
        ("A100", ("A100-40GB", "A100-80GB")),
        ("A100-80", ("A100-80GB",)),
        ("A100-80GB", ("A100-80GB",)),
        ("a100_40gb", ("A100-40GB",)),
        ("v100", ("V100-16GB", "V100-32GB")),
        ("H100", ("H100-80GB", "H100-SXM", "H100-PCIe", "H100-NVL")),
        ("h100-sxm", ("H100-SXM",)),
        ("h100-nvl", ("H100-NVL",)),
        ("H100-80GB", ("H100-80GB",)),
        ("l40", ("L40",)),
        ("L40S", ("L40S",)),
        ("a10", ("A10",)),
        ("mi300", ("MI300X",)),
        ("mi300x", ("MI300X",)),
        ("tpu-v3", ("TPU-v3",)),
        ("a6000", ("RTX-A6000",)),
        ("h1000", ()),
        ("", ()),
        ("nvidia", ()),
        ("a100x8", ()),
    ],
)
def test_members_of_a_word(word: str, accepted: tuple[str, ...]) -> None:
    assert members(word) == accepted


@pytest.mark.parametrize(
    ("book_name", "memory", "name"),
    [
        ("A100", None, "A100-40GB"),
        ("A100", "80", "A100-80GB"),
        ("A100", "79.15", "A100-80GB"),
        ("A100", "39.4", "A100-40GB"),
        ("A100", "10", None),
        ("A100-80GB", None, "A100-80GB"),
        ("A100-80GB", "80", "A100-80GB"),
        ("A100-80GB", "40", None),
        ("A100-80GB-SXM", None, "A100-80GB"),
        ("NVIDIA A100-SXM4-80GB", None, "A100-80GB"),
        ("NVIDIA A100-PCIE-40GB", None, "A100-40GB"),
        ("nvidia-tesla-a100", None, "A100-40GB"),
        ("V100", None, "V100-16GB"),
        ("V100", "32", "V100-32GB"),
        ("V100", "256", None),
        ("V100-32GB", None, "V100-32GB"),
        ("Tesla V100-SXM2-32GB", None, "V100-32GB"),
        ("H100", None, "H100-80GB"),
        ("H100", "79.65", "H100-80GB"),
        ("H100", "93.58", "H100-NVL"),
        ("H100-SXM", None, "H100-SXM"),
        ("H100_SXM", None, "H100-SXM"),
        ("H100NVL", "94", "H100-NVL"),
        ("NVIDIA H100 PCIe", None, "H100-PCIe"),
        ("NVIDIA H100 80GB HBM3", None, "H100-SXM"),
        ("H100-MEGA", None, "H100-SXM"),
        ("nvidia-h100-mega-80gb", None, "H100-SXM"),
        ("H200-SXM", None, "H200"),
        ("nvidia-h200-141gb", None, "H200"),
        ("B200", "192", "B200"),
        ("B200", "179.06", "B200"),
        ("B300", "268.6", "B300"),
        ("NVIDIA GH200 480GB", None, "GH200"),
        ("Tesla T4", "16", "T4"),
        ("T4", "4", "T4"),
        ("T4g", None, "T4G"),
        ("A10G", "22.35", "A10G"),
        ("A10", "4", "A10"),
        ("A10", "48", None),
        ("A10", "96", None),
        ("L40S", "44.7", "L40S"),
        ("tpu-v3-8", None, "TPU-v3"),
        ("tpu-v5litepod-16", None, "TPU-v5e"),
        ("tpu-v9-8", None, None),
        ("RTX4090", None, "RTX-4090"),
        ("GeForce RTX 4090", "24", "RTX-4090"),
        ("RTXA6000", None, "RTX-A6000"),
        ("NVIDIA RTX A6000", None, "RTX-A6000"),
        ("RTX6000-Ada", None, "RTX-6000-Ada"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", None, "RTX-PRO-6000"),
        ("Radeon Pro V520", "8", "V520"),
        ("AMD Instinct MI300X", "192", "MI300X"),
        ("Inferentia", None, None),
        ("", None, None),
        ("T4", "0", None),
        ("T4", "NaN", None),
    ],
)
def test_canonical_name_of_a_book_name(book_name: str, memory: str | None, name: str | None) -> None:
    assert canonical(book_name, None if memory is None else Decimal(memory)) == name


@pytest.mark.parametrize(
    ("name", "chips"),
    [
        ("tpu-v3-8", 4),
        ("v3-8", 4),
        ("TPU-v2-32", 16),
        ("tpu-v5litepod-8", 8),
        ("v6e-4", 4),
        ("tpu-v5p-8", 4),
        ("tpu-v3", 1),
    ],
)
def test_a_tpu_type_counts_cores_or_chips(name: str, chips: int) -> None:
    piece = tpu_slice(name)
    assert piece is not None and piece.chips == chips


@pytest.mark.parametrize("name", ["v100", "tpu", "tpu-v3-7", "tpu-v3-0", "tpu-v3-8x", "t4"])
def test_no_tpu_type(name: str) -> None:
    assert tpu_slice(name) is None


@pytest.mark.parametrize(
    ("name", "price"),
    [  # Published prices of one GPU with its share of the host, USD an hour: small and large hosts, spot and on-demand.
        ("T4", "0.0684"),
        ("T4", "6.702"),
        ("V100-16GB", "6.732"),
        ("A10", "9.04"),
        ("L4", "0.0772"),
        ("A100-40GB", "0.181"),
        ("A100-80GB", "8.745"),
        ("H100-80GB", "23.878"),
        ("H200", "21.752"),
        ("B200", "2.49"),
        ("MI300X", "1.1088"),
        ("GB200", "16"),
        ("TPU-v3", "0.51"),
    ],
)
def test_real_prices_lie_in_the_band(name: str, price: str) -> None:
    band = price_band(name)
    assert band is not None and band[0] <= Decimal(price) <= band[1]


@pytest.mark.parametrize(
    ("name", "price"),
    [("B200", "0.01"), ("T4", "52.6"), ("H100-SXM", "98.32"), ("A100-40GB", "0.035"), ("L4", "0.007")],
)
def test_absurd_prices_lie_outside(name: str, price: str) -> None:
    band = price_band(name)
    assert band is not None and not band[0] <= Decimal(price) <= band[1]


def test_no_band_for_an_unknown_name() -> None:
    assert price_band("A100") is None and accelerator("A100") is None
