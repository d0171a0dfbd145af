import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import ON_DEMAND, pool
from tests.builders.clusters import a_cluster, an_empty_cluster, asked_hops, reads, remedies, result_of, result_without

CHECK = "rollback_loses_nothing"
TIME = '"$(date -u +%Y%m%dT%H%M%SZ)"'
GOOD = ("pass", "A rollback loses no setting", ())


def a_pool(*, grace: str = "", **disruption: object):
    found = pool("general", ON_DEMAND, node_class="default", version="v1")
    found["spec"]["disruption"] = disruption
    if grace:
        found["spec"]["template"]["spec"]["terminationGracePeriod"] = grace
    return a_cluster().with_docs(found)


def a_row(path: str, seen: str) -> Evidence:
    wanted = "written down, to be set again after a rollback"
    return Evidence(kind="NodePool", name="general", path=path, seen=seen, wanted=wanted)


@pytest.mark.parametrize(
    "disruption",
    [
        {},
        {"budgets": [{"nodes": "10%"}]},
        {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s"},
        {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m"},
        {"budgets": "odd"},
        {"budgets": ["odd"]},
    ],
)
def test_fields_that_both_have(disruption):
    assert result_of(CHECK, "1.0", a_pool(**disruption)) == GOOD


def test_fields_that_only_v1_has():
    rows = (
        a_row("spec.disruption.budgets[1].reasons", "Drifted, Empty"),
        a_row("spec.template.spec.terminationGracePeriod", "1h"),
        a_row("spec.disruption.consolidateAfter", "1m"),
    )
    cluster = a_pool(
        grace="1h",
        budgets=[{"nodes": "1"}, {"nodes": "0", "reasons": ["Drifted", "Empty"]}],
        consolidationPolicy="WhenEmptyOrUnderutilized",
        consolidateAfter="1m",
    )
    assert result_of(CHECK, "1.0", cluster) == ("fail", "3 NodePool fields would be lost by a rollback", rows)


def test_without_pools_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "there is no NodePool yet", ())


def test_it_is_asked_at_1_0():
    assert asked_hops(CHECK) == ("1.0",)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_keeps_what_there_is():
    note, line = remedies(CHECK, "1.0", a_pool(grace="1h"))[0].text.split("\n")
    objects = "nodepools.karpenter.sh,ec2nodeclasses.karpenter.k8s.aws"
    assert line == f"kubectl get {objects} -o yaml > before-the-upgrade-{TIME}.yaml"
    assert note.startswith("# Keep the values, to be written again by kubectl edit")
