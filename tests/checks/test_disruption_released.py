import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.inventory.facts.disruption_hold import HELD, NO_NODES
from tests.builders import a_cluster, as_published, blind, reads, remedies, told
from tests.builders_pools import a_pool

CHECK = "disruption_released"


def held(said, name="web"):
    pool = a_pool({"spec.disruption.budgets": NO_NODES}, name=name)
    return pool | {"metadata": pool["metadata"] | {"annotations": {HELD: said}}}


def row(name):
    return Evidence(kind="NodePool", name=name, path="metadata.annotations", seen=HELD, wanted="its budgets as before")


def test_a_budget_of_nothing_that_people_set_is_no_concern():
    cluster = a_cluster("1.0.8").with_docs(a_pool({"spec.disruption.budgets": NO_NODES}))
    assert told(CHECK, "1.0", cluster) == ("pass", "No NodePool stays held by karpdash", ())


def test_each_that_karpdash_held_and_nobody_let_go_is_named():
    cluster = a_cluster("1.0.8").with_docs(held("null"), held("[]", name="api"), a_pool(name="free"))
    assert told(CHECK, "1.0", cluster) == ("fail", "2 NodePools are still held", (row("web"), row("api")))


def test_without_pools_there_is_nothing_to_let_go():
    found = told(CHECK, "1.0", a_cluster("1.0.8"))
    assert found == ("not_applicable", "there is no NodePool of Karpenter's own yet", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert blind(CHECK, "1.0", a_cluster("1.0.8"), part=part) == ("unknown", f"{part} could not be read: forbidden")


@pytest.mark.parametrize(
    ("said", "spec"),
    [('[{"nodes":"10%"}]', ',"spec":{"disruption":{"budgets":[{"nodes":"10%"}]}}'),
     ("null", ',"spec":{"disruption":{"budgets":null}}'), ("[", "")],
)  # fmt: skip
def test_the_remedy_restores_the_budgets_where_the_annotation_tells_them(said, spec):
    found = as_published(remedies(CHECK, "1.0", a_cluster("1.0.8").with_docs(held(said))))
    body = f'{{"metadata":{{"annotations":{{"{HELD}":null}}}}{spec}}}'
    assert found == (
        Remedy(how="kubectl", text=f"kubectl patch nodepools.karpenter.sh web --type=merge -p '{body}'"),
    )  # fmt: skip
