"""What OCI's refusals mean, as the provider prints them: ``STATUS-CODE, MESSAGE`` first, then suggestion and operation.

The first row that matches wins, so the narrow ones stand before the broad ones. OCI answers 404 both for what is not
there and for what may not be seen; what the service line says tells which is likelier. Times of remembering are
judgements: capacity comes and goes within minutes, a limit or an unsupported place changes when a person acts,
and what hangs on one deployment's own words is not remembered at all, since cool-downs are shared.
"""

from __future__ import annotations

from datetime import timedelta

from orchestrator.model.failure import FailureKind, FailureRule, Scope

__all__ = ["FAILURES"]

_ERRORS = "API errors: docs.oracle.com/iaas/Content/API/References/apierrors.htm"
_CAPACITY_PAGE = (
    "Troubleshooting out of host capacity: docs.oracle.com/iaas/Content/Compute/Tasks/"
    "troubleshooting-out-of-host-capacity.htm"
)
_ISSUES = "texts in reports to oracle/terraform-provider-oci and users of the provider"
_PROVIDER = "internal/tfresource/errors.go and retry.go of the Terraform provider oracle/oci 7.19"
_GO_SDK = "common/errors.go and common/configuration_provider.go of oracle/oci-go-sdk"
_MODULE = "terraform/modules/oci"

_NOT_REMEMBERED = timedelta(0)
_BRIEFLY = timedelta(minutes=2)
_CAPACITY = timedelta(minutes=15)
_LIMIT = timedelta(hours=1)
_PLACE = timedelta(hours=24)


def _rule(pattern: str, kind: FailureKind, scope: Scope, cool_down: timedelta, hint: str, source: str) -> FailureRule:
    return FailureRule(pattern=pattern, kind=kind, scope=scope, cool_down=cool_down, hint=hint, source=source)


_CAPACITY_ROWS = (
    _rule(
        r"(?i)\bout of (?:host )?capacity\b|\bOutOfHostCapacity\b|\bOutOfCapacity\b",
        FailureKind.CAPACITY,
        Scope.OFFER,
        _CAPACITY,
        "",
        _CAPACITY_PAGE,
    ),
    _rule(
        # "The following service limits were exceeded: vcn-count."
        r"(?s)\bLimitExceeded\b.*(?:\bvcn-count\b|Service: Core (?:Vcn|Subnet|Internet Gateway|Route Table"
        r"|Network Security Group))",
        FailureKind.QUOTA,
        Scope.REGION,
        _CAPACITY,
        "each deployment without --subnet makes a network: give --subnet, or ask for more (Limits, Quotas and Usage)",
        _ISSUES,
    ),
    _rule(
        r"(?s)\bLimitExceeded\b.*Service: Identity Policy|\bTenantCapacityExceeded\b",
        FailureKind.QUOTA,
        Scope.CLOUD,
        _LIMIT,
        "the tenancy has no room for another policy: remove some, ask for more, or set "
        "cloud_settings.oci.machine_rights to none",
        _ERRORS,
    ),
    _rule(
        r"\bQuotaExceeded\b",
        FailureKind.QUOTA,
        Scope.TYPE_IN_REGION,
        _LIMIT,
        "the compartment's quota is used up: an administrator can change its quota policy",
        _ERRORS,
    ),
    _rule(
        # Limits of GPUs hold for one availability domain. Some older answers name the shape instead of a limit.
        r"\bLimitExceeded\b|\byou have reached your service limit\b|\bservice limits? (?:was|were) exceeded\b",
        FailureKind.QUOTA,
        Scope.OFFER,
        _LIMIT,
        "ask for a higher limit in the console: Governance, Limits, Quotas and Usage, service Compute (gpu-…-count)",
        _ISSUES,
    ),
)

_IMAGE_ROWS = (
    _rule(
        r"\bNo image of \S+ is called .* and fits \S+",
        FailureKind.IMAGE,
        Scope.TYPE_IN_REGION,
        _NOT_REMEMBERED,
        "name an image with --image ocid1.image.… or --image name:…",
        _MODULE,
    ),
    _rule(
        r"\bis not valid for image\b|\bincompatible with image\b|\bimage \S+ is not compatible\b",
        FailureKind.IMAGE,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "the image is made for other shapes: name another with --image",
        _ISSUES,
    ),
    _rule(
        r"\bsourceDetails\.imageId\b|\bImage ID\b|\b[Ii]mage (?:with id )?\S* ?(?:was )?not found\b"
        r"|Service: Core Image\b",
        FailureKind.IMAGE,
        Scope.REGION,
        _NOT_REMEMBERED,
        "an image's OCID holds in one region only: name an image by name:… or stay in its region with --region",
        _ISSUES,
    ),
)

