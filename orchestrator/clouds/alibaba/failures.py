"""What Alibaba Cloud's refusals mean, as Terraform prints them: ``… Code: CODE`` and ``Message: …`` in the SDK's text.

The first row that matches wins, so the narrow ones stand before the broad ones. Times of remembering are judgements:
capacity comes and goes within minutes, a quota or an unsupported place changes when a person does something, and what
hangs on one deployment's own words (its image, its vSwitch) is not remembered at all, since cool-downs are shared.
"""

from __future__ import annotations

from datetime import timedelta

from orchestrator.model.failure import FailureKind, FailureRule, Scope

__all__ = ["FAILURES"]

_CODES = "ECS API reference, error codes of RunInstances: help.aliyun.com/zh/ecs/developer-reference/api-ecs-2014-05-26"
_VPC = "VPC API reference, error codes of CreateVpc and CreateVSwitch"
_RAM = "RAM API reference, error codes of CreateRole, CreatePolicy and AttachPolicyToRole"
_COMMON = "OpenAPI error centre, public error codes: api.aliyun.com/troubleshoot"
_PROVIDER = "texts of the Terraform provider aliyun/alicloud 1.289"
_MODULE = "terraform/modules/alibaba"

_NOT_REMEMBERED = timedelta(0)
_BRIEFLY = timedelta(minutes=2)
_CAPACITY = timedelta(minutes=15)
_PRICE = timedelta(minutes=30)
_LIMIT = timedelta(hours=1)
_PLACE = timedelta(hours=24)

_RAISE_QUOTA = "ask for a higher quota in the Quota Center ({})"


def _rule(pattern: str, kind: FailureKind, scope: Scope, cool_down: timedelta, hint: str, source: str) -> FailureRule:
    return FailureRule(pattern=pattern, kind=kind, scope=scope, cool_down=cool_down, hint=hint, source=source)


_CAPACITY_ROWS = (
    _rule(
        r"\b(OperationDenied\.NoStock|Zone\.NotOnSale|InvalidInstanceType\.NoStock)\b"
        r"|\bresource is (?:out of usage|sold out)\b|\bSales of this resource are temporarily suspended\b",
        FailureKind.CAPACITY,
        Scope.OFFER,
        _CAPACITY,
        "",
        _CODES,
    ),
    _rule(
        r"\bInvalidOperation\.PublicIpAddressNoStock\b",
        FailureKind.CAPACITY,
        Scope.ZONE,
        _CAPACITY,
        "the zone has no public addresses left: another zone, or --subnet with its own way out",
        _CODES,
    ),
    _rule(
        r"\b(OperationDenied\.(?:PaygNotAvailable|PrepayNotAvailable|SpotNotAvailable))\b",
        FailureKind.UNSUPPORTED,
        Scope.OFFER,
        _PLACE,
        "the zone does not sell the type in this market: another --market",
        _CODES,
    ),
    _rule(
        r"\b(?:InvalidSpotPriceLimit\.LowerThanPublicPrice|OperationDenied\.SpotPriceLowerThanPublicPrice)\b"
        r"|\b[Ss]pot ?[Pp]rice ?(?:[Ll]imit)? (?:is )?(?:can't be )?lower than (?:the )?(?:current )?public price\b",
        FailureKind.PRICE,
        Scope.OFFER,
        _PRICE,
        "the spot price is above --max-price: raise it, or leave it out to pay at most the pay-as-you-go price; "
        "an account that pays in CNY needs the setting price_limit_rate",
        _CODES,
    ),
)

_QUOTA_ROWS = (
    _rule(
        # Its messages tell of vCPUs of a family, of spot machines, and of the account as a whole.
        r"\b(?:QuotaExceed(?:ed)?\.(?:ElasticQuota|AfterpayInstance|PrepayInstance|SpotInstance|Instance)"
        r"|InstanceQuotaExceed|OperationDenied\.QuotaExceed)\b",
        FailureKind.QUOTA,
        Scope.TYPE_IN_REGION,
        _LIMIT,
        _RAISE_QUOTA.format("Elastic Compute Service, vCPUs of the family by market and region"),
        _CODES,
    ),
    _rule(
        r"\bQuotaExceed(?:ed)?\.Vpc\b|\bVPC quota exceeded\b",
        FailureKind.QUOTA,
        Scope.REGION,
        _CAPACITY,
        "an account has 10 networks a region unless it asks for more: give --subnet, or raise the quota",
        _VPC,
    ),
    _rule(
        r"\b(?:QuotaExceed(?:ed)?\.\w+|LimitExceeded\.\w+|SecurityGroupLimitExceeded)\b",
        FailureKind.QUOTA,
        Scope.REGION,
        _CAPACITY,
        _RAISE_QUOTA.format("the one named above"),
        _CODES,
    ),
)

