"""What a scrape is told: every number from the database, in a fixed number of queries, for those who may ask."""

import dataclasses
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from karpdash.monitoring import health, metrics
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.monitoring import Gauges, ProcessHeartbeat
from migrations_app.models.notification import Channel
from migrations_app.models.rollout import Rollout
from migrations_app.queries.fleet.metrics import Duration, FleetNumbers, numbers
from migrations_app.use_cases.accounts import tokens
from migrations_app.use_cases.runtime import counters
from migrations_app.use_cases.scans import queue, store
from tests.builders.rows import a_cluster, a_report, a_snapshot

pytestmark = pytest.mark.django_db
NAMES = {
    "karpdash_hop_verdict",
    "karpdash_checks",
    "karpdash_objects",
    "karpdash_legacy_nodes",
    "karpdash_scan_duration_seconds",
    "karpdash_scan_age_seconds",
    "karpdash_scan_stale_after_seconds",
    "karpdash_result_stale",
    "karpdash_missing",
    "karpdash_channels_failing",
    "karpdash_scan_errors",
    "karpdash_apiserver_requests",
    "karpdash_rehearsal_forecasts",
    "karpdash_rollout_state",
    "karpdash_waivers",
}
NO_WAIVERS = (("active", 0), ("ending", 0), ("ended", 0), ("revoked", 0))


@pytest.fixture
def open_to_all(settings):
    settings.ENV = dataclasses.replace(settings.ENV, metrics_open=True)


def key(name, *labels):
    return name, *sorted(labels)


