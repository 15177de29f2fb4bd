"""Rules of the machine itself, and of the timer that ends it."""

from __future__ import annotations

import base64
import binascii
import gzip
import ipaddress
import re
from datetime import datetime, timedelta
from typing import Any

from orchestrator.clouds.rules import CloudView, MachineFacts, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import Check, conflicting, every, some_of
from orchestrator.clouds.tencent.sandbox.checks import a_number, among, instance_type, length
from orchestrator.clouds.tencent.sandbox.places import check_region, zone_names
from orchestrator.clouds.tencent.sandbox.wording import problem, refused

__all__ = ["INSTANCE", "TIMER", "capacity_error"]

# "Must be base64 encoded and up to 16 KB": the provider's documentation of user_data.
_USER_DATA_BYTES = 16384
_IMAGE = re.compile(r"img-[0-9a-z]{8}")
# What the API asks of a timer: product/213/15753, ActionTimer.
_TIMER_LEAD = timedelta(minutes=5)
_MARKETS = {"SPOTPAID": "spot", "PREPAID": "subscription-monthly"}

_VALIDATE: Check = every(
    some_of("image_id", "launch_template_id"),
    some_of("availability_zone", "launch_template_id"),
    instance_type,
    length("instance_name", 2, 128),
    conflicting("security_groups", "orderly_security_groups"),
    conflicting("key_name", "key_ids"),
    conflicting("key_ids", "password"),
    conflicting("user_data", "user_data_raw"),
    among("instance_charge_type", "PREPAID", "POSTPAID_BY_HOUR", "SPOTPAID", "CDHPAID", "CDCPAID", "UNDERWRITE"),
    among("spot_instance_type", "ONE-TIME"),
    a_number("spot_max_price"),
    among("stop_type", "SOFT_FIRST", "HARD", "SOFT"),
    among("stopped_mode", "KEEP_CHARGING", "STOP_CHARGING"),
    among(
        "instance_charge_type_prepaid_renew_flag",
        "NOTIFY_AND_AUTO_RENEW",
        "NOTIFY_AND_MANUAL_RENEW",
        "DISABLE_NOTIFY_AND_MANUAL_RENEW",
    ),
    among(
        "internet_charge_type",
        "BANDWIDTH_PREPAID",
        "BANDWIDTH_POSTPAID_BY_HOUR",
        "BANDWIDTH_PACKAGE",
        "TRAFFIC_POSTPAID_BY_HOUR",
    ),
    among(
        "system_disk_type",
        "LOCAL_BASIC",
        "LOCAL_SSD",
        "CLOUD_BASIC",
        "CLOUD_SSD",
        "CLOUD_PREMIUM",
        "CLOUD_BSSD",
        "CLOUD_HSSD",
        "CLOUD_TSSD",
    ),
)


# -- what the cloud refuses at the launch


def _check_launch(values: Values, view: CloudView) -> None:
    check_region(view.region)
    image, zone = values.get("image_id") or "", values.get("availability_zone") or ""
    if image and not _IMAGE.fullmatch(image):
        raise refused("InvalidImageId.Malformed", f"Invalid image id `{image}`.")
    if zone not in zone_names(view.region):
        raise refused("InvalidZone.MismatchRegion", "The specified zone does not exist.")
    if (values.get("instance_charge_type") == "PREPAID") != bool(values.get("instance_charge_type_prepaid_period")):
        raise refused("MissingParameter", "The request is missing a required parameter.")
    if bool(values.get("spot_instance_type")) != bool(values.get("spot_max_price")):
        raise refused("MissingParameter", "The request is missing a required parameter.")
    if values.get("allocate_public_ip") and not values.get("internet_max_bandwidth_out"):
        raise refused("InvalidParameterCombination", "The specified parameters are invalid in combination.")
    if not 20 <= (values.get("system_disk_size") or 50) <= 2048:
        raise refused("InvalidParameterValue.Range", "The value of system disk size is out of range.")
    if len((values.get("user_data") or "").encode()) > _USER_DATA_BYTES:
        raise refused("InvalidParameterValue.LimitExceeded", "The user data is longer than 16 KB.")
    _user_data(values)
    _check_named(values, view, zone)


