"""Creates accounts, teams and role grants, and revokes them; each change is an audit event.

Closing an account ends its sessions and API tokens in the same transaction (T28).
"""

import secrets
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import Group, User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from migrations_app.access import ROLES, SAMPLE_PEOPLE, Person, may_appoint
from migrations_app.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from migrations_app.models.account import ApiToken, FeedLink, Grant, Identity, TemporaryPassword
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.provisioning import ProvisionedAccount
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import actor, record_audit_event

MAX_NAME_LENGTH = 150
MAX_MEMBERS = 200
"""Maximum number of accounts that one request adds to or removes from a team."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamChange:
    """Names of accounts to add to a team and to remove from it."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleGrant:
    """A role for the named account or team. `over` limits it to one group of clusters; None means every cluster."""

    role: str
    person: str = ""
    team: str = ""
    over: uuid.UUID | None = None


def refuse_without_permission(person: Person | None) -> None:
    """Raises PermissionDenied unless the person may manage accounts. None is the server's command line: allowed."""
    if person is not None:
        refuse_person(may_appoint(person_over_cluster(person, None)))


def create_account(name: str, *, person: Person | None) -> str:
    """Creates an account and returns its one-time password.

    If a token creates it, the account has no password and the text is empty: the token's holder could otherwise sign in
    as the second approver. `first_password` sets a password later. Raises PermissionDenied, InvalidInput, Conflict
    `name_taken`.
    """
    refuse_without_permission(person)
    try:
        UnicodeUsernameValidator()(name)
    except ValidationError:
        raise InvalidInput("letters, digits and @ . + - _ only", where="name", code="bad_name") from None
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidInput(f"at most {MAX_NAME_LENGTH} characters", where="name", code="bad_name")
    with transaction.atomic():
        is_provisioned = ProvisionedAccount.objects.filter(user_name__iexact=name).exists()
        if is_provisioned or User.objects.filter(username=name).exists():
            raise Conflict("there is an account of that name", code="name_taken")
        row = User.objects.create_user(username=name)
        password = "" if person is not None and person.method == "token" else _one_time_password(row)
        record_audit_event("account.made", name, rights="none yet")
    return password


def first_password(name: str, *, person: Person) -> str:
    """Sets the first password of an account that was created without one, for one sign-in, and returns it.

    Raises PermissionDenied, also for a token, NotFound, and Conflict `has_password` for an account that can sign in
    already, here or at the identity provider.
    """
    refuse_without_permission(person)
    if person.method == "token":
        raise PermissionDenied("only a person can set passwords, in the browser", code="person_needed")
    with transaction.atomic():
        row = _account(name)
        if row.has_usable_password() or row.last_login or Identity.objects.filter(user=row).exists():
            raise Conflict("the account can sign in already", code="has_password")
        password = _one_time_password(row)
        record_audit_event("account.first_password", name)
    return password


def _one_time_password(row: User) -> str:
    password = secrets.token_urlsafe(16)
    row.set_password(password)
    row.save(update_fields=["password"])
    TemporaryPassword.objects.get_or_create(user=row)
    return password


def reset_password(name: str) -> str:
    """Sets a new one-time password of an account and returns it; its sessions and API tokens end.

    For the server's command line only: a person who could do this on a page could sign in as the second approver.
    Raises NotFound, and Conflict `other_sign_in` for an account that signs in at the identity provider.
    """
    with transaction.atomic():
        row = _account(name)
        if Identity.objects.filter(user=row).exists():
            raise Conflict("the account signs in at the identity provider", code="other_sign_in")
        password = _one_time_password(row)
        record_audit_event("account.password_reset", name, ended=_end_sessions_and_tokens(row))
    return password


def set_active(name: str, *, active: bool, person: Person | None) -> None:
    """Closes an account and ends its sessions and tokens, or reopens it without them.

    Raises PermissionDenied, NotFound, Conflict `own_account`, and Conflict `last_admin` for the last account that may
    manage others.
    """
    refuse_without_permission(person)
    with transaction.atomic():
        row = _account(name)
        if row.is_active == active:
            return
        if person is not None and row.pk == person.id:
            raise Conflict("you cannot close your own account", code="own_account")
        User.objects.filter(pk=row.pk).update(is_active=active)
        # A directory may only open accounts that it closed itself.
        ProvisionedAccount.objects.filter(user=row).update(closed_by_directory=False)
        ended = 0 if active else _end_sessions_and_tokens(row)
        record_audit_event("account.opened" if active else "account.closed", name, ended=ended)
        if not active:
            refuse_without_admin()


