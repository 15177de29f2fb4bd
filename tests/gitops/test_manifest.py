"""Specification files: what they mean, and one clear sentence for each way in which they can be wrong."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.errors import ConfigInvalid, GpuorchError, UsageError
from orchestrator.gitops.manifest import read_manifest
from orchestrator.model.demand import Access


def a_file(folder: Path, text: str) -> Path:
    path = folder / "job.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_field_arrives_with_its_origin(tmp_path: Path) -> None:
    path = a_file(
        tmp_path,
        """\
name: train
profile: a100x8
market: spot
clouds: [aws]
regions: us-*, eu-west-1
denied_regions: [us-gov-*]
max_price: 12.50
ttl: 8h
access: ssh
ssh_key: keys/id.pub
labels: {team: vision}
checkpoint:
  uri: s3://bucket/run
""",
    )
    manifest = read_manifest(path)
    assert manifest.request["profile"] == ("a100x8", "job.yaml:2")
    assert manifest.request["regions"] == (("us-*", "eu-west-1"), "job.yaml:5")
    assert manifest.request["max_price_per_hour"] == (Decimal("12.5"), "job.yaml:7")
    assert manifest.around["ttl"] == timedelta(hours=8)
    assert manifest.around["access"] is Access.SSH
    assert manifest.around["ssh_key"] == tmp_path / "keys" / "id.pub"
    assert manifest.around["checkpoint_uri"] == "s3://bucket/run"
    assert manifest.around["labels"] == {"team": "vision"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("profile: [a100x8", "no YAML"),
        ("- a100x8", "a specification is a mapping"),
        ("", "a specification is a mapping"),
        ("profile: t4x1\nprofil: t4x2", r"job.yaml:2: unknown field 'profil'; did you mean profile\?"),
        ("market: spot", "exactly one of profile and gpu"),
        ("profile: t4x1\ngpu: T4", "exactly one of profile and gpu"),
        ("profile: t4x1\nmax_price: -1", "job.yaml:2: max_price: .*greater than 0"),
        ("profile: t4x1\nmax_price: .nan", "job.yaml:2: max_price: write a number above zero"),
        ("profile: t4x1\nmax_price: yes", "job.yaml:2: max_price: write a number above zero"),
        ("profile: t4x1\n\nttl: soon", "job.yaml:3: ttl: write a time as"),
        ("profile: t4x1\nmarket: cheap", "job.yaml:2: market: .*'spot'"),
        ("profile: t4x1\nname: 'Not Good'", "job.yaml:2: name: use 2 to 40 lower-case"),
        ("profile: t4x1\nprofile: t4x2", "line 2: profile stands twice"),
        ("profile: t4x1\ncheckpoint: {url: s3://x}", "job.yaml:2: .*checkpoint"),
        ("profile: t4x1\ndisk_gib: 3", "job.yaml:2: disk_gib"),
        ("profile: t4x1\nnodes: two", "job.yaml:2: nodes"),
        ("a: &a [*a, *a]", "unknown field|no YAML|exactly one"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(ConfigInvalid, match=sentence):
        read_manifest(a_file(tmp_path, text))


def test_no_such_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        read_manifest(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match="cannot be read"):
        read_manifest(tmp_path)


def test_a_large_or_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_bytes(b"x" * 1_000_001)
    with pytest.raises(ConfigInvalid, match="larger"):
        read_manifest(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigInvalid, match="not UTF-8"):
        read_manifest(path)


@given(text=st.text(max_size=200))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_is_answered_with_anything_but_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        read_manifest(path)
    except GpuorchError as error:
        assert error.message
