"""Several clusters at once over REST: all of them, or none."""

import uuid

from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster, ClusterLabel
from migrations_app.models.scan import Scan
from tests.api.clusters.test_views import kubeconfig
from tests.api.conftest import Tool
from tests.builders.rollouts import a_rollout
from tests.builders.rows import a_cluster


def new(name: str, **more: str) -> dict[str, str]:
    return {"name": name, "kubeconfig": kubeconfig(f"https://127.0.0.1:9/{name}"), **more}


def test_all_are_registered_and_their_first_scan_is_queued(api: Tool) -> None:
    answer = api("POST", "clusters/batch", {"clusters": [new("b", environment="prod"), new("a")]})
    told = answer.json()["clusters"]
    assert (answer.status_code, [one["name"] for one in told]) == (201, ["b", "a"])
    assert Cluster.objects.get(pk=told[0]["id"]).environment == "prod"
    assert {str(scan.pk): str(scan.cluster_id) for scan in Scan.objects.all()} == {
        one["scan"]: one["id"] for one in told
    }
    assert "s3cret" not in answer.content.decode()


def test_one_that_cannot_be_registered_leaves_all_out(api: Tool) -> None:
    a_cluster("taken")
    for wrong, status, said in (
        (new("taken"), 409, "clusters[1]"),
        (new("c", target="9.99"), 400, "clusters[1]"),
        ({"name": "c"}, 400, "clusters[1]"),
        ({"name": "c", "kubeconfig": "kind: Config"}, 400, "clusters[1]"),
    ):
        answer = api("POST", "clusters/batch", {"clusters": [new("b"), wrong]})
        assert (answer.status_code, said in answer.content.decode()) == (status, True), answer.content
    assert list(Cluster.objects.values_list("name", flat=True)) == ["taken"]
    assert not Scan.objects.exists()
    assert not AuditEvent.objects.filter(verb="cluster.registered", object="b").exists()


def test_none_and_too_many_are_refused(api: Tool) -> None:
    assert api("POST", "clusters/batch", {"clusters": []}).status_code == 400
    many = [{"name": f"c{number}", "source": "in_cluster"} for number in range(51)]
    assert api("POST", "clusters/batch", {"clusters": many}).status_code == 400
    assert not Cluster.objects.exists()


def test_all_are_labelled_or_none(api: Tool) -> None:
    rows = [a_cluster("a"), a_cluster("b")]
    ids = [str(row.pk) for row in rows]
    assert api("POST", "clusters/batch-labels", {"clusters": ids, "labels": {"team": "shop"}}).status_code == 204
    assert ClusterLabel.objects.filter(key="team", value="shop").count() == 2
    unknown = {"clusters": [*ids, str(uuid.uuid4())], "labels": {"team": "x"}}
    assert api("POST", "clusters/batch-labels", unknown).json()["errors"][0]["code"] == "no_such_cluster"
    wrong = {"clusters": ids, "labels": {"team": "x", "Not a key": "x"}}
    assert api("POST", "clusters/batch-labels", wrong).status_code == 400
    assert ClusterLabel.objects.filter(key="team", value="shop").count() == 2
    assert api("POST", "clusters/batch-labels", {"clusters": ids, "labels": {"team": None}}).status_code == 204
    assert not ClusterLabel.objects.exists()


def test_all_are_removed_or_none(api: Tool) -> None:
    rows = [a_cluster("a"), a_cluster("b")]
    named = [{"id": str(row.pk), "name": row.name} for row in rows]
    slip = [named[0], {**named[1], "name": "B"}]
    for wrong, status in (
        (slip, 400),
        ([*named, named[0]], 400),
        ([*named, {**slip[1], "id": str(uuid.uuid4())}], 400),
    ):
        assert api("POST", "clusters/batch-removal", {"clusters": wrong}).status_code == status
    held = a_rollout(rows[1], state="running")
    assert api("POST", "clusters/batch-removal", {"clusters": named}).status_code == 409
    assert Cluster.objects.count() == 2
    held.delete()
    assert api("POST", "clusters/batch-removal", {"clusters": named}).status_code == 204
    assert not Cluster.objects.exists()


def test_a_request_that_is_sent_twice_is_done_once(api: Tool) -> None:
    body = {"clusters": [new("a"), new("b")]}
    first, again = (api("POST", "clusters/batch", body, idempotency_key="k1") for _ in range(2))
    assert (first.status_code, again.status_code, again["Idempotency-Replayed"]) == (201, 201, "true")
    assert first.json() == again.json()
    assert Cluster.objects.count() == 2
