"""The Azure module: its own variables and tests, what it tags and names, and the key that nobody has."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import uuid
from pathlib import Path

import hcl2
import pytest

from orchestrator.assets import asset
from orchestrator.clouds.azure.addresses import PLACES, TAG, assignment_name, place_of, place_of_azure, resource_name
from orchestrator.clouds.azure.cloud import CLOUD
from orchestrator.clouds.azure.images import SSH_USER
from orchestrator.sandbox.install import prepare
from scripts.module_readme import blocks, text
from tests.build import a_launch
from tests.stack.build_terraform import TERRAFORM, run_terraform, terraform_environment

MODULE = asset("terraform", "modules", "azure")

# Resources that cannot carry tags, by the genuine provider's schema.
UNTAGGABLE = {
    "azurerm_network_interface_security_group_association",
    "azurerm_role_assignment",
    "azurerm_subnet",
}


def local(file: str, name: str) -> str:
    for block in hcl2.loads((MODULE / file).read_text())["locals"]:
        if name in block:
            return text(block[name])
    raise AssertionError(name)


def test_its_own_variables_come_last_and_are_what_the_cloud_gives() -> None:
    names = [name for name, _ in blocks(MODULE, "variable")]
    own = list(CLOUD.module_variables(a_launch()))
    assert names[-len(own) :] == own


def test_versions_are_bounded() -> None:
    versions = (MODULE / "versions.tf").read_text()
    assert '">= 4.55, < 5.0"' in versions
    assert '">= 1.5"' in versions


def test_addresses_are_those_of_the_module() -> None:
    written = {
        f"module.machine.{label}" + ("[0]" if "count" in body else "") for label, body in blocks(MODULE, "resource")
    }
    assert {place.address for place in PLACES} == written
    assert len(PLACES) == len(written)
    assert {place.type for place in PLACES if not place.tagged} == UNTAGGABLE
    for place in PLACES:
        assert place.address.split(".")[2] == place.type


def test_places_are_found_by_type_and_purpose() -> None:
    end, checkpoint = place_of("azurerm_role_assignment", "end"), place_of("azurerm_role_assignment", "checkpoint")
    assert end is not None and checkpoint is not None and end is not checkpoint
    assert place_of("azurerm_storage_account") is None
    machine = place_of_azure("microsoft.compute/VIRTUALMACHINES")
    assert machine is not None and machine.type == "azurerm_linux_virtual_machine"
    assert place_of_azure("Microsoft.Compute/disks") is None
    assert place_of_azure("") is None


def test_every_resource_that_takes_tags_has_all_of_them() -> None:
    for label, body in blocks(MODULE, "resource"):
        if label.partition(".")[0] in UNTAGGABLE:
            assert "tags" not in body, label
        else:
            assert text(body["tags"]) == "local.tags", label


def test_names_of_the_module_are_the_tables() -> None:
    assert local("main.tf", "resource_name") == resource_name("${var.deployment_id}")
    assert local("access.tf", "admin_username") == SSH_USER
    main, identity = (MODULE / "main.tf").read_text(), (MODULE / "identity.tf").read_text()
    assert f'"{TAG}" = var.deployment_id' in main
    for purpose in ("end", "checkpoint"):
        assert f'uuidv5("url", "gpuorch:${{var.deployment_id}}:{purpose}")' in identity
    # RFC 4122, appendix C: the name space of URLs.
    assert str(uuid.NAMESPACE_URL) == "6ba7b811-9dad-11d1-80b4-00c04fd430c8"
    assert uuid.UUID(assignment_name("g0123456789ab", "end")).version == 5


def test_nobodys_key_is_the_hash_that_the_module_says_it_is() -> None:
    """A point of the curve that is a hash was not made from a private key: to find one is what Ed25519 rests on."""
    said = re.search(r'32 bytes are SHA-256 of "([^"]+)"', " ".join((MODULE / "main.tf").read_text().split()))
    assert said is not None
    point = hashlib.sha256(said[1].encode()).digest()
    kind, encoded = local("main.tf", "nobodys_key").split()
    fields = [kind.encode(), point]
    assert base64.b64decode(encoded) == b"".join(len(field).to_bytes(4, "big") + field for field in fields)
    # RFC 8032, section 5.1: x² = (y² - 1) / (d y² + 1) must have a root, so that sshd and Azure take it for a key.
    prime = 2**255 - 19
    d = -121665 * pow(121666, -1, prime) % prime
    y = int.from_bytes(point, "little") % 2**255
    square = (y * y - 1) * pow(d * y * y + 1, -1, prime) % prime
    assert y < prime
    assert pow(square, (prime - 1) // 2, prime) == 1


@pytest.mark.terraform
@pytest.mark.slow
def test_its_own_tests_pass(tmp_path: Path) -> None:
    """`terraform validate` and `terraform test` against the stand-in's schema, which is the provider's."""
    if TERRAFORM is None:
        pytest.skip("terraform is not on PATH")
    installed = prepare(tmp_path / "box", [CLOUD])
    environment = terraform_environment(tmp_path / "home", installed.mirror, **installed.environment)
    module = tmp_path / "module"
    shutil.copytree(MODULE, module, ignore=shutil.ignore_patterns(".terraform*"))
    run_terraform(module, "init", "-input=false", environment=environment)
    validated = run_terraform(module, "validate", "-no-color", environment=environment | {"ARM_SUBSCRIPTION_ID": "s"})
    assert "Success!" in validated.stdout
    assert ", 0 failed." in run_terraform(module, "test", "-no-color", environment=environment).stdout
