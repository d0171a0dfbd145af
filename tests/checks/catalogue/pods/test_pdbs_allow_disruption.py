import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.samples.karpenter_objects import Launched, claim, machine
from migrations_app.samples.kubernetes_objects import budget
from tests.builders.clusters import a_cluster, finding_of, reads, remedies, result_of, result_without
from tests.builders.newest import NEWEST_MINOR
from tests.builders.patches import patch_words
from tests.builders.pods import pods

CHECK = "pdbs_allow_disruption"
GOOD = ("pass", "Every PodDisruptionBudget allows a disruption", ())
OLD = Launched(pool="web", number=1, cluster="test", kubelet="v1.28.4")
NOTHING = ("not_applicable", "the upgrade replaces no node that exists now", ())


def on_0_32(*docs):
    return a_cluster("0.32.10", kubernetes="1.28").with_docs(*machine(OLD, template="default"), *docs)


def stuck(path: str, seen: str) -> tuple[str, str, tuple[Evidence, ...]]:
    row = Evidence(
        kind="PodDisruptionBudget", namespace="shop", name="db", path=path, seen=seen, wanted="one pod may go"
    )
    return "fail", "1 PodDisruptionBudget allows no disruption", (row,)


def test_one_pod_may_go():
    assert result_of(CHECK, "0.33+", on_0_32(budget("db", "shop", healthy=3, allowed=1, maxUnavailable=1))) == GOOD


@pytest.mark.parametrize("limit", [0, "0", "0%"])
def test_no_pod_may_ever_go(limit):
    found = result_of(CHECK, "0.33+", on_0_32(budget("db", "shop", healthy=3, allowed=0, maxUnavailable=limit)))
    assert found == stuck("spec.maxUnavailable", str(limit))


@pytest.mark.parametrize(("limit", "seen"), [(3, "3 of 3 pods"), (5, "5 of 3 pods"), ("100%", "100% of 3 pods")])
def test_as_many_as_there_are_must_stay(limit, seen):
    found = result_of(CHECK, "0.33+", on_0_32(budget("db", "shop", healthy=3, allowed=0, minAvailable=limit)))
    assert found == stuck("spec.minAvailable", seen)


@pytest.mark.parametrize(
    ("limit", "path", "seen"),
    [
        ({"minAvailable": "51%"}, "spec.minAvailable", "51%, and all 1 pods are healthy"),
        ({"maxUnavailable": "0.0%"}, "spec.maxUnavailable", "0.0%, and all 1 pods are healthy"),
    ],
)
def test_a_rule_that_no_pod_of_so_few_can_meet(limit, path, seen):
    assert result_of(CHECK, "0.33+", on_0_32(budget("db", "shop", healthy=1, allowed=0, **limit))) == stuck(path, seen)


def test_budgets_of_pods_elsewhere_hold_nothing_up():
    one = budget("db", "shop", healthy=2, allowed=0, maxUnavailable=0)
    away = pods("StatefulSet", "db", nodes=("other-a", "other-b"), count=2)
    assert result_of(CHECK, "0.33+", on_0_32(one, *away)) == GOOD
    partly = pods("StatefulSet", "db", nodes=("other-a", OLD.node), count=2)
    assert result_of(CHECK, "0.33+", on_0_32(one, *partly)) == stuck("spec.maxUnavailable", "0")
    everywhere = pods("DaemonSet", "db", nodes=("other-a",), count=2)
    assert result_of(CHECK, "0.33+", on_0_32(one, *everywhere)) == stuck("spec.maxUnavailable", "0")


def test_none_may_go_at_the_moment():
    one = budget("db", "shop", healthy=3, allowed=0, maxUnavailable=1)
    one["status"] |= {"currentHealthy": 2}
    assert result_of(CHECK, "0.33+", on_0_32(one)) == stuck("status.disruptionsAllowed", "0, 2 of 3 pods are healthy")


def test_a_budget_without_pods_holds_nothing_up():
    assert result_of(CHECK, "0.33+", on_0_32(budget("db", "shop", healthy=0, allowed=0, maxUnavailable=0))) == GOOD


@pytest.mark.parametrize("status", [None, {}])
def test_a_budget_without_status_is_unknown(status):
    one = budget("db", "shop", healthy=3, allowed=1, maxUnavailable=1) | {"status": status}
    why = "PodDisruptionBudget shop/db: status.disruptionsAllowed is not set"
    assert result_of(CHECK, "0.33+", on_0_32(one)) == ("unknown", why, ())


def test_a_hop_that_replaces_nothing_does_not_ask():
    one = budget("db", "shop", healthy=3, allowed=0, maxUnavailable=0)
    assert result_of(CHECK, "0.33+", a_cluster("0.32.10", kubernetes="1.28").with_docs(one)) == NOTHING
    assert result_of(CHECK, "0.33+", a_cluster("0.37.1").with_docs(*machine(OLD, template="d"), one)) == NOTHING


def test_at_1_0_what_has_expired_is_drained():
    docs = claim(OLD, node_class="default", version="v1beta1")
    one = budget("db", "shop", healthy=3, allowed=0, maxUnavailable=0)
    assert result_of(CHECK, "1.0", a_cluster().with_docs(*docs, one)) == stuck("spec.maxUnavailable", "0")


def test_a_minor_passed_over_replaces_nodes_too():
    docs = claim(OLD, node_class="default", version="v1")
    one = budget("db", "shop", healthy=3, allowed=0, maxUnavailable=0)
    assert result_of(CHECK, NEWEST_MINOR, a_cluster("1.3.3").with_docs(*docs, one)) == stuck("spec.maxUnavailable", "0")
    assert result_of(CHECK, NEWEST_MINOR, a_cluster("1.12.2").with_docs(*docs, one)) == NOTHING


def test_it_blocks_where_every_node_is_replaced():
    assert [finding_of(CHECK, hop, on_0_32()).severity for hop in ("0.33+", "1.0")] == ["blocker", "warning"]


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "0.33+", on_0_32(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_loosens_the_rule():
    (remedy,) = remedies(CHECK, "0.33+", on_0_32(budget("db", "shop", healthy=3, allowed=0, maxUnavailable=0)))
    command, least, most = "kubectl -n shop patch pdb db", "/spec/minAvailable", "/spec/maxUnavailable"
    assert remedy.text.splitlines()[1:] == [
        "# To put each rule back once the nodes are replaced:",
        f"# {command} {patch_words((least, None, None), (most, 1, 0))}",
        f"{command} {patch_words((least, None, None), (most, 0, 1))}",
    ]
    (step,) = leaves(remedy.change)
    assert (step.undo.body, step.undo.when) == ({"spec": {"minAvailable": None, "maxUnavailable": 0}}, "after")


def test_the_remedy_mends_pods_where_the_rule_is_right():
    one = budget("db", "shop", healthy=3, allowed=0, maxUnavailable=1)
    one["status"] |= {"currentHealthy": 2}
    (remedy,) = remedies(CHECK, "0.33+", on_0_32(one))
    assert remedy.text.splitlines()[1] == "kubectl -n shop describe pdb db"
