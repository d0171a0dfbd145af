"""What monitoring is told of a report; requests are counted by verb and status."""

import pytest

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.parts import Seen, UnparsableObject, Unseen
from migrations_app.models.cluster import Cluster
from migrations_app.models.monitoring import Gauges
from migrations_app.use_cases.scans import queue, store
from migrations_app.use_cases.scans.worker import scan_claimed
from tests.builders.rows import a_report


def test_a_report_in_numbers():
    told = store.gauges(a_report(), {("NodePool", "karpenter.sh/v1"): 3})
    assert (told["verdicts"], told["legacy_nodes"]) == ({"0.32": "blocked", "0.33+": "blocked"}, 12)
    assert told["objects"] == [["NodePool", "karpenter.sh/v1", 3]]
    assert ["0.32", "blocker", "fail", 1] in told["checks"]
    assert sum(count for *_, count in told["checks"]) == len(a_report().checks)


def test_nodes_that_could_not_be_read_are_no_number():
    assert store.gauges(a_report(legacy={"Node": None}), {})["legacy_nodes"] is None


def test_objects_that_are_set_aside_count_and_kinds_that_nobody_saw_do_not():
    odd = UnparsableObject("NodePool", "", "x", "$.spec", "no text")
    inventory = Inventory(
        cluster="c",
        taken_at="",
        nodepools=Seen(served="karpenter.sh/v1", quarantined=(odd,)),
        nodeclaims=Seen(served="karpenter.sh/v1"),
        machines=Seen(),
        provisioners=Unseen("forbidden"),
    )
    assert store.objects_of(inventory) == {("NodePool", "karpenter.sh/v1"): 1, ("NodeClaim", "karpenter.sh/v1"): 0}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("story", "objects"),
    [("beta_037", {"NodePool", "EC2NodeClass", "NodeClaim"}), ("halfway_032", set(store.KINDS.values()))],
)
def test_a_scan_writes_the_numbers_of_its_snapshot(story, objects):
    cluster = Cluster.objects.create(name="c", source="sample", context=story)
    for _ in range(2):
        scan_claimed(queue.claim(queue.request_scan(cluster.pk).scan_id))
    row = Gauges.objects.get()
    cluster.refresh_from_db()
    report = cluster.latest.report()
    assert row.body["verdicts"] == {line.hop: line.verdict for line in report.hops}
    assert {kind for kind, _, count in row.body["objects"] if count} == objects
