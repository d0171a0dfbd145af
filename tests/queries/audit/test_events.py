"""Resource events: in order, without loss or repetition, and only what the caller sees."""

import uuid
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from migrations_app.access import ROLES, EffectivePermissions
from migrations_app.models.audit import AuditEvent, AuditHead
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.scan import Scan
from migrations_app.models.scan_event import ScanEvent, ScanEventHead
from migrations_app.queries.audit import events
from migrations_app.queries.audit.events import EventFilters, EventPosition, ResourceEvent, events_since
from migrations_app.queries.visibility import VisibilityScope, visibility_scope
from migrations_app.use_cases.audit.log import WORKER, Event, record
from migrations_app.use_cases.scans.queue import claim, request_scan
from migrations_app.use_cases.scans.retention import sweep_old
from migrations_app.use_cases.scans.scan_events import note_end
from migrations_app.use_cases.scans.store import fail
from tests.builders.campaigns import a_campaign
from tests.builders.rows import a_cluster
from tests.use_cases.audit.test_log import together

START = EventPosition(audit=0, scans=0, issued=2**31)


def happened(verb: str, cluster: Cluster | None = None, *, about: object = "") -> int:
    with transaction.atomic():
        place = str(cluster.pk) if cluster else ""
        return record(Event(verb=verb, actor=WORKER, cluster_id=place, correlation=str(about), outcome="x"))


def scanned(cluster: Cluster, state: str = "done") -> int:
    with transaction.atomic():
        return note_end(uuid.uuid4(), cluster_id=cluster.pk, state=state)


def followed(position: EventPosition, *, limit: int) -> Iterator[ResourceEvent]:
    """Every event from there on, page by page, with positions as a client has them: as cursors."""
    now = timezone.now()
    while True:
        page = events_since(position, EventFilters(limit=limit), now=now)
        yield from page.events
        if not page.more:
            return
        position = events.position_of(events.encode_position(page.position), now=now)


class EveryEventIsToldOnce(TestCase):
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.lists(st.sampled_from(("scan", "rollout.running", "rollout.draft", "token.made")), max_size=12),
        st.integers(min_value=1, max_value=4),
        st.integers(min_value=1, max_value=6),
    )
    def test_whatever_the_size_of_pages_and_windows(self, kinds: list[str], limit: int, window: int) -> None:
        cluster = a_cluster("a")
        for kind in kinds:
            _ = scanned(cluster) if kind == "scan" else happened(kind, cluster)
        before, events.WINDOW = events.WINDOW, window
        try:
            told = list(followed(START, limit=limit))
            wanted = ["scan.done" if kind == "scan" else kind for kind in kinds if kind != "token.made"]
            assert sorted(one.event for one in told) == sorted(wanted)
            audit = [one.event for one in told if one.kind != "scan"]
            assert audit == [kind for kind in kinds if kind.startswith("rollout.")]
            # From the cursor of any event on, the rest and nothing else.
            now = timezone.now()
            for place, one in enumerate(told):
                rest = list(followed(events.position_of(one.cursor, now=now), limit=limit))
                assert sorted(later.event for later in rest) == sorted(later.event for later in told[place + 1 :])
        finally:
            events.WINDOW = before


def test_an_event_says_what_it_is_about(db: None) -> None:
    cluster, rollout = a_cluster("a"), uuid.uuid4()
    happened("rollout.draft", cluster, about=rollout)
    happened("rollout.running", cluster, about=rollout)
    asked = request_scan(cluster.pk, by="ada")
    held = claim(asked.scan_id)
    assert held is not None
    fail(held.scan_id, fence=held.fence, code="timeout", detail="x")
    told = [(one.kind, one.event, one.subject, one.cluster, one.outcome) for one in followed(START, limit=9)]
    assert told == [
        ("plan", "rollout.draft", rollout, cluster.pk, "x"),
        ("rollout", "rollout.running", rollout, cluster.pk, "x"),
        ("scan", "scan.requested", asked.scan_id, cluster.pk, "done"),
        ("scan", "scan.failed", asked.scan_id, cluster.pk, "timeout"),
    ]


