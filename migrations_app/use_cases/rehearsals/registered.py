"""Rehearses on a fresh reading of a registered cluster, and stores nothing: for the terminal."""

from migrations_app.clients.kubernetes.reader import LiveApi
from migrations_app.errors import NotFound
from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.collect.collect import Progress
from migrations_app.use_cases.rehearsals.rehearse import RehearsalRequest, rehearse_cluster
from migrations_app.use_cases.rehearsals.result import RehearsalResult
from migrations_app.use_cases.runtime.connections import connect


def rehearse_registered(name: str, request: RehearsalRequest, *, on_part: Progress | None = None) -> RehearsalResult:
    """Plans and plays on the cluster of that name. Raises NotFound, InvalidInput, ReadError when nothing answers."""
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        raise NotFound(f"no cluster named {name!r}", where="--cluster")
    with connect(cluster) as api:
        if isinstance(api, LiveApi):
            api.get("/version")
        return rehearse_cluster(api, request, cluster=cluster.name, on_part=on_part)
