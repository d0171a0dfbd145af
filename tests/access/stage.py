"""The database rows of the permission matrix: two groups with a cluster each, everything that belongs to a cluster, and
a person of each role over the first group.
"""

import uuid
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from migrations_app.models.account import ApiToken, FeedLink, Grant
from migrations_app.models.cluster import Cluster, ClusterGroup, SavedView
from migrations_app.models.notification import Channel, Delivery
from migrations_app.models.organization import AwsOrganization
from migrations_app.models.policy import Waiver
from migrations_app.models.provisioning import ProvisioningToken
from migrations_app.models.pull_request import CodeRepository
from migrations_app.models.scan import FleetScan, Scan
from migrations_app.models.service import ServiceAccountRow, ServiceToken
from migrations_app.use_cases.accounts import tokens
from tests.builders.campaigns import a_campaign
from tests.builders.journeys import a_journey
from tests.builders.pull_requests import a_pull_request
from tests.builders.rollouts import a_rollout
from tests.builders.rows import a_cluster, a_snapshot

ROLES = ("anonymous", "nobody", "viewer", "operator", "approver", "admin", "chief")
"""In the order of the columns. `nobody` has no role, `chief` is an admin of everything, the others have theirs over a
group."""
SUBJECTS = ("own", "foreign")


@dataclass(frozen=True, slots=True)
class Stage:
    """Clients by role, and objects by (kind, subject)."""

    clients: dict[str, Client]
    things: dict[tuple[str, str], Model]
    users: dict[str, User]

    def id_of(self, kind: str, subject: str) -> uuid.UUID | int:
        key = self.things[kind, subject].pk
        return key if isinstance(key, int) else uuid.UUID(str(key))


def set_up() -> Stage:
    """Creates all rows and the signed-in clients."""
    things: dict[tuple[str, str], Model] = {}
    for subject in SUBJECTS:
        for kind, row in _of_a_cluster(subject).items():
            things[kind, subject] = row
    users = {role: _user(role, things["group", "own"]) for role in ROLES[1:]}
    things |= {(kind, "own"): row for kind, row in _of_nobody(users["chief"]).items()}
    clients = {"anonymous": Client()}
    for role, user in users.items():
        clients[role] = Client()
        clients[role].force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return Stage(clients, things, users)


def token_of(user: User, scope: str) -> str:
    """Returns the Authorization header with a new token."""
    return f"Bearer {tokens.issue(user, name=scope, scopes=[scope], days=1).secret}"


def _user(role: str, group: Model) -> User:
    user = User.objects.create_user(role)
    if role == "chief":
        Grant.objects.create(person=user, role="admin")
    elif role != "nobody":
        Grant.objects.create(person=user, role=role, over=group)
    return user


def _of_a_cluster(subject: str) -> dict[str, Model]:
    cluster = a_cluster(subject)
    group = ClusterGroup.objects.create(name=subject)
    group.clusters.add(cluster)
    snapshot = a_snapshot(cluster)
    now = timezone.now()
    waiver = Waiver.objects.create(
        check_id="budgets_let_nodes_go", cluster=cluster, reason="x", owner_name="x", made_by_name="x",
        made_at=now, ends_at=now + timedelta(days=9),
    )  # fmt: skip
    return {
        "cluster": cluster,
        "group": group,
        "snapshot": snapshot,
        "scan": Scan.objects.create(cluster=cluster, requested_by="x", state="done"),
        "rollout": a_rollout(Cluster.objects.get(pk=cluster.pk), state="awaiting_approval"),
        "journey": a_journey(Cluster.objects.get(pk=cluster.pk), state="awaiting_approval"),
        "campaign": a_campaign(Cluster.objects.get(pk=cluster.pk), state="awaiting_approval"),
        "waiver": waiver,
        "pull_request": a_pull_request(cluster),
    }


def _of_nobody(chief: User) -> dict[str, Model]:
    """Creates objects that belong to no cluster; the token is the chief's own."""
    now = timezone.now()
    channel = Channel.objects.create(name="x", kind="slack", place="x", made_by_name="x", made_at=now)
    program = User.objects.create_user("service:x")
    service = ServiceAccountRow.objects.create(user=program, name="x", scopes=["read"])
    return {
        "channel": channel,
        "grant": Grant.objects.get(person=chief),
        "person": chief,
        "service": service,
        "service_token": ServiceToken.objects.create(
            account=service, name="x", prefix="kd_x", digest="1" * 64, scopes=["read"]
        ),
        "provisioning_token": ProvisioningToken.objects.create(
            name="x", prefix="kd_x", digest="3" * 64, expires_at=now + timedelta(days=1)
        ),
        "team": Group.objects.create(name="x"),
        "delivery": Delivery.objects.create(
            channel=channel, event_id="x", topic="scan.failed", key="x", body={}, made_at=now, next_at=now
        ),
        "organization": AwsOrganization.objects.create(name="x", regions=["eu-west-1"], external_id="x"),
        "feed_link": FeedLink.objects.create(owner=chief, name="x", kind="news", prefix="kd_x", digest="2" * 64),
        "repository": CodeRepository.objects.create(
            kind="github", address="https://github.com/x/x", sealed=b"x", made_by_name="x", made_at=now
        ),
        "fleet_scan": FleetScan.objects.create(requested_by="x", total=2),
        "token": ApiToken.objects.create(
            owner=chief, name="x", prefix="kd_x", digest="0" * 64, scopes=["read"], expires_at=now + timedelta(days=1)
        ),
        "view": SavedView.objects.create(owner=chief, name="x", query=""),
    }
