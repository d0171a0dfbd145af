"""Collection of a registered cluster -> the same with what AWS shows of it; a refusal there never spoils the rest."""

from migrations_app.clients.bundle import Bundle
from migrations_app.clients.port import ClusterApi
from migrations_app.errors import BadInput, BadSetting, CouldNotLook
from migrations_app.flow.add_aws import add_aws, hand_in, refuse_aws
from migrations_app.flow.connect import connect_aws
from migrations_app.inventory.seen import Unseen
from migrations_app.models.cluster import Cluster
from migrations_app.readiness.report import Collected


def look_into_aws(cluster: Cluster, api: ClusterApi, *, collected: Collected) -> Collected:
    """Adds what AWS shows where access to it was given, or the policy documents that a bundle holds."""
    if isinstance(api, Bundle):
        collected = hand_in(collected, api.iam_documents())
    try:
        with connect_aws(cluster) as aws:
            return add_aws(collected, aws)
    except (CouldNotLook, BadInput, BadSetting) as reason:
        return refuse_aws(collected, Unseen(reason.code, reason.message))
