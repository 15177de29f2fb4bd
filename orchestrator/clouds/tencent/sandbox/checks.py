"""The checks of the provider's own validators, with their words.

Source: tencentcloud/common/validators.go of tencentcloudstack/terraform-provider-tencentcloud.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterator

from orchestrator.clouds.rules import Problem, Values
from orchestrator.clouds.sdk_checks import Check, at

__all__ = ["a_number", "among", "instance_type", "key_pair_name", "length", "network_block"]

# Go's strconv.ParseFloat, without its hexadecimal numbers and underscores.
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def among(path: str, *allowed: str, any_case: bool = False) -> Check:
    """``ValidateAllowedStringValue`` and ``…IgnoreCase``."""

    def check(config: Values) -> Iterator[Problem]:
        known = [each.upper() for each in allowed] if any_case else allowed
        listed = ", ".join(json.dumps(each) for each in allowed)
        for where, value in at(config, path):
            if (value.upper() if any_case else value) not in known:
                words = f'"{where[-1]}" must contain a valid string value must in array []string{{{listed}}}, '
                yield Problem(summary=f"{words}got {json.dumps(value)}", path=where)

    return check


def length(path: str, least: int, most: int) -> Check:
    """``ValidateStringLengthInRange``, in characters."""

    def check(config: Values) -> Iterator[Problem]:
        for where, value in at(config, path):
            if len(value) < least:
                words = f'length of "{path}" cannot be lower than {least}: {len(value)}'
                yield Problem(summary=words, path=where)
            if len(value) > most:
                words = f'length of "{path}" cannot be higher than {most}: {len(value)}'
                yield Problem(summary=words, path=where)

    return check


def instance_type(config: Values) -> Iterator[Problem]:
    """``ValidateInstanceType``."""
    for where, value in at(config, "instance_type"):
        if "." not in value:
            words = f"the format of instance_type is invalid: {value}, it should be like S1.SMALL1"
            yield Problem(summary=words, path=where)


def a_number(path: str) -> Check:
    """``ValidateStringNumber``."""

    def check(config: Values) -> Iterator[Problem]:
        for where, value in at(config, path):
            if not _NUMBER.fullmatch(value):
                yield Problem(summary=f"{path} must be a number: {value}", path=where)

    return check


def key_pair_name(config: Values) -> Iterator[Problem]:
    """``ValidateKeyPairName``."""
    for where, value in at(config, "key_name"):
        if not 1 <= len(value.encode()) <= 25:
            yield Problem(summary=f"the length of key_name must be 1-25: {value}", path=where)
        if not re.fullmatch("[a-zA-Z0-9_]+", value):
            yield Problem(summary=f'key_name only support letters, numbers and "_": {value}', path=where)


def network_block(path: str) -> Check:
    """``ValidateCIDRNetworkAddress``."""

    def check(config: Values) -> Iterator[Problem]:
        for where, value in at(config, path):
            try:
                if "/" not in value:
                    raise ValueError(value)
                network = str(ipaddress.ip_network(value, strict=False))
            except ValueError:
                words = f'"{path}" must contain a valid CIDR, got error parsing: invalid CIDR address: {value}'
                yield Problem(summary=words, path=where)
                continue
            if network != value:
                words = f'"{path}" must contain a valid network CIDR, expected "{network}", got "{value}"'
                yield Problem(summary=words, path=where)

    return check
