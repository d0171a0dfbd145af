"""A journey on rows alone: scans, plans and runs are written as workers would leave them."""

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
from tests.builders_rollouts import a_plan, taint
from tests.builders_rows import a_cluster, a_finding, a_report, a_snapshot
from tests.use_cases.people import actor, person

HOP, STARTS, LANDS = "0.33+", "0.32.10", "0.33.10"
FENCE = ("nodes_owned_by_nodeclaims", "rollout")
"""A blocker that an action resolves, and its phase."""


def cluster() -> Cluster:
    return a_cluster("shop", source=Cluster.Source.KUBECONFIG)


def finding(name: str = FENCE[0], status: str = "fail", **more: Any) -> Finding:
    return a_finding(name, hop=HOP, status=status, **({"phase": FENCE[1]} | more))


def scanned(on: Cluster, *checks: Finding, release: str = STARTS, late: int = 0) -> None:
    """A scan that just ran; `late` seconds in the future, where the clock of a test has not moved."""
    report = a_report(on.name, checks=checks or (finding(),))
    facts = msgspec.structs.replace(report.cluster, karpenter_version=release)
    moment = timezone.now() + timedelta(seconds=late)
    snapshot = a_snapshot(on, msgspec.structs.replace(report, cluster=facts))
    Scan.objects.filter(cluster=on, state__in=("queued", "running")).delete()
    Scan.objects.create(cluster=on, state="done", started_at=moment, finished_at=moment, snapshot=snapshot)


def drafted(on: Cluster, author: User, **wanted: Any) -> Journey:
    pk = draft_journey(
        on.pk, JourneyRequest(**({"soak_seconds": 60} | wanted)), person=person(author), by=actor(author)
    )
    return Journey.objects.get(pk=pk)


def advanced(row: Journey, times: int = 1) -> Journey:
    """The journey after so many moves of a worker."""
    for number in range(times):
        advance_journey(row.pk, holder=f"w-{number}")
    row.refresh_from_db()
    return row


def planned(on: Cluster, *steps: Step) -> Rollout:
    """The newest draft of the cluster, as its planner leaves it."""
    row = Rollout.objects.filter(cluster=on, state="draft").latest("made_at")
    plan = a_plan(on, *(steps or (taint(),)), action=row.action, parameters=row.parameters)
    Rollout.objects.filter(pk=row.pk).update(
        plan=canonical(plan), digest=plan.digest, risk=plan.risk, state="previewed", version=2
    )
    return Rollout.objects.get(pk=row.pk)


def unplanned(on: Cluster, code: str) -> Rollout:
    """The newest draft, of which no plan could be made."""
    row = Rollout.objects.filter(cluster=on, state="draft").latest("made_at")
    Rollout.objects.filter(pk=row.pk).update(state="expired", cause_code=code, cause="no plan", version=2)
    return Rollout.objects.get(pk=row.pk)


def ended(row: Rollout, state: str = "succeeded", **columns: Any) -> None:
    """The rollout after its run."""
    Rollout.objects.filter(pk=row.pk).update(state=state, finished_at=timezone.now(), **columns)


def previewed(on: Cluster, author: User, *steps: Step, **wanted: Any) -> Journey:
    """A journey whose every plan was shown."""
    row = advanced(drafted(on, author, **wanted))
    while Rollout.objects.filter(cluster=on, state="draft").exists():
        planned(on, *steps)
    return advanced(row)


def approved(row: Journey, author: User, approvers: Iterable[User]) -> Journey:
    request_journey_approval(row.pk, person(author), by=actor(author))
    row.refresh_from_db()
    for one in approvers:
        approve_journey(row.pk, person(one), yes=yes_to(row), by=actor(one))
    row.refresh_from_db()
    return row


def started(row: Journey, author: User) -> Journey:
    start_journey(row.pk, person(author), digest=row.digest, by=actor(author))
    row.refresh_from_db()
    return row


def yes_to(row: Journey, **changed: Any) -> ApprovalRequest:
    told = {"digest": row.digest, "nonce": row.nonce, "typed": row.cluster_name}
    return ApprovalRequest(**(told | changed))


def steps(row: Journey) -> Sequence[tuple[str, str]]:
    return list(JourneyStepRow.objects.filter(journey=row).values_list("kind", "state"))


def work(row: Journey) -> Rollout:
    """The newest rollout that does a step."""
    return JourneyRollout.objects.filter(step__journey=row, purpose="work").latest("pk").rollout


def verbs(row: Journey) -> list[str]:
    return list(AuditEvent.objects.filter(correlation=str(row.pk)).order_by("seq").values_list("verb", flat=True))


def told() -> list[str]:
    """The topics of the notifications so far."""
    return list(Outbox.objects.filter(topic__startswith="journey.").order_by("pk").values_list("topic", flat=True))


def refusal(kind: type[KarpdashError], call: Callable[..., object], *args: Any, **more: Any) -> str:
    """The code with which the call is refused."""
    with pytest.raises(kind) as refused:
        call(*args, **more)
    return str(refused.value.code)
