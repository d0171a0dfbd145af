"""Worker processes that run a whole journey and are killed at a named point.

Run as `python -m tests.use_cases.journeys.worker_process`. A worker does what tasks and the sweeper would do: it
advances the journey, scans, plans and carries out rollouts, until nothing is left that goes on without a person.
"""

import os
import signal
import time
import uuid
from datetime import timedelta
from typing import Any

from tests.use_cases.rollouts import worker_process

PEOPLE = {"ada": "operate_rollout", "cleo": "approve_rollout"}
IDLE, MOST = 5, 120
"""So many rounds without news are the end of a worker's shift; so many rounds are its longest one."""


def enlist() -> None:
    """Creates the operator ada and the approver cleo."""
    from django.contrib.auth.models import User

    from tests.builders.rollouts import entitled

    for name, right in PEOPLE.items():
        entitled(User.objects.create_user(name), right)


def waive(cluster: str, *checks: str) -> None:
    """Waives these checks for the cluster, as an administrator would."""
    from django.utils import timezone

    from migrations_app.models.policy import Waiver

    now = timezone.now()
    for check in checks:
        Waiver.objects.create(
            check_id=check, cluster_id=cluster, reason="the server of the tests", owner_name="ada", made_by_name="ada",
            made_at=now, ends_at=now + timedelta(days=1), blockers=True,
        )  # fmt: skip


def plan(cluster: str, source: str) -> str:
    """Creates a draft that upgrades the CRDs from that chart, and does not soak; returns its id."""
    from migrations_app.use_cases.journeys.drafts import JourneyRequest, draft_journey

    wanted = JourneyRequest(parameters={"upgrade_crds": {"source": source}}, soak_seconds=1)
    return str(draft_journey(uuid.UUID(cluster), wanted, person=_person("ada"), by=_actor("ada")))


def approve(journey: str) -> None:
    """Requests approval as Ada, approves as Cleo, starts as Ada."""
    from migrations_app.models.journey import Journey
    from migrations_app.use_cases.journeys.approvals import approve_journey, request_journey_approval
    from migrations_app.use_cases.journeys.lifecycle import start_journey
    from migrations_app.use_cases.rollouts.approvals import ApprovalRequest

    pk = uuid.UUID(journey)
    request_journey_approval(pk, _person("ada"), by=_actor("ada"))
    row = Journey.objects.get(pk=pk)
    approval_request = ApprovalRequest(digest=row.digest, nonce=row.nonce, typed=row.cluster_name)
    approve_journey(pk, _person("cleo"), approval_request=approval_request, by=_actor("cleo"))
    start_journey(pk, _person("ada"), digest=row.digest, by=_actor("ada"))


def tick(journey: str, step: str, note: str) -> None:
    from migrations_app.use_cases.journeys import steps

    steps.confirm_step(uuid.UUID(journey), _person("ada"), step=step, note=note, by=_actor("ada"))


def back(journey: str, step: str) -> list[list[str]]:
    """Rolls the journey back to that step as Ada; returns how each step is undone, as shown to her before."""
    from migrations_app.queries.journeys.rollback import rollback_of
    from migrations_app.use_cases.journeys.step_rollback import begin_rollback

    shown = rollback_of(uuid.UUID(journey), to=step)
    begin_rollback(uuid.UUID(journey), _person("ada"), step=step, reason="the dashboards are red", by=_actor("ada"))
    return [[one.step, one.how] for one in shown]


def agree_back(journey: str) -> str:
    """Approves the rollback rollout as Cleo; returns its id."""
    from migrations_app.models.journey import JourneyRollout
    from migrations_app.use_cases.rollouts.approvals import approve as approve_rollout
    from tests.use_cases.people import approval_request

    made = JourneyRollout.objects.filter(step__journey_id=journey, purpose="back").latest("pk").rollout
    approve_rollout(made.pk, _person("cleo"), approval_request=approval_request(made), by=_actor("cleo"))
    return str(made.pk)


def resume(journey: str) -> None:
    """Resumes the journey as Ada."""
    from migrations_app.use_cases.journeys.lifecycle import resume_journey

    resume_journey(uuid.UUID(journey), _person("ada"), by=_actor("ada"))


def look_again(journey: str) -> None:
    """Ends the pause between two scans."""
    from migrations_app.models.journey import Journey

    Journey.objects.filter(pk=journey).update(asked_at=None)