def told(client):
    answer = client.get("/metrics")
    assert answer.status_code == 200
    return {
        key(sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }


def measured(name="shop"):
    cluster = a_cluster(name, last_success_at=timezone.now() - timedelta(seconds=90))
    body = store.gauges(a_report(name), {("NodePool", "karpenter.sh/v1"): 3})
    Gauges.objects.create(cluster=cluster, body=body)
    return cluster


def test_every_name_is_there_even_without_a_cluster(client, open_to_all):
    answer = client.get("/metrics").content.decode()
    assert {family.name for family in text_string_to_metric_families(answer)} == NAMES


def test_the_numbers_of_a_cluster(client, open_to_all):
    cluster = measured()
    counters.add_error(cluster.pk, "timeout")
    counters.add_requests(cluster.pk, {("list", "200"): 40, ("get", "none"): 2})
    Rollout.objects.create(
        cluster=cluster, cluster_name="shop", action="x", title="x", state="paused", author_name="ada",
        made_at=timezone.now(), expires_at=timezone.now(),
    )  # fmt: skip
    found = told(client)
    wanted = {
        ("karpdash_hop_verdict", "shop", "0.32", "blocked"): 1,
        ("karpdash_hop_verdict", "shop", "0.32", "ready"): 0,
        ("karpdash_checks", "shop", "0.33+", "blocker", "unknown"): 1,
        ("karpdash_objects", "shop", "NodePool", "karpenter.sh/v1"): 3,
        ("karpdash_legacy_nodes", "shop"): 12,
        ("karpdash_scan_errors_total", "shop", "timeout"): 1,
        ("karpdash_apiserver_requests_total", "shop", "list", "200"): 40,
        ("karpdash_apiserver_requests_total", "shop", "get", "none"): 2,
        ("karpdash_rollout_state", "shop", "paused"): 1,
    }
    assert {one: found.get(key(*one)) for one in wanted} == wanted
    assert 90 <= found["karpdash_scan_age_seconds", "shop"] < 150


def test_a_cluster_that_never_answered_has_an_age(client, open_to_all):
    registered = timezone.now() - timedelta(hours=4)
    Cluster.objects.filter(pk=a_cluster("dead").pk).update(created_at=registered, last_success_at=None)
    assert 4 * 3600 <= told(client)["karpdash_scan_age_seconds", "dead"] < 4 * 3600 + 60


def test_a_result_is_out_of_date_by_the_interval_of_its_cluster(client, open_to_all, settings):
    a_cluster("own", interval_seconds=900)
    ClusterGroup.objects.create(name="daily", interval_seconds=86_400).clusters.add(a_cluster("grouped"))
    a_cluster("usual")
    limits = {name: told(client)["karpdash_scan_stale_after_seconds", name] for name in ("own", "grouped", "usual")}
    assert limits == {"own": 2_700, "grouped": 259_200, "usual": 10_800}
    settings.ENV = dataclasses.replace(settings.ENV, scan_interval=0)
    assert told(client)["karpdash_scan_stale_after_seconds", "usual"] == 86_400


def test_a_result_is_out_of_date_as_on_its_page(client, open_to_all):
    now = timezone.now()
    for name, age in (("fresh", timedelta(0)), ("old", timedelta(days=9)), ("of-tomorrow", timedelta(days=-1))):
        row = a_cluster(name)
        a_snapshot(row, at=now - age, verdict="ready")
        Cluster.objects.filter(pk=row.pk).update(last_success_at=now)
    a_cluster("none")
    found = {key[1]: value for key, value in told(client).items() if key[0] == "karpdash_result_stale"}
    assert found == {"fresh": 0, "old": 1, "of-tomorrow": 1}


def test_what_was_not_looked_at_is_neither_there_nor_missing(client, open_to_all, monkeypatch):
    monkeypatch.setattr("karpdash.monitoring.health.schema_fit", lambda: "behind")
    found = {key[1] for key in told(client) if key[0] == "karpdash_missing"}
    assert found == {"schema", "broker", "audit_sink"}


def test_parts_of_karpdash_that_are_missing(client, open_to_all, monkeypatch):
    monkeypatch.setattr("karpdash.monitoring.health.broker_answers", lambda: True)
    found = told(client)
    missing = {name for key, value in found.items() if key[0] == "karpdash_missing" and value for name in key[1:]}
    assert missing == {"worker:probe", "worker:scan", "worker:action", "worker:upkeep", "beat"}
    assert {key[1] for key in found if key[0] == "karpdash_missing"} == {*health.COMPONENTS, "audit_sink"}
    ProcessHeartbeat.objects.create(name="w", lanes="probe,scan,action,upkeep,beat", seen_at=timezone.now())
    monkeypatch.setattr(metrics, "why_blocked", lambda: "the sink is 2000 events behind")
    monkeypatch.setattr("karpdash.monitoring.health.broker_answers", lambda: False)
    found = told(client)
    missing = {name for key, value in found.items() if key[0] == "karpdash_missing" and value for name in key[1:]}
    assert missing == {"broker", "audit_sink"}


def test_channels_that_fail(client, open_to_all):
    for number, enabled in ((0, True), (3, True), (5, False)):
        Channel.objects.create(
            name=f"c{number}", kind="slack", place="x", made_by_name="x", made_at=timezone.now(), failures=number,
            enabled=enabled,
        )  # fmt: skip
    assert told(client)["karpdash_channels_failing",] == 1


def test_the_verdicts_of_a_hop_add_up_to_one(client, open_to_all):
    measured()
    found = told(client)
    for hop in ("0.32", "0.33+"):
        mine = [value for (name, *labels), value in found.items() if name == "karpdash_hop_verdict" and hop in labels]
        assert (sum(mine), len(mine)) == (1, len(metrics.VERDICTS))


@pytest.mark.parametrize(("seconds", "bucket"), [(0.1, "0.5"), (0.5, "0.5"), (0.6, "1"), (600, "600"), (601, "+Inf")])
def test_a_scan_falls_into_the_first_bucket_that_holds_it(seconds, bucket):
    counters.add_duration(seconds)
    assert numbers(now=timezone.now()).duration == Duration({bucket: 1}, seconds)


def test_buckets_hold_those_below_them(client, open_to_all):
    for seconds in (0.2, 0.7, 0.7, 700):
        counters.add_duration(seconds)
    found = told(client)
    name = "karpdash_scan_duration_seconds"
    assert [found[f"{name}_bucket", end] for end in ("0.5", "1.0", "600.0", "+Inf")] == [1, 3, 3, 4]
    assert (found[f"{name}_count",], found[f"{name}_sum",]) == (4, pytest.approx(701.6))


def test_a_cluster_that_is_gone_is_told_no_more():
    cluster = measured()
    counters.add_error(cluster.pk, "timeout")
    cluster.delete()
    assert numbers(now=timezone.now()) == FleetNumbers(waivers=NO_WAIVERS, duration=Duration({}, 0.0))


def test_a_name_with_quotes_and_lines_stays_one_label(client, open_to_all):
    measured('a"\n\\b')
    assert ("karpdash_legacy_nodes", 'a"\n\\b') in told(client)


@pytest.mark.parametrize("size", [1, 15])
def test_the_number_of_queries_does_not_grow(client, open_to_all, size, django_assert_num_queries):
    for index in range(size):
        counters.add_error(measured(f"c{index}").pk, "timeout")
    with django_assert_num_queries(9):
        assert client.get("/metrics").status_code == 200


def test_counts_add_up_in_one_row():
    cluster = a_cluster()
    for _ in range(3):
        counters.add_requests(cluster.pk, {("list", "200"): 2})
    assert numbers(now=timezone.now()).requests == (("shop-prod", "list", "200", 6),)


def test_a_scan_that_fails_is_counted():
    held = queue.claim(queue.request_scan(a_cluster().pk).scan_id)
    store.fail(held.scan_id, fence=held.fence, code="unreachable", detail="", calls={("get", "none"): 2})
    found = numbers(now=timezone.now())
    assert (found.errors, sum(found.duration.buckets.values())) == ((("shop-prod", "unreachable", 1),), 1)
    assert Cluster.objects.get().scans.get().calls == {"get none": 2}


@pytest.fixture
def ada(db):
    return User.objects.create_user("ada")


@pytest.mark.parametrize(
    ("scopes", "status"), [((), 401), (("read", "admin"), 403), (("metrics",), 200), (("metrics", "read"), 200)]
)
def test_a_token_of_that_scope_opens_it(client, ada, scopes, status):
    secret = tokens.issue(ada, name="prometheus", scopes=scopes, days=1).secret if scopes else "kd_" + "x" * 40
    assert client.get("/metrics", headers={"Authorization": f"Bearer {secret}"}).status_code == status


@pytest.mark.parametrize("given", ["", "Bearer", "Basic YWRhOnB3", "bearer  "])
def test_nobody_without_a_token(client, given):
    answer = client.get("/metrics", headers={"Authorization": given} if given else {})
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, 'Bearer realm="karpdash"')


def test_a_token_for_metrics_opens_nothing_else(client, ada):
    secret = tokens.issue(ada, name="prometheus", scopes=["metrics"], days=1).secret
    assert client.get("/api/v1/clusters", headers={"Authorization": f"Bearer {secret}"}).status_code == 403


def test_only_reading(client, open_to_all):
    assert [client.post("/metrics").status_code, client.head("/metrics").status_code] == [405, 200]


def test_a_database_that_is_gone_is_503_without_its_text(client, open_to_all, monkeypatch):
    def gone(**_):
        raise OperationalError("password=hunter2")

    monkeypatch.setattr(metrics, "numbers", gone)
    answer = client.get("/metrics")
    assert (answer.status_code, b"hunter2" in answer.content) == (503, False)
