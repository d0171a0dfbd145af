"""Failures of AWS as our errors: the action is named, nothing of the SDK is."""

import pytest
from botocore import exceptions as b
from botocore.parsers import ResponseParserError

from migrations_app import errors
from migrations_app.clients.aws.errors import CAUGHT, from_exception, is_absent
from migrations_app.clients.aws.permissions import DESCRIBE_CLUSTER, GET_ROLE

WHO = "User: arn:aws:sts::111122223333:assumed-role/karpdash/s is not authorized to perform: "


def answer(code, message="", status=400):
    return b.ClientError(
        {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}, "X"
    )


def told(wrong, right=GET_ROLE):
    found = from_exception(wrong, right)
    return type(found), found.code, found.message


@pytest.mark.parametrize(
    ("wrong", "kind", "code"),
    [
        (answer("AccessDenied", status=403), errors.Forbidden, "forbidden"),
        (answer("AccessDeniedException", status=403), errors.Forbidden, "forbidden"),
        (answer("UnauthorizedOperation", status=403), errors.Forbidden, "forbidden"),
        (answer("ExpiredToken", status=403), errors.Unauthorized, "expired_credentials"),
        (answer("ExpiredTokenException"), errors.Unauthorized, "expired_credentials"),
        (answer("InvalidClientTokenId", status=403), errors.Unauthorized, "unauthorized"),
        (answer("UnrecognizedClientException"), errors.Unauthorized, "unauthorized"),
        (answer("SignatureDoesNotMatch", status=403), errors.Unauthorized, "unauthorized"),
        (answer("OptInRequired", status=403), errors.Unauthorized, "region_off"),
        (answer("Throttling"), errors.ServerFailed, "throttled"),
        (answer("ThrottlingException"), errors.ServerFailed, "throttled"),
        (answer("RequestLimitExceeded", status=503), errors.ServerFailed, "throttled"),
        (answer("Odd", status=429), errors.ServerFailed, "throttled"),
        (answer("NoSuchEntity", status=404), errors.NotServed, "absent"),
        (answer("ServiceUnavailable", status=503), errors.ServerFailed, "server_failed"),
        (answer("InternalFailure", status=500), errors.ServerFailed, "server_failed"),
        (answer("ValidationError"), errors.ServerFailed, "refused"),
        (answer(""), errors.ServerFailed, "refused"),
        (b.ClientError({}, "X"), errors.ServerFailed, "refused"),
        (b.NoCredentialsError(), errors.Unauthorized, "no_identity"),
        (b.CredentialRetrievalError(provider="p", error_msg="e"), errors.Unauthorized, "no_identity"),
        (b.ConnectTimeoutError(endpoint_url="u"), errors.TimedOut, "timeout"),
        (b.ReadTimeoutError(endpoint_url="u"), errors.TimedOut, "timeout"),
        (b.EndpointConnectionError(endpoint_url="u"), errors.Unreachable, "unreachable"),
        (b.ConnectionClosedError(endpoint_url="u"), errors.Unreachable, "unreachable"),
        (b.SSLError(endpoint_url="u", error="e"), errors.TlsRefused, "tls_refused"),
        (b.ParamValidationError(report="r"), errors.InvalidResponse, "bad_name"),
        (ConnectionResetError(), errors.Unreachable, "unreachable"),
        (ValueError("x"), errors.InvalidResponse, "garbled"),
        (RecursionError(), errors.InvalidResponse, "garbled"),
        (b.BotoCoreError(), errors.InvalidResponse, "garbled"),
        (ResponseParserError("<html>"), errors.InvalidResponse, "garbled"),
    ],
)
def test_each_failure_has_its_error(wrong, kind, code):
    assert isinstance(wrong, CAUGHT)
    assert told(wrong)[:2] == (kind, code)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            f"{WHO}iam:GetRole on resource: role x because no identity-based policy allows the iam:GetRole action",
            "may not iam:GetRole: no policy of karpdash's role allows it",
        ),
        (
            f"{WHO}iam:GetRole on resource: role x with an explicit deny in a service control policy",
            "may not iam:GetRole: a policy of the organisation denies it",
        ),
        (
            f"{WHO}iam:GetRole on resource: x because no permissions boundary allows the iam:GetRole action",
            "may not iam:GetRole: the permissions boundary does not let it through",
        ),
        (f"{WHO}iam:PassRole on resource: x with an explicit deny", "may not iam:PassRole: a statement denies it"),
        ("", "may not iam:GetRole: no policy of karpdash's role allows it"),
    ],
)
def test_a_refusal_names_the_action_and_the_reason(message, said):
    assert told(answer("AccessDenied", message, 403)) == (errors.Forbidden, "forbidden", said)


def test_what_aws_says_is_cleaned_and_short():
    said = told(answer("Odd", "a\u202eb\n\x00" + "x" * 5000), DESCRIBE_CLUSTER)[2]
    assert said.startswith("eks:DescribeCluster: Odd: a\ufffdb \ufffdxxx")
    assert len(said) < 400


@pytest.mark.parametrize(
    ("code", "absent"),
    [("NoSuchEntity", True), ("ResourceNotFoundException", True), ("AWS.SimpleQueueService.NonExistentQueue", True),
     ("QueueDoesNotExist", True), ("AccessDenied", False), ("Throttling", False)],
)  # fmt: skip
def test_absence_is_told_by_its_codes_only(code, absent):
    assert is_absent(answer(code)) is absent


def test_a_time_out_is_no_absence():
    assert not is_absent(b.ReadTimeoutError(endpoint_url="u"))
