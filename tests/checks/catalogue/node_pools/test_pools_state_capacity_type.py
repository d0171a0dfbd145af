import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.samples.installation import Crds, crds
from migrations_app.samples.karpenter_objects import LARGE_ENOUGH, ON_DEMAND, SPOT, pool, provisioner
from tests.builders.clusters import a_cluster, finding_of, reads, remedies, result_of, result_without

CHECK = "pools_state_capacity_type"
GOOD = ("pass", "Every NodePool sets its capacity type", ())
SILENT = Evidence(
    kind="NodePool",
    name="web",
    path="spec.template.spec.requirements",
    seen="absent",
    wanted="karpenter.sh/capacity-type In [on-demand] or with spot",
)


def with_pool(*rows, version: str = "v1beta1", name: str = "web", **more):
    return a_cluster().with_docs(pool(name, *rows, node_class="default", version=version, **more))


@pytest.mark.parametrize("row", [ON_DEMAND, SPOT, ("karpenter.sh/capacity-type", "Exists", ())])
def test_a_capacity_type_is_stated(row):
    assert result_of(CHECK, "1.0", with_pool(LARGE_ENOUGH, row)) == GOOD


@pytest.mark.parametrize("rows", [(), (LARGE_ENOUGH,)])
def test_none_is_stated(rows):
    found = result_of(CHECK, "1.0", with_pool(*rows))
    assert found == ("fail", "1 NodePool sets no capacity type: Spot is possible", (SILENT,))


def test_only_the_silent_pool_is_named():
    cluster = with_pool(LARGE_ENOUGH).with_docs(pool("batch", SPOT, node_class="default", version="v1beta1"))
    assert result_of(CHECK, "1.0", cluster)[2] == (SILENT,)


def test_where_alpha_is_left_it_is_a_warning():
    alpha = a_cluster("0.32.10", kubernetes="1.28")
    assert finding_of(CHECK, "0.33+", alpha).severity == "warning"
    assert finding_of(CHECK, "1.0", a_cluster()).severity == "info"


PAST = ("not_applicable", "a release after 0.32 runs, and nothing of alpha is left", ())


def at_0_33(*docs):
    made = pool("web", LARGE_ENOUGH, node_class="default", version="v1beta1")
    return a_cluster("0.33.0", kubernetes="1.28").with_docs(made, *docs)


def test_once_alpha_is_past_only_later_hops_remind():
    assert result_of(CHECK, "0.33+", at_0_33()) == PAST
    assert result_of(CHECK, "1.0", at_0_33())[0] == "fail"


@pytest.mark.parametrize(
    "cluster", [at_0_33(provisioner("old", ON_DEMAND, template="default")), at_0_33(*crds(Crds(version="0.31.4")))]
)
def test_while_anything_of_alpha_is_left_it_is_asked(cluster):
    assert result_of(CHECK, "0.33+", cluster)[2] == (SILENT,)


@pytest.mark.parametrize("part", ["crds", "machines"])
def test_whether_alpha_is_past_is_open_where_it_was_not_seen(part):
    assert result_of(CHECK, "0.33+", at_0_33().unseen(part))[2] == (SILENT,)


@pytest.mark.parametrize("odd", ["all", {"key": "x"}, 7])
def test_requirements_that_are_no_list_are_unknown(odd):
    cluster = with_pool(requirements=odd)
    why = "NodePool web: spec.template.spec.requirements is no list"
    assert result_of(CHECK, "1.0", cluster) == ("unknown", why, ())


def test_odd_rows_state_nothing():
    assert result_of(CHECK, "1.0", with_pool(requirements=["karpenter.sh/capacity-type", None, {}]))[2] == (SILENT,)


def test_pools_of_auto_mode_are_not_ours():
    cluster = with_pool(version="v1", nodeClassRef={"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "d"})
    assert result_of(CHECK, "1.0", cluster) == ("not_applicable", "there is no pool of Karpenter's own", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_a_provisioner_without_one_asks_for_spot_as_a_pool():
    old = provisioner("web", LARGE_ENOUGH, template="default")
    alpha = a_cluster("0.31.5", kubernetes="1.27").with_docs(old)
    wanted = "karpenter.sh/capacity-type In [on-demand] or with spot"
    row = Evidence(kind="Provisioner", name="web", path="spec.requirements", seen="absent", wanted=wanted)
    assert result_of(CHECK, "0.32", alpha) == ("fail", "1 NodePool sets no capacity type: Spot is possible", (row,))
    (change,) = leaves(remedies(CHECK, "0.32", alpha)[0].change)
    at, value = "/spec/requirements", {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}
    before = old["spec"]["requirements"]
    as_seen = {"op": "test", "path": at, "value": before}
    assert change.body == (as_seen, {"op": "add", "path": f"{at}/-", "value": value})
    last = f"{at}/{len(before)}"
    assert change.undo.body == ({"op": "test", "path": last, "value": value}, {"op": "remove", "path": last})
    assert result_of(CHECK, "1.0", a_cluster().with_docs(old))[0] == "not_applicable"


def test_the_remedy_adds_the_requirement():
    (remedy,) = remedies(CHECK, "1.0", with_pool())
    assert remedy.text.splitlines() == [
        "# Nodes launched before will drift where the new requirement does not admit them",
        PATCH,
    ]


PATCH = (
    "kubectl patch nodepools.karpenter.sh web --type=json -p "
    '\'[{"op":"test","path":"/spec/template/spec/requirements","value":[]},'
    '{"op":"add","path":"/spec/template/spec/requirements",'
    '"value":[{"key":"karpenter.sh/capacity-type","operator":"In","values":["on-demand"]}]}]\''
)
