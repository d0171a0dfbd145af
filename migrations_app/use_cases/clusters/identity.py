"""Accepts, by a person's decision, that another cluster answers at the address of a registered one (A05)."""

import uuid

from django.db import transaction
from django.utils import timezone

from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.cluster import Cluster
from migrations_app.models.monitoring import Gauges
from migrations_app.models.scan import KeptList, KeptObjects, LegacyDay, Snapshot
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.journeys.lifecycle import refuse_journey, void_journeys
from migrations_app.use_cases.rollouts.lifecycle import refuse_held, void_plans
from migrations_app.use_cases.scans.queue import enqueue


def accept(cluster_id: uuid.UUID, *, uid: str, typed_name: str, version: int | None = None) -> int:
    """Makes the cluster that answers now the registered one, and returns the row's new version.

    Stored results stay as the history of the former cluster, and are not compared with new ones; a scan is queued. If
    only the CA differs, it is the same cluster and its history continues. Plans expire. Raises NotFound; InvalidInput
    unless the name was typed; Conflict `stale` if `version` or `uid` is not the current one, `rollout_holds` while a
    rollout holds the cluster.
    """
    with transaction.atomic():
        row = Cluster.objects.select_for_update().defer("sealed").filter(pk=cluster_id).first()
        if row is None:
            raise NotFound("no such cluster")
        if typed_name != row.name:
            raise InvalidInput("type the cluster's name to accept it", where="typed_name", code="name_not_typed")
        if not row.other_uid or uid != row.other_uid or (version is not None and version != row.version):
            raise Conflict("another cluster answers now, or none; reload the page", code="stale")
        refuse_held(cluster_id)
        refuse_journey(cluster_id)
        before = [row.kube_system_uid, row.ca_digest]
        Cluster.objects.filter(pk=cluster_id).update(
            kube_system_uid=row.other_uid,
            ca_digest=row.other_ca_digest,
            other_uid="",
            other_ca_digest="",
            version=row.version + 1,
            failures=0,
            failing_since=None,
            last_error_code="",
            last_error_detail="",
        )
        if row.other_uid != row.kube_system_uid:
            _begin_anew(cluster_id)
        after = [row.other_uid, row.other_ca_digest]
        record_audit_event("cluster.identity_accepted", row.name, cluster_id=cluster_id, before=before, after=after)
        void_plans(cluster_id)
        void_journeys(cluster_id)
        enqueue(row, by="identity")
    return row.version + 1


def _begin_anew(cluster_id: uuid.UUID) -> None:
    """Removes the current state of the former cluster, so that it does not count as that of the new one."""
    Cluster.objects.filter(pk=cluster_id).update(latest=None, identity_since=timezone.now(), last_success_at=None)
    Snapshot.objects.filter(cluster_id=cluster_id).update(replaced=True)
    KeptObjects.objects.filter(pk=cluster_id).delete()
    KeptList.objects.filter(cluster_id=cluster_id).delete()
    LegacyDay.objects.filter(cluster_id=cluster_id).delete()
    Gauges.objects.filter(pk=cluster_id).delete()
