"""Feed links: made, shown once, revoked; what each opens, for whom, and that no log holds a secret."""

import io
import logging
import re
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from icalendar import Calendar

from karpdash.monitoring import logs
from migrations_app.models.account import FeedLink, Grant
from migrations_app.models.audit import AuditEvent
from migrations_app.models.campaign import Campaign
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.policy import Policy, Waiver
from migrations_app.use_cases.accounts import service_tokens
from migrations_app.use_cases.accounts.feed_links import MAX_LINKS
from migrations_app.use_cases.notifications.publish import publish_event
from tests.builders.campaigns import a_campaign
from tests.builders.rows import NOW, a_cluster, a_snapshot

pytestmark = pytest.mark.django_db
ATOM = "{http://www.w3.org/2005/Atom}"
STRANGER = Client


def page_of_links(client, **said) -> str:
    return client.post(reverse("feeds"), {"name": "readme", "kind": "badge"} | said)


def made(client, **said) -> list[str]:
    """The paths of a new link."""
    answer = page_of_links(client, **said)
    assert answer.status_code == 200
    return re.findall(r"<code>http://testserver(/feeds/kd_[^<]+)</code>", answer.content.decode())


def read(path: str):
    return STRANGER().get(path)


def a_waiver(cluster=None, **columns) -> Waiver:
    told = {"check_id": "budgets_let_nodes_go", "reason": "x", "owner_name": "x", "made_by_name": "x", "made_at": NOW}
    return Waiver.objects.create(cluster=cluster, **{"ends_at": NOW + timedelta(days=9)} | told | columns)


def events_of(path: str):
    return {str(one["uid"]): one for one in Calendar.from_ical(read(path).content).walk("VEVENT")}


def test_a_link_is_shown_once_and_recorded_without_its_secret(ben):
    (path,) = made(ben)
    secret = path.split("/")[2]
    assert read(path).status_code == 200
    assert secret not in ben.get(reverse("feeds")).content.decode()
    assert secret not in repr(list(FeedLink.objects.values()))
    event = AuditEvent.objects.get(verb="feed.made")
    assert (event.actor, event.object, secret in repr(vars(event))) == ("ben", "readme", False)
    assert '"kind":"badge"' in event.detail


def test_a_link_is_no_api_token(ben):
    secret = made(ben)[0].split("/")[2]
    assert service_tokens.authenticate(secret, address="127.0.0.1") is None
    answer = STRANGER().get("/api/v1/clusters", HTTP_AUTHORIZATION=f"Bearer {secret}")
    assert answer.status_code == 401


def test_a_link_opens_its_own_feed_alone(ben):
    (path,) = made(ben)
    others = [path.replace("badge.svg", name) for name in ("calendar.ics", "news.rss", "news.atom", "x", "badge.png")]
    assert [read(other).status_code for other in others] == [404] * 5
    assert STRANGER().post(path).status_code == 405
    assert made(ben, kind="news") != []
    assert [one.rsplit("/", 1)[1] for one in made(ben, kind="news")] == ["news.atom", "news.rss"]


def test_a_link_is_revoked_by_its_owner_alone(ben, cleo):
    (path,) = made(ben)
    address = reverse("feed-revoke", args=[FeedLink.objects.get().pk])
    assert (cleo.post(address).status_code, ben.get(address).status_code) == (404, 405)
    assert read(path).status_code == 200
    assert ben.post(address).status_code == 302
    assert (read(path).status_code, ben.post(address).status_code) == (404, 404)
    assert list(AuditEvent.objects.filter(verb="feed.revoked").values_list("object", flat=True)) == ["readme"]


def test_a_closed_account_closes_its_links(ben):
    (path,) = made(ben)
    User.objects.filter(username="ben").update(is_active=False)
    assert read(path).status_code == 404


@pytest.mark.parametrize("said", [{"name": " "}, {"kind": "approve"}, {"cluster": "not there"}])
def test_what_is_no_link(ben, said):
    assert (page_of_links(ben, **said).status_code, FeedLink.objects.count()) == (422, 0)


