"""Sample clusters that can be changed: created, reset, and listed."""

import uuid
from datetime import UTC, datetime

from django.db import transaction
from django.utils import timezone

from migrations_app.models.cluster import Cluster
from migrations_app.models.policy import Policy
from migrations_app.models.sample_twin import SampleTwin
from migrations_app.queries.fleet.counted_clusters import SAMPLES as SAMPLE_SOURCES
from migrations_app.queries.visibility import visible_clusters
from migrations_app.samples.changeable.clusters import SAMPLES, ChangeableSample
from migrations_app.samples.kubernetes_objects import server_version
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.twins.state import TwinState, begun, packed
from migrations_app.use_cases.twins.upgrade import control_of

ENVIRONMENT = "sample"
APPROVALS = {"low": 0, "medium": 1, "high": 1, "destructive": 1}
"""The required approvals: there is only one sample person besides the author."""


def make_all() -> list[uuid.UUID]:
    """Registers every missing sample cluster and returns the ids of all. In a transaction of the caller."""
    twin_ids = dict(SampleTwin.objects.values_list("sample", "pk"))
    return [twin_ids.get(sample.name) or _create(sample) for sample in SAMPLES]


def _create(sample: ChangeableSample) -> uuid.UUID:
    row = Cluster.objects.create(
        name=sample.name,
        source=Cluster.Source.TWIN,
        context=sample.name,
        environment=ENVIRONMENT,
        target=sample.target,
    )
    now = timezone.now()
    body = packed(first_state(sample, now))
    SampleTwin.objects.create(cluster=row, sample=sample.name, body=body, begun_at=now, changed_at=now)
    Policy.objects.create(cluster=row, approvals=APPROVALS)
    record_audit_event("sample.made", row.name, cluster_id=row.pk, approvals=APPROVALS)
    return row.pk


def first_state(sample: ChangeableSample, now: datetime) -> TwinState:
    """The initial state of the sample cluster."""
    moment = now.astimezone(UTC)
    server = server_version(sample.cluster.kubernetes)
    return begun(sample.build(moment), control_of(sample.begins), server=server, now=moment)


def visible_samples() -> list[tuple[uuid.UUID, str]]:
    """Id and name of the sample clusters that can be changed and that the caller may see."""
    rows = visible_clusters().filter(source=Cluster.Source.TWIN, sample_twin__isnull=False)
    return list(rows.order_by("name").values_list("pk", "name"))


def sees_samples() -> bool:
    """Whether the caller may see a sample of either kind."""
    return visible_clusters().filter(source__in=SAMPLE_SOURCES).exists()


def is_changeable(cluster_id: uuid.UUID) -> bool:
    """Whether this is a sample cluster that can be changed."""
    return SampleTwin.objects.filter(pk=cluster_id).exists()


def reset_to_initial_state(cluster_id: uuid.UUID, sample: ChangeableSample) -> None:
    """Resets the cluster to its initial state. It gets a new identity, so earlier plans do not apply to it any more."""
    now = timezone.now()
    body = packed(first_state(sample, now))
    with transaction.atomic():
        row = SampleTwin.objects.select_for_update().get(pk=cluster_id)
        SampleTwin.objects.filter(pk=cluster_id).update(
            body=body, begun_at=now, changed_at=now, revision=row.revision + 1
        )
        blank = {"kube_system_uid": "", "ca_digest": "", "other_uid": "", "other_ca_digest": "", "identity_error": ""}
        Cluster.objects.filter(pk=cluster_id).update(next_due_at=None, **blank)
