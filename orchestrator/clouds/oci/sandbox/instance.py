"""Rules of the machine itself."""

from __future__ import annotations

import base64
import binascii
import email
import email.policy
import gzip
import ipaddress
import re
from collections.abc import Iterator

from orchestrator.clouds.oci.sandbox.places import domain_names, ocid, region_key, short_domain
from orchestrator.clouds.oci.sandbox.wording import Operation, not_found, refusal, refused
from orchestrator.clouds.oci.shapes import takes_preemptible
from orchestrator.clouds.rules import CloudView, MachineFacts, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import Check, at, every

__all__ = ["INSTANCE", "capacity_error"]

_LAUNCH = Operation(service="Core Instance", name="LaunchInstance", method="POST", path="instances")
# LaunchInstanceDetails.metadata in OCI's API reference.
_METADATA_BYTES = 32000
_IMAGE = re.compile(r"ocid1\.image\.[a-z0-9.-]+")


# -- what the provider refuses before the plan


def _one_of(path: str, *allowed: str) -> Check:
    """``validation.StringInSlice`` without regard to case, which the provider uses throughout."""

    def check(config: Values) -> Iterator[Problem]:
        name = path.rpartition(".")[2]
        for where, value in at(config, path):
            if value.lower() not in (each.lower() for each in allowed):
                listed = " ".join(f'"{each}"' for each in allowed)
                yield Problem(summary=f"expected {name} to be one of [{listed}], got {value}", path=where)

    return check


def _whole_number(path: str) -> Check:
    """The provider keeps 64-bit numbers as text, and reads them before it calls anybody."""

    def check(config: Values) -> Iterator[Problem]:
        name = path.rpartition(".")[2]
        for where, value in at(config, path):
            if value and not re.fullmatch(r"-?\d+", value):
                words = f'"{name}" must be a 64-bit integer, got {value!r}'.replace("'", '"')
                yield Problem(summary=words, path=where)

    return check


_VALIDATE: Check = every(
    _one_of("preemptible_instance_config.preemption_action.type", "TERMINATE"),
    _one_of("source_details.source_type", "bootVolume", "image"),
    _one_of("launch_volume_attachments.type", "iscsi", "paravirtualized"),
    _one_of("state", "RUNNING", "STOPPED"),
    _whole_number("source_details.boot_volume_size_in_gbs"),
    _whole_number("source_details.boot_volume_vpus_per_gb"),
)


# -- what OCI refuses at the launch


def _check_launch(values: Values, view: CloudView) -> None:
    region, shape = view.region, values.get("shape") or ""
    if values["availability_domain"] not in domain_names(region):
        raise not_found(_LAUNCH, region)
    if not re.fullmatch(r"(VM|BM)\.[A-Za-z0-9.-]+", shape):
        raise not_found(_LAUNCH, region, f"shape {shape} not found")
    source = (values.get("source_details") or [{}])[0]
    if source.get("source_type") == "image" and not _IMAGE.fullmatch(source.get("source_id") or ""):
        message = f"Invalid sourceDetails.imageId: {source.get('source_id')} (Image ID is not a valid OCID)"
        raise refused(_LAUNCH, region, 400, "InvalidParameter", message)
    size = source.get("boot_volume_size_in_gbs")
    if isinstance(size, str) and size and not 50 <= int(size) <= 32768:
        message = f"Boot volume size {size} GB must be between 50 GB and 32768 GB"
        raise refused(_LAUNCH, region, 400, "InvalidParameter", message)
    if values.get("preemptible_instance_config") and not takes_preemptible(shape):
        message = f"Preemptible instances are not supported for shape {shape}"
        raise refused(_LAUNCH, region, 400, "InvalidParameter", message)
    if shape.endswith(".Flex") and not [each for _, each in at(values, "shape_config.ocpus")]:
        message = "Invalid ShapeConfig: null (Cannot launch flexible instance without ShapeConfig)"
        raise refused(_LAUNCH, region, 400, "InvalidParameter", message)
    _check_network(values, view)
    _check_metadata(values, view)


def _check_network(values: Values, view: CloudView) -> None:
    vnic = (values.get("create_vnic_details") or [{}])[0]
    subnet = view.get("oci_core_subnet", vnic.get("subnet_id") or values.get("subnet_id") or "")
    if subnet is None:
        raise not_found(_LAUNCH, view.region)
    for group in vnic.get("nsg_ids") or []:
        if view.get("oci_core_network_security_group", group) is None:
            raise not_found(_LAUNCH, view.region)
    if vnic.get("assign_public_ip") in ("true", None) and subnet.get("prohibit_public_ip_on_vnic"):
        message = "Public IP address cannot be assigned to a VNIC in a private subnet"
        raise refused(_LAUNCH, view.region, 400, "InvalidParameter", message)


def _check_metadata(values: Values, view: CloudView) -> None:
    metadata = values.get("metadata") or {}
    size = sum(len(key.encode()) + len((value or "").encode()) for key, value in metadata.items())
    if size > _METADATA_BYTES:
        message = (
            f"The size of metadata and extendedMetadata is {size} bytes, and must not exceed {_METADATA_BYTES} bytes"
        )
        raise refused(_LAUNCH, view.region, 400, "InvalidParameter", message)
    try:
        base64.b64decode(metadata.get("user_data") or "", validate=True)
    except binascii.Error:
        message = "Invalid metadata: user_data must be base64 encoded"
        raise refused(_LAUNCH, view.region, 400, "InvalidParameter", message) from None