def test_there_are_not_any_number_of_links(ben):
    owner = User.objects.get(username="ben")
    FeedLink.objects.bulk_create(
        FeedLink(owner=owner, name="x", kind="news", prefix="x", digest=str(number)) for number in range(MAX_LINKS)
    )
    assert page_of_links(ben).status_code == 422
    FeedLink.objects.filter(digest="0").update(revoked_at=NOW)
    assert page_of_links(ben).status_code == 200


def test_a_link_shows_what_its_owner_may_see_now(client):
    owner, group, mine, other = User.objects.create_user("eve"), ClusterGroup.objects.create(name="g"), *two()
    group.clusters.add(mine)
    Grant.objects.create(person=owner, role="viewer", over=group)
    client.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    assert page_of_links(client, cluster=other.name).status_code == 422
    (path,), (fleet,), (dates,) = made(client, cluster=mine.name), made(client), made(client, kind="calendar")
    waivers = {one.pk: one for one in (a_waiver(mine), a_waiver(other), a_waiver())}
    news = made(client, kind="news")[0]
    for one in (mine, other):
        publish_event("scan.failed", one.name, cluster=one.pk, code="timeout")
    assert "mine" in read(path).content.decode()
    assert "0 of 1 ready" in read(fleet).content.decode()
    shown = {uid for uid in events_of(dates) if uid.startswith("waiver")}
    assert shown == {f"waiver-{key}@karpdash" for key, one in waivers.items() if one.cluster != other}
    assert ("mine" in read(news).content.decode(), "other" in read(news).content.decode()) == (True, False)
    group.clusters.clear()
    assert (read(path).status_code, "no clusters" in read(fleet).content.decode()) == (404, True)
    assert client.get(reverse("feeds")).content.decode().count("a cluster that you no longer see") == 1


def two() -> tuple[Cluster, Cluster]:
    return a_cluster("mine"), a_cluster("other")


