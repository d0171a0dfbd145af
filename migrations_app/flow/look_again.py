"""A registered cluster -> Scanned, now and without storing it: for the terminal."""

from migrations_app.errors import BadInput, NotFound
from migrations_app.flow.collect import Progress, collect
from migrations_app.flow.connect import connect
from migrations_app.flow.evaluate import evaluate
from migrations_app.models.cluster import Cluster
from migrations_app.readiness.report import Scanned


def look_again(name: str, *, target: str | None = None, on_part: Progress | None = None) -> Scanned:
    """Judges the cluster of that name. Raises NotFound, BadInput for the target, CouldNotLook when nothing answers."""
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        raise NotFound(f"no cluster named {name!r}", where="--cluster")
    with connect(cluster) as api:
        if cluster.source in (Cluster.Source.KUBECONFIG, Cluster.Source.IN_CLUSTER):
            api.get("/version")
        collected = collect(api, cluster=cluster.name, on_part=on_part)
    if target or not cluster.target:
        return evaluate(collected, target=target)
    try:
        return evaluate(collected, target=cluster.target)
    except BadInput:  # the cluster has passed its registered target
        return evaluate(collected)
