"""Issues, checks and revokes API tokens. `issue` returns the secret once; only its hash is stored."""

import hashlib
import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone

from migrations_app.errors import InvalidInput, NotFound
from migrations_app.models.account import ApiToken
from migrations_app.models.service import ServiceAccountRow
from migrations_app.use_cases.accounts.management import is_sample_person
from migrations_app.use_cases.audit.log import record_audit_event, token_mark

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, User

SCOPES: tuple[str, ...] = ("read", "scan", "plan", "act", "admin", "audit", "metrics")
LONGEST_DAYS = 90
LAST_USED_INTERVAL = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token: `secret` is what the client sends as a bearer token."""

    id: uuid.UUID
    secret: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A random secret of 256 bits; only `prefix` and `digest` are stored."""

    text: str
    prefix: str
    digest: str


@dataclass(frozen=True, slots=True)
class TokenUse:
    id: uuid.UUID
    owner: "User"
    scopes: tuple[str, ...]


def issue(owner: "AbstractBaseUser", *, name: str, scopes: Sequence[str], days: int) -> IssuedToken:
    """Issues a token valid for `days`.

    Raises InvalidInput for an unknown scope, no scope, no name, or a lifetime outside 1 to 90 days; for sample people,
    whose rights are only for people at this machine, while a token works from everywhere; and for service accounts,
    whose tokens are limited to their scopes and networks and are issued by people.
    """
    if is_sample_person(owner):
        raise InvalidInput("sample people have no tokens", where="name", code="sample_person")
    if ServiceAccountRow.objects.filter(user_id=owner.pk).exists():
        raise InvalidInput("a service account issues no tokens for itself", where="name", code="service_account")
    refuse_scopes(scopes)
    if not 1 <= days <= LONGEST_DAYS:
        raise InvalidInput(f"a token lives 1 to {LONGEST_DAYS} days", where="days")
    if not name.strip():
        raise InvalidInput("a token needs a name", where="name")
    secret = new_secret()
    with transaction.atomic():
        row = ApiToken.objects.create(
            owner_id=owner.pk,
            name=name.strip(),
            prefix=secret.prefix,
            digest=secret.digest,
            scopes=sorted(set(scopes)),
            expires_at=timezone.now() + timedelta(days=days),
        )
        record_audit_event("token.made", row.name, **_audit_details(row, owner.get_username()))
    return IssuedToken(row.id, secret.text, row.expires_at)


def issue_for(username: str, *, name: str, scopes: Sequence[str], days: int) -> IssuedToken:
    """As `issue`, for the user of that name. Raises NotFound if there is none."""
    return issue(owner_named(username), name=name, scopes=scopes, days=days)


def owner_named(username: str) -> "User":
    """The active user of that name. Raises NotFound."""
    user = get_user_model().objects.filter(username=username, is_active=True).first()
    if user is None:
        raise NotFound("no such user", where="user")
    return user


def new_secret() -> NewSecret:
    """A new random secret."""
    text = f"kd_{secrets.token_urlsafe(32)}"
    return NewSecret(text, text[:9], digest_of(text))


def refuse_scopes(scopes: Sequence[str]) -> None:
    """Raises InvalidInput for an unknown scope or none at all."""
    if not scopes or any(scope not in SCOPES for scope in scopes):
        raise InvalidInput(f"scopes must be some of {', '.join(SCOPES)}", where="scopes")


def authenticate(secret: str) -> TokenUse | None:
    """The token's owner and scopes; None if the token is unknown, revoked or expired, or its owner's account is closed.

    Only for tokens of people; `service_tokens.authenticate` also accepts those of service accounts.
    """
    now = timezone.now()
    live = ApiToken.objects.filter(digest=digest_of(secret), revoked_at=None, owner__service=None)
    row = live.select_related("owner").first()
    if row is None or row.expires_at <= now or not row.owner.is_active:
        return None
    if row.last_used_at is None or now - row.last_used_at > LAST_USED_INTERVAL:
        ApiToken.objects.filter(pk=row.pk).update(last_used_at=now)
    return TokenUse(row.id, row.owner, tuple(row.scopes))


def revoke(token_id: uuid.UUID, *, owner_id: int) -> None:
    """Revokes a token at once. Raises NotFound if it does not exist, is revoked, or belongs to another owner."""
    with transaction.atomic():
        live = ApiToken.objects.filter(pk=token_id, owner_id=owner_id, revoked_at=None)
        if not live.update(revoked_at=timezone.now()):
            raise NotFound("no such token")
        row = ApiToken.objects.select_related("owner").get(pk=token_id)
        record_audit_event("token.revoked", row.name, **_audit_details(row, row.owner.get_username()))


def revoke_all(owner_id: int) -> int:
    """Revokes every token of that person at once; returns how many."""
    live = ApiToken.objects.filter(owner_id=owner_id, revoked_at=None, expires_at__gt=timezone.now())
    ended = list(live.values_list("pk", flat=True))
    for token_id in ended:
        revoke(token_id, owner_id=owner_id)
    return len(ended)


def _audit_details(row: ApiToken, owner: str) -> dict[str, Any]:
    mark = token_mark(str(row.pk))
    return {"mark": mark, "owner": owner, "scopes": row.scopes, "expires_at": row.expires_at.isoformat()}


def digest_of(secret: str) -> str:
    """The digest of a secret that is stored."""
    return hashlib.sha256(secret.encode()).hexdigest()
