"""Rules of the machine itself.

Arguments: the provider's documentation, and the ForceNew and ValidateFunc of its published source. Refusals: the error
codes that the API reference of ECS lists for RunInstances.
"""

from __future__ import annotations

import base64
import ipaddress
import re
from datetime import UTC, datetime, timedelta

from orchestrator.clouds.alibaba.sandbox.wording import Refusal, refused, wrapped
from orchestrator.clouds.rules import CallRefused, CloudView, MachineFacts, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import Check, between, conflicting, every, matching, one_of, some_of

__all__ = ["INSTANCE", "capacity_error"]

_TYPE, _ACTION = "alicloud_instance", "RunInstances"
# RunInstances, parameter UserData: 32 KB, before it is base64-encoded.
_USER_DATA_BYTES = 32768
# docs of alicloud_instance, auto_release_time: at least half an hour ahead, and within three years.
_RELEASE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_SOONEST, _LATEST = timedelta(minutes=30), timedelta(days=3 * 366)
_IMAGE = re.compile(r"m-[a-z0-9]{20}|[A-Za-z0-9_.-]+\.vhd")

_DISKS = (
    *("all", "cloud", "ephemeral_ssd", "cloud_essd", "cloud_efficiency", "cloud_ssd", "local_disk", "cloud_auto"),
    "cloud_essd_entry",
)


_VALIDATE: Check = every(
    some_of("image_id", "launch_template_id", "launch_template_name"),
    some_of("instance_type", "launch_template_id", "launch_template_name"),
    matching("instance_type", r"ecs\..*", "prefix must be 'ecs.'"),
    one_of("internet_charge_type", "PayByBandwidth", "PayByTraffic"),
    one_of("system_disk_category", *_DISKS),
    one_of("system_disk_performance_level", "PL0", "PL1", "PL2", "PL3"),
    one_of("instance_charge_type", "PrePaid", "PostPaid"),
    one_of("period_unit", "Week", "Month"),
    one_of("renewal_status", "AutoRenewal", "Normal", "NotRenewal"),
    one_of("spot_strategy", "NoSpot", "SpotAsPriceGo", "SpotWithPriceLimit"),
    one_of("spot_interruption_behavior", "Terminate", "Stop"),
    one_of("http_endpoint", "enabled", "disabled"),
    one_of("http_tokens", "optional", "required"),
    one_of("status", "Running", "Stopped"),
    one_of("stopped_mode", "StopCharging", "KeepCharging", "Not-applicable"),
    one_of("security_enhancement_strategy", "Active", "Deactive"),
    between("internet_max_bandwidth_out", 0, 1024),
    conflicting("dedicated_host_id", "spot_strategy"),
    conflicting("dedicated_host_id", "spot_price_limit"),
    conflicting("ipv6_addresses", "ipv6_address_count"),
    conflicting("secondary_private_ips", "secondary_private_ip_address_count"),
)


# -- what ECS refuses at the launch


def _refused(code: str, message: str, status: int = 400) -> CallRefused:
    return refused(_TYPE, _ACTION, Refusal(code=code, message=message, status=status))


def _check_launch(values: Values, view: CloudView) -> None:
    if not _IMAGE.fullmatch(values.get("image_id") or ""):
        raise _refused("InvalidImageId.NotFound", "The specified ImageId does not exist.", 404)
    if view.get("alicloud_vswitch", values.get("vswitch_id") or "") is None:
        raise _refused("InvalidVSwitchId.NotFound", "The VSwitchId provided does not exist in our records.", 404)
    _check_groups(values, view)
    key = values.get("key_name")
    if key and view.get("alicloud_ecs_key_pair", key) is None:
        raise _refused("InvalidKeyPairName.NotFound", "The specified KeyPairName does not exist.", 404)
    if len(_user_data(values)) > _USER_DATA_BYTES:
        raise _refused("InvalidUserData.SizeExceeded", "The specified parameter UserData exceeds the size.")
    size = values.get("system_disk_size")
    if size and not 20 <= size <= 2048:
        message = "The specified parameter SystemDisk.Size is invalid."
        raise _refused("InvalidSystemDiskSize.ValueNotSupported", message)
    _check_payment(values)
    _check_release(values)


def _check_groups(values: Values, view: CloudView) -> None:
    home = (view.get("alicloud_vswitch", values["vswitch_id"]) or {})["vpc_id"]
    for id_ in values.get("security_groups") or []:
        group = view.get("alicloud_security_group", id_)
        if group is None:
            raise _refused("InvalidSecurityGroupId.NotFound", "The specified SecurityGroupId does not exist.", 404)
        if group["vpc_id"] != home:
            message = "The specified security group and the specified virtual switch are not in the same VPC."
            raise _refused("InvalidSecurityGroupId.VPCMismatch", message)


def _check_payment(values: Values) -> None:
    strategy, limit = values.get("spot_strategy") or "NoSpot", values.get("spot_price_limit")
    if strategy != "NoSpot" and values.get("instance_charge_type") == "PrePaid":
        message = "The specified Spot type is not support PrePay Instance."
        raise _refused("InvalidSpotPrepaid", message)
    if strategy == "SpotWithPriceLimit" and (not limit or limit < 0 or round(limit, 3) != limit):
        raise _refused("InvalidSpotPriceLimit", "The specified SpotPriceLimitis not valid.")


def _check_release(values: Values) -> None:
    text = values.get("auto_release_time")
    if not text:
        return
    # Against the machine's clock and not the simulated one: what wants it computes it from the time of day.
    ahead = datetime.fromisoformat(text) - datetime.now(UTC) if _RELEASE.fullmatch(text) else timedelta()
    if not _SOONEST <= ahead <= _LATEST:
        raise _refused("InvalidAutoReleaseTime.Malformed", "The specified parameter AutoReleaseTime is not valid.")


