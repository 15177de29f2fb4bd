"""What holds for the tree as a whole: no cloud named outside its folder, nothing heavy loaded on the quick paths."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import orchestrator

PACKAGE = Path(orchestrator.__file__).parent
CLOUD = re.compile(
    r"\b(aws|amazon|ec2|gcp|google|azure|azurerm|oci|oracle|alibaba|aliyun|alicloud|tencent|tencentcloud)\b",
    re.IGNORECASE,
)
# A Python package's name, and a maker of accelerators that is also a cloud.
ALLOWED = {"google.protobuf", "google"}
HEAVY = {
    *("boto3", "botocore", "google.cloud", "azure", "pandas", "sqlalchemy", "jinja2", "pydantic", "yaml"),
    *("tf", "grpc", "python_terraform", "asyncio"),
}


def sources() -> list[Path]:
    return [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[:2]
        not in {("clouds", folder.name) for folder in (PACKAGE / "clouds").iterdir()}
        or path.parent == PACKAGE / "clouds"
    ]


def words(tree: ast.AST) -> Iterator[str]:
    """Identifiers and strings, but not docstrings: an example in a docstring is no dependency."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_cloud_is_named_outside_its_folder(path: Path) -> None:
    named = [
        word
        for word in words(ast.parse(path.read_text(encoding="utf-8")))
        # Option help gives examples of values; an example is for people.
        if CLOUD.search(word.replace("_", " ")) and word not in ALLOWED and "e.g." not in word
    ]
    assert named == []


def test_templates_name_no_cloud() -> None:
    templates = PACKAGE.parent / "templates"
    for path in sorted(path for path in templates.rglob("*") if path.is_file()):
        assert not CLOUD.search(path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["offers", "--profile", "a100x8"],
        ["up", "--dry-run", "--profile", "a100x8", "--name", "x1"],
        ["status"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_quick_paths_load_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    folders = ["--state-dir", str(tmp_path / "s"), "--cache-dir", str(tmp_path / "c")]
    script = (
        "import sys\n"
        "from orchestrator.cli.main import run\n"
        f"code = run({[*folders, *arguments]!r})\n"
        f"print('LOADED', sorted({HEAVY!r} & set(sys.modules)), code)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "LOADED [] 0"
