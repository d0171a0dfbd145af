"""events over REST: by a cursor, as an event stream, and without holding the threads of the server."""

import threading

import msgspec
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.api import events
from migrations_app.models.account import Grant
from migrations_app.models.cluster import Cluster
from migrations_app.queries.audit.events import position_of
from tests.api.conftest import Tool
from tests.builders.rows import a_cluster
from tests.queries.audit.test_events import happened, scanned


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were asked for; none is made."""
    made: list[float] = []
    monkeypatch.setattr(events, "pause", made.append)
    return made


@pytest.fixture
def cluster(db: None) -> Cluster:
    return a_cluster("a")


def test_without_a_cursor_it_begins_now(api: Tool, cluster: Cluster) -> None:
    scanned(cluster)
    first = api("GET", "events").json()
    assert (first["results"], first["gap"], first["retry_after"]) == ([], False, events.PAUSE)
    happened("rollout.running", cluster)
    told = api("GET", f"events?cursor={first['cursor']}").json()
    assert [(row["event"], row["cluster"]) for row in told["results"]] == [("rollout.running", str(cluster.pk))]
    assert api("GET", f"events?cursor={told['cursor']}").json()["results"] == []
    assert [row["event"] for row in api("GET", "events?begin=oldest&kind=scan").json()["results"]] == ["scan.done"]


def place_of(cursor: str) -> tuple[int, int]:
    """The place of a cursor, without the second in which it was issued."""
    position = position_of(cursor, now=timezone.now())
    return position.audit, position.scans


def test_an_event_stream_is_resumed_by_its_last_id(api: Tool, cluster: Cluster) -> None:
    for state in ("done", "failed"):
        scanned(cluster, state)
    stream = api("GET", "events?begin=oldest&limit=1", accept=events.STREAM)
    blocks = stream.content.decode().split("\n\n")
    fields = dict(line.split(": ", 1) for line in blocks[1].splitlines())
    assert (stream["Content-Type"], blocks[0], fields["event"]) == (
        f"{events.STREAM}; charset=utf-8",
        "retry: 0",
        "scan.done",
    )
    assert msgspec.json.decode(fields["data"])["cursor"] == fields["id"]
    rest = api("GET", "events", accept=events.STREAM, last_event_id=fields["id"]).content.decode()
    assert ("event: scan.failed" in rest, "event: scan.done" in rest) == (True, False)
    last = rest.strip().rpartition("id: ")[2]
    quiet = api("GET", "events", accept=events.STREAM, last_event_id=last).content.decode()
    head, _, here = quiet.partition("id: ")
    assert (head, place_of(here.strip())) == (f"retry: {events.PAUSE * 1000}\n\n", place_of(last))


def test_what_waits_is_bounded_and_the_rest_is_answered_at_once(
    api: Tool, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    monkeypatch.setattr(events, "places", threading.BoundedSemaphore(1))
    assert (api("GET", "events?wait=3").json()["retry_after"], pauses) == (0, [1.0] * 3)
    events.places.acquire()
    assert (api("GET", "events?wait=3").json()["retry_after"], len(pauses)) == (events.PAUSE, 3)
    events.places.release()
    api("GET", "events?wait=1")
    assert len(pauses) == 4


@pytest.mark.parametrize(
    "query", ["cursor=x", "cursor=WzEsMl0", "wait=21", "limit=0", "kind=step", "begin=then", "x=1"]
)
def test_questions_that_are_none(api: Tool, query: str) -> None:
    assert api("GET", f"events?{query}").status_code == 400


def test_who_may_look_at_one_cluster_hears_of_no_other(ben: User, cluster: Cluster) -> None:
    Grant.objects.all().delete()
    for verb in ("rollout.running", "campaign.running"):
        happened(verb, cluster)
    scanned(cluster)
    assert Tool(ben)("GET", "events?begin=oldest").json()["results"] == []
