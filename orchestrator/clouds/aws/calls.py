"""One way to call AWS: short time limits, few retries, and every failure as one sentence with its fix."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orchestrator.errors import CloudCallFailed

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

__all__ = ["Clients", "Limits", "aws_call", "error_code", "failure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds to connect and between two answers' bytes, and how often a call is tried in all."""

    connect_seconds: float = 5
    read_seconds: float = 20
    attempts: int = 3


# Codes that say "who are you": https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html,
# https://docs.aws.amazon.com/STS/latest/APIReference/CommonErrors.html and Amazon S3's list of error responses.
_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"})
_UNKNOWN_KEY = frozenset(
    {
        "AuthFailure",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_FORBIDDEN = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "Forbidden", "403"})
_THROTTLED = frozenset(
    {"RequestLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequestsException", "SlowDown"}
)
_NOT_ENABLED = frozenset({"OptInRequired", "InvalidRegion"})

# What follows is a kilobyte that only an administrator can decode.
_ENCODED = "Encoded authorization failure message"

_LOG_IN = "log in again: aws sso login, aws configure, or set AWS_PROFILE"


class Clients:
    """boto3 clients of one session in one region, made when first used; safe to use from several threads.

    AWS's own chain finds the credentials, and AWS_ENDPOINT_URL moves the endpoint, as for every tool on boto3.
    """

    def __init__(self, region: str, limits: Limits | None = None) -> None:
        self.region = region
        self._limits = limits or Limits()
        self._made: dict[str, Any] = {}
        self._session: Any = None
        self._lock = threading.Lock()

    def session(self) -> Any:
        """The boto3 session; raises botocore's ``ProfileNotFound`` where AWS_PROFILE names none."""
        import boto3

        if self._session is None:
            self._session = boto3.session.Session()
        return self._session

    def client(self, service: str) -> Any:
        """The client of a service such as ``ec2``."""
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError

        with self._lock:
            if service not in self._made:
                limits = self._limits
                config = Config(
                    connect_timeout=limits.connect_seconds,
                    read_timeout=limits.read_seconds,
                    retries={"mode": "standard", "total_max_attempts": limits.attempts},
                    user_agent_extra="gpuorch",
                )
                try:
                    self._made[service] = self.session().client(service, region_name=self.region, config=config)
                except BotoCoreError:
                    raise
                except ValueError as error:  # boto3's only word for an endpoint that is no URL
                    raise CloudCallFailed(
                        f"the {service} service of AWS cannot be called: {error}",
                        hint="AWS_ENDPOINT_URL must be a URL such as https://host:port, or not be set",
                    ) from error
            return self._made[service]


@contextmanager
def aws_call(action: str, region: str) -> Iterator[None]:
    """Turn whatever boto3 raises inside into :class:`CloudCallFailed`.

    ``action`` is the IAM action of the call (``ec2:DescribeInstances``): it names the call and, where AWS refuses it,
    the permission that is missing.
    """
    import boto3.exceptions
    import botocore.exceptions

    try:
        yield
    except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError, boto3.exceptions.Boto3Error) as error:
        raise failure(error, action, region) from error


def error_code(error: ClientError) -> str:
    """AWS's own code, such as ``InvalidInstanceID.NotFound``."""
    return str(error.response.get("Error", {}).get("Code", ""))


def failure(error: Exception, action: str, region: str) -> CloudCallFailed:
    """What boto3's error means, in one sentence, and what to do about it."""
    from botocore.exceptions import ClientError

    where = f"{action} in {region}" if region else action
    if isinstance(error, ClientError):
        code = error_code(error)
        message = str(error.response.get("Error", {}).get("Message", ""))
        words = _one_line(message.partition(_ENCODED)[0])
        said = f"{code}: {words}" if words and words != code else code
        return CloudCallFailed(f"AWS refused {where}: {said}", hint=_hint_for_code(code, action, region))
    return CloudCallFailed(f"AWS could not be asked for {where}: {_one_line(str(error))}", hint=_hint_for_kind(error))


def _hint_for_code(code: str, action: str, region: str) -> str:
    if code in _EXPIRED:
        return f"the credentials have expired; {_LOG_IN}"
    if code in _UNKNOWN_KEY:
        return (
            f"AWS does not accept these credentials in {region}, or the account has not enabled that region; {_LOG_IN}"
        )
    if code in _FORBIDDEN and action == "s3:GetObject":
        return (
            "let the user or role you are logged in as do s3:GetObject and s3:ListBucket "
            "(without the second, S3 answers so for objects that are not there, too)"
        )
    if code in _FORBIDDEN:
        return f"let the user or role you are logged in as do {action} (an administrator can add it to its IAM policy)"
    if code in _NOT_ENABLED:
        return f"enable {region} for the account, or leave it out: aws account enable-region --region-name {region}"
    if code == "OperationNotPermitted" and action == "ec2:TerminateInstances":
        return (
            "termination protection is on; take it off: aws ec2 modify-instance-attribute --no-disable-api-termination"
        )
    if code in _THROTTLED:
        return "AWS limits how often the account may call; try again in a minute"
    return ""


def _hint_for_kind(error: Exception) -> str:
    """The fix for an error that came before, or instead of, an answer of AWS."""
    from botocore import exceptions as boto

    kinds: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
        (
            (boto.NoCredentialsError, boto.PartialCredentialsError, boto.NoAuthTokenError),
            "give credentials: aws configure, aws sso login, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        ),
        (
            (boto.CredentialRetrievalError, boto.TokenRetrievalError, boto.SSOError, boto.MetadataRetrievalError),
            _LOG_IN,
        ),
        ((boto.ProfileNotFound,), "AWS_PROFILE must name a profile that aws configure list-profiles shows"),
        ((boto.ConfigParseError, boto.ConfigNotFound), "mend ~/.aws/config, or name another one in AWS_CONFIG_FILE"),
        ((boto.InvalidRegionError, boto.NoRegionError), "give a region that AWS has, such as us-east-1"),
        (
            (boto.SSLError,),
            "check the clock, the proxy and AWS_CA_BUNDLE: the certificate of AWS's endpoint was not accepted",
        ),
        (
            (boto.ConnectionError, boto.HTTPClientError),
            "check the network, the proxy settings and AWS_ENDPOINT_URL, then try again",
        ),
    )
    return next((hint for types, hint in kinds if isinstance(error, types)), "")


def _one_line(text: str) -> str:
    return " ".join(text.split())