# -- what OCI fills in


def _create(values: Values, view: CloudView) -> Values:
    _check_launch(values, view)
    id_ = ocid(view, "instance")
    vnic = (values.get("create_vnic_details") or [{}])[0]
    subnet = view.get("oci_core_subnet", vnic.get("subnet_id") or "") or {}
    private = vnic.get("private_ip") if isinstance(vnic.get("private_ip"), str) else ""
    private = private or _free_address(subnet, view)
    # RFC 5737 sets this block aside for documentation: nobody can be reached there by mistake.
    public = f"203.0.113.{int(id_[-2:], 16) % 254 + 1}" if vnic.get("assign_public_ip") in ("true", None) else ""
    machine = values["shape"].startswith("VM.")
    return {
        "id": id_,
        "boot_volume_id": ocid(view, "bootvolume"),
        "display_name": f"instance{view.now():%Y%m%d%H%M}",
        "fault_domain": "FAULT-DOMAIN-1",
        "is_pv_encryption_in_transit_enabled": False,
        "launch_mode": "PARAVIRTUALIZED" if machine else "NATIVE",
        "region": region_key(view.region),
        "state": "RUNNING",
        "time_created": f"{view.now():%Y-%m-%d %H:%M:%S} +0000 UTC",
        "private_ip": private,
        "public_ip": public,
        "subnet_id": subnet.get("id", ""),
        "defined_tags": {},
        "freeform_tags": {},
        "system_tags": {},
        "create_vnic_details.private_ip": private,
        "create_vnic_details.skip_source_dest_check": False,
        "create_vnic_details.assign_ipv6ip": False,
        "source_details.boot_volume_size_in_gbs": "47",
        "source_details.boot_volume_vpus_per_gb": "10",
        "agent_config": [
            {"are_all_plugins_disabled": False, "is_management_disabled": False, "is_monitoring_disabled": False}
        ],
        "availability_config": [{"is_live_migration_preferred": False, "recovery_action": "RESTORE_INSTANCE"}],
        "instance_options": [{"are_legacy_imds_endpoints_disabled": False}],
        "launch_options": [
            {
                "boot_volume_type": "PARAVIRTUALIZED" if machine else "ISCSI",
                "firmware": "UEFI_64",
                "is_consistent_volume_naming_enabled": True,
                "network_type": "PARAVIRTUALIZED" if machine else "VFIO",
                "remote_data_volume_type": "PARAVIRTUALIZED",
            }
        ],
        "shape_config": [{"ocpus": 64, "memory_in_gbs": 2048, "vcpus": 128, "gpus": 8}],
    }


def _free_address(subnet: Values, view: CloudView) -> str:
    block = ipaddress.ip_network(subnet.get("cidr_block") or "10.0.0.0/24")
    taken = {other.get("private_ip") for other in view.live("oci_core_instance")}
    # OCI keeps the first two addresses and the last one of every subnet for itself.
    for place in range(2, block.num_addresses - 1):
        if (address := str(block[place])) not in taken:
            return address
    message = f"There are no free private IP addresses in subnet {subnet.get('id', '')}"
    raise refused(_LAUNCH, view.region, 400, "LimitExceeded", message)


def _user_data(values: Values) -> str:
    """What cloud-init makes of the metadata: unpacked, and of a text in parts the first, which is the caller's."""
    data = base64.b64decode((values.get("metadata") or {}).get("user_data") or "")
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError):
            return ""
    if not data.startswith(b"Content-Type:"):
        return data.decode(errors="replace")
    message = email.message_from_bytes(data, policy=email.policy.default)
    for part in message.walk():
        if part.get_content_type() in ("text/plain", "text/cloud-config"):
            return str(part.get_content())
    return ""


def _machine(values: Values) -> MachineFacts:
    return MachineFacts(
        zone=values["availability_domain"],
        zone_id=short_domain(values["availability_domain"]),
        instance_type=values.get("shape") or "",
        market="spot" if values.get("preemptible_instance_config") else "on-demand",
        user_data=_user_data(values),
        address=values["public_ip"],
        private_address=values["private_ip"],
    )


def capacity_error(facts: MachineFacts, region: str) -> Problem:
    """OCI's answer where the domain has no such machine; the provider does not repeat this one."""
    return refusal(_LAUNCH, region, 500, "InternalError", "Out of host capacity.")


# ForceNew in the provider's internal/service/core/core_instance_resource.go.
_FORCE_NEW = frozenset(
    {
        "availability_domain",
        "create_vnic_details.assign_ipv6ip",
        "create_vnic_details.private_ip",
        "create_vnic_details.subnet_id",
        "image",
        "ipxe_script",
        "is_pv_encryption_in_transit_enabled",
        "launch_options.firmware",
        "preemptible_instance_config",
        "preemptible_instance_config.preemption_action.preserve_boot_volume",
        "preemptible_instance_config.preemption_action.type",
        "source_details.boot_volume_vpus_per_gb",
        "subnet_id",
    }
)

INSTANCE = ResourceRules(
    validate=_VALIDATE,
    force_new=_FORCE_NEW,
    defaults={"create_vnic_details.assign_public_ip": "true"},
    kept_blocks=frozenset(
        {
            "agent_config",
            "availability_config",
            "instance_options",
            "launch_options",
            "platform_config",
            "preemptible_instance_config",
            "shape_config",
        }
    ),
    create=_create,
    machine=_machine,
)
