"""Clients for a sample cluster, so that scans, previews and rollouts run on it unchanged, and its behaviour for
rehearsals.
"""

import uuid
from collections.abc import Iterator, Mapping

from django.utils import timezone

from migrations_app.actions.changes import ObjectTarget, PlannedRequest, RbacNeed
from migrations_app.actions.plan import ClusterIdentity
from migrations_app.actions.request import ObjectVersion
from migrations_app.clients.aws.client import AwsApi
from migrations_app.clients.kubernetes.api import ListPage, Resource, WriteResult
from migrations_app.manifests import JsonMap
from migrations_app.samples.changeable import clusters
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.twin.ports.reading import TwinReader
from migrations_app.twin.ports.writing import TwinWriter
from migrations_app.use_cases.twins.state import StoredTwin, behaviour

ENDPOINT = "sample://"


def open_reader(cluster_id: uuid.UUID) -> TwinReader:
    """A reader of the current state of the cluster, which does not change while it is read. Raises SampleRemoved."""
    return TwinReader(StoredTwin(cluster_id).current())


def account_of(cluster_id: uuid.UUID) -> AwsApi | None:
    """The AWS account of the cluster in its current state; None for a sample that no longer exists in this release."""
    stored = StoredTwin(cluster_id)
    sample = clusters.find(stored.sample())
    if sample is None:
        return None
    docs = tuple(stored.current().saved().documents)
    return clusters.account(sample, docs, tagged=stored.control().version == "v1", at=timezone.now())


def behaviour_of(cluster_id: uuid.UUID) -> Behaviour:
    """The current behaviour of that sample cluster's simulator. Raises SampleRemoved."""
    return behaviour(StoredTwin(cluster_id).control())


class SampleWriter:
    """A Writer for a sample cluster: each call reads the current state, and a change is stored with all its effects at
    once.
    """

    def __init__(self, cluster_id: uuid.UUID) -> None:
        self._stored = StoredTwin(cluster_id)
        self._calls: dict[tuple[str, str], int] = {}

    def identity(self) -> ClusterIdentity:
        return self._now().identity()

    def read(self, target: ObjectTarget) -> JsonMap | None:
        return self._now().read(target)

    def pages(self, resource: Resource) -> Iterator[ListPage]:
        return self._now().pages(resource)

    def may(self, need: RbacNeed, *, namespace: str = "", name: str = "") -> bool:
        return self._now().may(need, namespace=namespace, name=name)

    def dry_run(self, change: PlannedRequest, object_version: ObjectVersion, *, own: dict[str, str]) -> WriteResult:
        return self._now().dry_run(change, object_version, own=own)

    def send(
        self, change: PlannedRequest, object_version: ObjectVersion, *, own: dict[str, str], purpose: str
    ) -> WriteResult:
        return self._stored.change(
            lambda played: TwinWriter(played.twin, endpoint=ENDPOINT).send(
                change, object_version, own=own, purpose=purpose
            )
        )

    def calls(self) -> Mapping[tuple[str, str], int]:
        """Empty: no request goes over a network."""
        return self._calls

    def close(self) -> None:
        """Does nothing: there is no connection to close."""

    def _now(self) -> TwinWriter:
        return TwinWriter(self._stored.current(), endpoint=ENDPOINT)
