"""Tokens of service accounts, and the authentication of all bearer tokens, of people and of programs."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from migrations_app.access import Person, may_appoint
from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.service import ServiceAccountRow, ServiceToken
from migrations_app.queries.audit.log import count_since
from migrations_app.use_cases.accounts import tokens
from migrations_app.use_cases.accounts.networks import inside
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.accounts.services import live_service
from migrations_app.use_cases.accounts.tokens import (
    LAST_USED_INTERVAL,
    TokenUse,
    digest_of,
    new_secret,
    refuse_scopes,
)
from migrations_app.use_cases.audit.log import Actor, Event, record_alone, record_audit_event, token_mark

LONGEST_SERVICE_DAYS = 365
ENDLESS_SCOPES = ("metrics", "read")
"""Scopes of a token that never expires: it can read and change nothing."""
MAX_TOKENS = 20
"""Maximum number of live tokens of one service account."""
REFUSED = "token.refused"
MIN_REFUSAL_INTERVAL = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class ServiceSecret:
    """A new token of a service account: `secret` is what the client sends. It never ends if `expires_at` is None."""

    id: uuid.UUID
    secret: str
    expires_at: datetime | None


def issue_service_token(
    service_id: uuid.UUID, *, name: str, scopes: Sequence[str], days: int | None, person: Person
) -> ServiceSecret:
    """Issues a token of a service account for `days`; None for one that never ends.

    Raises PermissionDenied, NotFound, InvalidInput for scopes beyond those of the account, for a lifetime outside 1 to
    365 days and for an endless token that could change something, and Conflict `too_many`.
    """
    refuse_person(may_appoint(person_over_cluster(person, None)))
    refuse_scopes(scopes)
    if not name.strip():
        raise InvalidInput("a token needs a name", where="name")
    if days is not None and not 1 <= days <= LONGEST_SERVICE_DAYS:
        raise InvalidInput(f"a token lives 1 to {LONGEST_SERVICE_DAYS} days", where="days")
    if days is None and not set(scopes) <= set(ENDLESS_SCOPES):
        raise InvalidInput(f"only {' and '.join(ENDLESS_SCOPES)} can be without an end date", where="days")
    secret = new_secret()
    with transaction.atomic():
        account = ServiceAccountRow.objects.select_for_update().get(pk=live_service(service_id).pk)
        if beyond := sorted(set(scopes) - set(account.scopes)):
            raise InvalidInput(f"the service account has no scope {beyond[0]}", where="scopes")
        if account.tokens.filter(live_tokens()).count() >= MAX_TOKENS:
            raise Conflict(f"at most {MAX_TOKENS} live tokens", code="too_many")
        row = ServiceToken.objects.create(
            account=account,
            name=name.strip(),
            prefix=secret.prefix,
            digest=secret.digest,
            scopes=sorted(set(scopes)),
            created_by=person.name,
            expires_at=None if days is None else timezone.now() + timedelta(days=days),
        )
        _record("token.made", row)
    return ServiceSecret(row.pk, secret.text, row.expires_at)


def revoke_service_token(token_id: uuid.UUID, *, person: Person) -> None:
    """Revokes a token at once. Raises PermissionDenied, and NotFound if it does not exist or is revoked."""
    refuse_person(may_appoint(person_over_cluster(person, None)))
    with transaction.atomic():
        if not ServiceToken.objects.filter(pk=token_id, revoked_at=None).update(revoked_at=timezone.now()):
            raise NotFound("no such token")
        _record("token.revoked", ServiceToken.objects.select_related("account__user").get(pk=token_id))


def authenticate(secret: str, *, address: str) -> TokenUse | None:
    """The use of a token of a person or of a service account; None if it is refused.

    `address` is the source of the request; empty if not known. A token of a service account is refused from outside its
    networks, and with an unknown address if it has networks; that is recorded at most once a minute for an address.
    """
    use = tokens.authenticate(secret)
    if use is not None:
        return use
    rows = ServiceToken.objects.select_related("account__user").filter(digest=digest_of(secret), revoked_at=None)
    row = rows.first()
    now = timezone.now()
    if row is None or row.account.ended_at or not row.account.user.is_active or _is_over(row.expires_at, now):
        return None
    if row.account.networks and not inside(address, row.account.networks):
        _refused(row, address=address, now=now)
        return None
    if row.last_used_at is None or now - row.last_used_at > LAST_USED_INTERVAL:
        ServiceToken.objects.filter(pk=row.pk).update(last_used_at=now)
    allowed = tuple(scope for scope in row.scopes if scope in row.account.scopes)
    return TokenUse(row.pk, row.account.user, allowed)


def live_tokens() -> Q:
    """Filter for tokens that are neither revoked nor expired."""
    return Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=timezone.now()))


def _is_over(expires_at: datetime | None, now: datetime) -> bool:
    return expires_at is not None and expires_at <= now


def _refused(row: ServiceToken, *, address: str, now: datetime) -> None:
    if count_since(REFUSED, since=now - MIN_REFUSAL_INTERVAL, address=address):
        return
    name = row.account.user.username
    by = Actor(name=name, method="token", id=row.account.user_id, address=address, token_id=str(row.pk))
    detail = {"service": row.account.name, "networks": row.account.networks}
    record_alone(Event(verb=REFUSED, actor=by, object=row.name, outcome="network", detail=detail))


def _record(verb: str, row: ServiceToken) -> None:
    ends = row.expires_at.isoformat() if row.expires_at else "never"
    detail = {"owner": row.account.user.username, "scopes": row.scopes, "expires_at": ends}
    record_audit_event(verb, row.name, mark=token_mark(str(row.pk)), **detail)
