"""What Azure's refusals mean, as Terraform prints them.

A call that is refused at once ends in ``unexpected status 409 (409 Conflict) with error: CODE: message``; one that
Azure takes and gives up later in ``polling failed: … Status: "CODE"``, and then what it had begun to make is still
there, unknown to Terraform (``leftovers``). The first row that matches wins, so the narrow ones stand before the broad
ones. Times of remembering are judgements: capacity comes and goes within minutes, a quota or an unsupported place
changes when a person does something, and what hangs on one deployment's own words is not remembered at all.
"""

from __future__ import annotations

from orchestrator.clouds.azure.failure_rows import (
    ALLOCATION,
    CAPACITY,
    COMMON,
    KARPENTER,
    LIMIT,
    NOT_REMEMBERED,
    PLACE,
    PRICE,
    PROVIDER,
    QUOTA,
    RAISE_QUOTA,
    SKU,
    SPOT,
    rule,
)
from orchestrator.clouds.azure.failures_of_account import OTHER_ROWS, RIGHTS_ROWS
from orchestrator.model.failure import FailureKind, FailureRule, Scope

__all__ = ["FAILURES"]

_CAPACITY_ROWS = (
    rule(
        # The subscription may not have the size here; with zones named, only those are closed to it.
        r"(?s)\bSkuNotAvailable\b.*\bzones '\d[\d,]*' for subscription\b|(?s:\bNotAvailableForSubscription\b)",
        FailureKind.UNSUPPORTED,
        Scope.OFFER,
        PLACE,
        "this subscription is not let have the size in that zone: leave the zone out, or ask Azure's support "
        "for access",
        SKU,
    ),
    rule(
        r"(?s)\bSkuNotAvailable\b.*\bfor subscription\b",
        FailureKind.UNSUPPORTED,
        Scope.TYPE_IN_REGION,
        PLACE,
        "this subscription is not let have the size there: ask Azure's support for access, or take another --region",
        SKU,
    ),
    rule(r"\bSkuNotAvailable\b", FailureKind.CAPACITY, Scope.OFFER, CAPACITY, "", SKU),
    rule(
        # The line with the message comes after the one with the code, and says more.
        r'Message: "Allocation failed\b',
        FailureKind.CAPACITY,
        Scope.OFFER,
        CAPACITY,
        "",
        PROVIDER,
        leftovers=True,
    ),
    rule(
        r"\b(AllocationFailed|ZonalAllocationFailed|OverconstrainedAllocationRequest"
        r"|OverconstrainedZonalAllocationRequest|AllocationTimedOut)\b",
        FailureKind.CAPACITY,
        Scope.OFFER,
        CAPACITY,
        "",
        ALLOCATION,
        leftovers=True,
    ),
    rule(
        r"\bSpotPriceGreaterThanProvidedMaxPrice\b",
        FailureKind.PRICE,
        Scope.OFFER,
        PRICE,
        "the spot price is above --max-price: raise it, or leave it out to pay at most the on-demand price",
        SPOT,
    ),
    rule(
        r"(?i)\bexceeding approved low\s?priority\s?cores quota\b",
        FailureKind.QUOTA,
        Scope.MARKET_IN_REGION,
        LIMIT,
        RAISE_QUOTA.format("“Total Regional Spot vCPUs”"),
        KARPENTER,
    ),
    rule(
        r"(?i)\bexceeding approved total regional (cores|vcpus) quota\b",
        FailureKind.QUOTA,
        Scope.REGION,
        LIMIT,
        RAISE_QUOTA.format("“Total Regional vCPUs”"),
        KARPENTER,
    ),
    rule(
        r"(?i)\bexceeding approved [\w ]*family (cores|vcpus) quota\b|\bErrCode_InsufficientVCPUQuota\b"
        r"|\bexceeding quota limits of core\b",
        FailureKind.QUOTA,
        Scope.TYPE_IN_REGION,
        LIMIT,
        RAISE_QUOTA.format("the family named above"),
        QUOTA,
    ),
    rule(
        r"\b(PublicIPCountLimitReached|PublicIpAddressCountLimitReached|VirtualNetworkCountLimitReached"
        r"|NetworkSecurityGroupCountLimitReached|ResourceQuotaExceeded|ResourceGroupQuotaExceeded"
        r"|QuotaExceeded|ResourceCountExceedsLimit\w*)\b",
        FailureKind.QUOTA,
        Scope.REGION,
        CAPACITY,
        "ask for more of what is named above in the portal under Quotas",
        QUOTA,
    ),
    rule(
        r"\bRoleAssignmentLimitExceeded\b",
        FailureKind.QUOTA,
        Scope.CLOUD,
        CAPACITY,
        "a subscription holds 4,000 role assignments: remove some that are not needed",
        "learn.microsoft.com/azure/role-based-access-control/troubleshoot-limits",
    ),
)

