import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import ON_DEMAND, Launched, claim, machine, provisioner
from migrations_app.samples.kubernetes_objects import node
from tests.builders import a_cluster, ask, asked_hops, blind, reads, remedies, told

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
    assert told(CHECK, "0.33+", on_0_32(*claim(NEW, node_class="default", version="v1beta1"))) == GOOD


def test_a_node_behind_a_machine():
    cluster = on_0_32(*machine(OLD, template="d"), *claim(NEW, node_class="default", version="v1beta1"))
    row = a_row(OLD.node, f"Machine {OLD.claim} of Provisioner old")
    assert told(CHECK, "0.33+", cluster) == ("fail", ONE, (row,))


def test_a_node_from_before_machines():
    row = a_row("ancient", "Provisioner old")
    cluster = on_0_32(other_node("ancient", **{"karpenter.sh/provisioner-name": "old"}))
    assert told(CHECK, "0.33+", cluster) == ("fail", ONE, (row,))


def test_a_node_whose_claim_is_gone():
    _, lost = claim(NEW, node_class="default", version="v1beta1")
    row = a_row(NEW.node, "no NodeClaim with its provider id, pool new")
    assert told(CHECK, "0.33+", on_0_32(lost)) == ("fail", ONE, (row,))


def test_nodes_of_others_do_not_matter():
    docs = (
        other_node("managed", **{"eks.amazonaws.com/nodegroup": "system"}),
        other_node("auto", **{"eks.amazonaws.com/compute-type": "auto", "karpenter.sh/nodepool": "general"}),
        other_node("fargate-ip-10-0-0-1"),
    )
    assert told(CHECK, "0.33+", on_0_32(*docs)) == ("not_applicable", "there is no node of Karpenter's", ())


def test_a_node_of_nobody_leaves_it_unknown():
    cluster = on_0_32(*claim(NEW, node_class="default", version="v1beta1"), other_node("strange", "gce://x/y"))
    assert told(CHECK, "0.33+", cluster) == ("unknown", "1 nodes belong to nobody we know, first strange", ())


def test_it_blocks_where_alpha_is_left():
    cluster = on_0_32(*machine(OLD, template="d"))
    assert [ask(CHECK, hop, cluster).severity for hop in ("0.33+", "1.0")] == ["blocker", "warning"]
    assert asked_hops(CHECK)[0] == "0.33+"


def test_a_node_that_could_not_be_read_leaves_it_unknown():
    cluster = on_0_32(*claim(NEW, node_class="default", version="v1beta1")).quarantined("nodes")
    found = told(CHECK, "0.33+", cluster)
    assert found == ("unknown", "1 of nodes could not be read, first broken at $.spec", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    cluster = a_cluster("0.32.10", kubernetes="1.28")
    assert blind(CHECK, "0.33+", cluster, part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_drains_the_nodes_by_name():
    old = provisioner(OLD.pool, ON_DEMAND, template="d")
    (remedy,) = remedies(CHECK, "0.33+", on_0_32(*machine(OLD, template="d")).with_docs(old))
    taint = '{"key":"karpenter.sh/legacy","value":"true","effect":"NoSchedule"}'
    patch = f'[{{"op":"add","path":"/spec/taints","value":[{taint}]}}]'
    assert remedy.text.splitlines()[1:] == [
        f"kubectl patch provisioners.karpenter.sh {OLD.pool} --type=json -p '{patch}'",
        f"for node in {OLD.node}; do",
        '  kubectl drain "$node" --ignore-daemonsets --delete-emptydir-data && kubectl delete node "$node"',
        "done",
    ]