@pytest.mark.parametrize(
    ("columns", "hours", "word", "colour"),
    [
        ({"verdict": "ready"}, 0, "ready for", "#1a7f52"),
        ({"verdict": "ready", "complete": False}, 0, "unknown", "#5a6862"),
        ({"verdict": "ready"}, 24 * 30, "unknown: scan is too old", "#5a6862"),
        ({"verdict": "blocked"}, 0, "blocked for", "#b3261e"),
    ],
)
def test_the_badge_of_a_cluster(ben, columns, hours, word, colour):
    cluster = a_cluster("a<b>&c")
    a_snapshot(cluster, at=NOW - timedelta(hours=hours), **columns)
    answer = read(made(ben, cluster=cluster.name)[0])
    drawn = ElementTree.fromstring(answer.content)
    texts = [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert (texts[0], word in texts[1], colour in answer.content.decode()) == ("a<b>&c", True, True)
    assert f"scanned {'30 d' if hours else '0 min'} ago" in texts[1]
    assert (answer["Content-Type"], "no-store" in answer["Cache-Control"]) == ("image/svg+xml; charset=utf-8", True)


def test_the_badge_of_a_fleet_agrees_with_that_of_its_clusters(ben):
    for name, verdict in (("a", "ready"), ("b", "blocked")):
        a_snapshot(a_cluster(name), verdict=verdict)
    a_cluster("never")
    a_cluster("lost", failures=3)
    told = read(made(ben)[0]).content.decode()
    assert "1 of 4 ready or done, 1 blocked, 2 unknown · oldest scan 0 min ago" in told


def test_the_calendar_is_one_that_a_parser_reads_back(ben):
    long = "Größe, wichtig; und\\so weiter: " * 8
    waiver = a_waiver(reason=f"{long}\nBEGIN:VEVENT", owner_name="Zoë; Ltd, \\")
    Policy.objects.create(windows=[{"days": [0, 2], "from": "22:00", "to": "04:00"}])
    (path,) = made(ben, kind="calendar")
    body = read(path).content
    assert {len(line) <= 75 for line in body.split(b"\r\n")} == {True}
    assert b"\n" not in body.replace(b"\r\n", b"")
    found = events_of(path)
    ends = found[f"waiver-{waiver.pk}@karpdash"]
    assert (ends["dtstart"].dt, ends["dtstamp"].dt) == (NOW + timedelta(days=9), NOW)
    assert str(ends["description"]) == f"Owner: Zoë; Ltd, \\. Reason: {long} BEGIN:VEVENT"
    (window,) = (one for uid, one in found.items() if uid.startswith("policy-all"))
    assert dict(window["rrule"]) == {"FREQ": ["WEEKLY"], "BYDAY": ["MO", "WE"]}
    assert window["dtstart"].dt == datetime(2026, 11, 16, 22, 0, tzinfo=UTC)
    assert window["dtend"].dt == datetime(2026, 11, 17, 4, 0, tzinfo=UTC)
    assert set(events_of(path)) == set(found)


def test_the_calendar_tells_when_support_of_a_kubernetes_ends(ben):
    for name, version in (("one", "v1.33.4-eks-99d6cc0"), ("two", "v1.33.1-eks-1"), ("three", "v1.33.4"), ("new", "")):
        a_snapshot(a_cluster(name), kubernetes_version=version)
    found = events_of(made(ben, kind="calendar")[0])
    days = {str(one["summary"]): (one["dtstart"].dt, one["dtend"].dt) for one in found.values()}
    standard, extended = datetime(2026, 7, 29, tzinfo=UTC), datetime(2027, 7, 29, tzinfo=UTC)
    assert days == {
        "EKS ends standard support of Kubernetes 1.33": (standard, standard + timedelta(days=1)),
        "EKS ends extended support of Kubernetes 1.33": (extended, extended + timedelta(days=1)),
    }
    assert {str(one["description"]).partition(". ")[0] for one in found.values()} == {"Runs on: one, two"}
    assert [len(events_of(made(ben, kind="calendar", cluster=name)[0])) for name in ("one", "three", "new")] == [
        2,
        0,
        0,
    ]


def test_the_calendar_holds_campaigns_with_their_waves(ben):
    row = a_campaign(a_cluster("one"), a_cluster("two"), state="running")
    windows = [{"days": [5], "from": "08:00", "to": "10:00"}]
    Campaign.objects.filter(pk=row.pk).update(recipe=row.recipe | {"windows": windows})
    found = events_of(made(ben, kind="calendar")[0])
    summaries = sorted(str(one["summary"]) for one in found.values())
    assert summaries == ["Campaign to v1: may begin something", "Campaign to v1: wave 1 of 2 opened"]
    assert "Next wave: 2 of 2." in {str(one.get("description", "")) for one in found.values()}
    a_cluster("apart")
    assert events_of(made(ben, kind="calendar", cluster="apart")[0]) == {}
    assert len(events_of(made(ben, kind="calendar", cluster="two")[0])) == 2


def test_news_newest_first_and_without_the_secret(ben):
    cluster = a_cluster("shop <prod>")
    publish_event("scan.failed", cluster.name, cluster=cluster.pk, code="timeout")
    publish_event("kill_switch.on", "all clusters", by="ada", why="kd_" + "x" * 30)
    publish_event("rollout.step", "no news")
    atom, rss = made(ben, kind="news")
    entries = ElementTree.fromstring(read(atom).content).findall(f"{ATOM}entry")
    assert [one.find(f"{ATOM}title").text for one in entries] == [
        "All changes are stopped: all clusters", "Scans fail: shop <prod>",
    ]  # fmt: skip
    items = ElementTree.fromstring(read(rss).content).findall("channel/item")
    assert [one.find("link").text for one in items][1] == f"http://testserver/clusters/{cluster.pk}"
    for path in (atom, rss):
        body = read(path).content.decode()
        assert (path.split("/")[2] in body, "kd_xxx" in body) == (False, False)


def test_news_of_a_cluster(ben):
    first, second = a_cluster("first"), a_cluster("second")
    for one in (first, second):
        publish_event("scan.recovered", one.name, cluster=one.pk)
    publish_event("kill_switch.off", "all clusters", by="ada")
    items = ElementTree.fromstring(read(made(ben, kind="news", cluster="second")[1]).content).findall("channel/item")
    assert [one.find("title").text for one in items] == ["Scans recovered: second"]


def test_no_log_line_holds_the_secret(ben):
    (path,) = made(ben)
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.json_formatter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        assert [read(one).status_code for one in (path, path.replace("badge.svg", "news.rss"))] == [200, 404]
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    told = stream.getvalue()
    assert "/feeds/" in told
    assert path.split("/")[2] not in told