def _check_named(values: Values, view: CloudView, zone: str) -> None:
    for type_, id_, code, words in (
        ("tencentcloud_vpc", values.get("vpc_id"), "InvalidVpcId.NotFound", "The specified VpcId `{}` doesn't exist."),
        (
            "tencentcloud_subnet",
            values.get("subnet_id"),
            "InvalidParameterValue.SubnetNotExist",
            "The specified subnet `{}` does not exist.",
        ),
        *(
            ("tencentcloud_security_group", id_, "InvalidSecurityGroupId.NotFound", "Security group `{}` not found.")
            for id_ in values.get("orderly_security_groups") or ()
        ),
        *(
            ("tencentcloud_key_pair", id_, "InvalidKeyPairId.NotFound", "The key pair `{}` does not exist.")
            for id_ in values.get("key_ids") or ()
        ),
    ):
        if id_ and view.get(type_, id_) is None:
            raise refused(code, words.format(id_))
    subnet = view.get("tencentcloud_subnet", values.get("subnet_id") or "")
    if subnet and subnet["availability_zone"] != zone:
        message = f"The subnet `{subnet['id']}` is not in the zone `{zone}`."
        raise refused("InvalidParameterValue.SubnetIdZoneIdNotMatch", message)
    role = values.get("cam_role_name")
    if role and not any(each["name"] == role for each in view.live("tencentcloud_cam_role")):
        raise refused("AuthFailure.CamRoleNameAuthenticateFailed", f"The role `{role}` failed to be authenticated.")


# -- what the cloud fills in


def _create(values: Values, view: CloudView) -> Values:
    _check_launch(values, view)
    id_ = view.new_id("ins-", 8)
    subnet = view.get("tencentcloud_subnet", values.get("subnet_id") or "") or {}
    # RFC 5737 sets this block aside for documentation: nobody can be reached there by mistake.
    public = f"203.0.113.{int(id_[-2:], 16) % 254 + 1}" if values.get("allocate_public_ip") else ""
    return {
        "id": id_,
        "uuid": view.new_id("", 32),
        "instance_name": "Unnamed",
        "instance_type": "S5.MEDIUM2",
        "instance_charge_type": "POSTPAID_BY_HOUR",
        "instance_status": "RUNNING",
        "running_flag": True,
        "project_id": 0,
        "create_time": f"{view.now():%Y-%m-%dT%H:%M:%SZ}",
        "private_ip": _free_address(subnet, view),
        "public_ip": public,
        "internet_max_bandwidth_out": 0,
        "ipv4_address_type": "WanIP" if public else "",
        "system_disk_id": view.new_id("disk-", 8),
        "system_disk_type": "CLOUD_PREMIUM",
        "system_disk_size": 50,
        "cpu": 8,
        "memory": 32,
        "os_name": "Ubuntu Server 22.04 LTS 64bit",
        "security_groups": values.get("orderly_security_groups") or [],
        "orderly_security_groups": values.get("security_groups") or [],
        "key_ids": [],
        "key_name": next(iter(values.get("key_ids") or ()), ""),
        "user_data_raw": "",
        "tags": {},
        "disable_api_termination": False,
    }


def _free_address(subnet: Values, view: CloudView) -> str:
    block = ipaddress.ip_network(subnet.get("cidr_block") or "172.16.0.0/20")
    taken = {other.get("private_ip") for other in view.live("tencentcloud_instance")}
    # The first two addresses and the last one of every subnet are the cloud's.
    for place in range(2, block.num_addresses - 1):
        if (address := str(block[place])) not in taken:
            return address
    raise refused("LimitExceeded.VpcSubnetNum", "The subnet has no free address.")


