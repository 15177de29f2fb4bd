"""What Google Cloud's refusals mean, as Terraform prints them.

Two forms: ``Error creating …: googleapi: Error 403: MESSAGE, reason`` for a refused call, and ``Error waiting for
instance to create: MESSAGE`` for an operation that failed later; Terraform prints no code for the second. The first row
that matches wins, so the narrow ones stand before the broad ones. Times of remembering are judgements: capacity comes
and goes within minutes, a quota or an unsupported place changes when a person does something, and what hangs on one
deployment's own words (its image, its subnet) is not remembered at all, since cool-downs are shared.
"""

from __future__ import annotations

from datetime import timedelta

from orchestrator.model.failure import FailureKind, FailureRule, Scope

__all__ = ["FAILURES"]

_AVAILABILITY = "cloud.google.com/compute/docs/troubleshooting/troubleshooting-resource-availability"
_CREATING = "cloud.google.com/compute/docs/troubleshooting/troubleshooting-vm-creation"
_QUOTAS = "cloud.google.com/compute/resource-usage"
_ERRORS = "cloud.google.com/compute/docs/reference/rest/v1: errors of the API"
_PROVIDER = "texts of the Terraform provider hashicorp/google 6.50"
_POLICIES = "cloud.google.com/resource-manager/docs/organization-policy/org-policy-constraints"
_MODULE = "terraform/modules/gcp"

_NOT_REMEMBERED = timedelta(0)
_BRIEFLY = timedelta(minutes=2)
_CAPACITY = timedelta(minutes=15)
_LIMIT = timedelta(hours=1)
_PLACE = timedelta(hours=24)

_RAISE_QUOTA = "ask for a higher limit: Google Cloud console, IAM & Admin → Quotas, {}"


def _rule(pattern: str, kind: FailureKind, scope: Scope, cool_down: timedelta, hint: str, source: str) -> FailureRule:
    return FailureRule(pattern=pattern, kind=kind, scope=scope, cool_down=cool_down, hint=hint, source=source)


_CAPACITY_ROWS = (
    _rule(
        # Comes as a call too many, which it is not.
        r"Maximum number of service accounts on project reached",
        FailureKind.QUOTA,
        Scope.CLOUD,
        _CAPACITY,
        "delete service accounts that nothing uses, or ask for a higher limit",
        "cloud.google.com/iam/quotas",
    ),
    _rule(
        r"\bZONE_RESOURCE_POOL_EXHAUSTED|does not have enough resources available to fulfill the request"
        r"|\bis currently unavailable in the \S+ zone\b|\bSTOCKOUT\b",
        FailureKind.CAPACITY,
        Scope.OFFER,
        _CAPACITY,
        "",
        _AVAILABILITY,
    ),
    _rule(
        # A spot machine that Google took back before it ran: it is deleted, so the provider does not find it.
        r"waiting for instance to reach desired status RUNNING: (?:couldn't find resource|unexpected state)",
        FailureKind.CAPACITY,
        Scope.OFFER,
        _CAPACITY,
        "",
        _PROVIDER,
    ),
    _rule(
        # Before the quotas: this one is of calls, not of machines.
        r"\brateLimitExceeded\b|\bRate Limit Exceeded\b|\bError 429\b"
        r"|Quota exceeded for quota metric '[^']*(?:[Qq]ueries|[Rr]equests)[^']*'",
        FailureKind.THROTTLED,
        Scope.REGION,
        _BRIEFLY,
        "Google Cloud asks for fewer calls: try again in a few minutes",
        _ERRORS,
    ),
    _rule(
        r"Quota '(?:NETWORKS|SUBNETWORKS|FIREWALLS|ROUTES)' exceeded",
        FailureKind.QUOTA,
        Scope.CLOUD,
        _CAPACITY,
        "a project has few networks unless it asks for more: give --subnet, or raise the limit named above",
        _QUOTAS,
    ),
    _rule(
        r"Quota '(?:IN_USE_ADDRESSES|STATIC_ADDRESSES|SSD_TOTAL_GB|DISKS_TOTAL_GB|LOCAL_SSD_TOTAL_GB\w*|HYPERDISK\w*"
        r"|HDB_\w+|INSTANCES)' exceeded",
        FailureKind.QUOTA,
        Scope.REGION,
        _LIMIT,
        _RAISE_QUOTA.format("the metric named above"),
        _QUOTAS,
    ),
    _rule(
        r"Quota 'GPUS_ALL_REGIONS' exceeded",
        FailureKind.QUOTA,
        Scope.MARKET_IN_REGION,
        _LIMIT,
        _RAISE_QUOTA.format("“GPUs (all regions)”; new projects have none"),
        _QUOTAS,
    ),
    _rule(
        r"Quota '\w*(?:GPUS|CPUS)\w*' exceeded|\bQUOTA_EXCEEDED\b|\bquotaExceeded\b|\bQuota '[^']+' exceeded",
        FailureKind.QUOTA,
        Scope.TYPE_IN_REGION,
        _LIMIT,
        _RAISE_QUOTA.format("the metric named above; spot has metrics of its own (PREEMPTIBLE_…)"),
        _QUOTAS,
    ),
)

