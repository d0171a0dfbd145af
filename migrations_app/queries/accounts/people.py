"""Accounts, teams and role grants."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from django.contrib.auth.models import Group, User
from django.db.models import Manager, Model, Q, QuerySet

from migrations_app.access import SAMPLE_PEOPLE
from migrations_app.errors import NotFound
from migrations_app.models.account import Grant
from migrations_app.models.cluster import ClusterGroup
from migrations_app.queries import pagination
from migrations_app.queries.pagination import Page, keys_of, moment_and_id, page_of

Row = TypeVar("Row", bound=Model)
MAX_ACCOUNTS = 1000
"""Maximum number of accounts, teams or groups on a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRow:
    """`everything` means a superuser, who needs no role; `local` an account that may sign in with a password.

    `waiting` is an account that was created over REST and has no password yet: nobody can sign in as it.
    """

    id: int
    name: str
    active: bool
    everything: bool
    local: bool
    waiting: bool
    last_sign_in: datetime | None
    teams: tuple[str, ...]

    @property
    def is_sample(self) -> bool:
        """Whether it is a person of the sample clusters, who signs in with one click and without a password."""
        return self.name in SAMPLE_PEOPLE and not self.local


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
    return tuple(map(_account, _people().order_by("username")[:MAX_ACCOUNTS]))


def account_page(*, after: str, limit: int) -> Page[AccountRow]:
    """One page of the accounts of people, by name. Raises InvalidInput for an invalid cursor."""
    keys = keys_of(after, (str,))
    rows = _people().filter(username__gt=keys[0]) if keys else _people()
    users = list(rows.order_by("username")[: limit + 1])
    return page_of(users, limit=limit, row=_account, key=lambda row: pagination.encode((row.username,)))


def account_of(account_id: int) -> AccountRow:
    """The account of one person. Raises NotFound."""
    return _account(_found(_people(), account_id, why="no such account"))


def account_named(name: str) -> AccountRow:
    """The account of the person of that name. Raises NotFound."""
    return account_of(_people().filter(username=name).values_list("pk", flat=True).first() or 0)


def teams() -> tuple[Team, ...]:
    """All teams, by name."""
    return tuple(map(_team, _teams().order_by("name")[:MAX_ACCOUNTS]))


def team_page(*, after: str, limit: int) -> Page[Team]:
    """One page of teams, by name. Raises InvalidInput for an invalid cursor."""
    keys = keys_of(after, (str,))
    rows = _teams().filter(name__gt=keys[0]) if keys else _teams()
    groups = list(rows.order_by("name")[: limit + 1])
    return page_of(groups, limit=limit, row=_team, key=lambda row: pagination.encode((row.name,)))


def team_of(team_id: int) -> Team:
    """One team. Raises NotFound."""
    return _team(_found(_teams(), team_id, why="no such team"))


def team_named(name: str) -> Team:
    """The team of that name. Raises NotFound."""
    return team_of(_teams().filter(name=name).values_list("pk", flat=True).first() or 0)


def grant_of(grant_id: uuid.UUID) -> GrantRow:
    """One role grant of a person or a team. Raises NotFound."""
    return _row(_found(_grants(), grant_id, why="no such grant"))


def grant_page(*, after: str = "", limit: int = MAX_ACCOUNTS) -> Page[GrantRow]:
    """One page of role grants of people and teams, newest first. Raises InvalidInput for an invalid cursor."""
    rows = _grants().order_by("-created_at", "-pk")
    keys = moment_and_id(after)
    if keys:
        when, last = keys
        rows = rows.filter(Q(created_at__lt=when) | Q(created_at=when, pk__lt=last))
    return page_of(list(rows[: limit + 1]), limit=limit, row=_row, key=_key)


def group_choices(*, chosen: Iterable[uuid.UUID] = ()) -> tuple[tuple[uuid.UUID, str], ...]:
    """(id, name) of the first MAX_ACCOUNTS groups of clusters by name, and of those that are chosen already: a form
    that lacks one of them would take it away.
    """
    rows = ClusterGroup.objects.order_by("name").values_list("pk", "name")
    first = tuple(rows[:MAX_ACCOUNTS])
    beyond = set(chosen) - {key for key, _ in first}
    return first + (tuple(rows.filter(pk__in=beyond)) if beyond else ())


def unoffered_groups(offered: int) -> int:
    """How many groups of clusters a form with that many choices leaves out."""
    return max(0, ClusterGroup.objects.count() - offered)


def group_named(name: str) -> uuid.UUID:
    """The id of the group of clusters of that name. Raises NotFound."""
    return _found(ClusterGroup.objects, name, why=f"no group of clusters named {name!r}", column="name").pk


def _people() -> QuerySet[User]:
    return User.objects.filter(service=None).select_related("identity").prefetch_related("groups")


def _teams() -> QuerySet[Group]:
    return Group.objects.prefetch_related("user_set")


def _grants() -> QuerySet[Grant]:
    return Grant.objects.filter(person__service=None).select_related("person", "team", "over")


def _found(rows: "QuerySet[Row] | Manager[Row]", key: object, *, why: str, column: str = "pk") -> Row:
    row = rows.filter(**{column: key}).first()
    if row is None:
        raise NotFound(why)
    return row


def _account(row: User) -> AccountRow:
    local = row.has_usable_password()
    return AccountRow(
        id=row.pk,
        name=row.username,
        active=row.is_active,
        everything=row.is_superuser,
        local=local,
        waiting=not local and row.last_login is None and not hasattr(row, "identity"),
        last_sign_in=row.last_login,
        teams=tuple(sorted(team.name for team in row.groups.all())),
    )


def _team(row: Group) -> Team:
    return Team(id=row.pk, name=row.name, members=tuple(sorted(user.username for user in row.user_set.all())))


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