_PLACE_ROWS = (
    _rule(
        r"\bNo availability domain (?:called \S+ )?in \S+ offers \S+"
        r"|\b[Ss]hape \S+ (?:is )?not (?:found|supported|available)\b",
        FailureKind.UNSUPPORTED,
        Scope.OFFER,
        _PLACE,
        "",
        _MODULE,
    ),
    _rule(
        r"(?i)\bpreemptible (?:instances?|capacity)\b.*\bnot (?:be )?(?:supported|allowed|available)\b"
        r"|\bdoes(?: not|n't) support preemptible\b",
        FailureKind.UNSUPPORTED,
        Scope.OFFER,
        _PLACE,
        "OCI sells preemptible capacity of few shapes: take the price out of the book",
        "docs.oracle.com/iaas/Content/Compute/Concepts/preemptible.htm",
    ),
    _rule(
        r"(?s)\bSubnet \S+ is not in availability domain \S+"
        r"|\b404-NotAuthorizedOrNotFound\b.*Service: Core Subnet\b.*GetSubnet",
        FailureKind.UNSUPPORTED,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "a subnet lies in one region: leave --subnet out, or stay in its region with --region",
        _MODULE,
    ),
    _rule(
        r"(?i)\bnot subscribed\b|\bsubscribe to (?:the|this) region\b|\bTenantNotSubscribed\b",
        FailureKind.REGION_DISABLED,
        Scope.REGION,
        _PLACE,
        "subscribe the tenancy to the region (an administrator can: oci iam region-subscription create), or leave it "
        "out with --region",
        _ERRORS,
    ),
    _rule(
        # A region to which the tenancy is not subscribed does not know its keys; so a wrong key is told from it only in
        # the service that is asked first.
        r"\b401-NotAuthenticated\b",
        FailureKind.REGION_DISABLED,
        Scope.REGION,
        _LIMIT,
        "either the tenancy is not subscribed to this region, or the API key is not known: gpuorch doctor tells which",
        _ERRORS,
    ),
    _rule(
        r"\bno such host\b",
        FailureKind.UNSUPPORTED,
        Scope.REGION,
        _LIMIT,
        "there is no such region, or no network: leave the region out with --region, or check the name servers",
        _GO_SDK,
    ),
)

_RIGHTS_ROWS = (
    _rule(
        r"\bPlease go to your home region\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "cloud_settings.oci.home_region names another region than the tenancy's home region, which stands above",
        _ISSUES,
    ),
    _rule(
        r"(?s)\b40[34]-Not(?:Allowed|AuthorizedOr\w+)\b.*Service: Identity Policy",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "the credentials may not write a policy in the compartment: have that allowed, or set "
        "cloud_settings.oci.machine_rights to none (docs/clouds/oci.md)",
        _ERRORS,
    ),
    _rule(
        r"did not find a proper configuration|can not create client|bad configuration"
        r"|could not (?:find|read|open) (?:the )?.*(?:config|key)|configuration (?:file )?did not contain"
        r"|failed to (?:read|parse) .*private key|can't get (?:tenancy|user|fingerprint|region)",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "set up credentials (oci setup config, or oci session authenticate), then run gpuorch doctor",
        _GO_SDK,
    ),
    _rule(
        r"(?i)\btoken (?:has |is )?expired\b|\bsecurity token\b.*\b(?:expired|invalid)\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "the session has expired: oci session refresh, or oci session authenticate",
        _GO_SDK,
    ),
    _rule(
        r"\bdial tcp\b|\bconnection refused\b|\bi/o timeout\b|\bTLS handshake\b|\bcontext deadline exceeded\b",
        FailureKind.THROTTLED,
        Scope.REGION,
        _BRIEFLY,
        "OCI could not be reached: check the network and the proxy",
        _GO_SDK,
    ),
    _rule(
        r"\b404-NotAuthorizedOrNotFound\b|\b403-\w+|\bNotAuthorizedOrResourceAlreadyExists\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "the credentials lack a right, or the compartment does not exist: docs/clouds/oci.md has the policy that "
        "gpuorch needs",
        _ERRORS,
    ),
)

_OTHER_ROWS = (
    _rule(
        r"\b429-TooManyRequests\b|\bTooManyRequests\b",
        FailureKind.THROTTLED,
        Scope.REGION,
        _BRIEFLY,
        "OCI asks for fewer calls: try again in a few minutes",
        _ERRORS,
    ),
    _rule(
        r"\b(?:409-PolicyAlreadyExists|PolicyAlreadyExists)\b",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "something of this deployment is left from a run that was cut off: gpuorch down finds and removes it",
        _ERRORS,
    ),
    _rule(
        r"(?s)Unexpected LifeCycle state.*(?:TERMINAT|STOPP)",
        FailureKind.CAPACITY,
        Scope.OFFER,
        _CAPACITY,
        "",
        _PROVIDER,
    ),
    _rule(
        r"\bOperation Timeout\b|\btimeout while waiting for state\b",
        FailureKind.CAPACITY,
        Scope.OFFER,
        _CAPACITY,
        "the machine did not come up in the time that the provider waits",
        _PROVIDER,
    ),
    _rule(
        r"\b500-InternalError\b|\b50[234]-\w+|\b409-(?:Conflict|IncorrectState)\b",
        FailureKind.THROTTLED,
        Scope.OFFER,
        _BRIEFLY,
        "OCI had a fault of its own: try again",
        _ERRORS,
    ),
    _rule(
        r"^Invalid value for variable\b|\bhome_region must name\b|\b400-(?:InvalidParameter|CannotParseRequest"
        r"|RelatedResourceNotAuthorizedOrNotFound|MissingParameter|InvalidPayload)\b",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "",
        _ERRORS,
    ),
)

FAILURES: tuple[FailureRule, ...] = (*_CAPACITY_ROWS, *_IMAGE_ROWS, *_PLACE_ROWS, *_RIGHTS_ROWS, *_OTHER_ROWS)
