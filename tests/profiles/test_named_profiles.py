"""Words to needs: named profiles and GPU expressions."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import UsageError
from orchestrator.profiles.accelerators import accelerator, accelerators
from orchestrator.profiles.named import parse_gpu, parse_profile, profiles


def test_every_listed_profile_parses_to_itself() -> None:
    listed = profiles()
    assert len({profile.label for profile in listed}) == len(listed)
    for profile in listed:
        need = parse_profile(profile.label.upper())
        assert (need.label, need.accelerators, int(need.count)) == (profile.label, profile.accelerators, profile.count)
        assert profile.description.startswith(f"{profile.count} × ")


@pytest.mark.parametrize(
    "label",
    [
        "t4x1",
        "t4x4",
        "v100x1",
        "a10gx4",
        "l4x1",
        "l40sx8",
        "a100x8",
        "a100-80x8",
        "h100x8",
        "h100-nvlx1",
        "h200x8",
        "b200x8",
        "mi250x8",
        "mi300x8",
        "tpu-v3",
    ],
)
def test_the_usual_ones_are_listed(label: str) -> None:
    assert label in {profile.label for profile in profiles()}


@pytest.mark.parametrize(
    ("text", "names", "count"),
    [
        ("a100x8", ("A100-40GB", "A100-80GB"), 8),
        ("a100-80x8", ("A100-80GB",), 8),
        ("A100-80GBx8", ("A100-80GB",), 8),
        ("v100-32x3", ("V100-32GB",), 3),
        ("mi300x8", ("MI300X",), 8),
        ("mi300xx8", ("MI300X",), 8),
        ("mi300x16", ("MI300X",), 16),
        ("mi250x8", ("MI250X",), 8),
        ("mi250xx8", ("MI250X",), 8),
        ("mi300x1", ("MI300X",), 1),
        ("rtx4090x2", ("RTX-4090",), 2),
        ("tpu-v3", ("TPU-v3",), 4),
        ("tpu-v3-8", ("TPU-v3",), 4),
        ("tpu-v3x4", ("TPU-v3",), 4),
        (" T4x1 ", ("T4",), 1),
    ],
)
def test_profile(text: str, names: tuple[str, ...], count: int) -> None:
    need = parse_profile(text)
    assert (need.accelerators, need.count) == (names, Decimal(count))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a100", "a100x8"),
        ("mi300x", "mi300xx8"),
        ("rtx4090", "rtx4090x1"),
        ("a1000x8", "a100x8"),
        ("h10x8", "h100x8"),
        ("b20x8", "b200x8"),
        ("a100x", "a100x8"),
        ("a100x0", "1 to 16"),
        ("a100x08", "1 to 16"),
        ("a100x17", "1 to 16"),
        ("a100x99999999999999999999", "1 to 16"),
        ("a100x-8", "a100x8"),
        ("a100x1.5", "a100x"),
        ("a100x８", "a100x8"),
        ("", "gpuorch profiles"),
        ("x8", "gpuorch profiles"),
        ("tpu-v3-64", "1 to 16"),
        ("zzz", "gpuorch profiles"),
    ],
)
def test_no_profile(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_profile(text)
    assert said in f"{caught.value} {caught.value.hint}"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "label", "names", "count", "memory"),
    [
        ("A100-80GB:8", "A100-80GB:8", ("A100-80GB",), "8", None),
        ("T4", "T4:1", ("T4",), "1", None),
        ("T4:0.25", "T4:0.25", ("T4",), "0.25", None),
        ("a100:8.0", "a100:8", ("A100-40GB", "A100-80GB"), "8", None),
        ("A100:8:80GB", "A100:8:80GB", ("A100-80GB",), "8", "80"),
        ("A100:8:40GiB", "A100:8:40GiB", ("A100-40GB", "A100-80GB"), "8", "40"),
        ("L4|A10G:1", "L4/A10G:1", ("L4", "A10G"), "1", None),
        ("A100|A100-80GB:16", "A100/A100-80GB:16", ("A100-40GB", "A100-80GB"), "16", None),
        (" V100 : 4 : 32gb ", "V100:4:32gb", ("V100-32GB",), "4", "32"),
    ],
)
def test_expression(text: str, label: str, names: tuple[str, ...], count: str, memory: str | None) -> None:
    need = parse_gpu(text)
    assert (need.label, need.accelerators, need.count) == (label, names, Decimal(count))
    assert need.min_memory_gib == (None if memory is None else Decimal(memory))


def test_memory_alone_takes_any_gpu_with_that_much_per_device() -> None:
    need = parse_gpu(":1:80GB")
    assert set(need.accelerators) == {
        one.name for one in accelerators() if one.is_gpu and one.memory_gib / one.devices_per_card >= 80
    }
    assert {"A100-80GB", "H100-NVL", "MI300X"} <= set(need.accelerators)
    assert not {"A100-40GB", "MI250X", "TPU-v5p"} & set(need.accelerators)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A1000:8", "A1000"),
        ("A1000:8", "A100"),
        ("L4|:1", "''"),
        ("L4|XX9:1", "XX9"),
        ("A100:nan", "'nan'"),
        ("A100:inf", "'inf'"),
        ("A100:-1", "'-1'"),
        ("A100:0", "'0'"),
        ("A100:17", "up to 16"),
        ("A100:1.5", "neither whole nor below 1"),
        ("A100:1e1", "'1e1'"),
        ("A100:٣", "not a number"),
        ("A100:", "''"),
        ("A100:8:80", "24GB"),
        ("A100:8:0GB", "'0GB'"),
        ("A100:8:nanGB", "'nanGB'"),
        ("A10:1:40GB", "the most is 24GB"),
        ("MI250X:8:100GB", "the most is 64GB"),
        (":1:999GB", "no GPU has 999GB"),
        (":4", "names no accelerator"),
        ("A100:8:80GB:spot", "NAME:COUNT"),
        (":", "NAME:COUNT"),
        ("", "NAME:COUNT"),
        ("tpu-v3-8", "TPU-v3:4"),
    ],
)
def test_no_expression(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_gpu(text)
    assert said in f"{caught.value} {caught.value.hint}"
    assert "\n" not in str(caught.value)


@given(text=st.text(max_size=40) | st.from_regex(r"[a-zA-Z0-9|-]{0,9}(:[0-9.a-z-]{0,6}){0,3}", fullmatch=True))
def test_any_text_is_understood_or_refused(text: str) -> None:
    for parse in (parse_gpu, parse_profile):
        try:
            need = parse(text)
        except UsageError:
            continue
        assert need.accelerators and 0 < need.count <= 16
        assert all(accelerator(name) for name in need.accelerators)
