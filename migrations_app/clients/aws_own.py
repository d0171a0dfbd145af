"""Who karpdash itself is to AWS: the principal that the trust policy of a cluster's role names."""

import re

from migrations_app.clients import aws_faults
from migrations_app.clients.aws_access import DEFAULT, AwsLimits, OwnIdentity
from migrations_app.clients.aws_rights import WHO_AM_I
from migrations_app.clients.aws_session import client_config, made_client, own_keys, session_of
from migrations_app.errors import Garbled

_SESSION = re.compile(r"arn:(?P<partition>aws[a-z-]*):sts::(?P<account>\d{12}):assumed-role/(?P<role>[^/]+)/.+")


def own_principal(own: OwnIdentity, *, region: str, limits: AwsLimits = DEFAULT) -> str:
    """The ARN of karpdash's user or role. Raises CouldNotLook, with code `no_identity` when it has none.

    The region is the cluster's: an identity of another partition is unknown there.
    """
    config = client_config(limits, "register")
    session = session_of(own_keys(own, region=region, config=config), region)
    client = made_client(session, "sts", own=own, config=config)
    try:
        return principal_of(client.get_caller_identity()["Arn"])
    except aws_faults.CAUGHT as wrong:
        raise aws_faults.from_exception(wrong, WHO_AM_I) from None
    except (KeyError, TypeError):
        raise Garbled("AWS did not say who karpdash is to it") from None


def principal_of(arn: str) -> str:
    """The role behind a session, since sessions come and go; any other ARN as it is.

    AWS leaves the path out of a session's ARN: a role with a path has to be completed by hand.
    """
    found = _SESSION.fullmatch(arn)
    return f"arn:{found['partition']}:iam::{found['account']}:role/{found['role']}" if found else arn
