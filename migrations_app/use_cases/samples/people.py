"""Two sample people, so that one newcomer can try that somebody else has to approve.

They have no password and no token, rights over the sample clusters only, and sign in by one click from this machine.
"""

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from migrations_app.errors import PermissionDenied
from migrations_app.models.account import Grant
from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.sample_twin import SampleTwin
from migrations_app.use_cases.accounts.management import RoleGrant, grant_role, set_active
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.clusters.groups import SAMPLE_PEOPLE, drop_group, make_group, put_in

GROUP = "Sample clusters"
LOOPBACK = frozenset({"127.0.0.1", "::1", "::ffff:127.0.0.1"})
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
FORWARDED = ("X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Forwarded", "Via")
"""Headers of a proxy: behind one every request comes from this machine, wherever its sender is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePerson:
    """`name` is that of the account, `role` the one over the sample clusters, `part` what the path needs it for."""

    name: str
    role: str
    part: str
    does: str


PEOPLE = (
    SamplePerson(name=SAMPLE_PEOPLE[0], role="operator", part="operator", does="plans and starts rollouts"),
    SamplePerson(name=SAMPLE_PEOPLE[1], role="admin", part="approver", does="approves and reads the audit log"),
)


def make_people(cluster_ids: Collection[uuid.UUID]) -> None:
    """Makes both accounts with their roles over a group of these clusters. An account of that name is left alone."""
    with transaction.atomic():
        group = ClusterGroup.objects.filter(name=GROUP).values_list("pk", flat=True).first() or make_group(GROUP)
        put_in(group, cluster_ids)
        for one in PEOPLE:
            if User.objects.filter(username=one.name).exists():
                continue
            account = User(username=one.name)
            account.set_unusable_password()
            account.save()
            record_audit_event("account.made", one.name, rights="over the sample clusters")
            grant_role(RoleGrant(role=one.role, person=one.name, over=group), person=None)


def remove_people() -> None:
    """Closes both accounts, which ends their sessions and tokens, and removes their group. The audit log keeps them."""
    with transaction.atomic():
        group = ClusterGroup.objects.filter(name=GROUP).first()
        if group is not None:
            drop_group(group.pk)
        for name in User.objects.filter(username__in=SAMPLE_PEOPLE, is_active=True).values_list("username", flat=True):
            set_active(name, active=False, person=None)


def offered(*, address: str, host: str, headers: Collection[str]) -> tuple[SamplePerson, ...]:
    """The sample people as whom a request may sign in; none unless it comes from this machine, through no proxy.

    `host` is the Host header without its port, `headers` are the names of the headers of the request.
    """
    given = {name.lower() for name in headers}
    if address not in LOOPBACK or host not in LOCAL_HOSTS or any(name.lower() in given for name in FORWARDED):
        return ()
    if not SampleTwin.objects.exists():
        return ()
    there = set(User.objects.filter(username__in=SAMPLE_PEOPLE, is_active=True).values_list("username", flat=True))
    return tuple(one for one in PEOPLE if one.name in there and _only_samples(one.name))


def _only_samples(name: str) -> bool:
    """Whether the account can do nothing else: no password, no rights of its own, no team, roles over samples only."""
    account = User.objects.get(username=name)
    wide = account.is_superuser or account.is_staff or account.has_usable_password() or account.groups.exists()
    if wide or account.user_permissions.exists():
        return False
    roles = Grant.objects.filter(person=account)
    others = ClusterGroup.clusters.through.objects.filter(clustergroup__grants__person=account).exclude(
        cluster__in=SampleTwin.objects.values("pk")
    )
    return roles.exists() and not roles.filter(over=None).exists() and not others.exists()


def person_named(name: str, *, address: str, host: str, headers: Collection[str]) -> User:
    """The account to sign in as. Raises PermissionDenied unless it is offered to this request."""
    if name not in [one.name for one in offered(address=address, host=host, headers=headers)]:
        raise PermissionDenied("sample people sign in from this machine only, while there are sample clusters")
    return User.objects.get(username=name)
