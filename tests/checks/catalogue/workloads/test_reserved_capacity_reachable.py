import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.samples.karpenter_objects import node_class, pool
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, remedies, result_of, result_without
from tests.builders.newest import NEWEST_MINOR
from tests.builders.pods import is_shell, pods

CHECK = "reserved_capacity_reachable"
GOOD = ("pass", "Pods and NodePools can use reserved capacity", ())
KEY, TERMS = "karpenter.sh/capacity-type", "spec.capacityReservationSelectorTerms"
WANTED = "reserved beside on-demand"


def on_v1(*docs, terms: object = ({"id": "cr-1"},)):
    made = node_class("d", cluster="test", version="v1")
    made["spec"]["capacityReservationSelectorTerms"] = list(terms) if isinstance(terms, tuple) else terms
    return a_cluster("1.3.3", kubernetes="1.30").with_docs(made, *docs)


@pytest.mark.parametrize(
    "docs",
    [
        pods(),
        pods(nodeSelector={KEY: "spot"}),
        [pool("web", (KEY, "In", ("on-demand", "reserved")), node_class="d", version="v1")],
        [pool("web", (KEY, "NotIn", ("spot",)), node_class="d", version="v1")],
    ],
)
def test_nothing_shuts_them_out(docs):
    assert result_of(CHECK, NEWEST_MINOR, on_v1(*docs)) == GOOD


def test_a_pod_pinned_to_on_demand():
    found = result_of(CHECK, NEWEST_MINOR, on_v1(*pods(nodeSelector={KEY: "on-demand"})))
    row = Evidence(
        kind="Deployment",
        namespace="shop",
        name="web",
        path="spec.nodeSelector",
        seen=f"{KEY} on-demand",
        wanted=WANTED,
    )
    assert found == ("fail", "1 pod or NodePool excludes reserved capacity", (row,))


def test_a_pool_without_reserved():
    docs = [pool("web", (KEY, "In", ("spot", "on-demand")), node_class="d", version="v1")]
    path = "spec.template.spec.requirements"
    row = Evidence(kind="NodePool", name="web", path=path, seen="spot on-demand", wanted=WANTED)
    assert result_of(CHECK, NEWEST_MINOR, on_v1(*docs))[2] == (row,)


@pytest.mark.parametrize("terms", [(), None])
def test_without_reservations_it_does_not_arise(terms):
    found = result_of(CHECK, NEWEST_MINOR, on_v1(*pods(nodeSelector={KEY: "on-demand"}), terms=terms))
    assert found == ("not_applicable", f"no EC2NodeClass sets {TERMS}", ())


def test_it_informs_from_1_3_on():
    assert asked_hops(CHECK)[0] == "1.3"
    assert finding_of(CHECK, NEWEST_MINOR, on_v1()).severity == "info"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, NEWEST_MINOR, on_v1(), part=part) == (
        "unknown",
        f"{part} could not be read: forbidden",
    )


def test_the_remedy_edits():
    (remedy,) = remedies(CHECK, NEWEST_MINOR, on_v1(*pods(nodeSelector={KEY: "on-demand"})))
    assert remedy.text == "kubectl -n shop edit deployment web  # spec.nodeSelector: reserved beside on-demand"
    assert is_shell(remedy.text)


def test_the_remedy_patches_the_requirement_of_a_pool():
    one = pool("web", ("other", "Exists", ()), (KEY, "In", ("on-demand",)), node_class="d", version="v1")
    (remedy,) = remedies(CHECK, NEWEST_MINOR, on_v1(one))
    (step,) = leaves(remedy.change)
    path = "/spec/template/spec/requirements"
    before = one["spec"]["template"]["spec"]["requirements"]
    assert step.body == (
        {"op": "test", "path": f"{path}/1", "value": before[1]},
        {"op": "replace", "path": f"{path}/1", "value": before[1] | {"values": ["on-demand", "reserved"]}},
    )
    after = [before[0], before[1] | {"values": ["on-demand", "reserved"]}]
    assert step.undo.body == (
        {"op": "test", "path": path, "value": after},
        {"op": "replace", "path": path, "value": before},
    )
