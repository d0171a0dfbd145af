"""Teams as provisioned by a directory: their members have the roles that were granted to the team here."""

from collections.abc import Collection
from dataclasses import dataclass

from django.contrib.auth.models import Group, User
from django.db import transaction

from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.provisioning import ProvisionedTeam
from migrations_app.queries.accounts.directory import directory_people
from migrations_app.use_cases.accounts import management
from migrations_app.use_cases.audit.log import record_audit_event

LONGEST_ID = 255
MAX_IN_TEAM = 10_000
"""Maximum number of members that one request may name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamAttributes:
    """The attributes of a team from a directory; None leaves an attribute unchanged. `members` replaces all members."""

    name: str | None = None
    external_id: str | None = None
    members: frozenset[int] | None = None
    add: frozenset[int] = frozenset()
    remove: frozenset[int] = frozenset()


def add_directory_team(team: TeamAttributes) -> int:
    """Creates a team with its members and returns its id. Raises InvalidInput, and Conflict `name_taken`."""
    name = _name(team.name or "")
    with transaction.atomic():
        row, is_new = Group.objects.get_or_create(name=name)
        if not is_new:
            raise Conflict("there is a team of that name", code="name_taken")
        record_audit_event("team.made", name, by="directory")
        _apply_to(row, team)
    return row.pk


def change_directory_team(team_id: int, team: TeamAttributes) -> None:
    """Changes the given attributes of a team, all of them or none.

    Raises NotFound, InvalidInput for an unknown member, and Conflict `name_taken`, `last_admin`.
    """
    with transaction.atomic():
        _apply_to(_locked_team(team_id), team)


def remove_directory_team(team_id: int) -> None:
    """Deletes a team with its role grants. Raises NotFound, Conflict `last_admin`."""
    with transaction.atomic():
        management.remove_team(_locked_team(team_id).name, person=None)


def directory_teams(names: Collection[str]) -> frozenset[str]:
    """Those of the teams whose members a directory decides."""
    teams = ProvisionedTeam.objects.filter(team__name__in=names)
    return frozenset(teams.values_list("team__name", flat=True))


def _apply_to(row: Group, team: TeamAttributes) -> None:
    known, is_new = ProvisionedTeam.objects.select_for_update().get_or_create(team=row)
    if is_new:
        # From now on sign-ins at the identity provider neither add nor remove members.
        record_audit_event("team.of_directory", row.name)
    if team.external_id is not None:
        if len(team.external_id) > LONGEST_ID or not team.external_id.isprintable():
            raise InvalidInput(f"at most {LONGEST_ID} printable characters", where="external_id")
        if team.external_id != known.external_id:
            record_audit_event("team.external_id", row.name)
        known.external_id = team.external_id
    if team.name is not None and _name(team.name) != row.name:
        _rename(row, _name(team.name))
    known.save()
    before = frozenset(row.user_set.values_list("pk", flat=True))
    after = ((before if team.members is None else team.members) | team.add) - team.remove
    _set_members(row, before=before, after=after)


def _rename(row: Group, name: str) -> None:
    if Group.objects.filter(name=name).exclude(pk=row.pk).exists():
        raise Conflict("there is a team of that name", code="name_taken")
    record_audit_event("team.renamed", row.name, after=name)
    row.name = name
    row.save(update_fields=["name"])


def _set_members(row: Group, *, before: frozenset[int], after: frozenset[int]) -> None:
    if before == after:
        return
    if len(after) > MAX_IN_TEAM:
        raise InvalidInput(f"at most {MAX_IN_TEAM} members", where="members", code="too_many")
    people = dict(User.objects.filter(pk__in=before | after).values_list("pk", "username"))
    known_ids = set(directory_people().filter(pk__in=after - before).values_list("pk", flat=True))
    if missing := sorted(after - before - known_ids):
        raise InvalidInput(f"there is no user {missing[0]}", where="members", code="unknown_member")
    for user in User.objects.filter(pk__in=after - before):
        management.refuse_sample_person(user)
    row.user_set.add(*(after - before))
    row.user_set.remove(*(before - after))
    joined, left = (sorted(people[key] for key in keys if key in people) for keys in (after - before, before - after))
    roles = sorted(set(row.grants.values_list("role", flat=True)))
    record_audit_event("team.members", row.name, joined=joined, left=left, roles=roles)
    management.refuse_without_admin()


def _name(text: str) -> str:
    management.refuse_team_name(text, where="name")
    return text.strip()


def _locked_team(team_id: int) -> Group:
    row = Group.objects.select_for_update().filter(pk=team_id).first()
    if row is None:
        raise NotFound("no such group")
    return row