def add_to_team(team: str, *, member: str, person: Person | None) -> None:
    """Adds an account to a team, creating the team if needed.

    Raises PermissionDenied, NotFound, InvalidInput, Conflict `sample_person`.
    """
    refuse_without_permission(person)
    refuse_team_name(team, where="team")
    with transaction.atomic():
        row = _account(member)
        _refuse_own(person, row)
        refuse_sample_person(row)
        Group.objects.get_or_create(name=team.strip())[0].user_set.add(row)
        record_audit_event("account.joined", member, team=team.strip())


def remove_from_team(team: str, *, member: str, person: Person | None) -> None:
    """Removes an account from a team. Raises PermissionDenied, NotFound, Conflict `last_admin`."""
    refuse_without_permission(person)
    with transaction.atomic():
        row = _account(member)
        _team(team).user_set.remove(row)
        record_audit_event("account.left", member, team=team)
        refuse_without_admin()


def create_team(name: str, *, members: Sequence[str], person: Person | None) -> None:
    """Creates a team with these members. Raises PermissionDenied, NotFound, InvalidInput, Conflict `name_taken`."""
    refuse_without_permission(person)
    refuse_team_name(name, where="name")
    with transaction.atomic():
        if not Group.objects.get_or_create(name=name.strip())[1]:
            raise Conflict("there is a team of that name", code="name_taken")
        record_audit_event("team.made", name.strip())
        change_team(name.strip(), TeamChange(add=tuple(members)), person=person)


def change_team(team: str, change: TeamChange, *, person: Person | None) -> None:
    """Adds and removes members, all of them or none; no event for members that need no change.

    Raises as `add_to_team` and `remove_from_team`, and InvalidInput for an account that is in both lists.
    """
    refuse_without_permission(person)
    if set(change.add) & set(change.remove):
        raise InvalidInput("an account cannot be both added and removed", where="remove")
    with transaction.atomic():
        member_names = set(_team(team).user_set.values_list("username", flat=True))
        for name in dict.fromkeys(change.add):
            if _account(name).username not in member_names:
                add_to_team(team, member=name, person=person)
        for name in dict.fromkeys(change.remove):
            if _account(name).username in member_names:
                remove_from_team(team, member=name, person=person)


def remove_team(team: str, *, person: Person | None) -> None:
    """Deletes a team with its role grants; its members stay.

    Raises PermissionDenied, NotFound, Conflict `last_admin`.
    """
    refuse_without_permission(person)
    with transaction.atomic():
        row = _team(team)
        members, roles = row.user_set.count(), row.grants.count()
        row.delete()
        record_audit_event("team.removed", team, members=members, roles=roles)
        refuse_without_admin()


def grant_role(role_grant: RoleGrant, *, person: Person | None) -> uuid.UUID:
    """Creates a role grant and returns its id.

    Raises PermissionDenied, NotFound, InvalidInput, Conflict `given_already`, `sample_person`.
    """
    refuse_without_permission(person)
    if role_grant.role not in ROLES:
        raise InvalidInput(f"a role is one of {', '.join(ROLES)}", where="role", code="bad_role")
    if bool(role_grant.person) is bool(role_grant.team):
        raise InvalidInput("name either a person or a team", where="person", code="bad_receiver")
    with transaction.atomic():
        group = _group(role_grant.over) if role_grant.over else None
        receiver = _account(role_grant.person) if role_grant.person else None
        if receiver is not None and (group is None or has_real_clusters(group)):
            refuse_sample_person(receiver)
        to = {"person": receiver, "team": _team(role_grant.team) if role_grant.team else None}
        _refuse_own(person, to["person"] or to["team"])
        if Grant.objects.filter(**to, over=group, role=role_grant.role).exists():
            raise Conflict("the role is given already", code="given_already")
        row = Grant.objects.create(**to, over=group, role=role_grant.role, created_by=actor().name)
        record_audit_event("access.given", _receiver(row), role=row.role, over=group.name if group else "every cluster")
    return row.pk


