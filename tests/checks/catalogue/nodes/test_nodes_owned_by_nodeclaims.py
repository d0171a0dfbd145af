import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import ChangeTarget, Observation, PersonTask, leaves
from migrations_app.samples.karpenter_objects import ON_DEMAND, Launched, claim, machine, provisioner
from migrations_app.samples.kubernetes_objects import node
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, remedies, result_of, result_without

CHECK = "nodes_owned_by_nodeclaims"
GOOD = ("pass", "Every Karpenter node is owned by a NodeClaim", ())
OLD, NEW = (Launched(pool=pool, number=1, cluster="test", kubelet="v1.28.4") for pool in ("old", "new"))
ONE = "1 Karpenter node is not owned by a NodeClaim"


def on_0_32(*docs):
    return a_cluster("0.32.10", kubernetes="1.28").with_docs(*docs)


def a_row(name: str, seen: str) -> Evidence:
    return Evidence(kind="Node", name=name, path="metadata.ownerReferences", seen=seen, wanted="NodeClaim")


def other_node(name: str, provider_id: str = "aws:///eu-central-1a/i-0", **labels):
    return node(name, kubelet="v1.28.4", provider_id=provider_id, labels=labels)


def test_all_stand_behind_claims():
    assert result_of(CHECK, "0.33+", on_0_32(*claim(NEW, node_class="default", version="v1beta1"))) == GOOD


def test_a_node_behind_a_machine():
    cluster = on_0_32(*machine(OLD, template="d"), *claim(NEW, node_class="default", version="v1beta1"))
    row = a_row(OLD.node, f"Machine {OLD.claim} of Provisioner old")
    assert result_of(CHECK, "0.33+", cluster) == ("fail", ONE, (row,))


def test_a_node_from_before_machines():
    row = a_row("ancient", "Provisioner old")
    cluster = on_0_32(other_node("ancient", **{"karpenter.sh/provisioner-name": "old"}))
    assert result_of(CHECK, "0.33+", cluster) == ("fail", ONE, (row,))


def test_a_node_whose_claim_is_gone():
    _, lost = claim(NEW, node_class="default", version="v1beta1")
    row = a_row(NEW.node, "no NodeClaim with its provider id, pool new")
    assert result_of(CHECK, "0.33+", on_0_32(lost)) == ("fail", ONE, (row,))


def test_nodes_of_others_do_not_matter():
    docs = (
        other_node("managed", **{"eks.amazonaws.com/nodegroup": "system"}),
        other_node("auto", **{"eks.amazonaws.com/compute-type": "auto", "karpenter.sh/nodepool": "general"}),
        other_node("fargate-ip-10-0-0-1"),
    )
    assert result_of(CHECK, "0.33+", on_0_32(*docs)) == ("not_applicable", "there is no node of Karpenter's", ())


def test_a_node_of_nobody_leaves_it_unknown():
    cluster = on_0_32(*claim(NEW, node_class="default", version="v1beta1"), other_node("strange", "gce://x/y"))
    assert result_of(CHECK, "0.33+", cluster) == ("unknown", "1 nodes have an unknown owner, first strange", ())


def test_it_blocks_where_alpha_is_left():
    cluster = on_0_32(*machine(OLD, template="d"))
    assert [finding_of(CHECK, hop, cluster).severity for hop in ("0.33+", "1.0")] == ["blocker", "warning"]
    assert asked_hops(CHECK)[0] == "0.33+"


def test_a_node_that_could_not_be_read_leaves_it_unknown():
    cluster = on_0_32(*claim(NEW, node_class="default", version="v1beta1")).quarantined("nodes")
    found = result_of(CHECK, "0.33+", cluster)
    assert found == ("unknown", "1 of nodes could not be read, first broken at $.spec", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    cluster = a_cluster("0.32.10", kubernetes="1.28")
    assert result_without(CHECK, "0.33+", cluster, part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_nodes_behind_machines_are_left_to_the_check_of_machines():
    old = provisioner(OLD.pool, ON_DEMAND, template="d")
    (remedy,) = remedies(CHECK, "0.33+", on_0_32(*machine(OLD, template="d")).with_docs(old))
    assert "legacy_machines_gone" in remedy.text.splitlines()[0]
    assert remedy.text.splitlines()[1:] == [f"kubectl get machines.karpenter.sh {OLD.claim} -o wide"]
    assert isinstance(remedy.change, Observation)


def test_a_node_that_the_controller_ends_is_deleted_once_the_old_pool_is_fenced():
    _, lost = claim(NEW, node_class="default", version="v1beta1")
    (remedy,) = remedies(CHECK, "0.33+", on_0_32(lost))
    assert remedy.text.splitlines()[1:] == [f"kubectl delete nodes {NEW.node}"]
    (step,) = leaves(remedy.change)
    assert (step.target, step.needs) == (
        ChangeTarget("Node", NEW.node, resource="nodes"),
        ("pools_admit_provisioner_pods", "old_provisioners_fenced"),
    )


@pytest.mark.parametrize(("version", "finalizer"), [("0.32.10", False), ("1.0.8", True)])
def test_a_node_that_nobody_ends_is_for_a_person(version, finalizer):
    _, lost = claim(NEW, node_class="default", version="v1")
    lost["metadata"]["finalizers"] = ["karpenter.sh/termination"] if finalizer else []
    (remedy,) = remedies(CHECK, "1.1+", a_cluster(version).with_docs(lost))
    (task,) = leaves(remedy.change)
    assert isinstance(task, PersonTask)
    assert task.what == f"drain {NEW.node}, end its instance, then delete the Node"
    assert all(line.startswith("#") for line in remedy.text.splitlines())


def test_a_controller_that_was_not_read_is_not_taken_for_one_that_does_not_run():
    _, lost = claim(NEW, node_class="default", version="v1")
    unread = a_cluster("1.0.14").with_docs(lost).unseen("controller")
    (only,) = remedies(CHECK, "1.1+", unread, start="1.0.14")
    assert only.text.splitlines()[0].startswith("# Once a NodePool that fits these pods is ready")


def test_while_no_controller_runs_the_pods_leave_before_it_ends_the_instances():
    """As after the CRD of NodeClaims was deleted: the next controller finds instances without a claim."""
    _, lost = claim(NEW, node_class="default", version="v1")
    (only,) = remedies(CHECK, "1.1+", a_cluster("1.0.14", replicas=0).with_docs(lost))
    assert only.text.splitlines() == [
        "# Once the controller runs it may end any instance without a claim within minutes, and drains none",
        f"# For a person: drain {NEW.node} before the controller runs again, onto nodes of another kind",
        "# where its pods go until then is a choice, and a claim that is gone cannot be written anew",
        f"# Look at: kubectl drain {NEW.node} --ignore-daemonsets --delete-emptydir-data",
    ]
