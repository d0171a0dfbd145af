"""Service accounts: programs with an identity of their own, managed by people who may manage accounts.

No person can sign in with one: its user has no password and no identity at a provider. Its role is a grant like that of
a person, but without the rights in `NEVER_OF_PROGRAMS`.
"""

import re
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from migrations_app.access import PROGRAM_ROLES, Person, Role, may_appoint, rights_of_program
from migrations_app.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from migrations_app.models.account import Grant
from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.service import ServiceAccountRow, ServiceToken
from migrations_app.use_cases.accounts.networks import checked_networks
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.accounts.tokens import refuse_scopes
from migrations_app.use_cases.audit.log import actor, record_audit_event

PREFIX = "service:"
"""The prefix of the account's name in the audit log and as an author. No person's account may begin with it."""
LONGEST_PURPOSE = 300
MAX_GROUPS = 50
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRules:
    """The limits of a service account: its role over every cluster, or over the clusters of some groups."""

    purpose: str
    role: Role
    everywhere: bool
    groups: tuple[uuid.UUID, ...]
    scopes: tuple[str, ...]
    networks: tuple[str, ...]


def create_service(name: str, rules: ServiceRules, *, person: Person) -> uuid.UUID:
    """Creates a service account without a token and returns its id.

    Raises PermissionDenied, InvalidInput, NotFound for a group, and Conflict `name_taken`, also for the name of an
    ended account.
    """
    checked = _checked(rules, person=person)
    if not _NAME.fullmatch(name):
        raise InvalidInput("1 to 60 lower-case letters, digits and hyphens", where="name", code="bad_name")
    try:
        with transaction.atomic():
            user = User.objects.create_user(username=f"{PREFIX}{name}")
            row = ServiceAccountRow.objects.create(
                user=user,
                name=name,
                purpose=checked.purpose,
                scopes=list(checked.scopes),
                networks=list(checked.networks),
                created_by=actor().name,
            )
            detail = _grant(row, checked)
            record_audit_event("service.made", name, **detail)
    except IntegrityError:
        raise Conflict(f"there is or was a service account named {name}", code="name_taken") from None
    return row.pk


def change_service(service_id: uuid.UUID, rules: ServiceRules, *, version: int, person: Person) -> None:
    """Replaces the rules of a service account; they apply to its tokens from the next request on.

    Raises as `create_service`, NotFound if it does not exist or has ended, and Conflict `stale` for another version.
    """
    row = live_service(service_id)
    checked = _checked(rules, person=person)
    with transaction.atomic():
        before_values = {"role": _role(row), "scopes": row.scopes, "networks": row.networks}
        same = ServiceAccountRow.objects.filter(pk=row.pk, version=version, ended_at=None)
        changed = {"purpose": checked.purpose, "scopes": list(checked.scopes), "networks": list(checked.networks)}
        if not same.update(version=version + 1, **changed):
            raise Conflict("the service account was changed meanwhile", code="stale")
        Grant.objects.filter(person_id=row.user_id).delete()
        record_audit_event("service.changed", row.name, before=before_values, after=_grant(row, checked))


def end_service(service_id: uuid.UUID, *, person: Person) -> None:
    """Ends a service account with its roles and tokens, for good. Raises PermissionDenied, NotFound."""
    refuse_person(may_appoint(person_over_cluster(person, None)))
    with transaction.atomic():
        row = live_service(service_id)
        now = timezone.now()
        if not ServiceAccountRow.objects.filter(pk=row.pk, ended_at=None).update(ended_at=now, version=row.version + 1):
            raise NotFound("no such service account")
        ended = ServiceToken.objects.filter(account=row, revoked_at=None).update(revoked_at=now)
        User.objects.filter(pk=row.user_id).update(is_active=False)
        Grant.objects.filter(person_id=row.user_id).delete()
        record_audit_event("service.ended", row.name, ended=ended)


def live_service(service_id: uuid.UUID) -> ServiceAccountRow:
    """The row of a service account that has not ended. Raises NotFound."""
    row = ServiceAccountRow.objects.filter(pk=service_id, ended_at=None).first()
    if row is None:
        raise NotFound("no such service account")
    return row


def _checked(rules: ServiceRules, *, person: Person) -> ServiceRules:
    """The rules in canonical form. Raises PermissionDenied for rights that the person does not have, and
    InvalidInput.
    """
    scoped_person = person_over_cluster(person, None)
    refuse_person(may_appoint(scoped_person))
    refuse_scopes(rules.scopes)
    if rules.role not in PROGRAM_ROLES:
        raise InvalidInput(f"a role is one of {', '.join(PROGRAM_ROLES)}", where="role", code="bad_role")
    if not rights_of_program(rules.role) <= set(scoped_person.rights):
        raise PermissionDenied("you cannot give a service account a role that you lack yourself")
    if rules.everywhere is bool(rules.groups):
        raise InvalidInput("choose either every cluster, or one or more groups", where="groups", code="bad_groups")
    if len(rules.groups) > MAX_GROUPS:
        raise InvalidInput(f"at most {MAX_GROUPS} groups", where="groups", code="bad_groups")
    purpose = rules.purpose.strip()
    if len(purpose) > LONGEST_PURPOSE or (purpose and not purpose.isprintable()):
        raise InvalidInput(f"at most {LONGEST_PURPOSE} printable characters", where="purpose")
    fields: dict[str, Any] = asdict(rules) | {"purpose": purpose, "scopes": tuple(sorted(set(rules.scopes)))}
    fields |= {"networks": tuple(checked_networks(rules.networks)), "groups": tuple(dict.fromkeys(rules.groups))}
    return ServiceRules(**fields)


def _grant(row: ServiceAccountRow, rules: ServiceRules) -> dict[str, Any]:
    """Creates the grants, and returns the details for the audit log. Raises NotFound for a group."""
    groups = list(ClusterGroup.objects.filter(pk__in=rules.groups).order_by("name"))
    if len(groups) < len(rules.groups):
        raise NotFound("no such group of clusters", where="groups")
    targets: Sequence[ClusterGroup | None] = groups if rules.groups else [None]
    by = actor().name
    Grant.objects.bulk_create(
        Grant(person_id=row.user_id, over=group, role=rules.role, created_by=by) for group in targets
    )
    named = [group.name for group in groups] if rules.groups else "every cluster"
    return {"role": rules.role, "over": named, "scopes": list(rules.scopes), "networks": list(rules.networks)}


def _role(row: ServiceAccountRow) -> str:
    return Grant.objects.filter(person_id=row.user_id).values_list("role", flat=True).first() or ""
