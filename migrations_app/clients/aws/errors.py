"""Maps every AWS failure to an error of migrations_app/errors.py. AWS messages are cleaned and shortened; no botocore
type leaks out.
"""

import re
from typing import Any

from botocore import exceptions as b
from botocore.parsers import ResponseParserError

from migrations_app import errors
from migrations_app.clients.aws.permissions import AwsPermission
from migrations_app.clients.secret import clean

CAUGHT = (b.BotoCoreError, b.ClientError, ResponseParserError, OSError, ValueError, RecursionError)
"""The exceptions an AWS call may raise. A response that is not XML, such as a proxy's page, raises none of botocore's
own errors.
"""

ABSENT = frozenset(
    {
        "NoSuchEntity",
        "NoSuchEntityException",
        "ResourceNotFoundException",
        "NotFoundException",
        "QueueDoesNotExist",
        "AWS.SimpleQueueService.NonExistentQueue",
    }
)
_FORBIDDEN = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AuthorizationError",
        "UnauthorizedOperation",
        "NotAuthorized",
        "KmsAccessDenied",
    }
)
_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"})
_UNKNOWN_KEYS = frozenset(
    {
        "AuthFailure",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "InvalidToken",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "NotSignedUp",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_REGION_OFF = frozenset({"OptInRequired", "RegionDisabledException"})
_THROTTLED = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "TooManyRequestsException",
    }
)
_DENIALS = (
    ("service control policy", "a policy of the organisation denies it"),
    ("resource control policy", "a policy of the organisation denies it"),
    ("permissions boundary", "the permissions boundary does not let it through"),
    ("explicit deny", "a statement denies it"),
)


def is_absent(error: BaseException) -> bool:
    """Whether the error says that the requested object does not exist."""
    return isinstance(error, b.ClientError) and _code(error) in ABSENT


def from_exception(error: BaseException, right: AwsPermission) -> errors.ReadError:
    """The ReadError for any exception in CAUGHT that was raised by the call `right`."""
    if isinstance(error, b.ClientError):
        return _from_answer(error, right)
    if isinstance(error, b.NoCredentialsError | b.PartialCredentialsError | b.CredentialRetrievalError):
        return errors.Unauthorized("karpdash has no AWS credentials for this", code="no_identity")
    if isinstance(error, b.SSLError):
        return errors.TlsRefused(f"{right.action}: the certificate of AWS is not trusted here")
    if isinstance(error, b.ConnectTimeoutError | b.ReadTimeoutError | TimeoutError):
        return errors.TimedOut(f"{right.action} was not answered in time")
    if isinstance(error, b.ParamValidationError | b.InvalidRegionError | b.UnknownRegionError):
        return errors.InvalidResponse(f"{right.action} does not accept this name", code="bad_name")
    if isinstance(error, b.ConnectionError | b.HTTPClientError | OSError):
        return errors.Unreachable(f"no connection to AWS for {right.action}")
    return errors.InvalidResponse(f"the answer to {right.action} is not in the form that AWS documents")


def _from_answer(error: b.ClientError, right: AwsPermission) -> errors.ReadError:
    code, text, status = _code(error), _message(error), _status(error)
    if code in _THROTTLED or status == 429:
        return errors.ServerFailed(f"AWS throttles {right.action}", code="throttled")
    if code in _FORBIDDEN:
        return errors.Forbidden(_refused(right, text))
    if code in _EXPIRED:
        return errors.Unauthorized("the AWS credentials have expired", code="expired_credentials")
    if code in _REGION_OFF:
        return errors.Unauthorized("the region is not switched on in this account", code="region_off")
    if code in _UNKNOWN_KEYS or status == 401:
        message = "AWS does not know the credentials in this region or partition"
        return errors.Unauthorized(message)
    if code in ABSENT:
        return errors.NotServed(f"{right.action}: there is none of that name", code="absent")
    if status >= 500 or code.startswith(("Service", "Internal")):
        return errors.ServerFailed(f"AWS failed at {right.action}: {clean(code)}")
    return errors.ServerFailed(f"{right.action}: {clean(code)}: {text or 'no reason given'}", code="refused")


def _refused(right: AwsPermission, text: str) -> str:
    """A message with the action that AWS names, which may be another action than that of the call."""
    if right.operation == "AssumeRole":
        return "AssumeRole denied: by the role's trust policy, its external ID, or the policy of karpdash"
    action_match = re.search(r"perform: ([a-z0-9-]{2,40}:[A-Za-z0-9]{2,80})", text)
    why = next((words for sign, words in _DENIALS if sign in text), "no policy of karpdash's role allows it")
    return f"may not {action_match[1] if action_match else right.action}: {why}"


def _error(error: b.ClientError) -> dict[str, Any]:
    document: object = error.response.get("Error")
    return document if isinstance(document, dict) else {}


def _code(error: b.ClientError) -> str:
    return str(_error(error).get("Code", ""))


def _message(error: b.ClientError) -> str:
    return clean(str(_error(error).get("Message") or ""))


def _status(error: b.ClientError) -> int:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status if isinstance(status, int) else 0
