"""What Tencent Cloud's refusals mean, as Terraform prints them: ``[TencentCloudSDKError] Code=…, Message=…``.

The first row that matches wins, so the narrow ones stand before the broad ones. Times of remembering are judgements:
capacity comes and goes within minutes, a quota or an unsupported place changes when a person does something, and what
hangs on one deployment's own words (its image, its subnet) is not remembered at all, since cool-downs are shared.
"""

from __future__ import annotations

from datetime import timedelta

from orchestrator.model.failure import FailureKind, FailureRule, Scope

__all__ = ["FAILURES"]

_CVM = (
    "CVM API, error codes: www.tencentcloud.com/document/product/213/33281; errorcodes.py of tencentcloud.cvm.v20170312"
)
_VPC = "VPC API, error codes: errorcodes.py of tencentcloud.vpc.v20170312"
_COMMON = "API 3.0, common error codes: www.tencentcloud.com/document/product/213/33281"
_CAM = "CAM API, error codes: errorcodes.py of tencentcloud.cam.v20190116"
_PROVIDER = "source of the Terraform provider tencentcloudstack/tencentcloud 1.83"
_MODULE = "terraform/modules/tencent"

_NOT_REMEMBERED = timedelta(0)
_BRIEFLY = timedelta(minutes=2)
_CAPACITY = timedelta(minutes=15)
_PRICE = timedelta(minutes=30)
_LIMIT = timedelta(hours=1)
_PLACE = timedelta(hours=24)

_OTHER_DISK = "another kind of disk may be had: GPUORCH_TENCENT_DISK_TYPE=CLOUD_HSSD (or CLOUD_BSSD, CLOUD_SSD)"


def _rule(pattern: str, kind: FailureKind, scope: Scope, cool_down: timedelta, hint: str, source: str) -> FailureRule:
    return FailureRule(pattern=pattern, kind=kind, scope=scope, cool_down=cool_down, hint=hint, source=source)


def _code(*codes: str) -> str:
    """A pattern for whole error codes."""
    return rf"\bCode=(?:{'|'.join(codes)}),"


_CAPACITY_ROWS = (
    _rule(
        _code(
            r"ResourceInsufficient\.(?:SpecifiedInstanceType|ZoneSoldOutForSpecifiedInstance|InsufficientOfferingMinimum)",
            r"ResourcesSoldOut\.SpecifiedInstanceType",
            r"InvalidParameterValue\.InsufficientOffering",
        ),
        FailureKind.CAPACITY,
        Scope.OFFER,
        _CAPACITY,
        "",
        _CVM,
    ),
    _rule(
        _code(r"ResourceInsufficient\.AvailabilityZoneSoldOut", r"ResourcesSoldOut\.AvailableZone"),
        FailureKind.CAPACITY,
        Scope.ZONE,
        _CAPACITY,
        "",
        _CVM,
    ),
    _rule(
        _code(
            r"ResourceInsufficient\.CloudDisk(?:SoldOut|Unavailable)",
            r"InvalidParameter\.InvalidCloudDiskSoldOut",
            r"InvalidCloudDisk\.Unavailable",
            r"ResourceNotFound\.NoDefaultCbs(?:WithReason)?",
            r"UnsupportedOperation\.SystemDiskType",
        ),
        FailureKind.CAPACITY,
        Scope.OFFER,
        _CAPACITY,
        _OTHER_DISK,
        _CVM,
    ),
    _rule(
        _code(r"ResourcesSoldOut\.EipInsufficient"),
        FailureKind.CAPACITY,
        Scope.REGION,
        _CAPACITY,
        "the region has no public address left: give --subnet of a network with a NAT gateway, or leave the region out",
        _CVM,
    ),
    _rule(
        r"\bNo zone of \S+ has \S+ on sale",
        FailureKind.CAPACITY,
        Scope.TYPE_IN_REGION,
        _CAPACITY,
        "",
        _MODULE,
    ),
    _rule(
        r"\bcvm instance \S+ launch failed\b",
        FailureKind.CAPACITY,
        Scope.OFFER,
        _CAPACITY,
        "",
        _PROVIDER,
    ),
    _rule(
        _code(r"InvalidParameterValue\.InsufficientPrice"),
        FailureKind.PRICE,
        Scope.OFFER,
        _PRICE,
        "the spot price is above --max-price: raise it, or leave it out to pay Tencent's own spot price",
        _CVM,
    ),
)

