"""Sets and removes the labels of clusters; `environment` is a column of the cluster, not a label row."""

import re
import uuid
from collections.abc import Iterable, Mapping

from django.db import transaction
from django.db.models import QuerySet

from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.cluster import Cluster, ClusterLabel
from migrations_app.queries.fleet.labels import DERIVED, ENVIRONMENT, place_in
from migrations_app.queries.visibility import visible
from migrations_app.use_cases.audit.log import record_audit_event

LONGEST_ENVIRONMENT, LONGEST_VALUE = 40, 120
MAX_LABELS = 30
"""Maximum number of labels per cluster."""
_KEY = re.compile(r"[a-z0-9](?:[a-z0-9._/-]{0,61}[a-z0-9])?", re.ASCII)


def set_labels(cluster_id: uuid.UUID, labels: Mapping[str, str], *, version: int | None = None) -> int:
    """Sets labels and returns the cluster's new version. An empty value removes a label; other labels stay.

    Raises NotFound also without the right to change it, InvalidInput, and Conflict `stale` or `derived`.
    """
    clean = checked(labels)
    with transaction.atomic():
        row = (
            Cluster.objects.select_for_update()
            .defer("sealed")
            .filter(visible("pk", right="change"), pk=cluster_id)
            .first()
        )
        if row is None:
            raise NotFound("no such cluster")
        if version is not None and version != row.version:
            raise Conflict("the cluster was changed meanwhile", code="stale")
        return label_row(row, clean)


def label_all(cluster_ids: Iterable[uuid.UUID], labels: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
    """Labels several clusters.

    Returns how many were labelled, and the names of the clusters whose labels were refused. Clusters that the caller
    may not change are skipped. Raises InvalidInput for unusable labels.
    """
    clean = checked(labels)
    refused: list[str] = []
    done = 0
    with transaction.atomic():
        rows = _changeable()
        for row in rows.filter(pk__in=set(cluster_ids)).order_by("pk"):
            try:
                label_row(row, clean)
                done += 1
            except (InvalidInput, Conflict):
                refused.append(row.name)
    return done, tuple(sorted(refused))


def checked(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels, stripped of surrounding spaces. Raises InvalidInput for an invalid key or value."""
    clean = {key.strip(): value.strip() for key, value in labels.items()}
    for key, value in clean.items():
        if not _KEY.fullmatch(key):
            raise InvalidInput(
                "a key has 1 to 63 characters of a-z 0-9 . _ / -, and begins and ends with a letter or digit",
                where="key",
            )
        longest = LONGEST_ENVIRONMENT if key == ENVIRONMENT else LONGEST_VALUE
        if len(value) > longest or not value.isprintable() or "," in value:
            raise InvalidInput(f"at most {longest} printable characters, and no comma", where="value")
    return clean


def _changeable() -> QuerySet[Cluster]:
    return Cluster.objects.select_for_update().defer("sealed").filter(visible("pk", right="change"))


def label_row(row: Cluster, labels: Mapping[str, str]) -> int:
    """Stores the differences with an audit event. Raises Conflict `derived` before anything is stored."""
    known = place_in(row.eks_arn)
    for key in DERIVED:
        if key in labels and key in known and labels[key] != known[key]:
            raise Conflict(f"the {key} is set by the cluster's ARN: {known[key]}", code="derived")
    before = dict(row.labels.values_list("key", "value")) | {ENVIRONMENT: row.environment}
    moved = {
        key: [before.get(key, ""), value]
        for key, value in labels.items()
        if before.get(key, "") != value and key not in known
    }
    if not moved:
        return row.version
    _refuse_too_many(before, labels)
    _store(row, {key: pair[1] for key, pair in moved.items()})
    record_audit_event("cluster.labelled", row.name, cluster_id=row.pk, changes=moved)
    return row.version


def _refuse_too_many(before: Mapping[str, str], labels: Mapping[str, str]) -> None:
    if sum(bool(value) for value in (dict(before) | dict(labels)).values()) > MAX_LABELS:
        raise InvalidInput(f"a cluster has {MAX_LABELS} labels at most", where="labels")


def _store(row: Cluster, labels: Mapping[str, str]) -> None:
    row.environment = labels.get(ENVIRONMENT, row.environment)
    row.version += 1
    row.save(update_fields=["environment", "version"])
    for key, value in labels.items():
        if key == ENVIRONMENT:
            continue
        if value:
            ClusterLabel.objects.update_or_create(cluster=row, key=key, defaults={"value": value})
        else:
            ClusterLabel.objects.filter(cluster=row, key=key).delete()
