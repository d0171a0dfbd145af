"""Accounts, teams and role grants."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import Group, User
from django.db.models import Q

from migrations_app.models.account import Grant
from migrations_app.models.cluster import ClusterGroup
from migrations_app.queries import pagination
from migrations_app.queries.pagination import Page, moment_and_id, page_of

MOST = 1000
"""Maximum number of accounts, teams or groups on a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRow:
    """`everything` means a superuser, who needs no role; `local` an account that may sign in with a password."""

    id: int
    name: str
    active: bool
    everything: bool
    local: bool
    last_sign_in: datetime | None
    teams: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    id: int
    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRow:
    """A role grant of a person or a team; `over` is None if it covers every cluster."""

    id: uuid.UUID
    role: str
    person: str
    team: str
    over: uuid.UUID | None
    over_name: str
    created_at: datetime
    created_by: str


def accounts() -> tuple[AccountRow, ...]:
    """All accounts, by name."""
    rows = User.objects.prefetch_related("groups").order_by("username")[:MOST]
    return tuple(
        AccountRow(
            id=row.pk,
            name=row.username,
            active=row.is_active,
            everything=row.is_superuser,
            local=row.has_usable_password(),
            last_sign_in=row.last_login,
            teams=tuple(sorted(team.name for team in row.groups.all())),
        )
        for row in rows
    )


def teams() -> tuple[Team, ...]:
    """All teams, by name."""
    rows = Group.objects.prefetch_related("user_set").order_by("name")[:MOST]
    return tuple(
        Team(id=row.pk, name=row.name, members=tuple(sorted(one.username for one in row.user_set.all())))
        for row in rows
    )


def grant_page(*, after: str = "", limit: int = MOST) -> Page[GrantRow]:
    """One page of role grants, newest first. Raises InvalidInput for an invalid cursor."""
    rows = Grant.objects.select_related("person", "team", "over").order_by("-created_at", "-pk")
    keys = moment_and_id(after)
    if keys:
        when, last = keys
        rows = rows.filter(Q(created_at__lt=when) | Q(created_at=when, pk__lt=last))
    return page_of(list(rows[: limit + 1]), limit=limit, row=_row, key=_key)


def group_choices() -> tuple[tuple[uuid.UUID, str], ...]:
    """(id, name) of every group of clusters, by name."""
    return tuple(ClusterGroup.objects.order_by("name").values_list("pk", "name")[:MOST])


def _key(row: Grant) -> str:
    return pagination.encode((row.created_at.isoformat(), str(row.pk)))


def _row(row: Grant) -> GrantRow:
    return GrantRow(
        id=row.pk,
        role=row.role,
        person=row.person.username if row.person else "",
        team=row.team.name if row.team else "",
        over=row.over_id,
        over_name=row.over.name if row.over else "",
        created_at=row.created_at,
        created_by=row.created_by,
    )
