"""Adds what AWS shows about a registered cluster to what was read from its API server."""

from migrations_app.clients.bundle.bundle import Bundle
from migrations_app.clients.kubernetes.api import ClusterApi
from migrations_app.collect.aws import add_aws, refuse_aws, with_policies
from migrations_app.errors import InvalidInput, InvalidSetting, ReadError
from migrations_app.inventory.parts import Unseen
from migrations_app.models.cluster import Cluster
from migrations_app.readiness.report import CollectResult
from migrations_app.use_cases.runtime.connections import connect_aws


def with_aws_parts(cluster: Cluster, api: ClusterApi, *, collected: CollectResult) -> CollectResult:
    """Adds what AWS shows, and a bundle's policy documents. Errors of AWS become unseen parts and do not fail
    the scan.
    """
    if isinstance(api, Bundle):
        collected = with_policies(collected, api.iam_documents())
    try:
        with connect_aws(cluster) as aws:
            return add_aws(collected, aws)
    except (ReadError, InvalidInput, InvalidSetting) as reason:
        return refuse_aws(collected, Unseen(reason.code, reason.message))