_IMAGE_ROWS = (
    _rule(
        r"\bImageNotSubscribed\b|\b[Yy]ou need to subscribe\b",
        FailureKind.IMAGE,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "the image is a Marketplace product: subscribe to it, or name another with --image",
        _CODES,
    ),
    _rule(
        r"\b(?:ImageNotSupportInstanceType|InvalidParameter\.NotMatch|ImageNotSupportCloudInit"
        r"|InvalidInstanceType\.ImageNotSupported)\b",
        FailureKind.IMAGE,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "the image is made for other machines: name another with --image",
        _CODES,
    ),
    _rule(
        r"\b(?:InvalidImageId\.NotFound|OperationDenied\.ImageNotValid|InvalidImageFamily\.\w+)\b"
        r"|\balicloud_images\.family\b",
        FailureKind.IMAGE,
        Scope.REGION,
        _NOT_REMEMBERED,
        "an image's id holds in one region only: name a family of public ones (family:acs:…) or stay in its region",
        _CODES,
    ),
)

_PLACE_ROWS = (
    _rule(
        r"\bInvalid Alibaba Cloud region\b|\bInvalidRegionId\.NotFound\b",
        FailureKind.UNSUPPORTED,
        Scope.REGION,
        _PLACE,
        "there is no such region: leave it out with --region",
        _PROVIDER,
    ),
    _rule(
        r"\b(?:RegionUnauthorized|Zone\.NotOpen)\b",
        FailureKind.REGION_DISABLED,
        Scope.REGION,
        _PLACE,
        "the account may not use this region (an account of mainland China and an international one may use different "
        "ones): leave it out with --region",
        _CODES,
    ),
    _rule(
        r"\bSubnet \S+ (?:is not in zone \S+|does not exist in \S+)|\bInvalidVSwitchId\.NotFound\b",
        FailureKind.UNSUPPORTED,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "a vSwitch lies in one zone: leave --subnet out, or stay in its region with --region",
        _MODULE,
    ),
    _rule(
        r"\bno-zone-of-[a-z0-9-]+",
        FailureKind.CAPACITY,
        Scope.TYPE_IN_REGION,
        _CAPACITY,
        "no zone of the region has this type to sell now",
        _MODULE,
    ),
    _rule(
        r"\b(?:InvalidZoneId\.NotFound|ResourceNotAvailable|Zone\.NotFound)\b",
        FailureKind.UNSUPPORTED,
        Scope.ZONE,
        _PLACE,
        "the region has no such zone, or does not make vSwitches there",
        _VPC,
    ),
    _rule(
        r"\b(?:InvalidResourceType\.NotSupported|InvalidInstanceType\.(?:ZoneNotSupported|NotSupported"
        r"|ValueNotSupported|ValueUnauthorized|PhasedOut|NotSupportDiskCategory)|InstanceType\.Offline"
        r"|CategoryNotSupported|OperationDenied\.(?:FlavorNotSupported|RegionIdNotSupported|ZoneNotSupported))\b",
        FailureKind.UNSUPPORTED,
        Scope.OFFER,
        _PLACE,
        "",
        _CODES,
    ),
)