@pytest.mark.parametrize(
    ("filters", "events"),
    [
        (EventFilters(kinds=("scan",)), ["scan.done"]),
        (EventFilters(kinds=("plan",)), ["rollout.draft"]),
        (EventFilters(kinds=("rollout",)), ["rollout.running"]),
        (EventFilters(kinds=("journey", "campaign")), ["journey.running", "campaign.paused"]),
        (EventFilters(cluster=uuid.UUID(int=0)), []),
    ],
)
def test_what_is_asked_for(db: None, filters: EventFilters, events: list[str]) -> None:
    cluster = a_cluster("a")
    for verb in (
        "rollout.draft",
        "rollout.running",
        "journey.running",
        "campaign.paused",
        "sign_in.done",
        "step.intent",
    ):
        happened(verb, cluster)
    scanned(cluster)
    page = events_since(START, filters, now=timezone.now())
    assert ([one.event for one in page.events], page.more) == (events, False)


def test_only_what_is_seen_is_told(db: None) -> None:
    mine, other = a_cluster("mine"), a_cluster("other")
    group = ClusterGroup.objects.create(name="shop")
    group.clusters.add(mine)
    own, foreign = a_campaign(mine), a_campaign(other)
    begin = events.newest_position(timezone.now())
    for cluster, campaign in ((mine, own), (other, foreign)):
        happened("rollout.running", cluster)
        happened("campaign.running", about=campaign.pk)
        happened("campaign.member_done", cluster, about=campaign.pk)
        scanned(cluster)
    happened("rollout.running")
    sight = VisibilityScope(EffectivePermissions(by_group={group.pk: ROLES["viewer"]}))
    with visibility_scope(sight):
        page = events_since(begin, EventFilters(), now=timezone.now())
    told = {(one.event, one.cluster, one.subject if one.kind == "campaign" else None) for one in page.events}
    assert told == {
        ("rollout.running", mine.pk, None),
        ("campaign.running", None, own.pk),
        ("campaign.member_done", mine.pk, own.pk),
        ("scan.done", mine.pk, None),
    }
    # What was not told is passed as well, so that nobody looks at it again and again.
    assert page.position.audit == events.newest_position(timezone.now()).audit


def test_a_position_that_is_old_or_ahead_says_that_events_may_be_missing(db: None) -> None:
    now = timezone.now()
    happened("rollout.running", a_cluster("a"))
    fresh, old = (
        EventPosition(audit=0, scans=0, issued=int((now - timedelta(days=age)).timestamp())) for age in (6, 8)
    )
    assert [events_since(one, EventFilters(), now=now).gap for one in (fresh, old)] == [False, True]
    restored = events_since(EventPosition(audit=99, scans=0, issued=int(now.timestamp())), EventFilters(), now=now)
    assert (restored.gap, restored.position.audit, restored.events) == (True, AuditHead.objects.get().seq, ())


def test_waiting_ends_with_an_event_or_with_the_time(db: None) -> None:
    cluster, pauses = a_cluster("a"), []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            scanned(cluster)

    def waited() -> list[str]:
        here = events.newest_position(timezone.now())
        page = events.wait_for_events(here, EventFilters(), seconds=5, pause=pause, clock=timezone.now)
        return [one.event for one in page.events]

    assert (waited(), len(pauses)) == (["scan.done"], 3)
    assert (waited(), len(pauses)) == ([], 8)


def test_numbers_follow_each_other_and_old_ends_of_scans_go(db: None) -> None:
    cluster = a_cluster("a")
    assert [scanned(cluster), scanned(cluster, "failed")] == [1, 2]
    ScanEvent.objects.filter(seq=1).update(at=timezone.now() - timedelta(days=events.KEPT_DAYS, seconds=1))
    sweep_old(within=60)
    assert (list(ScanEvent.objects.values_list("seq", flat=True)), ScanEventHead.objects.get().seq) == ([2], 2)
    assert (Scan.objects.count(), AuditEvent.objects.count()) == (0, 0)


@pytest.mark.django_db(transaction=True)
def test_many_threads_leave_no_gap_and_a_reader_passes_nothing() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("an SQLite in memory lets no writer wait")
    cluster = a_cluster("a")
    seen: list[list[int]] = []

    def some(_number: int) -> None:
        for _ in range(5):
            scanned(cluster)
            head = events.newest_position(timezone.now()).scans
            seen.append(list(ScanEvent.objects.filter(seq__lte=head).order_by("seq").values_list("seq", flat=True)))

    together(some, 4)
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in seen)
    assert ScanEventHead.objects.get().seq == 20
