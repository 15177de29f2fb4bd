"""Rules of the machine itself."""

from __future__ import annotations

import base64
import binascii
import gzip
import re
from collections.abc import Iterator

from orchestrator.clouds.azure.sandbox.group import doing, group_name, made_in_group, must_exist
from orchestrator.clouds.azure.sandbox.ids import TENANT, group_id, identifier, subscription
from orchestrator.clouds.azure.sandbox.login import ssh_keys, user_name
from orchestrator.clouds.azure.sandbox.network import check_zone
from orchestrator.clouds.azure.sandbox.tags import check_tags
from orchestrator.clouds.azure.sandbox.wording import failed_later, named, refused
from orchestrator.clouds.rules import UNKNOWN, CallRefused, CloudView, MachineFacts, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import Check, at, between, conflicting, every, exactly_one, one_of

__all__ = ["MACHINE", "capacity_error"]

_TYPE = "azurerm_linux_virtual_machine"
_SIZE = re.compile(r"Standard_[A-Za-z]+\d+[A-Za-z0-9_-]*")
# 65,535 bytes in base64.
_CUSTOM_DATA_CHARACTERS = 87_380

# -- what the provider refuses before the plan


def _encoded(path: str) -> Check:
    """``validation.StringIsBase64``."""

    def check(config: Values) -> Iterator[Problem]:
        for where, text in at(config, path):
            try:
                base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError):
                yield Problem(summary=f'expected "{path}" to be a base64 string, got {text}', path=where)

    return check


def _price(config: Values) -> Iterator[Problem]:
    """``validation.FloatAtLeast``."""
    for where, value in at(config, "max_bid_price"):
        if float(value) < -1:
            words = f"expected max_bid_price to be at least (-1.000000), got {float(value):f}"
            yield Problem(summary=words, path=where)


def _names(config: Values) -> Iterator[Problem]:
    """internal/services/compute/validate/virtual_machine_name.go."""
    for where, name in at(config, "name"):
        if not 1 <= len(name) <= 80:
            yield Problem(summary=f'"name" must be between 1 and 80 characters, got {len(name)}', path=where)
        elif not re.fullmatch(r"[a-zA-Z0-9]([\w.-]*\w)?", name, re.ASCII):
            words = '"name" must begin with an alphanumeric character, and end with an alphanumeric or underscore'
            yield Problem(summary=words, path=where)


_STORAGE = ("Premium_LRS", "Standard_LRS", "StandardSSD_LRS", "StandardSSD_ZRS", "Premium_ZRS")

_VALIDATE: Check = every(
    _names,
    group_name("resource_group_name"),
    exactly_one("admin_username", "os_managed_disk_id"),
    exactly_one("os_managed_disk_id", "source_image_id", "source_image_reference"),
    conflicting("availability_set_id", "zone"),
    conflicting("dedicated_host_id", "dedicated_host_group_id"),
    user_name,
    ssh_keys,
    _encoded("custom_data"),
    _encoded("user_data"),
    _price,
    check_tags,
    one_of("priority", "Regular", "Spot"),
    one_of("eviction_policy", "Deallocate", "Delete"),
    one_of("disk_controller_type", "NVMe", "SCSI"),
    one_of("patch_mode", "AutomaticByPlatform", "ImageDefault"),
    one_of("identity.type", "SystemAssigned", "UserAssigned", "SystemAssigned, UserAssigned"),
    one_of("os_disk.caching", "None", "ReadOnly", "ReadWrite"),
    one_of("os_disk.storage_account_type", *_STORAGE),
    between("os_disk.disk_size_gb", 0, 4095),
    identifier("network_interface_ids", "Microsoft.Network/networkInterfaces"),
)


# -- what the provider's code and Azure refuse at the creation


