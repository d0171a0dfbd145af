"""Proves a way into an AWS account before it is stored: the role opens with its id only, and sees the cluster."""

from dataclasses import dataclass, replace

from django.conf import settings

from migrations_app.clients.aws_access import Entry
from migrations_app.clients.aws_proof import prove_guarded
from migrations_app.clients.connection import Connection
from migrations_app.errors import BadInput, Conflict, CouldNotLook, Forbidden, KarpdashError, Unauthorized
from migrations_app.flow.connect import eks_way
from migrations_app.flow.draft_access import Draft, no_identity
from migrations_app.flow.look import ConnectionTest, failed, try_server
from migrations_app.inventory.aws_place import AwsPlace, read_role_arn

UNGUARDED = "role_unguarded"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessTest:
    """`guarded` is None when it was proven neither way; `arn` is the cluster that AWS described."""

    result: ConnectionTest
    guarded: bool | None = None
    arn: str = ""
    note: str = ""


def entry_of_draft(draft: Draft, *, role_arn: str) -> Entry:
    """The way in that the draft becomes with that role: the account is the cluster's or, not being told, the role's."""
    role = read_role_arn(role_arn.strip())
    return Entry(
        region=draft.place.region,
        account=draft.place.account or (role.account if role else ""),
        role_arn=role_arn.strip(),
        external_id=draft.external_id,
        user=draft.by,
        action="register",
    )


def prove(entry: Entry) -> None:
    """Returns when the role opens with its external id and not without (T20).

    Raises BadInput with `role_unguarded`, `role_refused` or what is wrong with the ARN; Conflict `no_identity`;
    CouldNotLook when AWS does not answer.
    """
    try:
        prove_guarded(entry, settings.ENV.aws)
    except Forbidden as refused:
        raise BadInput(refused.message, code="role_refused", where="role_arn") from None
    except Unauthorized as refused:
        raise no_identity(refused) from None


def described(entry: Entry, place: AwsPlace) -> Connection:
    """What AWS says about the cluster; `context` is its ARN. Raises BadInput and CouldNotLook as `eks_way` does."""
    try:
        with eks_way(entry, _complete(place, entry)) as (connection, _):
            return connection
    except (Forbidden, BadInput) as wrong:
        raise _of_the_form(wrong) from None


def proven(draft: Draft, *, role_arn: str) -> tuple[Entry, Connection]:
    """The way in and the cluster behind it, both proven. Raises as `prove` and `described`."""
    entry = entry_of_draft(draft, role_arn=role_arn)
    prove(entry)
    return entry, described(entry, draft.place)


def try_access(entry: Entry, place: AwsPlace, *, with_server: bool) -> AccessTest:
    """Every step, as far as it goes; nothing is stored. `with_server` also looks at the cluster's API server."""
    guarded: bool | None = None
    try:
        prove(entry)
        guarded = True
        return replace(_seen(entry, place, with_server=with_server), guarded=True)
    except (BadInput, Conflict, CouldNotLook) as wrong:
        if wrong.code == UNGUARDED:
            guarded = False
        return AccessTest(result=failed(wrong), guarded=guarded)


def _seen(entry: Entry, place: AwsPlace, *, with_server: bool) -> AccessTest:
    try:
        with eks_way(entry, _complete(place, entry)) as (connection, token):
            found = (
                try_server(connection, token=token)
                if with_server
                else ConnectionTest(reachable=True, server=connection.server.url)
            )
            return AccessTest(result=found, arn=connection.context)
    except (Forbidden, BadInput) as wrong:
        raise _of_the_form(wrong) from None


def _complete(place: AwsPlace, entry: Entry) -> AwsPlace:
    return replace(place, account=entry.account)


def _of_the_form(wrong: KarpdashError) -> BadInput:
    """Says it of the field that a person can change; the place inside AWS's answer stays in the text."""
    if isinstance(wrong, Forbidden):
        return BadInput(wrong.message, code="role_too_narrow", where="role_arn")
    if wrong.where == "role_arn":
        return BadInput(wrong.message, code=wrong.code, where="role_arn")
    return BadInput(str(wrong), code=wrong.code, where="draft")
