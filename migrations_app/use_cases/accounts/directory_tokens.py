"""Tokens of directories: issued by people who may manage accounts, valid for /scim/v2 only."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from migrations_app.access import Person
from migrations_app.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from migrations_app.models.provisioning import ProvisioningToken
from migrations_app.use_cases.accounts.management import refuse_without_permission
from migrations_app.use_cases.accounts.tokens import LAST_USED_INTERVAL, digest_of, new_secret
from migrations_app.use_cases.audit.log import actor, record_audit_event, token_mark

LONGEST_NAME = 60
LONGEST_PROVISIONING_DAYS = 365
MAX_LIVE = 10
"""Maximum number of tokens that are neither revoked nor expired."""


@dataclass(frozen=True, slots=True)
class ProvisioningSecret:
    """A new token: `secret` is what the directory sends as a bearer token."""

    id: uuid.UUID
    secret: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class DirectoryUse:
    """The token with which a directory made a request."""

    id: uuid.UUID
    name: str


def issue_provisioning_token(name: str, *, days: int, person: Person | None) -> ProvisioningSecret:
    """Issues a token for a directory.

    `person` is None for the server's command line. The holder of the secret decides who is in the teams, and so who has
    their roles: therefore only a person may issue it, never a token. Raises PermissionDenied, InvalidInput, and
    Conflict `too_many`.
    """
    refuse_without_permission(person)
    if person is not None and person.method == "token":
        raise PermissionDenied("only a person can create tokens of directories, in the browser", code="person_needed")
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"1 to {LONGEST_NAME} characters are needed", where="name", code="text_needed")
    if not 1 <= days <= LONGEST_PROVISIONING_DAYS:
        raise InvalidInput(f"a token lives 1 to {LONGEST_PROVISIONING_DAYS} days", where="days")
    secret, now = new_secret(), timezone.now()
    with transaction.atomic():
        if ProvisioningToken.objects.filter(revoked_at=None, expires_at__gt=now).count() >= MAX_LIVE:
            raise Conflict(f"at most {MAX_LIVE} live tokens", code="too_many")
        row = ProvisioningToken(name=name.strip(), prefix=secret.prefix, digest=secret.digest, created_by=actor().name)
        row.expires_at = now + timedelta(days=days)
        row.save(force_insert=True)
        _record("provisioning_token.made", row)
    return ProvisioningSecret(row.pk, secret.text, row.expires_at)


def revoke_provisioning_token(token_id: uuid.UUID, *, person: Person | None) -> None:
    """Revokes a token at once. Raises PermissionDenied, and NotFound if it does not exist or is revoked."""
    refuse_without_permission(person)
    with transaction.atomic():
        live = ProvisioningToken.objects.filter(pk=token_id, revoked_at=None)
        if not live.update(revoked_at=timezone.now()):
            raise NotFound("no such token")
        _record("provisioning_token.revoked", ProvisioningToken.objects.get(pk=token_id))


def directory_of(secret: str) -> DirectoryUse | None:
    """The token's id and name; None if it is unknown, revoked or expired, or a token of another kind."""
    now = timezone.now()
    live = ProvisioningToken.objects.filter(digest=digest_of(secret), revoked_at=None, expires_at__gt=now)
    row = live.first()
    if row is None:
        return None
    if row.last_used_at is None or now - row.last_used_at > LAST_USED_INTERVAL:
        ProvisioningToken.objects.filter(pk=row.pk).update(last_used_at=now)
    return DirectoryUse(row.pk, row.name)


def _record(verb: str, row: ProvisioningToken) -> None:
    record_audit_event(verb, row.name, mark=token_mark(str(row.pk)), expires_at=row.expires_at.isoformat())