def _check_create(values: Values, view: CloudView) -> None:
    """Words of internal/services/compute/linux_virtual_machine_resource.go."""
    spot = values.get("priority") == "Spot"
    if values.get("disable_password_authentication") is not False and not values.get("admin_ssh_key"):
        words = "at least one `admin_ssh_key` must be specified when `disable_password_authentication` is set to `true`"
        raise CallRefused(words)
    if values.get("eviction_policy") and not spot:
        raise CallRefused("an `eviction_policy` can only be specified when `priority` is set to `Spot`")
    if spot and not values.get("eviction_policy"):
        raise CallRefused("an `eviction_policy` must be specified when `priority` is set to `Spot`")
    if float(values.get("max_bid_price") or -1) > 0 and not spot:
        raise CallRefused("`max_bid_price` can only be configured when `priority` is set to `Spot`")
    begin, size = _begin(values, view), values["size"]
    if not _SIZE.fullmatch(size):
        message = f"The value {size} provided for the VM size is not valid."
        raise refused(begin, "CreateOrUpdate", 400, "InvalidParameter", message)
    if len(values.get("custom_data") or "") > _CUSTOM_DATA_CHARACTERS:
        message = (
            "Custom data in OSProfile must be in Base64 encoding and with a maximum length of "
            f"{_CUSTOM_DATA_CHARACTERS} "
            "characters."
        )
        raise refused(begin, "CreateOrUpdate", 400, "InvalidParameter", message)
    _check_image(values, begin)
    _check_disk(values, begin)
    check_zone(
        view,
        begin,
        f"Microsoft.Compute/virtualMachines/{values['name']}",
        [values["zone"]] if values.get("zone") else [],
    )


def _begin(values: Values, view: CloudView) -> str:
    return doing("creating Linux", _TYPE, values, view)


def _check_image(values: Values, begin: str) -> None:
    for image in values.get("source_image_reference") or []:
        version = image["version"]
        if version != "latest" and not re.fullmatch(r"\d+\.\d+\.\d+", version):
            parts = ":".join(image[part] for part in ("publisher", "offer", "sku", "version"))
            message = (
                f"The platform image '{parts}' is not available. Verify that all fields in the storage "
                "profile are correct. "
                "For more details about storage profile information, please refer to https://aka.ms/storageprofile"
            )
            raise refused(begin, "CreateOrUpdate", 404, "PlatformImageNotFound", message)


def _check_disk(values: Values, begin: str) -> None:
    """What a machine's image needs at least: 30 GB, as Canonical's and Microsoft's own have."""
    for disk in values.get("os_disk") or []:
        size = disk.get("disk_size_gb")
        if size is not UNKNOWN and size and size < 30:
            message = (
                f"The specified disk size {size} GB is smaller than the size of the corresponding disk in the "
                "VM image: "
                "30 GB. This is not allowed. Please choose equal or greater size or do not specify an explicit size."
            )
            raise refused(begin, "CreateOrUpdate", 400, "OperationNotAllowed", message)


# -- what Azure fills in


def _create(values: Values, view: CloudView) -> Values:
    id_ = made_in_group(_TYPE, view, values)
    _check_create(values, view)
    begin = _begin(values, view)
    interfaces = [
        must_exist(view, "azurerm_network_interface", each, begin, id_) for each in values["network_interface_ids"]
    ]
    private = next((each["private_ip_address"] for each in interfaces), "")
    public = next(filter(None, (_public_address(each, view) for each in interfaces)), "")
    disk_name = f"{values['name']}_OsDisk_1_{view.new_id('', 32)}"
    disk = next((each.get("name") for each in values.get("os_disk") or [] if each.get("name") is not UNKNOWN), None)
    disk_id = f"{group_id(view, values['resource_group_name'])}/providers/Microsoft.Compute/disks/{disk or disk_name}"
    return {
        "id": id_,
        "virtual_machine_id": _guid(view),
        "computer_name": values["name"],
        "private_ip_address": private,
        "private_ip_addresses": [private] if private else [],
        "public_ip_address": public,
        "public_ip_addresses": [public] if public else [],
        "allow_extension_operations": True,
        "disable_password_authentication": True,
        "provision_vm_agent": True,
        "patch_mode": "ImageDefault",
        "patch_assessment_mode": "ImageDefault",
        "disk_controller_type": "SCSI",
        "vm_agent_platform_updates_enabled": False,
        "os_managed_disk_id": disk_id,
        "os_disk.id": disk_id,
        "os_disk.name": disk_name,
        "os_disk.disk_size_gb": 64,
        "os_disk.storage_account_type": "Standard_LRS",
        "identity.principal_id": lambda: _guid(view),
        "identity.tenant_id": TENANT,
    }


