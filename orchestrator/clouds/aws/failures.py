"""What AWS's refusals mean, as Terraform prints them: ``… api error CODE: message`` in a diagnostic's summary.

The first row that matches wins, so the narrow ones stand before the broad ones. Times of remembering are judgements:
capacity comes and goes within minutes, a quota or an unsupported place changes when a person does something, and what
hangs on one deployment's own words (its image, its subnet) is not remembered at all, since cool-downs are shared.
"""

from __future__ import annotations

from datetime import timedelta

from orchestrator.model.failure import FailureKind, FailureRule, Scope

__all__ = ["FAILURES"]

_CODES = "EC2 API reference, error codes: docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html"
_CAPACITY_GUIDE = (
    "EC2 user guide, troubleshoot launch: docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshooting-launch.html"
)
_PROVIDER = "texts of the Terraform provider hashicorp/aws 5.100"
_MODULE = "terraform/modules/aws"

_NOT_REMEMBERED = timedelta(0)
_BRIEFLY = timedelta(minutes=2)
_CAPACITY = timedelta(minutes=15)
_PRICE = timedelta(minutes=30)
_LIMIT = timedelta(hours=1)
_PLACE = timedelta(hours=24)

_RAISE_QUOTA = "ask for a higher limit in the Service Quotas console ({})"


def _rule(pattern: str, kind: FailureKind, scope: Scope, cool_down: timedelta, hint: str, source: str) -> FailureRule:
    return FailureRule(pattern=pattern, kind=kind, scope=scope, cool_down=cool_down, hint=hint, source=source)


_CAPACITY_ROWS = (
    _rule(
        r"\b(InsufficientInstanceCapacity|InsufficientReservedInstanceCapacity|InsufficientHostCapacity"
        r"|InsufficientCapacityOnHost|InsufficientCapacity|UnfulfillableCapacity|capacity-not-available)\b",
        FailureKind.CAPACITY,
        Scope.OFFER,
        _CAPACITY,
        "",
        _CAPACITY_GUIDE,
    ),
    _rule(
        r"\b(SpotMaxPriceTooLow|price-too-low)\b",
        FailureKind.PRICE,
        Scope.OFFER,
        _PRICE,
        "the spot price is above --max-price: raise it, or leave it out to pay at most the on-demand price",
        _CODES,
    ),
    _rule(
        r"\bMaxSpotInstanceCountExceeded\b",
        FailureKind.QUOTA,
        Scope.TYPE_IN_REGION,
        _LIMIT,
        _RAISE_QUOTA.format("EC2, “All P (or G and VT) Spot Instance Requests”, counted in vCPUs"),
        _CODES,
    ),
    _rule(
        r"\b(VcpuLimitExceeded|InstanceLimitExceeded)\b",
        FailureKind.QUOTA,
        Scope.TYPE_IN_REGION,
        _LIMIT,
        _RAISE_QUOTA.format("EC2, “Running On-Demand P (or G and VT) instances”, counted in vCPUs"),
        _CAPACITY_GUIDE,
    ),
    _rule(
        r"\b(VpcLimitExceeded|InternetGatewayLimitExceeded)\b",
        FailureKind.QUOTA,
        Scope.REGION,
        _CAPACITY,
        "an account has 5 networks a region unless it asks for more: give --subnet, or raise “VPCs per Region”",
        _CODES,
    ),
    _rule(
        r"\b(AddressLimitExceeded|SecurityGroupLimitExceeded|SecurityGroupsPerInstanceLimitExceeded"
        r"|VolumeLimitExceeded|MaxIOPSLimitExceeded|ResourceLimitExceeded|LimitExceeded(?:Exception)?)\b",
        FailureKind.QUOTA,
        Scope.REGION,
        _CAPACITY,
        _RAISE_QUOTA.format("the limit named above"),
        _CODES,
    ),
)

