"""What changed between two snapshots, over REST."""

import uuid
from datetime import timedelta

import pytest

from tests.api.conftest import Tool
from tests.builders.rows import NOW, a_cluster, a_finding, a_report, a_snapshot, some_nodes

pytestmark = pytest.mark.django_db


def hour(back: int):
    return NOW - timedelta(hours=back)


def test_checks_counts_and_facts(api: Tool) -> None:
    shop = a_cluster("shop")
    failing = a_report(checks=[a_finding()], nodes=some_nodes(3), legacy={"Machine": 9})
    before = a_snapshot(shop, failing, at=hour(2))
    after = a_snapshot(shop, a_report(checks=[a_finding(status="pass")], legacy={"Machine": 4}), at=hour(1))
    answer = api("GET", f"snapshots/{after.pk}/changes").json()
    (check,) = answer["checks"]
    assert (answer["cluster"], answer["before"], answer["after"]) == (str(shop.pk), str(before.pk), str(after.pk))
    assert answer["before_scanned_at"] < answer["after_scanned_at"]
    assert (check["check"], check["hops"], check["direction"]) == ("legacy_provisioners_gone", ["0.32"], "better")
    assert (check["before"]["status"], check["before"]["evidence_total"]) == ("fail", 2)
    assert (check["after"]["status"], check["after"]["evidence_total"]) == ("pass", 0)
    assert answer["legacy"] == [{"name": "Machine", "before": 9, "after": 4}]
    assert answer["owners"] == [{"name": "karpenter_alpha", "before": 3, "after": 0}]


def test_a_check_of_one_snapshot_alone(api: Tool) -> None:
    shop = a_cluster("shop")
    one, two = a_finding(), a_finding("crds_served")
    a_snapshot(shop, a_report(checks=[one]), at=hour(2))
    after = a_snapshot(shop, a_report(checks=[one, two]), at=hour(1))
    (check,) = api("GET", f"snapshots/{after.pk}/changes").json()["checks"]
    assert (check["check"], check["before"], check["direction"]) == ("crds_served", None, "other")


def test_what_could_not_be_counted_is_null(api: Tool) -> None:
    shop = a_cluster("shop")
    a_snapshot(shop, a_report(legacy={"Machine": 9}), at=hour(2))
    after = a_snapshot(shop, a_report(legacy={"Machine": None}), at=hour(1))
    changes = api("GET", f"snapshots/{after.pk}/changes").json()
    assert changes["legacy"] == [{"name": "Machine", "before": 9, "after": None}]


def test_since_any_earlier_snapshot(api: Tool) -> None:
    shop = a_cluster("shop")
    first, second, third = (
        a_snapshot(shop, a_report(legacy={"Machine": 9 - back}), at=hour(4 - back)) for back in (1, 2, 3)
    )
    since = api("GET", f"snapshots/{third.pk}/changes?before={first.pk}").json()
    assert (since["before"], since["legacy"][0]["before"]) == (str(first.pk), 8)
    assert api("GET", f"snapshots/{third.pk}/changes").json()["before"] == str(second.pk)


def test_snapshots_of_one_moment_follow_each_other_as_in_the_history(api: Tool) -> None:
    """Those of a sample cluster all say one time."""
    shop = a_cluster("shop")
    rows = sorted((a_snapshot(shop, at=hour(1)), a_snapshot(shop, at=hour(1))), key=lambda row: row.pk)
    assert api("GET", f"snapshots/{rows[1].pk}/changes").json()["before"] == str(rows[0].pk)
    assert api("GET", f"snapshots/{rows[0].pk}/changes").status_code == 400


def test_nothing_changed(api: Tool) -> None:
    shop = a_cluster("shop")
    a_snapshot(shop, at=hour(2))
    after = a_snapshot(shop, at=hour(1))
    answer = api("GET", f"snapshots/{after.pk}/changes").json()
    assert [answer[name] for name in ("facts", "checks", "legacy", "owners")] == [[], [], [], []]


def test_no_other_cluster_and_no_later_snapshot(api: Tool) -> None:
    shop, other = a_cluster("shop"), a_cluster("other")
    older, newer, foreign = (a_snapshot(row, at=hour(back)) for row, back in ((shop, 2), (shop, 1), (other, 3)))
    for wrong in (newer.pk, foreign.pk, uuid.uuid4()):
        refused = api("GET", f"snapshots/{newer.pk}/changes?before={wrong}")
        assert (refused.status_code, refused.json()["code"]) == (400, "no_earlier_snapshot")
    refused = api("GET", f"snapshots/{older.pk}/changes?before={newer.pk}")
    assert (refused.status_code, refused.json()["code"]) == (400, "no_earlier_snapshot")


def test_the_first_snapshot_has_none_before_it(api: Tool) -> None:
    shop = a_cluster("shop")
    first = a_snapshot(shop, at=hour(2))
    a_snapshot(shop, at=hour(1))
    refused = api("GET", f"snapshots/{first.pk}/changes")
    assert (refused.status_code, refused.json()["code"]) == (400, "no_earlier_snapshot")


def test_a_snapshot_of_the_former_cluster_is_not_compared(api: Tool) -> None:
    shop = a_cluster("shop")
    former = a_snapshot(shop, at=hour(2))
    former.replaced = True
    former.save(update_fields=["replaced"])
    after = a_snapshot(shop, at=hour(1))
    assert api("GET", f"snapshots/{after.pk}/changes").status_code == 400
    assert api("GET", f"snapshots/{after.pk}/changes?before={former.pk}").status_code == 400
