"""Rehearses on a fresh read of a registered cluster, without storing the result: for the command line."""

from typing import TypeVar

from migrations_app.clients.kubernetes.reader import LiveApi
from migrations_app.collect.collect import ProgressListener
from migrations_app.errors import NotFound
from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.rehearsal_runs.sources import Play
from migrations_app.use_cases.runtime.connections import connect

T = TypeVar("T")


def with_registered(name: str, play: Play[T], *, on_part: ProgressListener | None = None) -> T:
    """The result of the play on the cluster of that name. Raises NotFound, InvalidInput, ReadError."""
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        raise NotFound(f"no cluster named {name!r}", where="--cluster")
    with connect(cluster) as api:
        if isinstance(api, LiveApi):
            api.get("/version")
        return play(api, cluster.name, on_part)
