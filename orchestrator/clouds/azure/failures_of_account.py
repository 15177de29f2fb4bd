"""The failure table's rows about who asks, with which rights and how often, and about what is wrong with the asking."""

from __future__ import annotations

from orchestrator.clouds.azure.failure_rows import (
    BRIEFLY,
    COMMON,
    MODULE,
    NOT_REMEMBERED,
    PROVIDER,
    rule,
)
from orchestrator.model.failure import FailureKind, FailureRule, Scope

__all__ = ["OTHER_ROWS", "RIGHTS_ROWS"]

RIGHTS_ROWS: tuple[FailureRule, ...] = (
    rule(
        r"\b(MissingSubscriptionRegistration|SubscriptionNotRegistered)\b|not registered to use namespace",
        FailureKind.AUTH,
        Scope.CLOUD,
        NOT_REMEMBERED,
        "once a subscription: az provider register --namespace Microsoft.Compute (and Microsoft.Network), then wait",
        COMMON,
    ),
    rule(
        r"(?s)\b(AuthorizationFailed|LinkedAuthorizationFailed)\b.*\broleAssignments/write\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        NOT_REMEMBERED,
        "you may not give the machine the right to end itself or to write checkpoints: docs/clouds/azure.md "
        "has the role "
        "that is needed; without --ttl and a checkpoint place none is",
        COMMON,
    ),
    rule(
        r"\b(AuthorizationFailed|LinkedAuthorizationFailed|AuthorizationPermissionMismatch)\b"
        r"|does not have authorization to perform action",
        FailureKind.AUTH,
        Scope.CLOUD,
        NOT_REMEMBERED,
        "the credentials lack a right: docs/clouds/azure.md has the role that gpuorch needs",
        COMMON,
    ),
    rule(
        r"\b(SubscriptionNotFound|InvalidSubscriptionId|SubscriptionDoesNotExist)\b"
        r"|`subscription_id` is a required provider property|set to another subscription than",
        FailureKind.AUTH,
        Scope.CLOUD,
        NOT_REMEMBERED,
        "name a subscription that you may use: az account list, then ARM_SUBSCRIPTION_ID",
        COMMON,
    ),
    rule(
        r"\b(ReadOnlyDisabledSubscription|DisabledSubscription|SubscriptionDisabled)\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        NOT_REMEMBERED,
        "the subscription is disabled (unpaid or ended): mend it in the portal, or name another",
        COMMON,
    ),
    rule(
        r"\bdial tcp\b|\bno such host\b|\bi/o timeout\b|\bTLS handshake\b",
        FailureKind.THROTTLED,
        Scope.REGION,
        BRIEFLY,
        "Azure could not be reached: check the network and the proxy",
        PROVIDER,
    ),
    rule(
        r"\b(InvalidAuthenticationToken\w*|ExpiredAuthenticationToken|AuthenticationFailed)\b|\bAADSTS\d+\b"
        r"|could not acquire access token|unable to build authorizer|could not configure AzureCli Authorizer"
        r"|building account:|[Pp]lease run 'az login'|running Azure CLI: exit status",
        FailureKind.AUTH,
        Scope.CLOUD,
        NOT_REMEMBERED,
        "sign in again (az login), then run gpuorch doctor",
        PROVIDER,
    ),
)

OTHER_ROWS: tuple[FailureRule, ...] = (
    rule(
        r"\b(TooManyRequests|SubscriptionRequestsThrottled|ResourceRequestsThrottled|OperationThrottled)\b"
        r"|unexpected status 429\b|\bRetryableError\w*\b|\bAnotherOperationInProgress\b",
        FailureKind.THROTTLED,
        Scope.REGION,
        BRIEFLY,
        "Azure asks for fewer calls: try again in a few minutes",
        "learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling",
    ),
    rule(
        # Left by a run that was cut off; what comes after this attempt begins by removing it.
        r"\balready exists - to be managed via Terraform\b|\bRoleAssignmentExists\b|\bInvalidResourceGroupLocation\b"
        r"|\bResourceGroupBeingDeleted\b|\bNicInUse\b",
        FailureKind.UNKNOWN,
        Scope.OFFER,
        NOT_REMEMBERED,
        "something of this deployment is left from a run that was cut off: gpuorch down finds and removes it",
        PROVIDER,
        leftovers=True,
    ),
    rule(
        r"smaller than the size of the corresponding disk in the VM image",
        FailureKind.INVALID,
        Scope.OFFER,
        NOT_REMEMBERED,
        "the image needs a larger disk: raise disk_gib to the size named above",
        COMMON,
    ),
    rule(
        r"(?i)EncryptionAtHost.{0,80}not (?:enabled|registered|valid)",
        FailureKind.INVALID,
        Scope.CLOUD,
        NOT_REMEMBERED,
        "once a subscription: az feature register --namespace Microsoft.Compute --name EncryptionAtHost",
        "learn.microsoft.com/azure/virtual-machines/linux/disks-enable-host-based-encryption-cli",
    ),
    rule(
        r"\bhas no storage account\b",
        FailureKind.INVALID,
        Scope.OFFER,
        NOT_REMEMBERED,
        "the account of the checkpoint place must be in the same subscription, and you must see it",
        MODULE,
    ),
    rule(
        r"\b(PrincipalNotFound|PrincipalTypeNotSupported)\b",
        FailureKind.THROTTLED,
        Scope.OFFER,
        BRIEFLY,
        "the directory did not know the machine's new identity yet",
        "learn.microsoft.com/azure/role-based-access-control/troubleshooting",
    ),
    rule(
        r"could not find role '|\bRoleDefinitionDoesNotExist\b|loading Role Definition List",
        FailureKind.INVALID,
        Scope.OFFER,
        NOT_REMEMBERED,
        "cloud_settings.azure names a role that is not there: az role definition list --custom-role-only true",
        PROVIDER,
    ),
    rule(
        r"\b(InternalServerError|InternalExecutionError|InternalOperationError|NetworkingInternalOperationError"
        r"|ServiceUnavailable|DiskServiceInternalError)\b|unexpected status 50\d\b",
        FailureKind.THROTTLED,
        Scope.OFFER,
        BRIEFLY,
        "Azure had a fault of its own: try again",
        COMMON,
        leftovers=True,
    ),
    rule(
        r"^Invalid value for "
        r"variable\b|\b(InvalidParameter\w*|InvalidRequest\w*|MaxPriceValueInvalid|VMPriorityCannotBeApplied"
        r"|PropertyChangeNotAllowed|InvalidResourceReference|BadRequest(?:Format)?|SecurityRule\w+|Netcfg\w+)\b"
        r"|`(?:eviction_policy|max_bid_price|admin_ssh_key)`",
        FailureKind.INVALID,
        Scope.OFFER,
        NOT_REMEMBERED,
        "",
        COMMON,
    ),
)
