"""What joining two registrations of one cluster moves and ends, and what prevents it."""

import hashlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from migrations_app.actions.plan import canonical
from migrations_app.actions.states import HOLDING, PLANNED
from migrations_app.campaigns.states import OVER_STATES
from migrations_app.errors import InvalidInput, NotFound
from migrations_app.journeys import states as journeys
from migrations_app.models.account import Grant
from migrations_app.models.campaign import CampaignMember
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.journey import Journey
from migrations_app.models.policy import Waiver
from migrations_app.models.rollout import Rollout
from migrations_app.models.scan import Scan, Snapshot
from migrations_app.queries.clusters.detail import ACTIVE
from migrations_app.queries.clusters.identity import LIVE
from migrations_app.queries.fleet.labels import ENVIRONMENT, place_in
from migrations_app.queries.fleet.waivers import active_waivers
from migrations_app.queries.rollouts.policies import PolicyRow, policy_row

MAX_LABELS = 30
"""Maximum number of labels per cluster."""
ROLLOUTS = HOLDING | {"rolling_back"}
"""States in which a rollout prevents that its registration is joined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinSide:
    """One of the two registrations. `failures` counts its scans that failed in a row."""

    id: uuid.UUID
    name: str
    environment: str
    source: str
    server: str
    version: int
    failures: int
    last_success_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinLabel:
    """A label of the registration that ends. `stays` is the value of the other registration, which is kept; if empty,
    the label moves.
    """

    key: str
    value: str
    stays: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinObstacle:
    """Why they are not joined now. `registration` is the name of the one that it concerns; empty: both."""

    code: str
    words: str
    registration: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPreview:
    """The effects of joining, and in `obstacles` the reasons why it is not possible now.

    `groups` are the groups that the remaining registration is added to, `roles` the number of role grants over them,
    which then apply to it. `plans_expire` counts planned rollouts and journeys that end. `drops_aws`: the AWS access of
    the registration is removed. `digest` changes with everything except the numbers of scans, snapshots, rollouts and
    journeys.
    """

    stays: JoinSide
    ends: JoinSide
    same_ca: bool
    snapshots: int
    scans: int
    rollouts: int
    journeys: int
    campaigns: int
    waivers: tuple[str, ...]
    waivers_over: int
    groups: tuple[str, ...]
    roles: int
    labels: tuple[JoinLabel, ...]
    plans_expire: int
    drops_aws: bool
    obstacles: tuple[JoinObstacle, ...]
    digest: str = ""


def join_preview(stays: uuid.UUID, ends: uuid.UUID) -> JoinPreview:
    """What moves from the registration `ends` to `stays`. Raises NotFound, InvalidInput `itself`."""
    if stays == ends:
        raise InvalidInput("a registration is not joined with itself", where="ends", code="itself")
    kept, gone = _row(stays), _row(ends)
    waivers = Waiver.objects.filter(cluster=gone)
    active = waivers.filter(active_waivers(timezone.now()))
    groups = new_groups(kept, gone)
    preview = JoinPreview(
        stays=_side(kept),
        ends=_side(gone),
        same_ca=kept.ca_digest == gone.ca_digest,
        snapshots=Snapshot.objects.filter(cluster=gone).count(),
        scans=Scan.objects.filter(cluster=gone).count(),
        rollouts=Rollout.objects.filter(cluster=gone).count(),
        journeys=Journey.objects.filter(cluster=gone).count(),
        campaigns=CampaignMember.objects.filter(cluster=gone, campaign__state__in=OVER_STATES).count(),
        waivers=tuple(active.order_by("check_id", "pk").values_list("check_id", flat=True)),
        waivers_over=waivers.count() - active.count(),
        groups=tuple(groups.values_list("name", flat=True)),
        roles=Grant.objects.filter(over__in=groups).count(),
        labels=_labels(kept, gone),
        plans_expire=_planned(gone),
        drops_aws=bool(gone.eks_arn) and not kept.eks_arn,
        obstacles=tuple(_obstacles(kept, gone)),
    )
    return replace(preview, digest=_digest(preview))


def new_groups(stays: Cluster, ends: Cluster) -> QuerySet[ClusterGroup]:
    """The groups that only the ending registration is in, by name."""
    return ClusterGroup.objects.filter(clusters=ends).exclude(clusters=stays).order_by("name")


def _row(cluster_id: uuid.UUID) -> Cluster:
    row = Cluster.objects.defer("sealed").filter(pk=cluster_id).first()
    if row is None:
        raise NotFound("no such cluster")
    return row


def _side(row: Cluster) -> JoinSide:
    return JoinSide(
        id=row.pk,
        name=row.name,
        environment=row.environment,
        source=row.source,
        server=row.server,
        version=row.version,
        failures=row.failures,
        last_success_at=row.last_success_at,
    )


def _labels(stays: Cluster, ends: Cluster) -> tuple[JoinLabel, ...]:
    has = _stored_labels(stays) | place_in(stays.eks_arn)
    return tuple(
        JoinLabel(key=key, value=value, stays=has.get(key, ""))
        for key, value in sorted(_stored_labels(ends).items())
        if has.get(key) != value
    )


def _stored_labels(row: Cluster) -> dict[str, str]:
    own = {ENVIRONMENT: row.environment} if row.environment else {}
    return dict(row.labels.values_list("key", "value")) | own


def _planned(row: Cluster) -> int:
    plans = Rollout.objects.filter(cluster=row, state__in=PLANNED).count()
    return plans + Journey.objects.filter(cluster=row, state__in=journeys.PLANNED).count()


def _digest(preview: JoinPreview) -> str:
    """SHA-256 of the values that people decide on; the end of a scan does not change it."""
    sides = [(str(join_side.id), join_side.version) for join_side in (preview.stays, preview.ends)]
    shared = [preview.same_ca, preview.drops_aws, preview.roles, preview.groups, preview.waivers]
    labels = [(label.key, label.value, label.stays) for label in preview.labels]
    return hashlib.sha256(canonical([sides, shared, labels])).hexdigest()


def _obstacles(stays: Cluster, ends: Cluster) -> Iterator[JoinObstacle]:
    yield from _not_the_same(stays, ends)
    if stays.failures or stays.latest_id is None:
        words = f"the newest scan of {stays.name} failed, or there was none: keep a registration that can be read"
        yield JoinObstacle(code="not_read", words=words, registration=stays.name)
    for row in (stays, ends):
        yield from _active_work(row)
    if _limits(stays) != _limits(ends):
        words = "their rollout policies differ, and both hold until now: give them the same policy first"
        yield JoinObstacle(code="policies_differ", words=words)
    if len(_stored_labels(stays) | _stored_labels(ends)) > MAX_LABELS:
        yield JoinObstacle(code="too_many", words=f"together they have more than {MAX_LABELS} labels")


def _not_the_same(stays: Cluster, ends: Cluster) -> Iterator[JoinObstacle]:
    if not stays.kube_system_uid or stays.kube_system_uid != ends.kube_system_uid:
        words = "they are not known to be the same cluster: the uid of kube-system tells"
        yield JoinObstacle(code="not_same_cluster", words=words)
    for row in (stays, ends):
        if row.source not in LIVE:
            words = f"{row.name} has no API server behind it"
            yield JoinObstacle(code="not_same_cluster", words=words, registration=row.name)
        elif row.other_uid:
            words = f"another cluster answers at the address of {row.name}: decide first which cluster it is"
            yield JoinObstacle(code="not_same_cluster", words=words, registration=row.name)
        elif row.identity_error:
            words = f"the newest scan of {row.name} could not read which cluster it is"
            yield JoinObstacle(code="not_same_cluster", words=words, registration=row.name)


def _active_work(row: Cluster) -> Iterator[JoinObstacle]:
    work: tuple[tuple[str, str, bool], ...] = (
        ("rollout_holds", "a rollout", Rollout.objects.filter(cluster=row, state__in=ROLLOUTS).exists()),
        ("journey_holds", "a journey", Journey.objects.filter(cluster=row, state__in=journeys.HOLDING).exists()),
        ("campaign_holds", "a campaign", CampaignMember.objects.filter(cluster=row, claims=True).exists()),
        ("scan_active", "a scan", Scan.objects.filter(cluster=row, state__in=ACTIVE).exists()),
    )
    for code, subject, is_active in work:
        if is_active:
            words = f"{subject} of {row.name} is under way: wait for its end, or end it"
            yield JoinObstacle(code=code, words=words, registration=row.name)


def _limits(row: Cluster) -> PolicyRow:
    """The content of the registration's policy, independent of the row that it is stored in."""
    return replace(policy_row(row.pk), cluster=None, own=False, version=0)
