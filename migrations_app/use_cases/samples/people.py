"""Two sample people, so that one newcomer can try how another person has to approve.

They have no password and no token, rights over the sample clusters only, and sign in by one click from this machine.
"""

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from migrations_app.access import SAMPLE_PEOPLE
from migrations_app.errors import PermissionDenied
from migrations_app.models.account import Grant, Identity
from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.sample_twin import SampleTwin
from migrations_app.use_cases.accounts.management import RoleGrant, grant_role, set_active
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.clusters.groups import add_to_group, create_group, remove_group

GROUP = "Sample clusters"
LOOPBACK = frozenset({"127.0.0.1", "::1", "::ffff:127.0.0.1"})
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
UNSPECIFIED = frozenset({"0.0.0.0", "[::]", "::"})  # noqa: S104 # nosec B104 - compared, never bound
FORWARDED = frozenset({"forwarded", "via", "client-ip", "true-client-ip", "cf-connecting-ip", "fastly-client-ip"})
FORWARDED_BEGINNINGS = ("x-forwarded", "x-real-", "x-original-", "x-client-", "x-cluster-", "x-envoy-", "x-amzn-")
"""Headers of a proxy: behind a proxy, every request seems to come from this machine."""
OLD_PROTOCOL = "HTTP/1.0"
"""No browser uses this version; nginx does by default for requests that it forwards, even without any header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePerson:
    """A sample person. `name` is the account's name, `role` the role over the sample clusters, `part` the function in
    the path.
    """

    name: str
    role: str
    part: str
    does: str


PEOPLE = (
    SamplePerson(name=SAMPLE_PEOPLE[0], role="operator", part="operator", does="plans and starts rollouts"),
    SamplePerson(name=SAMPLE_PEOPLE[1], role="admin", part="approver", does="approves and reads the audit log"),
)


def make_people(cluster_ids: Collection[uuid.UUID]) -> None:
    """Creates both accounts with their roles over a group of these clusters, or reopens them.

    An account of that name that a real person uses is left alone.
    """
    with transaction.atomic():
        group = make_group_of(cluster_ids)
        for person in PEOPLE:
            account = User.objects.filter(username=person.name).first()
            if account is not None and not _has_nothing_else(account):
                continue
            if account is None:
                _make_account(person.name)
            else:
                set_active(person.name, active=True, person=None)
            if not Grant.objects.filter(person__username=person.name, over=group).exists():
                grant_role(RoleGrant(role=person.role, person=person.name, over=group), person=None)


def make_group_of(cluster_ids: Collection[uuid.UUID]) -> uuid.UUID:
    """Adds these clusters to the group of samples, which is created if it is missing; returns its id."""
    group = ClusterGroup.objects.filter(name=GROUP).values_list("pk", flat=True).first() or create_group(GROUP)
    add_to_group(group, cluster_ids)
    return group


def _make_account(name: str) -> None:
    account = User(username=name)
    account.set_unusable_password()
    account.save()
    record_audit_event("account.made", name, rights="over the sample clusters")


def remove_people() -> None:
    """Closes both accounts, which ends their sessions and tokens, and removes their group.

    The audit log keeps them. An account of that name without a role over the group belongs to a real person and stays.
    """
    with transaction.atomic():
        group = ClusterGroup.objects.filter(name=GROUP).first()
        if group is None:
            return
        users = User.objects.filter(username__in=SAMPLE_PEOPLE, is_active=True, grants__over=group).distinct()
        names = list(users.values_list("username", flat=True))
        remove_group(group.pk)
        for name in names:
            set_active(name, active=False, person=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOrigin:
    """The apparent origin of a request: the peer's address, the Host header without its port, the names of all headers,
    and the protocol.
    """

    address: str
    host: str
    headers: Collection[str]
    protocol: str

    @property
    def is_here(self) -> bool:
        """Whether the request comes from this machine, and through no detectable proxy."""
        names = [name.lower() for name in self.headers]
        passed_on = any(name in FORWARDED or name.startswith(FORWARDED_BEGINNINGS) for name in names)
        local = self.address in LOOPBACK and self.host in LOCAL_HOSTS
        return local and not passed_on and self.protocol != OLD_PROTOCOL


def served_here_only() -> bool:
    """Whether no setting indicates that others reach this installation, directly or through a proxy.

    A proxy on this machine may forward requests with a local Host header and without any sign of their origin.
    """
    env = settings.ENV
    if env.https or env.behind_proxy or env.plain_http or env.trusted_origins:
        return False
    return {allowed_host.lower() for allowed_host in env.allowed_hosts} <= LOCAL_HOSTS | UNSPECIFIED


def offered(origin: RequestOrigin) -> tuple[SamplePerson, ...]:
    """The sample people that a request may sign in as; none unless it comes from this machine, through no proxy, and
    the installation only serves this machine.
    """
    if not (origin.is_here and served_here_only()):
        return ()
    if not SampleTwin.objects.exists():
        return ()
    users_by_name = {user.username: user for user in User.objects.filter(username__in=SAMPLE_PEOPLE, is_active=True)}
    return tuple(
        person for person in PEOPLE if person.name in users_by_name and _only_samples(users_by_name[person.name])
    )


def _only_samples(account: User) -> bool:
    """Whether the account has roles over samples, and nothing else."""
    return Grant.objects.filter(person=account).exists() and _has_nothing_else(account)


def _has_nothing_else(account: User) -> bool:
    """Whether the account has no other access: no password, no rights of its own, no team, roles over samples only."""
    wide = account.is_superuser or account.is_staff or account.has_usable_password() or account.groups.exists()
    if wide or account.user_permissions.exists() or Identity.objects.filter(user=account).exists():
        return False
    roles = Grant.objects.filter(person=account)
    others = ClusterGroup.clusters.through.objects.filter(clustergroup__grants__person=account).exclude(
        cluster__in=SampleTwin.objects.values("pk")
    )
    return not roles.filter(over=None).exists() and not others.exists()


def person_named(name: str, origin: RequestOrigin) -> User:
    """The account to sign in with. Raises PermissionDenied unless it is offered to this request."""
    if name not in [person.name for person in offered(origin)]:
        raise PermissionDenied("sample people sign in from this machine only, while there are sample clusters")
    return User.objects.get(username=name)