# -- what ECS fills in


def _create(values: Values, view: CloudView) -> Values:
    _check_launch(values, view)
    id_ = view.new_id("i-", 20)
    subnet = view.get("alicloud_vswitch", values["vswitch_id"]) or {}
    private = values.get("private_ip") or _free_address(subnet, view)
    public = ""
    if values.get("internet_max_bandwidth_out"):
        # RFC 5737 sets this block aside for documentation: nobody can be reached there by mistake.
        public = f"203.0.113.{int(id_[-2:], 16) % 254 + 1}"
    return {
        "id": id_,
        "availability_zone": subnet["zone_id"],
        "cpu": 8,
        "create_time": f"{view.now():%Y-%m-%dT%H:%MZ}",
        "host_name": f"iZ{id_[2:]}Z",
        "http_endpoint": "enabled",
        "http_put_response_hop_limit": 1,
        "http_tokens": "optional",
        "instance_charge_type": "PostPaid",
        "instance_name": "ECS-Instance",
        "internet_charge_type": "PayByTraffic",
        "internet_max_bandwidth_in": 100,
        "internet_max_bandwidth_out": 0,
        "key_name": "",
        "memory": 32768,
        "os_name": "Ubuntu 24.04 64 bit",
        "os_type": "linux",
        "primary_ip_address": private,
        "private_ip": private,
        "public_ip": public,
        "resource_group_id": "",
        "role_name": "",
        "security_enhancement_strategy": "Active",
        "spot_duration": 1,
        "spot_interruption_behavior": "",
        "spot_price_limit": 0,
        "spot_strategy": "NoSpot",
        "start_time": f"{view.now():%Y-%m-%dT%H:%MZ}",
        "status": "Running",
        "stopped_mode": "Not-applicable",
        "system_disk_category": "cloud_efficiency",
        "system_disk_encrypted": False,
        "system_disk_id": view.new_id("d-", 20),
        "system_disk_performance_level": "PL1",
        "system_disk_size": 40,
        "volume_tags": {},
        "vpc_id": subnet["vpc_id"],
    }


def _free_address(subnet: Values, view: CloudView) -> str:
    block = ipaddress.ip_network(subnet["cidr_block"])
    taken = {other.get("primary_ip_address") for other in view.live(_TYPE)}
    # The first address and the last three of every vSwitch are the cloud's own.
    for place in range(1, block.num_addresses - 3):
        if (address := str(block[place])) not in taken:
            return address
    raise _refused("InvalidVSwitchId.IpInsufficient", "The VSwitch does not have enough IP addresses.")


def _user_data(values: Values) -> bytes:
    """The provider takes plain text and base64, and tells them apart by trying."""
    text = values.get("user_data") or ""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return text.encode()


def _delete(values: Values, view: CloudView) -> None:
    if values.get("instance_charge_type") == "PrePaid" and not values.get("force_delete"):
        raise wrapped(
            _TYPE,
            "Please convert 'PrePaid' instance to 'PostPaid' or set 'force_delete' as true before deleting 'PrePaid' "
            "instance.",
        )


def _plan(config: Values, prior: Values | None, provider: Values) -> Values:
    """The arguments of a prepaid machine have defaults of their own; of another one the provider hides them."""
    if config.get("instance_charge_type") != "PrePaid":
        return {}
    usual = {"period_unit": "Month", "renewal_status": "Normal", "auto_renew_period": 1, "include_data_disks": True}
    return {name: value for name, value in usual.items() if config.get(name) is None}


def _market(values: Values) -> str:
    if values["instance_charge_type"] == "PrePaid":
        return "subscription-monthly"
    return "on-demand" if values["spot_strategy"] in ("", "NoSpot") else "spot"


def _machine(values: Values) -> MachineFacts:
    return MachineFacts(
        zone=values["availability_zone"],
        instance_type=values.get("instance_type") or "",
        market=_market(values),
        user_data=_user_data(values).decode(errors="replace"),
        address=values["public_ip"],
        private_address=values["private_ip"],
    )


def capacity_error(facts: MachineFacts, region: str) -> Problem:
    """The answer of ECS where the zone has no such machine."""
    message = "The requested resource is sold out in the specified zone; try other types of resources or other "
    message += "regions and zones."
    return _refused("OperationDenied.NoStock", message, 403).problem


_DATA_DISK = (
    "category",
    "encrypted",
    "snapshot_id",
    "kms_key_id",
    "device",
    "delete_with_instance",
    "provisioned_iops",
)

_FORCE_NEW = frozenset(
    {
        "availability_zone",
        "hpc_cluster_id",
        "http_put_response_hop_limit",
        "ipv6_address_count",
        "launch_template_id",
        "launch_template_name",
        "launch_template_version",
        "network_card_index",
        "network_interface_traffic_mode",
        "security_enhancement_strategy",
        "spot_duration",
        "spot_interruption_behavior",
        "spot_price_limit",
        "spot_strategy",
        "system_disk_category",
        "system_disk_encrypt_algorithm",
        "system_disk_encrypted",
        "system_disk_kms_key_id",
        "system_disk_storage_cluster_id",
        "image_options.login_as_non_root",
        *(f"data_disks.{name}" for name in _DATA_DISK),
    }
)


INSTANCE = ResourceRules(
    validate=_VALIDATE,
    force_new=_FORCE_NEW,
    defaults={"dry_run": False, "data_disks.delete_with_instance": True, "data_disks.encrypted": False},
    kept_blocks=frozenset({"cpu_options", "image_options", "maintenance_time"}),
    plan=_plan,
    create=_create,
    delete=_delete,
    machine=_machine,
)