def shift(journey: str, point: str = "", nth: int = 1) -> int:
    """Returns the process id of a worker that runs the journey, or is killed when it reaches that point the nth
    time.
    """
    from django.db import connections

    connections.close_all()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        _walk(uuid.UUID(journey), point=point, nth=nth)
        code = 0
    finally:
        os._exit(code)


def standing(journey: str) -> dict[str, Any]:
    """Returns the journey and its steps."""
    from migrations_app.models.journey import Journey, JourneyStepRow

    row = Journey.objects.get(pk=journey)
    steps = JourneyStepRow.objects.filter(journey=row)
    return {
        "state": row.state, "cause": row.cause_code, "words": row.cause, "waits": row.wait_code, "hop": row.hop,
        "lands": row.target_release,
        "steps": [[one.step, one.kind, one.state, one.definition["action"], list(one.definition["checks"])]
                  for one in steps],
        "proofs": {one.step: one.evidence for one in steps if one.evidence},
    }  # fmt: skip


def rollouts(journey: str) -> list[str]:
    """Returns the ids of the rollouts that did its steps, oldest first."""
    from migrations_app.models.journey import JourneyRollout

    made = JourneyRollout.objects.filter(step__journey_id=journey, purpose="work").order_by("pk")
    return [str(pk) for pk in made.values_list("rollout_id", flat=True)]


def shown(journey: str) -> list[list[str]]:
    """Returns state and cause of each plan in the preview."""
    from migrations_app.models.journey import JourneyRollout

    made = JourneyRollout.objects.filter(step__journey_id=journey, purpose="preview").order_by("pk")
    return [list(row) for row in made.values_list("rollout__action", "rollout__cause_code", "rollout__cause")]


def verbs(journey: str) -> list[str]:
    from migrations_app.models.audit import AuditEvent

    return list(AuditEvent.objects.filter(correlation=journey).order_by("seq").values_list("verb", flat=True))


def _walk(journey: uuid.UUID, *, point: str, nth: int) -> None:
    from migrations_app.models.journey import Journey
    from migrations_app.use_cases.journeys import transitions
    from migrations_app.use_cases.journeys.worker import advance_journey
    from migrations_app.use_cases.rollouts import journal, lease

    lease.TTL, lease.RENEW_SECONDS = timedelta(seconds=worker_process.TTL), worker_process.RENEW  # type: ignore[assignment]  # tests only
    left = nth

    def reached(name: str) -> None:
        nonlocal left
        left -= name == point
        if name == point and left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    transitions.reached = journal.reached = reached
    idle = 0
    for _ in range(MOST):
        before = Journey.objects.get(pk=journey)
        woken = advance_journey(journey, holder=f"walker-{os.getpid()}")
        busy = _work(before.cluster_id)
        moved = Journey.objects.get(pk=journey).version != before.version
        idle = 0 if moved or busy or woken.again else idle + 1
        if idle == IDLE:
            return
        if idle:
            time.sleep(1.0)
        elif not moved:
            time.sleep(0.3)  # a rollout waits before it begins, and between its counts


def _work(cluster: uuid.UUID) -> bool:
    """Scans, plans and carries out what waits for a worker; returns whether there was anything."""
    from migrations_app.models.rollout import Rollout
    from migrations_app.models.scan import Scan
    from migrations_app.use_cases.rollouts import preview, worker
    from migrations_app.use_cases.scans import queue
    from migrations_app.use_cases.scans.worker import scan_claimed

    busy = False
    for scan in Scan.objects.filter(cluster_id=cluster, state__in=("queued", "running")):
        claim = queue.claim(scan.pk)
        if claim is not None:
            scan_claimed(claim)
            busy = True
    for row in Rollout.objects.filter(cluster_id=cluster, state__in=("draft", "running")):
        busy = True
        if row.state == "draft":
            preview.prepare(row.pk)
        else:
            worker.advance(row.pk, holder=f"walker-{os.getpid()}")
    return busy


def _person(name: str) -> Any:
    from django.contrib.auth.models import User

    from tests.use_cases.people import person

    return person(User.objects.get(username=name))


def _actor(name: str) -> Any:
    from django.contrib.auth.models import User

    from tests.use_cases.people import actor

    return actor(User.objects.get(username=name))


_ALL = (
    enlist,
    waive,
    plan,
    approve,
    tick,
    back,
    agree_back,
    resume,
    look_again,
    shift,
    standing,
    rollouts,
    shown,
    verbs,
)
WORDS = worker_process.WORDS | {word.__name__: word for word in _ALL}

if __name__ == "__main__":
    worker_process.serve(WORDS)
