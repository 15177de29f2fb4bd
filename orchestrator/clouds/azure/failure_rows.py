"""Sources, times and the making of rows that the parts of the failure table share."""

from __future__ import annotations

from datetime import timedelta

from orchestrator.model.failure import FailureKind, FailureRule, Scope

__all__ = [
    "ALLOCATION",
    "BRIEFLY",
    "CAPACITY",
    "COMMON",
    "KARPENTER",
    "LIMIT",
    "MODULE",
    "NOT_REMEMBERED",
    "PLACE",
    "PRICE",
    "PROVIDER",
    "QUOTA",
    "RAISE_QUOTA",
    "SKU",
    "SPOT",
    "rule",
]

ALLOCATION = "learn.microsoft.com/troubleshoot/azure/virtual-machines/windows/allocation-failure"
SKU = "learn.microsoft.com/azure/azure-resource-manager/troubleshooting/error-sku-not-available"
SPOT = "learn.microsoft.com/azure/virtual-machines/error-codes-spot"
QUOTA = "learn.microsoft.com/azure/azure-resource-manager/troubleshooting/error-resource-quota"
COMMON = "learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors"
PROVIDER = "texts of the Terraform provider hashicorp/azurerm 4, and of reports on its issue tracker"
KARPENTER = "Azure/karpenter-provider-azure, recorded answers in its tests"
MODULE = "terraform/modules/azure"

NOT_REMEMBERED = timedelta(0)
BRIEFLY = timedelta(minutes=2)
CAPACITY = timedelta(minutes=15)
PRICE = timedelta(minutes=30)
LIMIT = timedelta(hours=1)
PLACE = timedelta(hours=24)

RAISE_QUOTA = "ask for more vCPUs in the portal under Quotas, Compute ({})"


def rule(
    pattern: str,
    kind: FailureKind,
    scope: Scope,
    cool_down: timedelta,
    hint: str,
    source: str,
    *,
    leftovers: bool = False,
) -> FailureRule:
    return FailureRule(
        pattern=pattern,
        kind=kind,
        scope=scope,
        cool_down=cool_down,
        hint=hint,
        source=source,
        leftovers=leftovers,
    )