_RIGHTS_ROWS = (
    _rule(
        r"\b(?:InvalidAccountStatus\.NotEnoughBalance|InsufficientBalance|Account\.Arrearage|PaymentMethodNotFound"
        r"|InvalidPayMethod)\b|\binsufficient (?:account )?balance\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "the account cannot pay: pay-as-you-go wants a balance of 100 CNY or a card, a month its whole price",
        _CODES,
    ),
    _rule(
        r"\b(?:RealNameAuthenticationError|Forbidden\.RiskControl|InvalidSpotAliUid|InvalidSpotAuthorized"
        r"|Forbidden\.AccountNotCertified)\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "the account may not buy yet: verify it in the console (identity, and what Alibaba Cloud asks for)",
        _CODES,
    ),
    _rule(
        r"\b(?:InvalidSecurityToken\.Expired|InvalidSecurityToken\.\w+)\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "the credentials have expired: sign in again",
        _COMMON,
    ),
    _rule(
        r"\b(?:InvalidAccessKeyId(?:\.\w+)?|SignatureDoesNotMatch|IncompleteSignature|MissingAccessKeyId)\b"
        r"|\b[Nn]o valid credential\b|\bplease provide a valid (?:access|credential)|\bunable to get credentials\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "Alibaba Cloud does not know these credentials: run gpuorch doctor",
        _COMMON,
    ),
    _rule(
        r"\b(?:Forbidden\.RAM|NoPermission|InvalidUser\.PassRoleForbidden|Forbidden\.SubUser|ForbiddenOperation"
        r"|AccessDenied)\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "the credentials lack a right: docs/clouds/alibaba.md has the policy that gpuorch needs",
        _COMMON,
    ),
)

_OTHER_ROWS = (
    _rule(
        r"\bThrottling(?:\.\w+)?\b|\bServiceUnavailable\.?\w*\b|\bInternalError\b|\bOperationConflict\b"
        r"|\bIncorrectVSwitchStatus\b|\bUnknownError\b",
        FailureKind.THROTTLED,
        Scope.REGION,
        _BRIEFLY,
        "Alibaba Cloud asks for a pause: try again in a few minutes",
        _COMMON,
    ),
    _rule(
        r"\bdial tcp\b|\bno such host\b|\bi/o timeout\b|\bTLS handshake\b|\bconnection (?:refused|reset)\b",
        FailureKind.THROTTLED,
        Scope.REGION,
        _BRIEFLY,
        "Alibaba Cloud could not be reached: check the network and the proxy",
        _PROVIDER,
    ),
    _rule(
        r"\b(?:KeyPair\.AlreadyExist|EntityAlreadyExists(?:\.\w+)?)\b",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "something of this deployment is left from a run that was cut off: gpuorch down finds and removes it",
        _RAM,
    ),
    _rule(
        r"Please convert 'PrePaid' instance to 'PostPaid'|\bInvalidOperation\.(?:RefundQuotaExceed\w*|NotRefundable)\b"
        r"|\brefund quota\b",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "a month paid ahead ends early only by making the machine pay-as-you-go first, within the account's monthly "
        "refund quota: docs/clouds/alibaba.md, “A month”",
        _PROVIDER,
    ),
    _rule(
        r"\bInvalidPublicKeyBody\.Malformed\b",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "Alibaba Cloud takes RSA and Ed25519 public keys: ssh-keygen -t ed25519",
        _CODES,
    ),
    _rule(
        r"\bInvalidAutoReleaseTime\.\w+|\bAutoReleaseTime\b",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "the end of the deployment is past, or more than three years away",
        _CODES,
    ),
    _rule(
        r"^Invalid value for variable\b|\b(?:InvalidParameter\w*(?:\.\w+)?|MissingParameter(?:\.\w+)?"
        r"|InvalidUserData\.\w+|InvalidSystemDiskSize(?:\.\w+)?|InvalidSpotPrepaid|InvalidSpotPriceLimit"
        r"|InvalidSecurityGroupId\.\w+|InvalidVSwitchId\.\w+|InvalidKeyPairName\.\w+|InvalidTagKey\.\w+"
        r"|InvalidTagValue\.\w+|InvalidCidrBlock(?:\.\w+)?|DependencyViolation(?:\.\w+)?)\b",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "",
        _CODES,
    ),
)

FAILURES: tuple[FailureRule, ...] = (
    *_CAPACITY_ROWS,
    *_QUOTA_ROWS,
    *_IMAGE_ROWS,
    *_PLACE_ROWS,
    *_RIGHTS_ROWS,
    *_OTHER_ROWS,
)
