"""clusters/joining: what two registrations of one cluster would move, and joining them once."""

import pytest

from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster, ClusterLabel
from tests.api.conftest import Tool
from tests.builders.rows import a_cluster, a_scan, a_snapshot


@pytest.fixture
def pair(ada):
    rows = [a_cluster(name, kube_system_uid="uid-1", ca_digest="c") for name in ("shop", "again")]
    for row in rows:
        a_snapshot(row)
    return {"stays": str(rows[0].pk), "ends": str(rows[1].pk)}


@pytest.fixture
def admin(ada):
    return Tool(ada, "read", "admin")


def preview(admin, pair):
    return admin("GET", f"clusters/joining?stays={pair['stays']}&ends={pair['ends']}")


def test_what_would_move_is_read_first(admin, pair):
    ClusterLabel.objects.create(cluster_id=pair["ends"], key="team", value="web")
    told = preview(admin, pair).json()
    assert (told["stays"]["name"], told["ends"]["name"], told["snapshots"], told["obstacles"]) == (
        "shop", "again", 1, [],
    )  # fmt: skip
    assert told["labels"] == [{"key": "team", "value": "web", "stays": ""}]
    assert Cluster.objects.count() == 2


def test_they_are_joined_once_whoever_repeats_it(admin, pair):
    body = pair | {"seen": preview(admin, pair).json()["digest"], "typed_name": "again"}
    answers = [admin("POST", "clusters/joining", body, idempotency_key="k1") for _ in range(2)]
    assert [one.status_code for one in answers] == [200, 200]
    assert answers[0].json()["id"] == pair["stays"]
    assert AuditEvent.objects.get(verb="cluster.joined").actor == "ada"
    assert [str(row.pk) for row in Cluster.objects.all()] == [pair["stays"]]


def test_what_is_in_the_way_is_a_conflict_with_its_code(admin, pair):
    body = pair | {"seen": preview(admin, pair).json()["digest"], "typed_name": "again"}
    a_scan(Cluster.objects.get(pk=pair["ends"]), state="running")
    assert [one["code"] for one in preview(admin, pair).json()["obstacles"]] == ["scan_active"]
    told = admin("POST", "clusters/joining", body)
    assert (told.status_code, told.json()["code"]) == (409, "scan_active")


@pytest.mark.parametrize(
    ("changed", "status", "code"),
    [
        ({"typed_name": "shop"}, 400, "name_not_typed"),
        ({"seen": "0"}, 409, "digest_moved"),
        ({"ends": "00000000-0000-0000-0000-000000000005"}, 404, "not_found"),
        ({"ends": "x"}, 400, "invalid"),
        ({"x": 1}, 400, "invalid"),
    ],
)
def test_what_is_refused(admin, pair, changed, status, code):
    body = pair | {"seen": preview(admin, pair).json()["digest"], "typed_name": "again"} | changed
    told = admin("POST", "clusters/joining", body)
    assert (told.status_code, told.json()["code"], Cluster.objects.count()) == (status, code, 2)


def test_one_registration_is_not_joined_with_itself(admin, pair):
    told = preview(admin, pair | {"ends": pair["stays"]})
    assert (told.status_code, told.json()["code"]) == (400, "itself")