_IMAGE_ROWS = (
    rule(
        r"\b(PlatformImageNotFound|ImageNotFound|GalleryImageNotFound|ImageVersionDeprecated|ImageVersionNotFound)\b"
        r"|(?s:\bNotFound\b.*\bgalleries/[^/\s]+/images/)",
        FailureKind.IMAGE,
        Scope.REGION,
        NOT_REMEMBERED,
        "the region has no such image: name another with --image",
        COMMON,
    ),
    rule(
        r"\b(MarketplacePurchaseEligibilityFailed|ResourcePurchaseValidationFailed|VMMarketplaceInvalidInput)\b",
        FailureKind.IMAGE,
        Scope.OFFER,
        NOT_REMEMBERED,
        "the image is a Marketplace product: accept its terms (az vm image terms accept --urn …), or name another",
        COMMON,
    ),
    rule(
        r"cannot boot Hypervisor Generation|is not supported for Hypervisor Generation|cannot boot with OS "
        r"image or disk"
        r"|\bVMImageArchitectureMismatch\b",
        FailureKind.IMAGE,
        Scope.OFFER,
        NOT_REMEMBERED,
        "the image is made for other machines: name another with --image",
        COMMON,
    ),
    rule(
        r"\b(OSProvisioningTimedOut|OSProvisioningClientError|OSProvisioningInternalError|VMStartTimedOut)\b",
        FailureKind.IMAGE,
        Scope.OFFER,
        NOT_REMEMBERED,
        "the machine was made and its system did not start in time; often the image does not fit it",
        COMMON,
        leftovers=True,
    ),
)

_PLACE_ROWS = (
    rule(
        r"\b(AzureSpotIsNotSupportedForThisVMSize|AzureSpotVMNotSupported\w*)\b",
        FailureKind.UNSUPPORTED,
        Scope.TYPE_IN_REGION,
        PLACE,
        "Azure does not sell this size as spot: use --on-demand",
        SPOT,
    ),
    rule(
        r"\bAzureSpotFeatureNotEnabledForSubscription\b",
        FailureKind.UNSUPPORTED,
        Scope.CLOUD,
        LIMIT,
        "this kind of subscription may have no spot machines: use --on-demand, or another subscription",
        SPOT,
    ),
    rule(
        r"\b(InvalidAvailabilityZone|AvailabilityZoneNotSupported|ZonesNotAllowed\w*|ResourceTypeNotSupportAvailabilityZones)\b",
        FailureKind.UNSUPPORTED,
        Scope.ZONE,
        PLACE,
        "the region has no such zone: leave it out",
        COMMON,
    ),
    rule(
        r"\b(LocationNotAvailableForResource(?:Type|Group)|NoRegisteredProviderFound|InvalidLocation)\b",
        FailureKind.UNSUPPORTED,
        Scope.REGION,
        PLACE,
        "leave this region out with --region",
        COMMON,
    ),
    rule(
        r"\bprovided for the VM size is not valid\b|\bVMSizeDoesntSupport\w+\b|\bVMSizeIsNotPermitted\w+\b"
        r"|\brequested VM size '?\S+'? (?:is|cannot be) (?:not )?supported\b|\bVMSizeNotSupported\b",
        FailureKind.UNSUPPORTED,
        Scope.TYPE_IN_REGION,
        PLACE,
        "",
        COMMON,
    ),
    rule(
        r"(?s)\bInvalidResourceReference\b.*/subnets/|\bSubnetIsFull\b|\bSubnet\w* .*was not found\b",
        FailureKind.UNSUPPORTED,
        Scope.OFFER,
        NOT_REMEMBERED,
        "a subnet lies in one region and has a limited number of addresses: leave --subnet out, or stay in its region",
        COMMON,
    ),
    rule(
        r"\bRequestDisallowedByAzure\b",
        FailureKind.REGION_DISABLED,
        Scope.REGION,
        PLACE,
        "Azure lets this subscription use other regions only: leave this one out with --region",
        COMMON,
    ),
    rule(
        r"\bRequestDisallowedByPolicy\b",
        FailureKind.REGION_DISABLED,
        Scope.TYPE_IN_REGION,
        LIMIT,
        "a policy of the organisation forbids this: the message names it; another --region or size may be allowed",
        "learn.microsoft.com/azure/azure-resource-manager/troubleshooting/error-policy-requestdisallowedbypolicy",
    ),
)

FAILURES: tuple[FailureRule, ...] = (*_CAPACITY_ROWS, *_IMAGE_ROWS, *_PLACE_ROWS, *RIGHTS_ROWS, *OTHER_ROWS)
