"""Evaluates a registered cluster now, without storing the result: for the command line."""

from collections.abc import Mapping

import msgspec
from django.utils import timezone

from migrations_app.clients.kubernetes.reader import LiveApi
from migrations_app.collect.aws import with_policies
from migrations_app.collect.collect import ProgressListener, collect
from migrations_app.errors import InvalidInput, NotFound
from migrations_app.models.cluster import Cluster
from migrations_app.queries.fleet.waivers import active_waivers_of_cluster
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import CollectResult, ScanResult
from migrations_app.readiness.waivers import apply
from migrations_app.use_cases.runtime.connections import connect
from migrations_app.use_cases.scans.aws_access import with_aws_parts


def evaluate_registered(
    name: str,
    *,
    target: str | None = None,
    kubernetes: str | None = None,
    policies: Mapping[str, bytes] | None = None,
    on_part: ProgressListener | None = None,
) -> ScanResult:
    """Evaluates the cluster of that name with its active waivers; `policies` replace those read from AWS.

    Raises NotFound, InvalidInput for the target, ReadError if the cluster does not answer.
    """
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        raise NotFound(f"no cluster named {name!r}", where="--cluster")
    with connect(cluster) as api:
        if isinstance(api, LiveApi):
            api.get("/version")
        collected = collect(api, cluster=cluster.name, on_part=on_part)
        collected = with_policies(with_aws_parts(cluster, api, collected=collected), policies or {})
    scanned = _evaluated(cluster, collected, target=target, kubernetes=kubernetes)
    now = timezone.now()
    return msgspec.structs.replace(
        scanned, report=apply(scanned.report, active_waivers_of_cluster(cluster.pk, now), now=now)
    )


def _evaluated(cluster: Cluster, collected: CollectResult, *, target: str | None, kubernetes: str | None) -> ScanResult:
    if target or not cluster.target:
        return evaluate(collected, target=target, kubernetes=kubernetes)
    try:
        return evaluate(collected, target=cluster.target, kubernetes=kubernetes)
    except InvalidInput:  # the cluster has passed its registered target
        return evaluate(collected, kubernetes=kubernetes)
