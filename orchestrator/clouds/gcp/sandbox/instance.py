"""Rules of the machine itself.

Validation, defaults and what replaces it: resource_compute_instance.go of hashicorp/google.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from orchestrator.clouds.gcp.machine_types import offered_type
from orchestrator.clouds.gcp.sandbox.checks import NAME, at_least, regexp
from orchestrator.clouds.gcp.sandbox.labels import merged_labels
from orchestrator.clouds.gcp.sandbox.launch import check_launch, gpus_of, local_disks_of
from orchestrator.clouds.gcp.sandbox.network import network_at, path_of, subnet_at
from orchestrator.clouds.gcp.sandbox.places import region_of, zone_names
from orchestrator.clouds.gcp.sandbox.wording import link, not_found, project_of, refused
from orchestrator.clouds.rules import CallRefused, CloudView, MachineFacts, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import Check, every, one_of

__all__ = ["INSTANCE", "capacity_error"]

_DOING = "Error creating instance"

_VALIDATE: Check = every(
    regexp("name", NAME),
    one_of("boot_disk.mode", "READ_WRITE", "READ_ONLY"),
    one_of("boot_disk.interface", "SCSI", "NVME"),
    at_least("boot_disk.initialize_params.size", 1),
    one_of("boot_disk.initialize_params.architecture", "X86_64", "ARM64"),
    one_of("network_interface.nic_type", "GVNIC", "VIRTIO_NET", "IDPF", "MRDMA", "IRDMA"),
    one_of("network_interface.stack_type", "IPV4_ONLY", "IPV4_IPV6", "IPV6_ONLY", ""),
    one_of("scratch_disk.interface", "SCSI", "NVME"),
    at_least("scratch_disk.size", 375),
    one_of("desired_status", "RUNNING", "TERMINATED", "SUSPENDED"),
    one_of("reservation_affinity.type", "ANY_RESERVATION", "SPECIFIC_RESERVATION", "NO_RESERVATION"),
    one_of("network_performance_config.total_egress_bandwidth_tier", "TIER_1", "DEFAULT"),
    one_of("key_revocation_action_type", "STOP", "NONE", ""),
)


# -- what Compute Engine fills in


def _create(values: Values, view: CloudView) -> Values:
    project = project_of(values, view)
    zone = values.get("zone") or view.provider.get("zone")
    if not zone:
        raise CallRefused("Cannot determine zone: set in this resource, or set provider-level zone.")
    path = f"projects/{project}/zones/{zone}/instances/{values['name']}"
    if zone not in zone_names(region_of(zone)) or region_of(zone) != view.region:
        words = f"The resource 'projects/{project}/zones/{zone}' was not found"
        raise refused(f"Error loading zone '{zone}'", 404, words, "notFound")
    if view.get("google_compute_instance", path) is not None:
        raise refused(_DOING, 409, f"The resource '{path}' already exists", "alreadyExists")
    check_launch(values, view, zone)
    subnet, network = _network_of(values, view)
    number = str(int(view.new_id("1", 16), 16))
    gpus = gpus_of(values["machine_type"])
    return {
        "id": path,
        "self_link": link(path),
        "project": project,
        "zone": zone,
        "instance_id": number,
        "creation_timestamp": view.now().isoformat(),
        "current_status": "RUNNING",
        "cpu_platform": "Intel Cascade Lake",
        "min_cpu_platform": "",
        "label_fingerprint": view.new_id("", 12),
        "metadata_fingerprint": view.new_id("", 12),
        "tags_fingerprint": view.new_id("", 12),
        "boot_disk.device_name": "persistent-disk-0",
        "boot_disk.source": link(f"projects/{project}/zones/{zone}/disks/{values['name']}"),
        "boot_disk.initialize_params.size": 10,
        "boot_disk.initialize_params.type": "pd-standard",
        "boot_disk.initialize_params.architecture": "X86_64",
        "network_interface.name": "nic0",
        "network_interface.network": link(network),
        "network_interface.subnetwork_project": project,
        "network_interface.network_ip": _free_address(subnet, view),
        "network_interface.stack_type": "IPV4_ONLY",
        # RFC 5737 sets this block aside for documentation: nobody can be reached there by mistake.
        "network_interface.access_config.nat_ip": f"203.0.113.{int(number) % 254 + 1}",
        "network_interface.access_config.network_tier": "PREMIUM",
        "scheduling.on_host_maintenance": "TERMINATE" if gpus else "MIGRATE",
        "scheduling.provisioning_model": "STANDARD",
        "scheduling": [{"automatic_restart": True, "preemptible": False, "on_host_maintenance": "MIGRATE"}],
        "shielded_instance_config": [{"enable_vtpm": True, "enable_integrity_monitoring": True}],
        "guest_accelerator": gpus,
        "scratch_disk": local_disks_of(values["machine_type"]),
        "service_account.email": f"{number}-compute@developer.gserviceaccount.com",
    }


def _network_of(values: Values, view: CloudView) -> tuple[Values, str]:
    """The subnetwork, and the path of its network."""
    interface = values["network_interface"][0]
    reference = interface.get("subnetwork")
    if reference:
        subnet = subnet_at(reference, view)
        if subnet is None:
            path = path_of(reference)
            whole = (
                path if "/" in path else f"projects/{project_of(values, view)}/regions/{view.region}/subnetworks/{path}"
            )
            raise not_found(_DOING, whole)
        return subnet, path_of(subnet["network"])
    network = network_at(interface.get("network") or "", view)
    if network is None:
        words = (
            "Invalid value for field 'resource.networkInterfaces[0]': ''. Network interface must specify a subnet or"
        )
        raise refused(_DOING, 400, f"{words} a network.", "invalid")
    return {}, str(network["id"])


def _free_address(subnet: Values, view: CloudView) -> str:
    block = ipaddress.ip_network(subnet.get("ip_cidr_range") or "10.128.0.0/20")
    taken = {
        interface.get("network_ip")
        for other in view.live("google_compute_instance")
        for interface in other.get("network_interface") or []
    }
    # The first two addresses and the last two of every subnet are Google's own.
    for place in range(2, block.num_addresses - 2):
        if (address := str(block[place])) not in taken:
            return address
    words = f"IP_SPACE_EXHAUSTED: IP space of '{subnet.get('id', '')}' is exhausted."
    raise CallRefused(f"Error waiting for instance to create: {words}\n")


# -- what a change in place refuses

_STOPPED_ONLY = ("machine_type", "min_cpu_platform", "service_account", "enable_display", "shielded_instance_config")
_STOP_FIRST = (
    "Changing the machine_type, min_cpu_platform, service_account, enable_display, shielded_instance_config, "
    "scheduling.node_affinities or network_interface.[#d].(network/subnetwork/subnetwork_project) or "
    "advanced_machine_features on a started instance requires stopping it. To acknowledge this, please set "
    'allow_stopping_for_update = true in your config. You can also stop it by setting desired_status = "TERMINATED", '
    "but the instance will not be restarted after the apply."
)


def _update(values: Values, view: CloudView) -> Values:
    before = view.get("google_compute_instance", str(values["id"])) or values
    changed = [name for name in _STOPPED_ONLY if values.get(name) != before.get(name)]
    if changed and not values.get("allow_stopping_for_update"):
        raise CallRefused(_STOP_FIRST)
    return {}


# -- the machine in the simulated cloud


def _machine(values: Values) -> MachineFacts:
    interface = values["network_interface"][0]
    addresses = [each.get("nat_ip") or "" for each in interface.get("access_config") or []]
    gpu = (values.get("guest_accelerator") or [{"type": "", "count": 0}])[0]
    name = values["machine_type"].rpartition("/")[2]
    return MachineFacts(
        zone=values["zone"],
        instance_type=offered_type(name, gpu["type"].rpartition("/")[2], int(gpu["count"])),
        market="spot" if values["scheduling"][0].get("provisioning_model") == "SPOT" else "on-demand",
        user_data=(values.get("metadata") or {}).get("user-data") or "",
        address=addresses[0] if addresses else "",
        private_address=interface["network_ip"],
    )


def capacity_error(facts: MachineFacts, region: str) -> Problem:
    """The operation's error where the zone has no such machine, as compute_operation.go of the provider writes it."""
    name, plus, gpus = facts.instance_type.partition("+")
    kind, _, count = gpus.rpartition("x")
    with_gpus = f" with {count} {kind} accelerator(s)" if plus else ""
    others = ",".join(zone for zone in zone_names(region) if zone != facts.zone)
    words = [
        f"The zone 'projects/gpuorch-sandbox/zones/{facts.zone}' does not have enough resources available to fulfill "
        "the request.  '(resource type:compute)'.",
        f"A {name} VM instance{with_gpus} is currently unavailable in the {facts.zone} zone. Consider trying your "
        f"request in the {others} zone(s), which currently has capacity to accommodate your request. Alternatively, "
        "you can try your request again with a different VM hardware configuration or at a later time. For more "
        "information, see the troubleshooting documentation.",
        "Troubleshooting documentation\nhttps://cloud.google.com/compute/docs/resource-error",
    ]
    return Problem(summary="Error waiting for instance to create: " + "\n\n\n".join(words) + "\n")