_IMAGE_ROWS = (
    _rule(
        r"error retrieving (?:image information|list of images)|Could not find image or family"
        r"|global/images/\S+' was not found",
        FailureKind.IMAGE,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "there is no such image: name another with --image projects/PROJECT/global/images/NAME",
        _PROVIDER,
    ),
    _rule(
        r"Required 'compute\.images\.useReadOnly' permission",
        FailureKind.IMAGE,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "the image's project has to let you use it (roles/compute.imageUser), or name another with --image",
        _ERRORS,
    ),
    _rule(
        r"UEFI-compatible|\b[Aa]rchitecture\b.*\b(?:does not match|is not compatible|mismatch)",
        FailureKind.IMAGE,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "the image is made for other machines: name another with --image",
        _CREATING,
    ),
)

_BUCKET_ROWS = (
    _rule(
        r"\bbucket does not exist\b",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "make the bucket for the checkpoints first: gcloud storage buckets create gs://BUCKET "
        "--uniform-bucket-level-access",
        _ERRORS,
    ),
    _rule(
        r"[Uu]niform bucket-level access|uniformBucketLevelAccess",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "a right on a prefix needs it: gcloud storage buckets update gs://BUCKET --uniform-bucket-level-access",
        "cloud.google.com/storage/docs/access-control/iam",
    ),
)

_PLACE_ROWS = (
    _rule(
        r"\bMachine type with name '[^']+' does not exist in zone\b|machineTypes/\S+' was not found"
        r"|\bNo zone of \S+ offers \S+",
        FailureKind.UNSUPPORTED,
        Scope.TYPE_IN_REGION,
        _PLACE,
        "",
        _CREATING,
    ),
    _rule(
        r"acceleratorTypes?/\S+.*(?:does not exist|was not found)|\bguestAccelerators\[\d+\]\.acceleratorType\b",
        FailureKind.UNSUPPORTED,
        Scope.OFFER,
        _PLACE,
        "the zone has no such accelerator: name another with --region",
        _CREATING,
    ),
    _rule(
        r"features are not compatible for creating instance",
        FailureKind.UNSUPPORTED,
        Scope.OFFER,
        _PLACE,
        "",
        _CREATING,
    ),
    _rule(
        r"constraints/gcp\.resourceLocations|Permission denied on 'locations/[^']+'",
        FailureKind.REGION_DISABLED,
        Scope.REGION,
        _PLACE,
        "the organisation forbids this place: leave it out with --region",
        _POLICIES,
    ),
    _rule(
        r"\bSubnet \S+ is not in region\b|data source Subnetwork Not Found|subnetworks/\S+' was not found",
        FailureKind.UNSUPPORTED,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "a subnet lies in one region: leave --subnet out, or stay in its region with --region",
        _MODULE,
    ),
    _rule(
        r"Error loading zone '[^']+'|/zones/[^/']+' was not found|\bUnknown zone\b",
        FailureKind.UNSUPPORTED,
        Scope.ZONE,
        _PLACE,
        "the project has no such zone",
        _PROVIDER,
    ),
    _rule(
        r"/regions/[^/']+' was not found|\bUnknown region\b",
        FailureKind.UNSUPPORTED,
        Scope.REGION,
        _PLACE,
        "the project has no such region",
        _PROVIDER,
    ),
)

