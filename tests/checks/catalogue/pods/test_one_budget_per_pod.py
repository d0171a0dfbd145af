import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.kubernetes_objects import budget
from tests.builders.clusters import finding_of, reads, remedies, result_of, result_without
from tests.builders.pods import NOTHING, OLD, STAYS, is_shell, pods, rolling, still

CHECK = "one_budget_per_pod"
GOOD = ("pass", "No pod is covered by two PodDisruptionBudgets", ())


def budgets(*selectors, namespace: str = "shop"):
    made = [budget(f"b{place}", namespace, healthy=3, allowed=1, maxUnavailable=1) for place in range(len(selectors))]
    for one, selector in zip(made, selectors, strict=True):
        one["spec"]["selector"] = selector
    return made


APP, TIER, ALL = {"matchLabels": {"app": "web"}}, {"matchLabels": {"tier": "front"}}, {}
IN = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}
FRONT = {"app": "web", "tier": "front"}


@pytest.mark.parametrize(
    "docs",
    [
        budgets(APP),
        budgets(APP, {"matchLabels": {"app": "other"}}),
        budgets(APP, None),
        [*budgets(APP), *budgets(APP, namespace="elsewhere")],
    ],
)
def test_one_or_none(docs):
    assert result_of(CHECK, "0.33+", rolling(*pods(labels=FRONT), *docs)) == GOOD


@pytest.mark.parametrize("other", [TIER, ALL, IN])
def test_two_cover_the_same_pods(other):
    found = result_of(CHECK, "0.33+", rolling(*pods(labels=FRONT, count=2), *budgets(APP, other)))
    row = Evidence(
        kind="Deployment", namespace="shop", name="web", path="metadata.labels",
        seen=f"covered by b0 and b1, on {OLD.node}", wanted="one PodDisruptionBudget", count=2,
    )  # fmt: skip
    assert found == ("fail", "2 pods are covered by two PodDisruptionBudgets", (row,))


def test_pods_elsewhere_do_not_matter():
    assert result_of(CHECK, "0.33+", rolling(*pods(labels=FRONT, nodes=(STAYS,)), *budgets(APP, TIER))) == GOOD
    three = pods(labels=FRONT, nodes=(STAYS, OLD.node), count=3)
    assert (
        result_of(CHECK, "0.33+", rolling(*three, *budgets(APP, TIER)))[1]
        == "at least 1 pod is covered by two PodDisruptionBudgets"
    )


def test_nothing_is_replaced():
    assert result_of(CHECK, "0.33+", still().with_docs(*pods(labels=FRONT), *budgets(APP, TIER))) == NOTHING


def test_it_blocks_where_every_node_goes():
    assert [finding_of(CHECK, hop, rolling()).severity for hop in ("0.33+", "1.0")] == ["blocker", "warning"]


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "0.33+", rolling(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_names_the_budgets():
    (remedy,) = remedies(CHECK, "0.33+", rolling(*pods(labels=FRONT), *budgets(APP, TIER)))
    assert remedy.text.splitlines()[3:] == ["kubectl -n shop get pdb b0 b1 -o yaml"]
    assert is_shell(remedy.text)
