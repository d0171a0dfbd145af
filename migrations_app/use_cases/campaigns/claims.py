"""The claims of clusters: from the request for approval until the campaign ends or leaves the cluster out."""

import uuid

from django.db import IntegrityError, transaction

from migrations_app.errors import Conflict
from migrations_app.models.campaign import CampaignMember
from migrations_app.models.cluster import Cluster
from migrations_app.queries.visibility import visible_clusters
from migrations_app.use_cases.campaigns.transitions import LoadedCampaign

MAX_NAMED = 5


def claim(loaded: LoadedCampaign) -> None:
    """Claims the clusters.

    Raises Conflict `campaign_holds` if another campaign has one of them, by any registration. The message names those
    of the clusters that the caller may see, and counts the others (T11).
    """
    members = [member for member in loaded.participants if member.state != "out"]
    uids = dict(Cluster.objects.filter(pk__in=loaded.clusters).values_list("pk", "kube_system_uid"))
    twins = Cluster.objects.filter(kube_system_uid__in=[uid for uid in uids.values() if uid])
    claimed = CampaignMember.objects.filter(claims=True, cluster_id__in={*uids, *twins.values_list("pk", flat=True)})
    others = claimed.exclude(campaign=loaded.row)
    if count := others.count():
        seen = others.filter(cluster_id__in=visible_clusters().values("pk")).order_by("cluster_name")
        names = list(seen.values_list("cluster_name", flat=True)[:MAX_NAMED])
        rest = f"{count - len(names)} more" if names else f"{count} of the clusters"
        listed = [*names, *([rest] if count > len(names) else [])]
        raise Conflict(f"another campaign has {', '.join(listed)}", code="campaign_holds")
    try:
        with transaction.atomic():
            CampaignMember.objects.filter(pk__in=[member.pk for member in members]).update(claims=True)
    except IntegrityError:
        raise Conflict("another campaign has one of the clusters", code="campaign_holds") from None


def refuse_claimed(cluster_id: uuid.UUID) -> None:
    """Raises Conflict `campaign_holds` while a campaign has claimed this registration: it would lose the cluster."""
    part = CampaignMember.objects.filter(cluster_id=cluster_id, claims=True).select_related("campaign").first()
    if part is not None:
        words = f"campaign {part.campaign.pk} has this cluster: leave it out there or end the campaign first"
        raise Conflict(words, code="campaign_holds")
