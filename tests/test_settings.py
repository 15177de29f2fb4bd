"""Settings: which source wins, and what is said of a bad one."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import ConfigInvalid, UsageError
from orchestrator.settings import SETTINGS, Settings, parse_duration


def load(folder: Path, *, options: dict[str, Any] | None = None, environ: dict[str, str] | None = None) -> Settings:
    system = folder / "etc.toml"
    variables = {"XDG_CONFIG_HOME": str(folder / "user"), **(environ or {})}
    return Settings.load(options or {}, variables, folder / "project" / "deep", system=system)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_nearest_source_wins_and_is_named(tmp_path: Path) -> None:
    assert load(tmp_path).value("market").origin == "default"
    system = write(tmp_path / "etc.toml", 'market = "auto"\nowner = "system"\ndisk_gib = 100')
    assert load(tmp_path).value("market").origin == str(system)
    user = write(tmp_path / "user" / "gpuorch" / "config.toml", 'market = "spot"\nowner = "user"')
    assert (load(tmp_path)["market"], load(tmp_path).value("market").origin) == ("spot", str(user))
    project = write(tmp_path / "project" / "gpuorch.toml", 'market = "on-demand"')
    assert load(tmp_path).value("market").origin == str(project)
    environ = {"GPUORCH_MARKET": "auto"}
    assert load(tmp_path, environ=environ).value("market").origin == "GPUORCH_MARKET"
    found = load(tmp_path, environ=environ, options={"market": "spot"})
    assert (found["market"], found.value("market").origin) == ("spot", "--market")
    assert (found["owner"], found["disk_gib"]) == ("user", 100)


def test_options_that_were_not_given_do_not_count(tmp_path: Path) -> None:
    assert load(tmp_path, options={"market": None}).value("market").origin == "default"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "market = 'cheap'",
            "market = 'cheap' is not usable: write one of spot, on-demand, subscription-monthly, auto",
        ),
        ("max_price = 'much'", "write a number"),
        ("max_price = -1", "above zero"),
        ("max_price = inf", "above zero"),
        ("ttl = 'soon'", "write a time as"),
        ("disk_gib = 0", "above zero"),
        ("exchange_rates = 3", "write a table"),
        ("exchange_rates = { CNY = 0 }", "above zero"),
        ("nonsense = 1", "unknown setting 'nonsense'"),
        ("market = ", "cannot be read as TOML"),
    ],
)
def test_a_bad_file_is_told_by_name(tmp_path: Path, text: str, sentence: str) -> None:
    path = write(tmp_path / "project" / "gpuorch.toml", text)
    with pytest.raises(ConfigInvalid, match=sentence) as caught:
        load(tmp_path)
    assert str(path) in caught.value.message


def test_a_bad_variable_is_a_configuration_error_and_a_bad_option_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="GPUORCH_TTL"):
        load(tmp_path, environ={"GPUORCH_TTL": "soon"})
    with pytest.raises(UsageError, match="--ttl"):
        load(tmp_path, options={"ttl": "soon"})


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="no such file"):
        load(tmp_path, environ={"GPUORCH_CONFIG": str(tmp_path / "none.toml")})
    named = write(tmp_path / "mine.toml", "exchange_rates = { cny = 0.14 }")
    found = load(tmp_path, environ={"GPUORCH_CONFIG": str(named)})
    assert found["exchange_rates"] == {"CNY": Decimal("0.14")}


def test_lists_are_read_as_lists_or_words(tmp_path: Path) -> None:
    write(tmp_path / "project" / "gpuorch.toml", 'regions = ["us-*", "eu-*"]')
    assert load(tmp_path)["regions"] == ("us-*", "eu-*")
    assert load(tmp_path, environ={"GPUORCH_REGIONS": "us-*, ap-*"})["regions"] == ("us-*", "ap-*")


def test_denials_of_all_sources_add_up(tmp_path: Path) -> None:
    system = write(tmp_path / "etc.toml", 'denied_regions = ["us-gov-*"]')
    write(tmp_path / "project" / "gpuorch.toml", 'denied_regions = ["cn-*", "us-gov-*"]')
    found = load(tmp_path, environ={"GPUORCH_DENIED_REGIONS": "me-*"})
    assert found["denied_regions"] == ("us-gov-*", "cn-*", "me-*")
    assert found.value("denied_regions").origin.startswith(f"{system}, ")


def test_exchange_rates_can_stand_in_the_environment(tmp_path: Path) -> None:
    found = load(tmp_path, environ={"GPUORCH_EXCHANGE_RATES": "cny=0.14, EUR=1.10"})
    assert found["exchange_rates"] == {"CNY": Decimal("0.14"), "EUR": Decimal("1.10")}
    with pytest.raises(ConfigInvalid, match="write CNY="):
        load(tmp_path, environ={"GPUORCH_EXCHANGE_RATES": "0.14"})


def test_every_setting_explains_itself() -> None:
    for setting in SETTINGS.values():
        assert setting.help.endswith(".")


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("8h", 28800), ("1d12h", 129600)])
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@given(st.text(max_size=12))
def test_no_text_breaks_the_duration_parser(text: str) -> None:
    try:
        assert parse_duration(text) > timedelta(0)
    except ValueError:
        pass
    except OverflowError:
        pytest.fail(f"{text!r} overflows")