_IMAGE_ROWS = (
    _rule(
        r"(?s)\bOptInRequired\b.*\bMarketplace\b",
        FailureKind.IMAGE,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "the image is a Marketplace product: accept its terms, or name another with --image",
        _CODES,
    ),
    _rule(
        # The second text is the provider's own: it looks at the image before the launch, to learn of its root disk.
        r"\bInvalidAMIID\.(NotFound|Malformed|Unavailable)\b|collecting instance settings: couldn't find resource",
        FailureKind.IMAGE,
        Scope.REGION,
        _NOT_REMEMBERED,
        "an AMI's id holds in one region only: name an image by ssm:/… or stay in its region with --region",
        _CODES,
    ),
    _rule(
        r"\bParameterNotFound\b|reading SSM Parameter \([^)]*\): (?:couldn't find resource|empty result)",
        FailureKind.IMAGE,
        Scope.REGION,
        _NOT_REMEMBERED,
        "the region has no image under that parameter: name one with --image",
        _PROVIDER,
    ),
    _rule(
        r"does not match the architecture '[^']*' of the specified AMI|\bENA must be supported with .* AMI\b"
        r"|\bUnsupportedOperation\b.*\bAMI\b",
        FailureKind.IMAGE,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "the image is made for other machines: name another with --image",
        _CAPACITY_GUIDE,
    ),
)

_PLACE_ROWS = (
    _rule(
        r"\b[Ii]nvalid AWS Region\b",
        FailureKind.UNSUPPORTED,
        Scope.REGION,
        _PLACE,
        "the pinned provider does not know this region: leave it out with --region",
        _PROVIDER,
    ),
    _rule(
        r"\bOptInRequired\b|\bRegionDisabledException\b|\bPendingVerification\b",
        FailureKind.REGION_DISABLED,
        Scope.REGION,
        _PLACE,
        "enable the region (or the service in it) in the account's settings, or leave it out with --region",
        _CODES,
    ),
    _rule(
        r"\bNo zone of \S+ offers \S+",
        FailureKind.UNSUPPORTED,
        Scope.TYPE_IN_REGION,
        _PLACE,
        "",
        _MODULE,
    ),
    _rule(
        r"\bSubnet \S+ is not in zone \S+|\bInvalidSubnetID\.NotFound\b|no matching EC2 Subnet found",
        FailureKind.UNSUPPORTED,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "a subnet lies in one zone: leave --subnet out, or stay in its region with --region",
        _MODULE,
    ),
    _rule(
        r"\b(InvalidAvailabilityZone|InvalidZone)\b|for parameter availabilityZone(?:Id)? is invalid",
        FailureKind.UNSUPPORTED,
        Scope.ZONE,
        _PLACE,
        "the account has no such zone: zone names differ between accounts, zone ids (use1-az4) do not",
        _CODES,
    ),
    _rule(
        r"\b(Unsupported|UnsupportedOperation|InvalidInstanceType)\b"
        r"|\bInvalidParameterValue\b.*\b(?:InstanceType|instance type)\b",
        FailureKind.UNSUPPORTED,
        Scope.OFFER,
        _PLACE,
        "",
        _CAPACITY_GUIDE,
    ),
)

