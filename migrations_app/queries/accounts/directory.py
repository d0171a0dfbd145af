"""Accounts and teams as a directory reads them over SCIM, and the tokens of directories."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import Group, User
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Coalesce

from migrations_app.access import SAMPLE_PEOPLE
from migrations_app.errors import NotFound
from migrations_app.models.provisioning import ProvisioningToken
from migrations_app.queries.rows import from_row


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryPerson:
    """A person. `teams` are (id, name)."""

    id: int
    user_name: str
    external_id: str
    given: str
    family: str
    display: str
    email: str
    active: bool
    created: datetime
    changed: datetime
    teams: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryTeam:
    """A team. `members` are the ids of its people; empty if they were not requested."""

    id: int
    name: str
    external_id: str
    created: datetime | None
    changed: datetime | None
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisioningTokenRow:
    """A token of a directory. `prefix` is the beginning of the secret, to tell tokens apart."""

    id: uuid.UUID
    name: str
    prefix: str
    created_at: datetime
    created_by: str
    expires_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


PEOPLE_FIELDS = {
    "username": "told_name__iexact",
    "externalid": "told_id",
    "displayname": "provisioned__display_name",
    "emails": "email__iexact",
    "emails.value": "email__iexact",
    "name.familyname": "last_name",
    "name.givenname": "first_name",
    "active": "is_active",
    "id": "pk",
}
"""The attributes by which people can be searched, in lower case, with their columns."""
TEAM_FIELDS = {
    "displayname": "name__iexact",
    "externalid": "provisioned__external_id",
    "members": "user",
    "members.value": "user",
    "id": "pk",
}


def directory_people() -> QuerySet[User]:
    """Accounts that a directory may read: those of people, without the sample people and those that it has deleted."""
    nobodys = Q(username__in=SAMPLE_PEOPLE) & Q(("password__startswith", UNUSABLE_PASSWORD_PREFIX))
    users = User.objects.filter(service=None).exclude(nobodys)
    return users.filter(Q(provisioned=None) | Q(provisioned__removed_at=None))


def find_people(filters: Sequence[tuple[str, Any]], *, start: int, count: int) -> tuple[list[DirectoryPerson], int]:
    """The people that match all pairs of attribute and value, and how many there are. `start` counts from 1."""
    names = {
        "told_name": Coalesce("provisioned__user_name", F("username")),
        "told_id": Coalesce("provisioned__external_id", Value("")),
    }
    rows = directory_people().annotate(**names)
    for name, value in filters:
        rows = rows.filter(**{PEOPLE_FIELDS[name]: value})
    rows = rows.select_related("provisioned").prefetch_related("groups").order_by("pk")
    return [_person(row) for row in rows[start - 1 : start - 1 + count]], rows.count()


def directory_person(account_id: int) -> DirectoryPerson:
    """One person. Raises NotFound."""
    persons, _ = find_people([("id", account_id)], start=1, count=1)
    if not persons:
        raise NotFound("no such user")
    return persons[0]


def find_teams(
    filters: Sequence[tuple[str, Any]], *, start: int, count: int, with_members: bool = True
) -> tuple[list[DirectoryTeam], int]:
    """The teams that match all pairs of attribute and value, and how many there are, as `find_people`."""
    rows = Group.objects.all()
    for name, value in filters:
        rows = rows.filter(**{TEAM_FIELDS[name]: value})
    rows = rows.select_related("provisioned").order_by("pk")
    page = rows[start - 1 : start - 1 + count]
    if with_members:
        page = page.prefetch_related("user_set")
    return [_team(row, with_members=with_members) for row in page], rows.count()


def directory_team(team_id: int) -> DirectoryTeam:
    """One team. Raises NotFound."""
    teams, _ = find_teams([("id", team_id)], start=1, count=1)
    if not teams:
        raise NotFound("no such group")
    return teams[0]


def provisioning_tokens() -> tuple[ProvisioningTokenRow, ...]:
    """All tokens of directories, newest first."""
    rows = ProvisioningToken.objects.order_by("-created_at", "-pk")
    return tuple(from_row(ProvisioningTokenRow, row) for row in rows)


def provisioning_token_of(token_id: uuid.UUID) -> ProvisioningTokenRow:
    """One token of a directory. Raises NotFound."""
    row = ProvisioningToken.objects.filter(pk=token_id).first()
    if row is None:
        raise NotFound("no such token")
    return from_row(ProvisioningTokenRow, row)


def _person(row: User) -> DirectoryPerson:
    known = getattr(row, "provisioned", None)
    return DirectoryPerson(
        id=row.pk,
        user_name=known.user_name if known else row.username,
        external_id=known.external_id if known else "",
        given=row.first_name,
        family=row.last_name,
        display=known.display_name if known else "",
        email=row.email,
        active=row.is_active,
        created=known.created_at if known else row.date_joined,
        changed=known.changed_at if known else row.date_joined,
        teams=tuple((team.pk, team.name) for team in row.groups.all()),
    )


def _team(row: Group, *, with_members: bool) -> DirectoryTeam:
    known = getattr(row, "provisioned", None)
    return DirectoryTeam(
        id=row.pk,
        name=row.name,
        external_id=known.external_id if known else "",
        created=known.created_at if known else None,
        changed=known.changed_at if known else None,
        members=tuple(sorted(user.pk for user in row.user_set.all())) if with_members else (),
    )
