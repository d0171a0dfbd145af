"""Creates rows of journeys in any state, without a cluster."""

from datetime import timedelta
from typing import Any

import msgspec
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.actions.plan import canonical
from migrations_app.journeys.outline import Outline
from migrations_app.journeys.plan import Command, JourneyPlan, JourneyStep
from migrations_app.models.cluster import Cluster
from migrations_app.models.journey import Journey, JourneyStepRow

STEPS = (
    JourneyStep(
        id="j01", kind="person", title="Add the IAM permissions of the new version", phase="iam",
        checks=("iam_change_known",), commands=(Command("iam", "aws iam put-role-policy"),),
    ),
    JourneyStep(
        id="j02", kind="rollout", title="Upgrade the CRDs", phase="crds", checks=("hop_crds_installed",),
        action="upgrade_crds", parameters={"release": "1.0.14"}, protects=True,
        no_return=("v1 objects cannot be read by 0.37",),
    ),
    JourneyStep(
        id="j03", kind="outside", title="Upgrade the controller to 1.0.14", phase="controller", release="1.0.14",
        protects=True, back="Back to 0.37.8", commands=(Command("helm", "helm upgrade karpenter"),),
    ),
    JourneyStep(id="j04", kind="wait", title="Let 1.0.14 run", phase="controller", seconds=600, protects=True),
)  # fmt: skip
SHOWN = Outline(action="upgrade_crds", parameters="p", cluster="u ca", limits="l", risk="high", requests=())


def a_journey(
    cluster: Cluster, *, state: str = "previewed", author: User | None = None, at: int = 0, **columns: Any
) -> Journey:
    """Creates a journey from 0.37.8 to 1.0.14 in that state; a running or paused one is at step number `at`."""
    now = timezone.now()
    plan = JourneyPlan(
        cluster=str(cluster.pk), hop="1.0", starts="0.37.8", target_release="1.0.14", covers="high", steps=STEPS,
        shown={"j02": SHOWN}, author=author.username if author else "ada",
    )  # fmt: skip
    told: dict[str, Any] = {
        "cluster": cluster, "cluster_name": cluster.name, "hop": "1.0", "starts": "0.37.8", "target_release": "1.0.14",
        "covers": "high", "choices": {"parameters": {}, "soak_seconds": 600}, "state": state,
        "digest": plan.digest, "plan": canonical(plan), "author": author, "author_name": plan.author,
        "nonce": "n" * 32, "made_at": now, "changed_at": now, "expires_at": now + timedelta(hours=24),
    }  # fmt: skip
    under_way = state in ("running", "paused", "succeeded", "aborted")
    if under_way:
        told |= {"started_at": now, "started_by_name": plan.author, "starter": author}
    row = Journey.objects.create(**(told | columns))
    for place, step in enumerate(STEPS):
        stands = ("done" if place < at else "running" if place == at else "waiting") if under_way else "waiting"
        JourneyStepRow.objects.create(
            journey=row, place=place, step=step.id, kind=step.kind, definition=msgspec.to_builtins(step),
            state="done" if state == "succeeded" else stands, since=now if under_way else None,
        )  # fmt: skip
    return row
