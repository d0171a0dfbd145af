"""Service accounts and their tokens, without secrets, which are not stored."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from msgspec import Meta

from migrations_app.errors import NotFound
from migrations_app.models.account import Grant
from migrations_app.models.service import ServiceAccountRow, ServiceToken
from migrations_app.queries import pagination
from migrations_app.queries.pagination import Page, keys_of, moment_and_id, page_of
from migrations_app.queries.rows import from_row


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRow:
    """A service account. Its role holds over every cluster, or over those of its groups."""

    id: uuid.UUID
    name: str
    account: Annotated[str, Meta(description="Its name in the audit log and as the author of plans.")]
    purpose: str
    role: Annotated[str, Meta(description="Empty once it ended, or when the last of its groups was removed.")]
    everywhere: bool
    groups: tuple[uuid.UUID, ...]
    group_names: tuple[str, ...]
    scopes: Annotated[tuple[str, ...], Meta(description="Bound those of its tokens at each request.")]
    networks: Annotated[tuple[str, ...], Meta(description="Where its tokens may come from; empty for everywhere.")]
    version: int
    created_at: datetime
    created_by: str
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceTokenRow:
    """A token of a service account. `expires_at` is None for one that never ends."""

    id: uuid.UUID
    service: uuid.UUID
    name: str
    prefix: str
    scopes: tuple[str, ...]
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


def makers(user_id: int) -> QuerySet[User]:
    """The people who created that service account or a token of it; none for the account of a person (A42)."""
    by_account = Q(username__in=ServiceAccountRow.objects.filter(user=user_id).values("created_by"))
    by_token = Q(username__in=ServiceToken.objects.filter(account__user=user_id).values("created_by"))
    return User.objects.filter(by_account | by_token)


def makers_of(user_id: int) -> frozenset[int]:
    """The ids of `makers`."""
    return frozenset(makers(user_id).values_list("pk", flat=True))


def service_page(*, after: str, limit: int) -> Page[ServiceRow]:
    """One page of service accounts by name, including ended ones. Raises InvalidInput for an invalid cursor."""
    keys = keys_of(after, (str,))
    rows = _services().filter(name__gt=keys[0]) if keys else _services()
    service_account_rows = list(rows.order_by("name")[: limit + 1])
    return page_of(service_account_rows, limit=limit, row=_service, key=lambda row: pagination.encode((row.name,)))


def service_of(service_id: uuid.UUID) -> ServiceRow:
    """One service account, even if it has ended. Raises NotFound."""
    row = _services().filter(pk=service_id).first()
    if row is None:
        raise NotFound("no such service account")
    return _service(row)


def service_token_page(service_id: uuid.UUID, *, after: str, limit: int) -> Page[ServiceTokenRow]:
    """One page of the tokens of a service account, newest first. Raises InvalidInput for an invalid cursor."""
    rows = ServiceToken.objects.filter(account_id=service_id).order_by("-created_at", "-pk")
    if keys := moment_and_id(after):
        when, last = keys
        rows = rows.filter(Q(created_at__lt=when) | Q(created_at=when, pk__lt=last))
    return page_of(
        list(rows[: limit + 1]),
        limit=limit,
        row=_token,
        key=lambda row: pagination.encode((row.created_at.isoformat(), str(row.pk))),
    )


def service_token_of(token_id: uuid.UUID) -> ServiceTokenRow:
    """One token of a service account. Raises NotFound."""
    row = ServiceToken.objects.filter(pk=token_id).first()
    if row is None:
        raise NotFound("no such token")
    return _token(row)


def _services() -> QuerySet[ServiceAccountRow]:
    return ServiceAccountRow.objects.select_related("user").prefetch_related("user__grants__over")


def _service(row: ServiceAccountRow) -> ServiceRow:
    grants: list[Grant] = sorted(row.user.grants.all(), key=lambda grant: grant.over.name if grant.over else "")
    groups = [grant.over for grant in grants if grant.over is not None]
    return from_row(
        ServiceRow,
        row,
        account=row.user.username,
        role=grants[0].role if grants else "",
        everywhere=any(grant.over is None for grant in grants),
        groups=tuple(group.pk for group in groups),
        group_names=tuple(group.name for group in groups),
        scopes=tuple(row.scopes),
        networks=tuple(row.networks),
    )


def _token(row: ServiceToken) -> ServiceTokenRow:
    return from_row(ServiceTokenRow, row, service=row.account_id, scopes=tuple(row.scopes))
