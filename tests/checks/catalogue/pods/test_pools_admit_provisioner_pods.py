import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import AMD64, ON_DEMAND, SPOT, pool, provisioner
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, remedies, result_of, result_without
from tests.builders.pods import is_shell

CHECK = "pools_admit_provisioner_pods"
GOOD = ("pass", "Every Provisioner has a NodePool for its pods", ())
TAINT = {"key": "team", "value": "ml", "effect": "NoSchedule"}
LEGACY = {"key": "karpenter.sh/legacy", "value": "true", "effect": "NoSchedule"}
OLD = provisioner("old", AMD64, ON_DEMAND, template="d", labels={"team": "ml"}, taints=[TAINT, LEGACY])


def new(*rows, labels=None, **more):
    made = pool("new", *rows, node_class="d", version="v1beta1", **more)
    made["spec"]["template"]["metadata"] = {"labels": {"team": "ml"} if labels is None else labels}
    return made


def on_0_32(*docs):
    return a_cluster("0.32.10", kubernetes="1.28").with_docs(OLD, *docs)


def failed(seen: str):
    row = Evidence(kind="Provisioner", name="old", path="spec", seen=seen, wanted="a NodePool that fits")
    return "fail", "1 Provisioner has no NodePool for its pods", (row,)


@pytest.mark.parametrize(
    "made",
    [
        new(),
        new(AMD64, SPOT),
        new(taints=[TAINT]),
        new(taints=[TAINT | {"key": "x", "effect": "PreferNoSchedule"}]),
        new(("team", "In", ("ml", "web")), labels={}),
        new(("kubernetes.io/arch", "NotIn", ("arm64",))),
    ],
)
def test_a_pool_that_fits(made):
    assert result_of(CHECK, "0.33+", on_0_32(made)) == GOOD


@pytest.mark.parametrize(
    ("made", "seen"),
    [
        (new(taints=[{"key": "x", "effect": "NoExecute"}]), "has the taint x, which the pods need not tolerate now"),
        (new(labels={}), "does not give the label team=ml"),
        (new(("kubernetes.io/arch", "In", ("arm64",))), "admits no kubernetes.io/arch of amd64"),
    ],
)
def test_a_pool_that_does_not(made, seen):
    assert result_of(CHECK, "0.33+", on_0_32(made)) == failed(f"NodePool new {seen}")


def test_one_that_fits_is_enough():
    other = new(labels={})
    other["metadata"] = other["metadata"] | {"name": "other"}
    assert result_of(CHECK, "0.33+", on_0_32(other, new())) == GOOD


def test_a_pool_that_is_not_ready_or_going_or_missing():
    unready = new() | {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    assert result_of(CHECK, "0.33+", on_0_32(unready)) == failed("NodePool new is not ready")
    going = new()
    going["metadata"] = going["metadata"] | {"deletionTimestamp": "2026-10-01T11:00:00Z"}
    assert result_of(CHECK, "0.33+", on_0_32(going)) == failed("there is no NodePool")


def test_odd_fields_speak_against_nothing():
    made = new() | {"status": {"conditions": "odd"}}
    made["spec"]["template"]["spec"] |= {"taints": "odd", "requirements": [5, {"key": "x", "values": "y"}]}
    assert result_of(CHECK, "0.33+", on_0_32(made)) == GOOD


def test_it_does_not_arise():
    none = a_cluster("0.32.10", kubernetes="1.28").with_docs(new())
    assert result_of(CHECK, "0.33+", none) == ("not_applicable", "no Provisioner is left", ())
    early = a_cluster("0.31.5", kubernetes="1.27").with_docs(OLD)
    assert result_of(CHECK, "0.33+", early) == ("not_applicable", "NodePools take over on 0.32, and 0.31.5 runs", ())


def test_it_blocks_where_alpha_ends():
    assert asked_hops(CHECK) == ("0.33+",)
    assert finding_of(CHECK, "0.33+", on_0_32()).severity == "blocker"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "0.33+", on_0_32(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedies_convert_and_then_fence():
    remedy, fence, *_ = remedies(CHECK, "0.33+", on_0_32())
    lines = [line for line in remedy.text.splitlines() if not line.startswith("#")]
    alpha = "provisioners.karpenter.sh,awsnodetemplates.karpenter.k8s.aws"
    assert lines[:4] == [
        f"kubectl get {alpha} -o yaml > alpha.yaml",
        "karpdash convert -f alpha.yaml --to v1beta1 > beta.yaml",
        "grep -nF '$KARPENTER_NODE_ROLE' beta.yaml ||",
        "  kubectl create -f beta.yaml  # what is there already is refused, and stays as it is",
    ]
    assert is_shell(remedy.text)
    assert fence.text.splitlines()[-1].startswith("kubectl patch provisioners.karpenter.sh ")
