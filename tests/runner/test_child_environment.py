from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.runner.environment import REFUSED, child_environment


@pytest.mark.parametrize(
    "name",
    [
        "TF_CLI_ARGS",
        "TF_CLI_ARGS_plan",
        "TF_CLI_CONFIG_FILE",
        "TERRAFORM_CONFIG",
        "TF_VAR_region",
        "TF_WORKSPACE",
        "TF_DATA_DIR",
        "TF_REATTACH_PROVIDERS",
        "TF_PLUGIN_CACHE_DIR",
        "TF_LOG",
        "TF_LOG_PATH",
        "TF_TOKEN_example_test",
        "TF_SOMETHING_NEW",
        "TOFU_ENCRYPTION",
    ],
)
def test_what_changes_terraform_is_left_out_and_told(name: str) -> None:
    child = child_environment({name: "x", "HOME": "/home/ada"}, cli_config="/c")
    assert child.variables.get(name) != "x"
    assert child.refused == (name,)
    assert name in child.notice
    assert "\n" not in child.notice


def test_the_rest_is_passed_on_without_a_word() -> None:
    given_ = {"HOME": "/home/ada", "PATH": "/bin", "HTTPS_PROXY": "http://proxy", "XTF_A": "1", "PG_CONN_STR": "s"}
    child = child_environment(given_, cli_config="/c")
    assert given_.items() <= child.variables.items()
    assert child.refused == ()
    assert child.notice == ""


def test_ours_are_set() -> None:
    child = child_environment({}, cli_config="/c/gpuorch.tfrc")
    assert dict(child.variables) == {
        "TF_IN_AUTOMATION": "1",
        "TF_INPUT": "0",
        "CHECKPOINT_DISABLE": "1",
        "GOGC": "400",
        "TF_CLI_CONFIG_FILE": "/c/gpuorch.tfrc",
    }


def test_the_same_value_as_ours_is_no_refusal() -> None:
    assert child_environment({"TF_IN_AUTOMATION": "1"}).refused == ()
    assert child_environment({"TF_INPUT": "1"}).refused == ("TF_INPUT",)


def test_extra_may_set_any_name_and_wins() -> None:
    child = child_environment({"TF_REATTACH_PROVIDERS": "theirs"}, extra={"TF_REATTACH_PROVIDERS": "{}", "GOGC": "100"})
    assert child.variables["TF_REATTACH_PROVIDERS"] == "{}"
    assert child.variables["GOGC"] == "100"
    assert child.refused == ("TF_REATTACH_PROVIDERS",)


@given(st.dictionaries(st.from_regex(r"(TF|TOFU|T|HOME|TFX)_[A-Z_]{0,12}", fullmatch=True), st.text(max_size=5)))
def test_nothing_of_terraforms_gets_through(environ: dict[str, str]) -> None:
    child = child_environment(environ)
    theirs = {name for name in environ if name.startswith(("TF_", "TOFU_"))}
    ours = {"TF_IN_AUTOMATION", "TF_INPUT"}
    assert {name for name in child.variables if name.startswith(("TF_", "TOFU_"))} == ours
    assert set(child.refused) <= theirs
    assert theirs - set(child.refused) <= ours


def test_every_refusal_has_a_reason() -> None:
    assert all(row.reason for row in REFUSED)