_QUOTA_ROWS = (
    _rule(
        _code(r"LimitExceeded\.(?:User)?SpotQuota"),
        FailureKind.QUOTA,
        Scope.ZONE,
        _LIMIT,
        "ask for more spot vCPUs of the zone in the console: CVM, Quotas",
        _CVM,
    ),
    _rule(
        _code(
            r"LimitExceeded\.(?:CvmInstanceQuota|InstanceQuota|PrepayQuota|PrepayUnderwriteQuota)",
            r"InstancesQuotaLimitExceeded",
        ),
        FailureKind.QUOTA,
        Scope.ZONE,
        _LIMIT,
        "ask for more instances of the zone in the console: CVM, Quotas",
        _CVM,
    ),
    _rule(
        _code(
            r"InvalidAccount\.(?:InsufficientBalance|UnpaidOrder)",
            r"UnsupportedOperation\.NotSupportUnpaidOrder",
            r"AccountQualificationRestrictions",
        ),
        FailureKind.QUOTA,
        Scope.CLOUD,
        _CAPACITY,
        "the account must be able to pay: add money, pay what is open, or complete its verification in the console",
        _CVM,
    ),
    _rule(
        _code(
            r"LimitExceeded(?:\.\w+)*",
            r"AddressQuotaLimitExceeded(?:\.\w+)*",
            r"ResourceInsufficient\.(?:InsufficientGroupQuota|CidrBlock)",
            r"InvalidKeyPair\.LimitExceeded",
            r"InvalidParameterValue\.(?:TagQuotaLimitExceeded|ExternalIpQuotaLimited)",
        ),
        FailureKind.QUOTA,
        Scope.REGION,
        _CAPACITY,
        "ask for a higher limit in the console, or give --subnet so that no network is made (20 networks a region)",
        _VPC,
    ),
)

_IMAGE_ROWS = (
    _rule(
        _code(
            r"InvalidImageId\.\w+",
            r"InvalidParameterValue\.InvalidImage\w*",
            r"InvalidParameterValue\.RequiredLocationImage",
            r"UnauthorizedOperation\.ImageNotBelongToAccount",
            r"UnsupportedOperation\.(?:LocationImageNotSupported|EncryptedImagesNotSupported)",
        ),
        FailureKind.IMAGE,
        Scope.REGION,
        _NOT_REMEMBERED,
        "name another image with --image: an id (img-…) of the region, or name: and a regular expression",
        _CVM,
    ),
    _rule(
        r"\bNo public image that \S+ can boot\b|\bimage_name_regex format error\b",
        FailureKind.IMAGE,
        Scope.REGION,
        _NOT_REMEMBERED,
        "name another image with --image: tccli cvm DescribeImages shows them",
        _MODULE,
    ),
)

_PLACE_ROWS = (
    _rule(
        _code(r"UnsupportedOperation\.InvalidRegionDiskEncrypt"),
        FailureKind.UNSUPPORTED,
        Scope.REGION,
        _NOT_REMEMBERED,
        "the region, or the account, has no encrypted system disks: GPUORCH_TENCENT_DISK_ENCRYPTION=off goes without",
        _CVM,
    ),
    _rule(
        _code(r"UnsupportedOperation\.SpotUnsupportedRegion"),
        FailureKind.UNSUPPORTED,
        Scope.MARKET_IN_REGION,
        _PLACE,
        "",
        _CVM,
    ),
    _rule(
        _code(
            r"UnsupportedRegion",
            r"InvalidRegion\.\w+",
            r"InvalidParameterValue\.InvalidRegion",
            r"UnsupportedOperation\.(?:Region|UnsupportedInternationalUser)",
            r"FailedOperation\.PromotionalRegionRestriction",
        ),
        FailureKind.REGION_DISABLED,
        Scope.REGION,
        _PLACE,
        "the account cannot use this region: leave it out with --region",
        _COMMON,
    ),
    _rule(
        _code(
            r"InvalidZone\.MismatchRegion",
            r"InvalidParameterValue\.Zone(?:NotSupported|Conflict)",
            r"UnsupportedOperation\.InvalidZone",
        ),
        FailureKind.UNSUPPORTED,
        Scope.ZONE,
        _PLACE,
        "",
        _CVM,
    ),
    _rule(
        _code(
            r"ResourceUnavailable(?:\.InstanceType)?",
            r"ResourceNotFound\.InvalidZoneInstanceType",
            r"InvalidInstanceType\.\w+",
            r"InvalidParameterValue\.InstanceTypeNotFound",
            r"InvalidParameter\.InstanceTypeNotSupport",
            r"UnsupportedOperation\.(?:NoInstanceTypeSupportSpot|InstanceChargeType)",
        ),
        FailureKind.UNSUPPORTED,
        Scope.OFFER,
        _PLACE,
        "",
        _CVM,
    ),
    _rule(
        _code(r"InvalidParameterValue\.(?:SubnetNotExist|SubnetIdZoneIdNotMatch|VpcIdZoneIdNotMatch)")
        + r"|\bSubnet \S+ is not in zone \S+|\bThere is no subnet \S+ in\b",
        FailureKind.UNSUPPORTED,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "a subnet lies in one zone: leave --subnet out, or stay in its region with --region",
        _MODULE,
    ),
)

