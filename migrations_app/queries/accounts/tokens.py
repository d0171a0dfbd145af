"""The API tokens of a person, without their secrets, which are not stored."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from migrations_app.errors import NotFound
from migrations_app.models.account import ApiToken
from migrations_app.queries import pagination
from migrations_app.queries.pagination import Page, moment_and_id, page_of
from migrations_app.queries.rows import from_row


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """One API token. `prefix` is the beginning of the secret, to tell tokens apart."""

    id: uuid.UUID
    name: str
    prefix: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


def tokens_of(owner_id: int) -> tuple[TokenRow, ...]:
    """Every token of a user, newest first."""
    return tuple(_row(row) for row in ApiToken.objects.filter(owner_id=owner_id).order_by("-created_at", "-pk"))


def token_page(owner_id: int, *, after: str, limit: int) -> Page[TokenRow]:
    """One page of a user's tokens, newest first."""
    rows = ApiToken.objects.filter(owner_id=owner_id).order_by("-created_at", "-pk")
    keys = moment_and_id(after)
    if keys:
        when, last = keys
        rows = rows.filter(Q(created_at__lt=when) | Q(created_at=when, pk__lt=last))
    api_tokens = list(rows[: limit + 1])
    return page_of(
        api_tokens, limit=limit, row=_row, key=lambda row: pagination.encode((row.created_at.isoformat(), str(row.pk)))
    )


def token_of(token_id: uuid.UUID, *, owner_id: int) -> TokenRow:
    """One token of that user. Raises NotFound if it does not exist or belongs to another user."""
    row = ApiToken.objects.filter(pk=token_id, owner_id=owner_id).first()
    if row is None:
        raise NotFound("no such token")
    return _row(row)


def _row(row: ApiToken) -> TokenRow:
    return from_row(TokenRow, row, scopes=tuple(row.scopes))
