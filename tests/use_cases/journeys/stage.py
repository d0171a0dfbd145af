"""Moves a journey through its states with rows alone: scans, plans and runs are written as workers would do."""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.actions.plan import Step, canonical
from migrations_app.checks.base import Finding
from migrations_app.errors import KarpdashError
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster
from migrations_app.models.journey import Journey, JourneyRollout, JourneyStepRow
from migrations_app.models.rollout import Outbox, Rollout
from migrations_app.models.scan import Scan
from migrations_app.use_cases.journeys.approvals import approve_journey, request_journey_approval
from migrations_app.use_cases.journeys.drafts import JourneyRequest, draft_journey
from migrations_app.use_cases.journeys.lifecycle import start_journey
from migrations_app.use_cases.journeys.worker import advance_journey
from migrations_app.use_cases.rollouts.approvals import ApprovalRequest
from tests.builders.rollouts import a_plan, taint
from tests.builders.rows import a_cluster, a_finding, a_report, a_snapshot
from tests.use_cases.people import actor, person

HOP, FROM_RELEASE, TO_RELEASE = "0.33+", "0.32.10", "0.33.10"
FENCE = ("nodes_owned_by_nodeclaims", "rollout")
"""A blocker that an action resolves, and its phase."""


def cluster() -> Cluster:
    return a_cluster("shop", source=Cluster.Source.KUBECONFIG)


def finding(name: str = FENCE[0], status: str = "fail", **more: Any) -> Finding:
    return a_finding(name, hop=HOP, status=status, **({"phase": FENCE[1]} | more))


def scanned(on: Cluster, *checks: Finding, release: str = FROM_RELEASE, late: int = 0) -> None:
    """Adds a recent scan; `late` seconds in the future, for tests whose clock has not moved."""
    report = a_report(on.name, checks=checks or (finding(),))
    facts = msgspec.structs.replace(report.cluster, karpenter_version=release)
    moment = timezone.now() + timedelta(seconds=late)
    snapshot = a_snapshot(on, msgspec.structs.replace(report, cluster=facts))
    Scan.objects.filter(cluster=on, state__in=("queued", "running")).delete()
    Scan.objects.create(cluster=on, state="done", started_at=moment, finished_at=moment, snapshot=snapshot)


def drafted(on: Cluster, author: User, **changes: Any) -> Journey:
    pk = draft_journey(
        on.pk, JourneyRequest(**({"soak_seconds": 60} | changes)), person=person(author), by=actor(author)
    )
    return Journey.objects.get(pk=pk)


def advanced(row: Journey, times: int = 1) -> Journey:
    """Returns the journey after that many turns of a worker."""
    for number in range(times):
        advance_journey(row.pk, holder=f"w-{number}")
    row.refresh_from_db()
    return row


def planned(on: Cluster, *steps: Step) -> Rollout:
    """Gives the newest draft of the cluster a plan, as its planner would."""
    row = Rollout.objects.filter(cluster=on, state="draft").latest("made_at")
    plan = a_plan(on, *(steps or (taint(),)), action=row.action, parameters=row.parameters)
    Rollout.objects.filter(pk=row.pk).update(
        plan=canonical(plan), digest=plan.digest, risk=plan.risk, state="previewed", version=2
    )
    return Rollout.objects.get(pk=row.pk)


def unplanned(on: Cluster, code: str) -> Rollout:
    """Expires the newest draft, as if no plan could be made."""
    row = Rollout.objects.filter(cluster=on, state="draft").latest("made_at")
    Rollout.objects.filter(pk=row.pk).update(state="expired", cause_code=code, cause="no plan", version=2)
    return Rollout.objects.get(pk=row.pk)


def ended(row: Rollout, state: str = "succeeded", **columns: Any) -> None:
    """Ends the rollout in that state."""
    Rollout.objects.filter(pk=row.pk).update(state=state, finished_at=timezone.now(), **columns)


def previewed(on: Cluster, author: User, *steps: Step, **changes: Any) -> Journey:
    """Returns a journey of which every plan was previewed."""
    row = advanced(drafted(on, author, **changes))
    while Rollout.objects.filter(cluster=on, state="draft").exists():
        planned(on, *steps)
    return advanced(row)


def approved(row: Journey, author: User, approvers: Iterable[User]) -> Journey:
    request_journey_approval(row.pk, person(author), by=actor(author))
    row.refresh_from_db()
    for approver in approvers:
        approve_journey(row.pk, person(approver), approval_request=approval_for(row), by=actor(approver))
    row.refresh_from_db()
    return row


def started(row: Journey, author: User) -> Journey:
    start_journey(row.pk, person(author), digest=row.digest, by=actor(author))
    row.refresh_from_db()
    return row


def approval_for(row: Journey, **changes: Any) -> ApprovalRequest:
    values = {"digest": row.digest, "nonce": row.nonce, "typed": row.cluster_name}
    return ApprovalRequest(**(values | changes))


def steps(row: Journey) -> Sequence[tuple[str, str]]:
    return list(JourneyStepRow.objects.filter(journey=row).values_list("kind", "state"))


def work(row: Journey) -> Rollout:
    """Returns the newest rollout that does a step."""
    return JourneyRollout.objects.filter(step__journey=row, purpose="work").latest("pk").rollout


def verbs(row: Journey) -> list[str]:
    return list(AuditEvent.objects.filter(correlation=str(row.pk)).order_by("seq").values_list("verb", flat=True))


def notified_topics() -> list[str]:
    """Returns the topics of the notifications so far."""
    return list(Outbox.objects.filter(topic__startswith="journey.").order_by("pk").values_list("topic", flat=True))


def refusal(kind: type[KarpdashError], call: Callable[..., object], *args: Any, **more: Any) -> str:
    """Returns the code with which the call is refused."""
    with pytest.raises(kind) as refused:
        call(*args, **more)
    return str(refused.value.code)
