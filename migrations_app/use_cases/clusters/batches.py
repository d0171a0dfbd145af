"""Registers, labels or removes several clusters in one transaction: all of them or none."""

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import transaction

from migrations_app.errors import InvalidInput, KarpdashError
from migrations_app.queries.visibility import permitted_ids
from migrations_app.use_cases.clusters.labels import set_labels
from migrations_app.use_cases.clusters.registration import Details, register_in_cluster, register_kubeconfig, remove


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCluster:
    """A cluster to register; without a kubeconfig, the cluster that karpdash runs in."""

    details: Details
    kubeconfig: bytes | None = None
    context: str = ""


def register_all(clusters: Sequence[NewCluster]) -> tuple[uuid.UUID, ...]:
    """Registers the clusters and returns their ids in the same order.

    Raises as the registration of one cluster, with its place in the list.
    """
    with transaction.atomic():
        return tuple(_register(cluster, place) for place, cluster in enumerate(clusters))


def _register(cluster: NewCluster, place: int) -> uuid.UUID:
    with _with_place_in_error(place):
        if cluster.kubeconfig is None:
            return register_in_cluster(cluster.details)
        return register_kubeconfig(cluster.kubeconfig, cluster.details, context=cluster.context)


def label_each(cluster_ids: Collection[uuid.UUID], labels: Mapping[str, str]) -> None:
    """Sets the labels on each of the clusters; an empty value removes a label.

    Raises InvalidInput with the ids that do not exist or may not be changed, and Conflict `derived`.
    """
    ids = set(cluster_ids)
    if missing := ids - set(permitted_ids(ids, right="change")):
        raise _missing(missing)
    with transaction.atomic():
        for cluster_id in sorted(ids):
            set_labels(cluster_id, labels)


def remove_all(names: Mapping[uuid.UUID, str]) -> None:
    """Deletes the clusters with their credentials and snapshots.

    `names` has the name of each, as a confirmation. Raises InvalidInput with the ids that do not exist or may not be
    removed, or for another name, and Conflict while a rollout, a journey or a campaign holds one of them.
    """
    if missing := set(names) - set(permitted_ids(names.keys(), right="remove")):
        raise _missing(missing)
    with transaction.atomic():
        for place, (cluster_id, name) in enumerate(names.items()):
            with _with_place_in_error(place):
                remove(cluster_id, typed_name=name)


def _missing(ids: Collection[uuid.UUID]) -> InvalidInput:
    listing = ", ".join(sorted(map(str, ids)))
    return InvalidInput(
        f"do not exist, or you may not change them: {listing}", where="clusters", code="no_such_cluster"
    )


@contextmanager
def _with_place_in_error(place: int) -> Iterator[None]:
    """Raises an error of the block again, with the place of its cluster in the list."""
    try:
        yield
    except KarpdashError as wrong:
        where = "clusters" if isinstance(wrong, InvalidInput) else ""
        raise type(wrong)(f"clusters[{place}]: {wrong}", where=where, code=wrong.code) from None
