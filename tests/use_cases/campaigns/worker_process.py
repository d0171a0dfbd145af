"""Worker processes that run a whole campaign and are killed at a named point.

Run as `python -m tests.use_cases.campaigns.worker_process`. A worker does what tasks and the sweeper do, for the
campaign and every journey of it, until nothing is left that goes on without a person.
"""

import os
import signal
import time
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.use_cases.journeys import worker_process as journeys
from tests.use_cases.rollouts import worker_process

IDLE, MOST = 4, 200


def scan(cluster: str) -> str:
    """Scans the cluster once; returns the state of the scan."""
    from migrations_app.models.cluster import Cluster
    from migrations_app.models.scan import Scan
    from migrations_app.use_cases.scans.queue import enqueue

    asked = enqueue(Cluster.objects.get(pk=cluster), by="test")
    journeys._work(uuid.UUID(cluster))
    return str(Scan.objects.get(pk=asked.scan_id).state)


def campaign(source: str) -> str:
    """Creates a campaign over all clusters in waves of one, previewed from their stored scans; returns its id."""
    from migrations_app.campaigns.recipe import Gates, Selection
    from migrations_app.use_cases.campaigns.drafts import draft_campaign
    from migrations_app.use_cases.campaigns.preview import compose_campaign, missing_previews, preview_member
    from migrations_app.use_cases.campaigns.requests import CampaignRequest

    wanted = CampaignRequest(
        name="fleet", selection=Selection(), parameters={"upgrade_crds": {"source": source}}, soak_seconds=1,
        waves=(1, 0), gates=Gates(soak_seconds=0, person="never", most_stops=1),
    )  # fmt: skip
    made = draft_campaign(wanted, person=_person("ada"), by=_actor("ada"))
    for member in missing_previews(made):
        preview_member(member)
    compose_campaign(made)
    return str(made)


def agree(pk: str) -> None:
    """Requests approval as Ada, approves as Cleo, starts as Ada."""
    from migrations_app.models.campaign import Campaign
    from migrations_app.use_cases.campaigns.approvals import approve_campaign, request_campaign_approval
    from migrations_app.use_cases.campaigns.lifecycle import start_campaign
    from migrations_app.use_cases.rollouts.approvals import ApprovalRequest

    key = uuid.UUID(pk)
    request_campaign_approval(key, _person("ada"), by=_actor("ada"))
    row = Campaign.objects.get(pk=key)
    approval_request = ApprovalRequest(digest=row.digest, nonce=row.nonce, typed=row.name)
    approve_campaign(key, _person("cleo"), approval_request=approval_request, by=_actor("cleo"))
    start_campaign(key, _person("ada"), digest=row.digest, by=_actor("ada"))


def go_on(pk: str) -> None:
    """Resumes the campaign as Ada."""
    from migrations_app.use_cases.campaigns.lifecycle import resume_campaign

    resume_campaign(uuid.UUID(pk), _person("ada"), by=_actor("ada"))


def retry(journey: str, step: str) -> None:
    """Retries a failed step of a journey as Ada."""
    from migrations_app.use_cases.journeys import steps

    steps.retry(uuid.UUID(journey), _person("ada"), step=step, by=_actor("ada"))


def points() -> list[str]:
    """Returns every named point of a campaign and of a journey."""
    from migrations_app.use_cases.campaigns import transitions as of_campaign
    from migrations_app.use_cases.journeys import transitions as of_journey

    return [f"campaign.{one}" for one in of_campaign.CRASH_POINTS] + [
        f"journey.{one}" for one in of_journey.CRASH_POINTS
    ]


def oversee(pk: str, deadly: dict[str, int] | None = None) -> int:
    """Returns the process id of a worker that runs the campaign, or is killed at the first of these points that it
    reaches as often as given there.
    """
    from django.db import connections

    connections.close_all()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        _oversee(uuid.UUID(pk), deadly or {})
        code = 0
    finally:
        os._exit(code)


def died_at() -> str:
    """Returns the point at which the last worker was killed; can be read once for each.

    Its lease is ended at once, so that no test waits for that. The journey's count of lost workers is reset: three in a
    row are left to a person (R36), which tests/use_cases/journeys/test_people.py tests.
    """
    from django.utils import timezone

    from migrations_app.models.journey import Journey
    from migrations_app.models.rollout import Lease

    Journey.objects.update(worker_attempts=0)
    Lease.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    place = _grave()
    told = place.read_text()
    place.unlink()
    return told


def _grave() -> Path:
    from django.conf import settings

    return Path(settings.ENV.data_dir) / "died_at"


def board(pk: str) -> dict[str, Any]:
    """Returns the campaign and its clusters by name: state, cause and journey."""
    from migrations_app.models.campaign import Campaign, CampaignMember

    row = Campaign.objects.get(pk=pk)
    members = CampaignMember.objects.filter(campaign=row).order_by("wave", "place")
    return {
        "state": row.state, "cause": row.cause_code, "words": row.cause, "waits": row.wait_code,
        "clusters": {
            one.cluster_name: [one.wave, one.state, one.cause_code, str(one.journey_id or "")] for one in members
        },
    }  # fmt: skip


def _killing(kind: str, left: dict[str, int]) -> Callable[[str], None]:
    """Returns the function that the module of that kind calls at its points: it records the point, and kills the
    worker.
    """

    def reached(name: str) -> None:
        point = f"{kind}.{name}"
        if point in left:
            left[point] -= 1
            if left[point] == 0:
                _grave().write_text(point)
                os.kill(os.getpid(), signal.SIGKILL)

    return reached


def _oversee(pk: uuid.UUID, deadly: dict[str, int]) -> None:
    from migrations_app.models.campaign import CampaignMember
    from migrations_app.models.journey import Journey
    from migrations_app.use_cases.campaigns import transitions
    from migrations_app.use_cases.campaigns.worker import advance_campaign
    from migrations_app.use_cases.journeys import transitions as journey
    from migrations_app.use_cases.journeys.worker import advance_journey
    from migrations_app.use_cases.rollouts import lease

    lease.TTL, lease.RENEW_SECONDS = timedelta(seconds=worker_process.TTL), worker_process.RENEW  # type: ignore[assignment]  # tests only
    left = dict(deadly)
    transitions.reached = _killing("campaign", left)
    journey.reached = _killing("journey", left)
    idle = 0
    for _ in range(MOST):
        before = _seen(pk)
        woken = advance_campaign(pk)
        busy = woken.again
        for member in CampaignMember.objects.filter(campaign_id=pk).exclude(journey=None):
            made = Journey.objects.get(pk=member.journey_id)
            if made.state in ("draft", "running"):
                busy |= advance_journey(made.pk, holder=f"walker-{os.getpid()}").again
                busy |= journeys._work(made.cluster_id)
        idle = 0 if busy or _seen(pk) != before else idle + 1
        if idle == IDLE:
            return
        if idle:
            time.sleep(1.0)


def _seen(pk: uuid.UUID) -> list[Any]:
    from migrations_app.models.campaign import Campaign, CampaignMember

    members = CampaignMember.objects.filter(campaign_id=pk).order_by("pk")
    return [*Campaign.objects.filter(pk=pk).values_list("version"), *members.values_list("version", "journey__version")]


def _person(name: str) -> Any:
    return journeys._person(name)


def _actor(name: str) -> Any:
    return journeys._actor(name)


_ALL = (scan, campaign, agree, go_on, retry, points, oversee, died_at, board)
WORDS = journeys.WORDS | {word.__name__: word for word in _ALL}

if __name__ == "__main__":
    worker_process.serve(WORDS)
