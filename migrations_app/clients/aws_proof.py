"""Proof at registration that a role is guarded by its external id (T20): without it, AWS must refuse."""

from botocore.exceptions import ClientError

from migrations_app.clients import aws_faults
from migrations_app.clients.aws_access import DEFAULT, AwsLimits, Entry, OwnIdentity, checked, new_external_id
from migrations_app.clients.aws_rights import ASSUME
from migrations_app.clients.aws_session import AwsSession, client_config, made_client, own_keys, session_of
from migrations_app.errors import BadInput, Forbidden

SHORTEST = 900
"""Seconds of a session that should never come about; AWS gives none shorter."""


def prove_guarded(entry: Entry, own: OwnIdentity, *, limits: AwsLimits = DEFAULT) -> None:
    """Returns when the role opens with its external id, and neither without one nor with another.

    Raises BadInput with code `role_unguarded`; CouldNotLook when the role does not open at all, since a refusal then
    proves nothing.
    """
    if checked(entry) is None:
        return
    AwsSession(entry, own, limits=limits, purpose="register").keys()
    for given in ({}, {"ExternalId": new_external_id()}):
        if _opens(entry, own, limits=limits, given=given):
            raise BadInput(
                "the role can be taken without the external id: add the condition sts:ExternalId to its trust policy",
                code="role_unguarded",
                where="role_arn",
            )


def _opens(entry: Entry, own: OwnIdentity, *, limits: AwsLimits, given: dict[str, str]) -> bool:
    config = client_config(limits, "register")
    session = session_of(own_keys(own, region=entry.region, config=config), entry.region)
    client = made_client(session, "sts", own=own, config=config)
    try:
        client.assume_role(
            RoleArn=entry.role_arn, RoleSessionName=entry.session_name, DurationSeconds=SHORTEST, **given
        )
    except aws_faults.CAUGHT as wrong:
        found = aws_faults.from_exception(wrong, ASSUME)
        if isinstance(wrong, ClientError) and isinstance(found, Forbidden):
            return False
        raise found from None
    return True