def _user_data(values: Values) -> bytes:
    if values.get("user_data_raw"):
        return str(values["user_data_raw"]).encode()
    try:
        return base64.b64decode(values.get("user_data") or "", validate=True)
    except binascii.Error:
        message = "The user data is not encoded in base64."
        raise refused("InvalidParameterValue.InvalidUserDataFormat", message) from None


def _machine(values: Values) -> MachineFacts:
    data = _user_data(values)
    if data.startswith(b"\x1f\x8b"):
        try:
            # cloud-init unpacks gzip by itself.
            data = gzip.decompress(data)
        except (OSError, EOFError):
            data = b""
    return MachineFacts(
        zone=values["availability_zone"],
        instance_type=values.get("instance_type") or "",
        market=_MARKETS.get(values["instance_charge_type"], "on-demand"),
        user_data=data.decode(errors="replace"),
        address=values["public_ip"],
        private_address=values["private_ip"],
    )


def capacity_error(facts: MachineFacts, region: str) -> Problem:
    """The code of RunInstances for a type that a zone has none of, with its documented meaning as the message."""
    if facts.market == "spot":
        message = "The specified instance type is insufficient."
        return problem("ResourceInsufficient.SpecifiedInstanceType", message)
    message = f"The instances of the specified types were sold out in the selected AZs ({facts.zone})."
    return problem("ResourceInsufficient.ZoneSoldOutForSpecifiedInstance", message)


# -- the timer


def _create_timer(values: Values, view: CloudView) -> Values:
    machine, timer = values["instance_id"], (values["action_timer"] or [{}])[0]
    if view.get("tencentcloud_instance", machine) is None:
        raise refused("InvalidInstanceId.NotFound", f"The specified instance `{machine}` does not exist.")
    if any(other["instance_id"] == machine for other in view.live("tencentcloud_cvm_action_timer")):
        raise refused("FailedOperation.MutActionTimerExist", "The instance already has the specified action timer.")
    try:
        time = datetime.strptime(timer.get("action_time") or "", "%Y-%m-%dT%H:%M:%S%z")
    except ValueError:
        raise refused("InvalidParameterValue.InvalidTimeFormat", "The time is in invalid format.") from None
    if timer.get("timer_action") != "TerminateInstances" or time < view.now() + _TIMER_LEAD:
        message = "The action timer is not supported for the instance."
        raise refused("UnsupportedOperation.NotSupportImportInstancesActionTimer", message)
    return {"id": view.new_id("act-", 8)}


_FORCE_NEW = frozenset(
    {
        "allocate_public_ip",
        "anti_ddos_package_id",
        "availability_zone",
        "cdh_host_id",
        "data_disks",
        "dedicated_cluster_id",
        "hpc_cluster_id",
        "ipv4_address_type",
        "ipv6_address_count",
        "ipv6_address_type",
        "launch_template_id",
        "launch_template_version",
        "spot_max_price",
        "system_disk_encrypt",
        "system_disk_kms_key_id",
    }
)

_SWITCHES = (
    "allocate_public_ip",
    "disable_automation_service",
    "disable_monitor_service",
    "disable_security_service",
    "force_delete",
    "user_data_replace_on_change",
)


def _defaults() -> dict[str, Any]:
    disk = {"delete_with_instance": True, "delete_with_instance_prepaid": False, "encrypt": False}
    return {
        **dict.fromkeys(_SWITCHES, False),
        **{f"data_disks.{name}": value for name, value in disk.items()},
        "data_disks.throughput_performance": 0,
    }


INSTANCE = ResourceRules(
    validate=_VALIDATE,
    force_new=_FORCE_NEW,
    defaults=_defaults(),
    kept_blocks=frozenset({"data_disks"}),
    create=_create,
    machine=_machine,
)

TIMER = ResourceRules(
    force_new=frozenset({"instance_id", "action_timer"}),
    create=_create_timer,
    # The genuine provider has no import for a timer, and the genuine cloud drops it with its machine. The simulated one
    # keeps what it is not told to remove, so here it must be possible to take one up.
    parent=("tencentcloud_instance", "instance_id"),
)