_RIGHTS_ROWS = (
    _rule(
        r"\bdial tcp\b|\bno such host\b|\bi/o timeout\b|\bTLS handshake\b|\bconnection (?:reset|refused)\b",
        FailureKind.THROTTLED,
        Scope.REGION,
        _BRIEFLY,
        "Google Cloud could not be reached: check the network and the proxy",
        _PROVIDER,
    ),
    _rule(
        r"could not find default credentials|Attempted to load application default credentials"
        r"|No credentials loaded",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "set up credentials: gcloud auth application-default login",
        _PROVIDER,
    ),
    _rule(
        r"\binvalid_grant\b|\binvalid_rapt\b|oauth2: cannot fetch token|\bError 401\b|\bUNAUTHENTICATED\b"
        r"|invalid authentication credentials",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "the credentials are not valid any more: gcloud auth application-default login",
        _PROVIDER,
    ),
    _rule(
        r"\baccessNotConfigured\b|\bSERVICE_DISABLED\b|has not been used in project \S+ before or it is disabled",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "switch the API on for the project: gcloud services enable compute.googleapis.com iam.googleapis.com",
        _ERRORS,
    ),
    _rule(
        r"requires billing to be enabled|\bBILLING_DISABLED\b|billing account .* is (?:not|disabled)|billingNotEnabled",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "link a billing account to the project: gcloud billing projects link PROJECT --billing-account=ACCOUNT",
        _ERRORS,
    ),
    _rule(
        r"constraints/compute\.(?:vmExternalIpAccess|requireOsLogin)",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "the organisation forbids external addresses or SSH keys: give a --subnet with Cloud NAT and --access session",
        _POLICIES,
    ),
    _rule(
        r"\bconstraints/[a-z]+\.\w+|\bconditionNotMet\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "an organisation policy forbids this: its administrator has to allow it for the project",
        _POLICIES,
    ),
    _rule(
        r"project: required field is not set|Unknown project id|The resource 'projects/[^/']+' was not found"
        r"|\bCONSUMER_INVALID\b|Project \S+ (?:not found|has been deleted)",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "the project is not there or not yours: set GOOGLE_CLOUD_PROJECT to its id",
        _PROVIDER,
    ),
    _rule(
        r"Required '[\w.]+' permission for|Permission '?[\w.]+'? denied|does not have [\w.]+ access"
        r"|\bError 403\b|\bPERMISSION_DENIED\b|\bforbidden\b",
        FailureKind.AUTH,
        Scope.CLOUD,
        _NOT_REMEMBERED,
        "the credentials lack a right: docs/clouds/gcp.md has the roles that gpuorch needs",
        _ERRORS,
    ),
)

_OTHER_ROWS = (
    _rule(
        # A new service account is not known everywhere at once.
        r"Service account \S+ does not exist|of type 'serviceAccount' was not found",
        FailureKind.THROTTLED,
        Scope.OFFER,
        _BRIEFLY,
        "the machine's service account is not known everywhere yet: try again",
        "cloud.google.com/iam/docs/service-accounts-create",
    ),
    _rule(
        r"\balreadyExists\b|\bError 409\b.*already exists",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "something of this deployment is left from a run that was cut off: gpuorch down finds and removes it",
        _ERRORS,
    ),
    _rule(
        r"cannot be smaller than the image size",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "the image needs a larger disk: raise disk_gib to the size named above",
        _CREATING,
    ),
    _rule(
        r"\bIP_SPACE_EXHAUSTED\b",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "the subnet has no free address: give another with --subnet, or none",
        _CREATING,
    ),
    _rule(
        r"\bError 50[0-9]\b|\bbackendError\b|\binternalError\b|\bInternal error\b|service is currently unavailable"
        r"|\bresourceNotReady\b|\bRESOURCE_NOT_READY\b|\bresourceInUseByAnotherResource\b",
        FailureKind.THROTTLED,
        Scope.OFFER,
        _BRIEFLY,
        "Google Cloud had a fault of its own: try again",
        _ERRORS,
    ),
    _rule(
        r"^Invalid value for variable\b|\bInvalid value for field\b|\bError 400\b|\bError 413\b|\bfieldSizeTooLarge\b",
        FailureKind.INVALID,
        Scope.OFFER,
        _NOT_REMEMBERED,
        "",
        _ERRORS,
    ),
)

FAILURES: tuple[FailureRule, ...] = (
    *_CAPACITY_ROWS,
    *_IMAGE_ROWS,
    *_BUCKET_ROWS,
    *_PLACE_ROWS,
    *_RIGHTS_ROWS,
    *_OTHER_ROWS,
)