def _public_address(interface: Values, view: CloudView) -> str:
    for block in interface.get("ip_configuration") or []:
        found = view.get("azurerm_public_ip", block.get("public_ip_address_id") or "")
        if found:
            return str(found["ip_address"])
    return ""


def _guid(view: CloudView) -> str:
    digits = view.new_id("", 32)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _machine(values: Values) -> MachineFacts:
    try:
        data = base64.b64decode(values.get("custom_data") or "")
        if data.startswith(b"\x1f\x8b"):
            # cloud-init unpacks gzip by itself.
            data = gzip.decompress(data)
    except (binascii.Error, OSError, EOFError):
        data = b""
    zone = values.get("zone") or ""
    return MachineFacts(
        zone=zone,
        zone_id=f"{values['location']}-{zone}" if zone else "",
        instance_type=values["size"],
        market="spot" if values.get("priority") == "Spot" else "on-demand",
        user_data=data.decode(errors="replace"),
        address=values.get("public_ip_address") or "",
        private_address=values.get("private_ip_address") or "",
    )


def capacity_error(facts: MachineFacts, region: str) -> Problem:
    """Azure's answer where there is no such machine now.

    In a region it says so at once; in a zone it tries first. Both as quoted on the provider's issue tracker.
    """
    begin = f"creating Linux {named('Virtual Machine', subscription({}) or '(simulated)', 'gpuorch', 'gpuorch')}"
    if facts.zone:
        message = (
            "Allocation failed. We do not have sufficient capacity for the requested VM size in this zone. "
            "Read more about "
            "improving likelihood of allocation success at http://aka.ms/allocation-guidance"
        )
        return failed_later(begin, "CreateOrUpdate", "ZonalAllocationFailed", message).problem
    message = (
        "The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: "
        f"{facts.instance_type}' "
        f"is currently not available in location '{region}'. Please try another size or deploy to a different "
        "location or "
        "different zone. See https://aka.ms/azureskunotavailable for details."
    )
    return refused(begin, "CreateOrUpdate", 409, "SkuNotAvailable", message).problem


# ForceNew in the provider's schema of the machine and of its blocks.
_FORCE_NEW = frozenset(
    {
        "admin_password",
        "admin_ssh_key",
        "admin_username",
        "availability_set_id",
        "computer_name",
        "custom_data",
        "disable_password_authentication",
        "edge_zone",
        "eviction_policy",
        "location",
        "name",
        "os_disk.diff_disk_settings",
        "os_disk.name",
        "os_disk.security_encryption_type",
        "os_disk.storage_account_type",
        "os_managed_disk_id",
        "plan",
        "platform_fault_domain",
        "priority",
        "provision_vm_agent",
        "resource_group_name",
        "secure_boot_enabled",
        "source_image_id",
        "source_image_reference",
        "vtpm_enabled",
        "zone",
    }
)

MACHINE = ResourceRules(
    validate=_VALIDATE,
    force_new=_FORCE_NEW,
    defaults={
        "bypass_platform_safety_checks_on_user_schedule_enabled": False,
        "extensions_time_budget": "PT1H30M",
        "max_bid_price": -1,
        "os_disk.write_accelerator_enabled": False,
        "platform_fault_domain": -1,
        "priority": "Regular",
    },
    # Computed as well, so that without it in the configuration it stays as it is.
    kept_blocks=frozenset({"termination_notification"}),
    create=_create,
    machine=_machine,
)