_RIGHTS_ROWS = (
    _rule(
        # Stands before the rows on credentials: the provider asks STS first, so that is where a dead line shows.
        r"request send failed|\bdial tcp\b|\bno such host\b|\bi/o timeout\b|\bTLS handshake\b",
        FailureKind.THROTTLED,
        Scope.REGION,
        _BRIEFLY,
        "AWS could not be reached: check the network, the proxy and AWS_ENDPOINT_URL",
        _PROVIDER,
    ),
    _rule(
        r"\bAuthFailure\.ServiceLinkedRoleCreationNotPermitted\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "spot needs a service-linked role once an account: aws iam create-service-linked-role --aws-service-name "
        "spot.amazonaws.com",
        "EC2 user guide, service-linked role for Spot Instance requests",
    ),
    _rule(
        r"(?s)\b(UnauthorizedOperation|AccessDenied(?:Exception)?)\b.*\bservice control policy\b",
        FailureKind.REGION_DISABLED,
        Scope.TYPE_IN_REGION,
        _LIMIT,
        "the organisation forbids this region or type: leave it out with --region",
        "AWS Organizations user guide, service control policies",
    ),
    _rule(
        # Also the answer of a region that the account has not enabled; wrong keys are found before, by STS.
        r"\bAuthFailure\b",
        FailureKind.REGION_DISABLED,
        Scope.REGION,
        _LIMIT,
        "enable the region in the account's settings; if it is enabled, check the credentials with gpuorch doctor",
        _CODES,
    ),
    _rule(
        r"\b(ExpiredToken(?:Exception)?|RequestExpired|TokenRefreshRequired)\b|\b[Tt]oken (?:has|is) expired\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "the credentials have expired: sign in again (aws sso login)",
        _PROVIDER,
    ),
    _rule(
        r"\b(InvalidClientTokenId|UnrecognizedClientException|SignatureDoesNotMatch|IncompleteSignature"
        r"|MissingAuthenticationToken|Blocked)\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "AWS does not know these credentials (a region that is not enabled answers so too): run gpuorch doctor",
        _PROVIDER,
    ),
    _rule(
        r"No valid credential sources found|failed to refresh cached credentials|failed to get shared config profile"
        r"|retrieving caller identity from STS|Retrieving AWS account details",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "set up credentials (aws configure, aws sso login or AWS_PROFILE), then run gpuorch doctor",
        _PROVIDER,
    ),
    _rule(
        r"\b(UnauthorizedOperation|AccessDenied(?:Exception)?)\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "the credentials lack a right: docs/clouds/aws.md has the policy that gpuorch needs",
        _CODES,
    ),
)

_OTHER_ROWS = (
    _rule(
        r"\b(RequestLimitExceeded|Throttling(?:Exception)?|TooManyRequestsException|EC2ThrottledException)\b",
        FailureKind.THROTTLED,
        Scope.REGION,
        _BRIEFLY,
        "AWS asks for fewer calls: try again in a few minutes",
        _CODES,
    ),
    _rule(
        r"\bsmaller than snapshot\b",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "the image needs a larger disk: raise disk_gib to the size named above",
        _CODES,
    ),
    _rule(
        r"\bInvalidKeyPair\.Duplicate\b|\bInvalidGroup\.Duplicate\b|\bEntityAlreadyExists\b",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "something of this deployment is left from a run that was cut off: gpuorch down finds and removes it",
        _CODES,
    ),
    _rule(
        r"\bInvalidKey(?:Pair)?\.Format\b",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "AWS takes RSA and Ed25519 public keys: ssh-keygen -t ed25519",
        _CODES,
    ),
    _rule(
        r"(?s)unexpected state '(?:shutting-down|terminated)'.*\bClient\.\w+",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "the machine could not start with these settings; often the key that encrypts disks may not be used",
        _CAPACITY_GUIDE,
    ),
    _rule(
        r"unexpected state '(?:shutting-down|terminated)'",
        FailureKind.CAPACITY,
        Scope.OFFER,
        _CAPACITY,
        "",
        _PROVIDER,
    ),
    _rule(
        r"\b(InsufficientFreeAddressesInSubnet)\b",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "the subnet has no free address: give another with --subnet, or none",
        _CODES,
    ),
    _rule(
        r"api error (InternalError|InternalFailure|ServiceUnavailable|Unavailable)\b",
        FailureKind.THROTTLED,
        Scope.OFFER,
        _BRIEFLY,
        "AWS had a fault of its own: try again",
        _CODES,
    ),
    _rule(
        r"^Invalid value for variable\b|\b(InvalidParameter(?:Combination|Value)?|MissingParameter"
        r"|InvalidBlockDeviceMapping|InvalidUserData\.\w+|ValidationError|MalformedPolicyDocument|InvalidGroup\.\w+|InvalidVpcID\.\w+)\b",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "",
        _CODES,
    ),
)

FAILURES: tuple[FailureRule, ...] = (*_CAPACITY_ROWS, *_IMAGE_ROWS, *_PLACE_ROWS, *_RIGHTS_ROWS, *_OTHER_ROWS)
