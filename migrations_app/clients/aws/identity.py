"""karpdash's own AWS principal, which trust policies name, and the check that a role requires its external id (T20)."""

import re

from botocore.exceptions import ClientError

from migrations_app.clients.aws import errors
from migrations_app.clients.aws.cross_account import (
    DEFAULT,
    AwsCredentials,
    AwsLimits,
    ClusterAccountAccess,
    OwnIdentity,
    access_to_via,
    checked,
    new_external_id,
)
from migrations_app.clients.aws.permissions import ASSUME, WHO_AM_I
from migrations_app.clients.aws.session import AwsSession, client_config, made_client, own_keys, session_of
from migrations_app.errors import Forbidden, InvalidInput, InvalidResponse

_SESSION = re.compile(r"arn:(?P<partition>aws[a-z-]*):sts::(?P<account>\d{12}):assumed-role/(?P<role>[^/]+)/.+")


def own_principal(own: OwnIdentity, *, region: str, limits: AwsLimits = DEFAULT) -> str:
    """The ARN of karpdash's user or role. Raises ReadError, with code `no_identity` if it has none.

    The region is the cluster's, because an identity of another AWS partition is unknown there.
    """
    config = client_config(limits, "register")
    session = session_of(own_keys(own, region=region, config=config), region)
    client = made_client(session, "sts", own=own, config=config)
    try:
        return principal_of(client.get_caller_identity()["Arn"])
    except errors.CAUGHT as error:
        raise errors.from_exception(error, WHO_AM_I) from None
    except (KeyError, TypeError):
        raise InvalidResponse("AWS did not return the identity of karpdash") from None


def principal_of(arn: str) -> str:
    """The role ARN behind a session ARN; any other ARN unchanged.

    AWS omits the role's path from a session ARN, so a role with a path has to be completed by hand.
    """
    match = _SESSION.fullmatch(arn)
    return f"arn:{match['partition']}:iam::{match['account']}:role/{match['role']}" if match else arn


MIN_SESSION_SECONDS = 900
"""Session duration in seconds for the sessions that AWS should refuse; the shortest that AWS allows."""


def prove_guarded(entry: ClusterAccountAccess, own: OwnIdentity, *, limits: AwsLimits = DEFAULT) -> None:
    """Returns if the role can be assumed with its external id, and neither without one nor with another.

    Raises InvalidInput with code `role_unguarded`; ReadError if the role cannot be assumed at all, since a refusal
    then proves nothing.
    """
    if checked(entry) is None:
        return
    AwsSession(entry, own, limits=limits, purpose="register").keys()
    for condition in ({}, {"ExternalId": new_external_id()}):
        if _can_assume(entry, own, limits=limits, condition=condition):
            raise InvalidInput(
                "the role can be assumed without the external id: add the condition sts:ExternalId to its trust policy",
                code="role_unguarded",
                where="role_arn",
            )


def _can_assume(entry: ClusterAccountAccess, own: OwnIdentity, *, limits: AwsLimits, condition: dict[str, str]) -> bool:
    config = client_config(limits, "register")
    session = session_of(_keys_that_assume(entry, own, limits=limits), entry.region)
    client = made_client(session, "sts", own=own, config=config)
    try:
        client.assume_role(
            RoleArn=entry.role_arn, RoleSessionName=entry.session_name, DurationSeconds=MIN_SESSION_SECONDS, **condition
        )
    except errors.CAUGHT as error:
        read_error = errors.from_exception(error, ASSUME)
        if isinstance(error, ClientError) and isinstance(read_error, Forbidden):
            return False
        raise read_error from None
    return True


def _keys_that_assume(entry: ClusterAccountAccess, own: OwnIdentity, *, limits: AwsLimits) -> AwsCredentials:
    """The credentials that assume the role: karpdash's own, or those of the role in between."""
    if not entry.via:
        return own_keys(own, region=entry.region, config=client_config(limits, "register"))
    return AwsSession(access_to_via(entry), own, limits=limits, purpose="register").keys()
