"""Resets a sample cluster, and removes all samples."""

import uuid

from django.db import transaction
from django.utils import timezone

from migrations_app.access import Person, may_prepare
from migrations_app.actions.states import HOLDING, PLANNED
from migrations_app.errors import Conflict, NotFound, PermissionDenied
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Rollout
from migrations_app.models.sample_twin import SampleTwin
from migrations_app.queries.fleet.counted_clusters import SAMPLES
from migrations_app.samples.changeable import clusters as catalogue
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import Actor, record_audit_event
from migrations_app.use_cases.rollouts.lifecycle import refuse_held
from migrations_app.use_cases.rollouts.transitions import TransitionCause, transition
from migrations_app.use_cases.samples.clusters import reset_to_initial_state
from migrations_app.use_cases.samples.people import remove_people


def reset_sample(cluster_id: uuid.UUID, *, person: Person, by: Actor) -> None:
    """Resets the cluster to its initial state; open plans expire and a paused rollout is aborted.

    Raises NotFound, PermissionDenied, and Conflict `held` while a rollout is running.
    """
    refuse_person(may_prepare(person_over_cluster(person, cluster_id)))
    row = SampleTwin.objects.filter(pk=cluster_id).defer("body").first()
    sample = catalogue.find(row.sample) if row else None
    if sample is None:
        raise NotFound("no such sample cluster")
    with transaction.atomic():
        _end_rollouts(cluster_id, by=by)
        reset_to_initial_state(cluster_id, sample)
        record_audit_event("sample.reset", sample.name, cluster_id=cluster_id)


def _end_rollouts(cluster_id: uuid.UUID, *, by: Actor) -> None:
    cause = TransitionCause(code="sample_reset", words="the sample cluster was reset")
    now = timezone.now()
    for row in Rollout.objects.filter(cluster_id=cluster_id, state__in=sorted(PLANNED)):
        transition(row, "expired", by=by, cause=cause, finished_at=now)
    for row in Rollout.objects.filter(cluster_id=cluster_id, state__in=sorted(HOLDING)):
        if row.state not in ("paused", "needs_attention"):
            raise Conflict("a rollout is under way: pause or abort it first", code="held")
        transition(row, "aborted", by=by, cause=cause, finished_at=now, stop_request="", waits_for="")


def remove_samples(*, person: Person | None) -> int:
    """Deletes every sample cluster with its history and closes the sample people; returns the number of clusters.

    `person` is None at the start of an installation, before anything runs. Raises PermissionDenied, and Conflict while
    a rollout holds a sample.
    """
    if person is not None and "remove" not in person_over_cluster(person, None).rights:
        raise PermissionDenied("the account may not remove clusters", code="forbidden")
    with transaction.atomic():
        rows = list(Cluster.objects.filter(source__in=SAMPLES).order_by("name"))
        for row in rows:
            if person is not None:
                refuse_held(row.pk)
            record_audit_event("cluster.removed", row.name, cluster_id=row.pk, source=row.source)
            row.delete()
        remove_people()
    return len(rows)
