"""Rules of the network's resources.

What replaces a resource and what is filled in: mmv1/products/compute/{Network,Subnetwork,Firewall}.yaml, of which the
provider is generated.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping

from orchestrator.clouds.gcp.sandbox.checks import NAME, regexp
from orchestrator.clouds.gcp.sandbox.wording import API, link, not_found, operation_failed, project_of, refused
from orchestrator.clouds.rules import UNKNOWN, CloudView, Problem, ResourceRules, Values
from orchestrator.clouds.sdk_checks import conflicting, every, exactly_one, known, one_of

__all__ = ["NETWORK", "path_of", "subnet_at"]


def path_of(reference: str) -> str:
    """The path of a resource, without the address of the API before it."""
    return reference.removeprefix(API)


def network_at(reference: str, view: CloudView) -> Values | None:
    """A network by its self link, its path, or its name alone."""
    path = path_of(reference)
    return next((each for each in view.live("google_compute_network") if path in (each["id"], each["name"])), None)


def subnet_at(reference: str, view: CloudView) -> Values | None:
    """A subnetwork of the region, by its self link, its path, or its name alone."""
    path = path_of(reference)
    return next((each for each in view.live("google_compute_subnetwork") if path in (each["id"], each["name"])), None)


# -- what the provider refuses before the plan


def _sources(config: Values) -> Iterator[Problem]:
    """resourceComputeFirewallSourceFieldsCustomizeDiff."""
    names = ("source_ranges", "source_tags", "source_service_accounts")
    if config.get("direction") == "EGRESS" or any(config.get(name) is UNKNOWN for name in names):
        return
    if not any(known(config.get(name)) for name in names):
        words = "one of source_tags, source_ranges, or source_service_accounts must be defined"
        yield Problem(summary=words)


# -- what Compute Engine refuses


def _must_be_new(doing: str, type_: str, path: str, view: CloudView) -> None:
    if view.get(type_, path) is not None:
        raise refused(doing, 409, f"The resource '{path}' already exists", "alreadyExists")


def _block(doing: str, field: str, text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        words = f"Invalid value for field '{field}': '{text}'. Must be a CIDR address range."
        raise refused(doing, 400, words, "invalid") from None


def _unless_used(doing: str, kind: str, users: Mapping[str, str]) -> Callable[[Values, CloudView], None]:
    """A ``delete``: refused while a user of type → argument names the resource."""

    def delete(values: Values, view: CloudView) -> None:
        for type_, argument in users.items():
            for user in view.live(type_):
                if {values["id"], values["name"]} & set(_references(user, argument.split("."))):
                    used = f"The {kind} resource '{values['id']}' is already being used by '{user['id']}'"
                    raise operation_failed(doing, used)

    return delete


def _references(value: object, names: list[str]) -> list[str]:
    if isinstance(value, list):
        return [found for each in value for found in _references(each, names)]
    if not names:
        return [path_of(value)] if isinstance(value, str) else []
    return _references(value.get(names[0]), names[1:]) if isinstance(value, Mapping) else []


# -- what Compute Engine fills in


def _create_network(values: Values, view: CloudView) -> Values:
    doing, project = "Error creating Network", project_of(values, view)
    path = f"projects/{project}/global/networks/{values['name']}"
    _must_be_new(doing, "google_compute_network", path, view)
    number = str(int(view.new_id("", 15), 16))
    return {
        "id": path,
        "project": project,
        "self_link": link(path),
        "network_id": number,
        "numeric_id": number,
        "routing_mode": "REGIONAL",
        "bgp_best_path_selection_mode": "LEGACY",
    }


def _create_subnet(values: Values, view: CloudView) -> Values:
    doing, project = "Error creating Subnetwork", project_of(values, view)
    region = values.get("region") or view.region
    path = f"projects/{project}/regions/{region}/subnetworks/{values['name']}"
    _must_be_new(doing, "google_compute_subnetwork", path, view)
    network = network_at(values["network"], view)
    if network is None:
        raise not_found(doing, path_of(values["network"]))
    block = _block(doing, "resource.ipCidrRange", values.get("ip_cidr_range") or "")
    for other in view.live("google_compute_subnetwork"):
        same = path_of(other["network"]) == network["id"]
        if same and block.overlaps(ipaddress.ip_network(other["ip_cidr_range"])):
            words = f"Invalid IPCidrRange: {block} conflicts with existing subnetwork '{other['name']}'"
            raise operation_failed("Subnetwork to create", f"{words} in region '{region}'.")
    return {
        "id": path,
        "project": project,
        "region": region,
        "self_link": link(path),
        "subnetwork_id": int(view.new_id("", 12), 16),
        "gateway_address": str(block[1]),
        "creation_timestamp": view.now().isoformat(),
        "private_ipv6_google_access": "DISABLE_GOOGLE_ACCESS",
        "purpose": "PRIVATE",
        "stack_type": "IPV4_ONLY",
    }


def _create_firewall(values: Values, view: CloudView) -> Values:
    doing, project = "Error creating Firewall", project_of(values, view)
    path = f"projects/{project}/global/firewalls/{values['name']}"
    _must_be_new(doing, "google_compute_firewall", path, view)
    if network_at(values["network"], view) is None:
        raise not_found(doing, path_of(values["network"]))
    for number, text in enumerate(values.get("source_ranges") or []):
        _block(doing, f"resource.sourceRanges[{number}]", text)
    return {
        "id": path,
        "project": project,
        "self_link": link(path),
        "creation_timestamp": view.now().isoformat(),
        "direction": "INGRESS",
    }


_NETWORK_USERS = {
    "google_compute_subnetwork": "network",
    "google_compute_firewall": "network",
    "google_compute_instance": "network_interface.network",
}

NETWORK: Mapping[str, ResourceRules] = {
    "google_compute_network": ResourceRules(
        validate=every(regexp("name", NAME), one_of("routing_mode", "REGIONAL", "GLOBAL", "")),
        force_new=frozenset({"name", "project", "description", "auto_create_subnetworks", "internal_ipv6_range"}),
        defaults={
            "auto_create_subnetworks": True,
            "delete_default_routes_on_create": False,
            "network_firewall_policy_enforcement_order": "AFTER_CLASSIC_FIREWALL",
        },
        create=_create_network,
        delete=_unless_used("Deleting Network", "network", _NETWORK_USERS),
        is_global=True,
    ),
    "google_compute_subnetwork": ResourceRules(
        validate=every(
            regexp("name", NAME),
            one_of("stack_type", "IPV4_ONLY", "IPV4_IPV6", "IPV6_ONLY", ""),
            one_of("ipv6_access_type", "EXTERNAL", "INTERNAL", ""),
            one_of("role", "ACTIVE", "BACKUP", ""),
        ),
        force_new=frozenset({"name", "project", "description", "network", "region", "purpose"}),
        create=_create_subnet,
        delete=_unless_used(
            "Deleting Subnetwork", "subnetwork", {"google_compute_instance": "network_interface.subnetwork"}
        ),
    ),
    "google_compute_firewall": ResourceRules(
        validate=every(
            regexp("name", NAME),
            exactly_one("allow", "deny"),
            conflicting("source_service_accounts", "source_tags"),
            conflicting("target_service_accounts", "target_tags"),
            one_of("direction", "INGRESS", "EGRESS", ""),
            _sources,
        ),
        force_new=frozenset({"name", "project", "direction", "network"}),
        defaults={"priority": 1000},
        create=_create_firewall,
        is_global=True,
    ),
}