_INITIALIZE = "boot_disk.initialize_params"
_FORCE_NEW = frozenset(
    {
        "name",
        "project",
        "zone",
        "hostname",
        "boot_disk.device_name",
        "boot_disk.mode",
        "boot_disk.source",
        "boot_disk.kms_key_self_link",
        f"{_INITIALIZE}.image",
        f"{_INITIALIZE}.labels",
        f"{_INITIALIZE}.size",
        f"{_INITIALIZE}.type",
        "guest_accelerator.count",
        "guest_accelerator.type",
        "network_interface.nic_type",
        "scheduling.preemptible",
        "scheduling.provisioning_model",
        "scheduling.max_run_duration.seconds",
        "scratch_disk",
    }
)


def _defaults() -> dict[str, Any]:
    return {
        "can_ip_forward": False,
        "deletion_protection": False,
        "boot_disk.auto_delete": True,
        "boot_disk.mode": "READ_WRITE",
        "scheduling.automatic_restart": True,
        "scheduling.preemptible": False,
        "shielded_instance_config.enable_integrity_monitoring": True,
        "shielded_instance_config.enable_secure_boot": False,
        "shielded_instance_config.enable_vtpm": True,
        "scratch_disk.size": 375,
    }


INSTANCE = ResourceRules(
    validate=_VALIDATE,
    force_new=_FORCE_NEW,
    defaults=_defaults(),
    plan=merged_labels,
    kept_blocks=frozenset({"guest_accelerator", "reservation_affinity", "scheduling", "shielded_instance_config"}),
    create=_create,
    update=_update,
    machine=_machine,
)
