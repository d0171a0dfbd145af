import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import Launched, claim
from migrations_app.samples.kubernetes_objects import node
from tests.builders.clusters import a_cluster, an_empty_cluster, reads, remedies, result_of, result_without

CHECK = "finalizers_served"
GOOD = ("pass", "Every finalizer has a controller that removes it", ())
FINALIZER = "karpenter.sh/termination"


def held(*labels: dict, finalizers: tuple[str, ...] = (FINALIZER,)):
    return [
        node(f"n{place}", kubelet="v1.29.1", provider_id=f"aws:///a/i-{place}", labels=one, finalizers=list(finalizers))
        for place, one in enumerate(labels)
    ]


BETA, ALPHA = {"karpenter.sh/nodepool": "general"}, {"karpenter.sh/provisioner-name": "default"}


def a_row(kind: str, name: str, seen: str, count: int = 1) -> Evidence:
    path = f"metadata.finalizers[{FINALIZER}]"
    return Evidence(kind=kind, name=name, path=path, seen=seen, wanted="a controller, or absent", count=count)


def test_the_controller_takes_them_off():
    assert result_of(CHECK, "1.0", a_cluster().with_docs(*held(BETA, BETA))) == GOOD


def test_alpha_nodes_are_forgotten_from_0_33_on():
    rows = (a_row("Provisioner", "default", "0.37.8 does not act on alpha", 2),)
    found = result_of(CHECK, "1.0", a_cluster().with_docs(*held(BETA, ALPHA, ALPHA)))
    assert found == ("fail", "2 objects have orphaned finalizers", rows)


def test_0_32_serves_both():
    cluster = a_cluster("0.32.10", kubernetes="1.28").with_docs(*held(BETA, ALPHA))
    assert result_of(CHECK, "0.33+", cluster) == GOOD


def test_a_release_without_a_row_may_serve_them():
    """0.27 launches by Provisioners: a node that loses its finalizer keeps its instance when it is deleted."""
    cluster = a_cluster("0.27.5", kubernetes="1.24").with_docs(*held(ALPHA))
    assert result_of(CHECK, "0.31", cluster) == ("unknown", "which objects 0.27.5 acts on is not known", ())
    assert remedies(CHECK, "0.31", cluster) == ()


def test_after_an_uninstall_nobody_does():
    cluster = an_empty_cluster().with_kubernetes("v1.29.4-eks-x").with_docs(*held(BETA))
    rows = (a_row("NodePool", "general", "no controller runs"),)
    found = result_of(CHECK, "1.0", cluster, start="0.37.8")
    assert found == ("fail", "1 object has an orphaned finalizer", rows)
    scaled = a_cluster(replicas=0).with_docs(*held(BETA))
    assert result_of(CHECK, "1.0", scaled)[2] == rows


def a_claim_of_nobody():
    made, _ = claim(Launched(pool="web", number=1, cluster="test", kubelet="v1.29.4"), node_class="c", version="v1")
    made["metadata"]["finalizers"] = [FINALIZER]
    return made


def test_after_an_uninstall_claims_are_stuck_as_well():
    found = result_of(CHECK, "1.0", an_empty_cluster().with_docs(a_claim_of_nobody()), start="0.37.8")
    path = f"metadata.finalizers[{FINALIZER}]"
    row = Evidence(
        kind="NodeClaim",
        name=a_claim_of_nobody()["metadata"]["name"],
        path=path,
        seen="no controller runs",
        wanted="a controller, or absent",
    )
    assert found == ("fail", "1 object has an orphaned finalizer", (row,))
    assert result_of(CHECK, "1.0", a_cluster().with_docs(a_claim_of_nobody()))[0] == "not_applicable"


def test_claims_that_could_not_be_read_may_be_stuck():
    found = result_of(CHECK, "1.0", an_empty_cluster().unseen("nodeclaims"), start="0.37.8")
    assert found[:2] == ("unknown", "nodeclaims could not be read: forbidden")


def test_a_controller_that_could_not_be_read_may_serve_them():
    cluster = a_cluster().without("controller").quarantined("controller").with_docs(*held(BETA))
    assert result_of(CHECK, "1.0", cluster, start="0.37.8")[::2] == ("unknown", ())


@pytest.mark.parametrize("nodes", [[], held(BETA, finalizers=("other",))])
def test_no_finalizer_of_ours(nodes):
    found = result_of(CHECK, "1.0", a_cluster().with_docs(*nodes))
    assert found == ("not_applicable", "no node carries a finalizer of Karpenter", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_looks_at_the_instances_first():
    text = remedies(CHECK, "1.0", a_cluster().with_docs(*held(ALPHA)))[0].text
    assert text.splitlines()[1] == (
        "kubectl get nodes -l karpenter.sh/provisioner-name -o custom-columns=NAME:.metadata.name,ID:.spec.providerID"
    )


def test_the_remedy_takes_them_off_claims_as_well():
    made = a_claim_of_nobody()
    text = remedies(CHECK, "1.0", an_empty_cluster().with_docs(made, *held(BETA)), start="0.37.8")[0].text
    patched = [line.split(" --type")[0] for line in text.splitlines() if line.startswith("kubectl patch")]
    assert patched == [f"kubectl patch nodeclaims.karpenter.sh {made['metadata']['name']}", "kubectl patch node n0"]


def test_nodes_that_a_controller_serves_keep_theirs():
    text = remedies(CHECK, "1.0", a_cluster().with_docs(*held(BETA, ALPHA)))[0].text
    assert [line.split()[3] for line in text.splitlines() if line.startswith("kubectl patch")] == ["n1"]


def test_a_controller_that_is_scaled_to_zero_takes_them_off_once_it_runs():
    """Nothing shows that these objects are left over: their instances run, and so will the controller."""
    (only,) = remedies(CHECK, "1.0", a_cluster(replicas=0).with_docs(a_claim_of_nobody(), *held(BETA)))
    assert only.text.splitlines() == [
        "# For a person: scale Deployment kube-system/karpenter up again, and leave the finalizers to the controller",
        "# without a finalizer the instance of a deleted object keeps running and is billed",
        "# Look at: one_controller_runs, and the runbook of the upgrade",
    ]


def test_after_a_rollback_to_alpha_the_nodes_of_node_pools_wait_for_the_upgrade():
    cluster = a_cluster("0.31.5", kubernetes="1.27").with_docs(*held(BETA, BETA, ALPHA))
    rows = (a_row("NodePool", "general", "0.31.5 does not act on beta", 2),)
    assert result_of(CHECK, "0.32", cluster) == ("fail", "2 objects have orphaned finalizers", rows)
    (only,) = remedies(CHECK, "0.32", cluster)
    task = "take the upgrade to 0.32.10, which acts on NodePools, and leave the finalizers to the controller"
    assert only.text.splitlines()[0] == f"# For a person: {task}"
