"""Creates rows of campaigns in any state, without a worker."""

from datetime import timedelta
from typing import Any

import msgspec
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.actions.plan import canonical
from migrations_app.campaigns.campaign_preview import CampaignPlan, HopPreview, MemberPreview, StepPreview
from migrations_app.campaigns.forecast import campaign_forecast
from migrations_app.campaigns.recipe import Recipe, Selection
from migrations_app.models.campaign import Campaign, CampaignMember, CampaignWave
from migrations_app.models.cluster import Cluster

STEPS = (
    StepPreview("rollout", "Upgrade the CRDs", "upgrade_crds", "high"),
    StepPreview("outside", "Upgrade the controller to 1.0.14"),
)
HOP = HopPreview(
    hop="1.0", starts="0.37.8", target_release="1.0.14", steps=STEPS, nodes=6, minutes=46, blockers=1, unknowns=0,
    reasons=("2 objects are stored as v1beta1",),
)  # fmt: skip


def a_preview(cluster: Cluster, **fields: Any) -> MemberPreview:
    """Returns the preview of a cluster from 0.37.8 to 1.0.14."""
    told: dict[str, Any] = {
        "cluster": str(cluster.pk), "name": cluster.name, "environment": cluster.environment, "release": "0.37.8",
        "owned": 6, "pods": 40, "hops": (HOP,), "approvals": 1,
    }  # fmt: skip
    return MemberPreview(**(told | fields))


def a_campaign(
    *clusters: Cluster, state: str = "previewed", author: User | None = None, size: int = 1, **columns: Any
) -> Campaign:
    """Creates a campaign over the clusters in waves of that size; its members wait, or are done if the campaign
    succeeded.
    """
    now = timezone.now()
    shown = tuple(a_preview(one) for one in clusters)
    waves = tuple(tuple(one.cluster for one in shown[at : at + size]) for at in range(0, len(shown), size))
    recipe = Recipe(selection=Selection(), waves=(size,) * max(1, len(waves)))
    author_name = author.username if author else "ada"
    plan = CampaignPlan(name="to v1", recipe=recipe, waves=waves, shown=shown, author=author_name)
    told: dict[str, Any] = {
        "name": "to v1", "recipe": msgspec.to_builtins(recipe), "digest": plan.digest, "plan": canonical(plan),
        "forecast": msgspec.to_builtins(campaign_forecast(shown)), "risk": "high", "state": state, "author": author,
        "author_name": author_name, "nonce": "n" * 32, "made_at": now, "changed_at": now,
        "expires_at": now + timedelta(hours=72),
    }  # fmt: skip
    if state in ("running", "paused", "succeeded", "aborted"):
        told |= {"started_at": now, "started_by_name": author_name, "starter": author}
    row = Campaign.objects.create(**(told | columns))
    CampaignWave.objects.bulk_create(
        CampaignWave(campaign=row, number=number, opened_at=now if "started_at" in told and not number else None)
        for number in range(len(waves))
    )
    CampaignMember.objects.bulk_create(
        CampaignMember(
            campaign=row, cluster=one, cluster_name=one.name, environment=one.environment, wave=at // size,
            place=at % size, shown=msgspec.to_builtins(shown[at]), target_release="1.0.14", hops_left=1,
            state="done" if state == "succeeded" else "waiting", ended_at=now if state == "succeeded" else None,
        )
        for at, one in enumerate(clusters)
    )  # fmt: skip
    return row