def revoke_role(grant_id: uuid.UUID, *, person: Person | None) -> None:
    """Revokes a grant at once.

    Raises PermissionDenied, NotFound, and Conflict `last_admin` if this is the last grant that lets anyone administer
    the installation.
    """
    refuse_without_permission(person)
    with transaction.atomic():
        people_only = Grant.objects.select_related("person", "team", "over").filter(person__service=None)
        row = people_only.filter(pk=grant_id).first()
        if row is None:
            raise NotFound("no such grant")
        row.delete()
        record_audit_event(
            "access.taken_back", _receiver(row), role=row.role, over=row.over.name if row.over else "every cluster"
        )
        refuse_without_admin()


def refuse_without_admin() -> None:
    """Raises Conflict `last_admin` if no active account is left that may manage others.

    Called after the change is in the audit log, whose head is then locked: if two people close each other's account at
    the same time, the second one waits there and then finds the change of the first.
    """
    if not any(_account_managers()):
        raise Conflict("no account would be left that may give roles", code="last_admin")


def _account_managers() -> Iterator[bool]:
    live = User.objects.filter(is_active=True)
    yield live.filter(is_superuser=True).exists()
    admin = Grant.objects.filter(role=Grant.Role.ADMIN, over=None, person__service=None)
    yield admin.filter(person__is_active=True).exists()
    yield admin.filter(team__user__is_active=True).exists()


def _end_sessions_and_tokens(row: User) -> int:
    """Ends all sessions, tokens and feed links of the account. Returns how many ended."""
    ended = ApiToken.objects.filter(owner=row, revoked_at=None).update(revoked_at=timezone.now())
    ended += FeedLink.objects.filter(owner=row, revoked_at=None).update(revoked_at=timezone.now())
    for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        if session.get_decoded().get("_auth_user_id") == str(row.pk):
            session.delete()
            ended += 1
    return ended


def _refuse_own(person: Person | None, receiver: User | Group | None) -> None:
    """Raises PermissionDenied `own_rights` if a token would grant rights to its own owner; only a person may do
    that.
    """
    if person is None or person.method != "token":
        return
    own = receiver.pk == person.id if isinstance(receiver, User) else _is_in(receiver, person.id)
    if own:
        raise PermissionDenied("a token cannot give its own owner a role; do it in the browser", code="own_rights")


def _is_in(team: Group | None, user_id: int) -> bool:
    return team is not None and team.user_set.filter(pk=user_id).exists()


def refuse_team_name(name: str, *, where: str) -> None:
    """Raises InvalidInput for a name that no team can have."""
    if not name.strip() or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise InvalidInput(f"a team has a name of 1 to {MAX_NAME_LENGTH} characters", where=where, code="bad_name")


def has_real_clusters(group: ClusterGroup) -> bool:
    """Whether a cluster of the group is not one of the samples that can be acted on."""
    return group.clusters.exclude(source=Cluster.Source.TWIN).exists()


def is_sample_person(row: AbstractBaseUser) -> bool:
    """Whether everyone at this machine may sign in with this account: a sample person without a password."""
    return row.get_username() in SAMPLE_PEOPLE and not row.has_usable_password()


def refuse_sample_person(row: User) -> None:
    """Raises Conflict `sample_person` for a sample person."""
    if is_sample_person(row):
        raise Conflict("sample people can have roles over sample clusters only", code="sample_person")


def _receiver(row: Grant) -> str:
    return row.person.username if row.person else f"team {row.team.name if row.team else ''}"


def _account(name: str) -> User:
    row = User.objects.filter(username=name, service=None).first()
    if row is None:
        raise NotFound("no such account", where="person")
    return row


def _team(name: str) -> Group:
    row = Group.objects.filter(name=name).first()
    if row is None:
        raise NotFound("no such team", where="team")
    return row


def _group(group_id: uuid.UUID) -> ClusterGroup:
    row = ClusterGroup.objects.filter(pk=group_id).first()
    if row is None:
        raise NotFound("no such group of clusters", where="over")
    return row