_RIGHTS_ROWS = (
    _rule(
        r"\bCode=ClientError\.(?:NetworkError|HttpStatusCodeError)\b|\bdial tcp\b|\bno such host\b|\bi/o timeout\b",
        FailureKind.THROTTLED,
        Scope.REGION,
        _BRIEFLY,
        "Tencent Cloud could not be reached: check the network and the proxy",
        _PROVIDER,
    ),
    _rule(
        # A role that was just made is not known everywhere at once.
        _code(r"AuthFailure\.CamRoleNameAuthenticateFailed"),
        FailureKind.THROTTLED,
        Scope.OFFER,
        _BRIEFLY,
        "the machine's role was not known yet; if it happens again, let the credentials do cam:PassRole on it",
        _CVM,
    ),
    _rule(
        _code(r"AuthFailure\.(?:TokenFailure|SignatureExpire)", r"UnauthorizedOperation\.(?:InvalidToken|MFAExpired)"),
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "the credentials have expired, or the clock is off: sign in again (tccli auth login)",
        _COMMON,
    ),
    _rule(
        _code(r"AuthFailure\.(?:SecretIdNotFound|SignatureFailure|InvalidSecretId|InvalidAuthorization)"),
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "Tencent Cloud does not know these credentials (the two sites have separate accounts): run gpuorch doctor",
        _COMMON,
    ),
    _rule(
        r"(?i)\bset your .?secret_id.? and .?secret_key\b|\bget shared credentials\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "set TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY, or run tccli configure; then gpuorch doctor",
        _PROVIDER,
    ),
    _rule(
        _code(r"AuthFailure(?:\.\w+)*", r"UnauthorizedOperation(?:\.\w+)*", r"OperationDenied\.AccountNotSupported"),
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "the credentials lack a right: docs/clouds/tencent.md has the policy that gpuorch needs",
        _COMMON,
    ),
)

_OTHER_ROWS = (
    _rule(
        _code(r"RequestLimitExceeded(?:\.\w+)*"),
        FailureKind.THROTTLED,
        Scope.REGION,
        _BRIEFLY,
        "Tencent Cloud asks for fewer calls: try again in a few minutes",
        _COMMON,
    ),
    _rule(
        _code(r"InternalError(?:\.\w+)*", r"InternalServerError", r"ResourceBusy", r"ServiceUnavailable"),
        FailureKind.THROTTLED,
        Scope.OFFER,
        _BRIEFLY,
        "Tencent Cloud had a fault of its own: try again",
        _COMMON,
    ),
    _rule(
        _code(
            r"InvalidKeyPairName\.Duplicate",
            r"InvalidParameter\.RoleNameInUse",
            r"FailedOperation\.PolicyNameInUse",
            r"FailedOperation\.MutActionTimerExist",
        ),
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "something of this deployment is left from a run that was cut off: gpuorch down finds and removes it",
        _CAM,
    ),
    _rule(
        _code(r"UnsupportedOperation\.NotSupportImportInstancesActionTimer"),
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "Tencent Cloud set no timer on the machine: give it a longer time with --ttl",
        _CVM,
    ),
    _rule(
        _code(r"InvalidPublicKey\.\w+"),
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "give another SSH key: ssh-keygen -t rsa -b 4096",
        _CVM,
    ),
    _rule(
        r"^Invalid value for variable\b|" + _code(r"InvalidParameter\w*(?:\.\w+)*", r"MissingParameter(?:\.\w+)*"),
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "",
        _CVM,
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
