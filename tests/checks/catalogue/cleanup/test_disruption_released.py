import json

import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.inventory.facts.disruption_hold import HELD, NO_NODES
from migrations_app.manifests.patches import merge_patched
from tests.builders.clusters import a_cluster, reads, remedies, result_of, result_without, without_changes
from tests.builders.patches import patch_words
from tests.builders.pools import a_pool

CHECK = "disruption_released"


def held(said, name="web"):
    pool = a_pool({"spec.disruption.budgets": NO_NODES}, name=name)
    return pool | {"metadata": pool["metadata"] | {"annotations": {HELD: said}}}


def row(name):
    return Evidence(kind="NodePool", name=name, path="metadata.annotations", seen=HELD, wanted="its budgets as before")


def test_a_budget_of_nothing_that_people_set_is_no_concern():
    cluster = a_cluster("1.0.8").with_docs(a_pool({"spec.disruption.budgets": NO_NODES}))
    assert result_of(CHECK, "1.0", cluster) == ("pass", "No NodePool stays held by karpdash", ())


def test_each_that_karpdash_held_and_nobody_let_go_is_named():
    cluster = a_cluster("1.0.8").with_docs(held("null"), held("[]", name="api"), a_pool(name="free"))
    assert result_of(CHECK, "1.0", cluster) == ("fail", "2 NodePools are still held", (row("web"), row("api")))


def test_without_pools_there_is_nothing_to_let_go():
    found = result_of(CHECK, "1.0", a_cluster("1.0.8"))
    assert found == ("not_applicable", "there is no NodePool of Karpenter's own yet", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster("1.0.8"), part=part) == (
        "unknown",
        f"{part} could not be read: forbidden",
    )


@pytest.mark.parametrize(
    ("said", "budgets"),
    [('[{"nodes":"10%"}]', '[{"nodes":"10%"}]'), ("null", "null")],
)
def test_the_remedy_restores_the_budgets_where_the_annotation_tells_them(said, budgets):
    found = without_changes(remedies(CHECK, "1.0", a_cluster("1.0.8").with_docs(held(said))))
    mark, at = f"/metadata/annotations/{HELD.replace('/', '~1')}", "/spec/disruption/budgets"
    patch = patch_words((mark, said, None), (at, [{"nodes": "0"}], json.loads(budgets)))
    assert found == (
        Remedy(how="kubectl", text=f"kubectl patch nodepools.karpenter.sh web {patch}"),
    )  # fmt: skip


@pytest.mark.parametrize("said", ["[", '"a"', ""])
def test_budgets_that_the_annotation_does_not_tell_are_left_to_a_person(said):
    """Without the mark the pool would look free although it is still held."""
    (found,) = remedies(CHECK, "1.0", a_cluster("1.0.8").with_docs(held(said)))
    assert "restore spec.disruption.budgets of NodePool web" in found.text
    assert "patch" not in found.text


def test_budgets_that_were_changed_since_stay():
    pool = held("null")
    pool["spec"]["disruption"]["budgets"] = [{"nodes": "5"}]
    (found,) = remedies(CHECK, "1.0", a_cluster("1.0.8").with_docs(pool))
    assert found.change.body == {"metadata": {"annotations": {HELD: None}}}


def test_once_the_remedy_is_made_the_check_passes():
    (found,) = remedies(CHECK, "1.0", a_cluster("1.0.8").with_docs(held('[{"nodes":"10%"}]')))
    after = merge_patched(held('[{"nodes":"10%"}]'), found.change.body)
    assert after["spec"]["disruption"]["budgets"] == [{"nodes": "10%"}]
    assert result_of(CHECK, "1.0", a_cluster("1.0.8").with_docs(after))[0] == "pass"
