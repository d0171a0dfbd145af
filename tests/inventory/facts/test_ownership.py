"""Whose a node is, by the ordered rules, and what does not add up."""

import msgspec
import pytest

from migrations_app.inventory.facts.ownership import Anomaly, ownership
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import CRD, Machine, Node, NodeClaim, NodePool, Provisioner
from migrations_app.inventory.parts import Seen, Unseen

ID = "aws:///eu-west-1a/i-0a"
FINALIZER = ["karpenter.sh/termination"]


def node(name="n1", labels=None, owner=None, provider_id=ID, finalizers=FINALIZER):
    metadata = {"name": name, "labels": labels or {}, "finalizers": finalizers}
    if owner:
        kind, version = owner
        metadata["ownerReferences"] = [{"kind": kind, "apiVersion": f"karpenter.sh/{version}", "name": "c1"}]
    return msgspec.convert({"metadata": metadata, "spec": {"providerID": provider_id}}, Node)


def claim(kind=NodeClaim, provider_id=ID, name="c1", annotations=None):
    body = {"metadata": {"name": name, "annotations": annotations or {}}, "status": {"providerID": provider_id}}
    return msgspec.convert(body, kind)


def claims_crd(storage):
    version = {"name": storage, "served": True, "storage": True}
    return msgspec.convert({"metadata": {"name": "nodeclaims.karpenter.sh"}, "spec": {"versions": [version]}}, CRD)


def cluster(*nodes, storage="v1", **parts):
    given = {"crds": (claims_crd(storage),), "machines": (), "nodeclaims": ()} | parts
    seen = {name: part if isinstance(part, Unseen) else Seen(part) for name, part in given.items()}
    return Inventory(cluster="c", taken_at="", nodes=Seen(nodes), **seen)


def owner_of(*args, **kwargs):
    (row,) = ownership(cluster(*args, **kwargs)).nodes
    return row.owner


@pytest.mark.parametrize(
    ("labels", "owner"),
    [
        ({"eks.amazonaws.com/compute-type": "fargate"}, "fargate"),
        ({"eks.amazonaws.com/compute-type": "auto", "karpenter.sh/nodepool": "general"}, "auto_mode"),
        ({"eks.amazonaws.com/compute-type": "hybrid"}, "hybrid"),
        ({"eks.amazonaws.com/nodegroup": "system"}, "managed_node_group"),
        ({}, "self_managed"),
    ],
)
def test_nodes_of_others(labels, owner):
    assert owner_of(node(labels=labels, finalizers=[])) == owner


@pytest.mark.parametrize("provider_id", [None, "", "gce://project/zone/vm"])
def test_a_node_of_nowhere_is_unknown(provider_id):
    assert owner_of(node(provider_id=provider_id, finalizers=[])) == "unknown"


def test_a_fargate_node_is_known_by_its_name():
    assert owner_of(node(name="fargate-ip-10-0-0-1")) == "fargate"


@pytest.mark.parametrize(("storage", "owner"), [("v1", "karpenter_v1"), ("v1beta1", "karpenter_beta")])
def test_the_generation_is_that_of_the_claims_and_not_of_the_reference(storage, owner):
    registered = node(labels={"karpenter.sh/nodepool": "p"}, owner=("NodeClaim", "v1beta1"))
    assert owner_of(registered, storage=storage, nodeclaims=(claim(),)) == owner


def test_a_node_of_a_machine_tells_all_its_signals():
    labels = {
        "karpenter.sh/provisioner-name": "default",
        "karpenter.sh/capacity-type": "spot",
        "node.kubernetes.io/instance-type": "m5.large",
        "topology.kubernetes.io/zone": "eu-west-1a",
    }
    machine = claim(Machine, annotations={"karpenter.sh/provisioner-hash": "1"})
    found = ownership(cluster(node(labels=labels, owner=("Machine", "v1alpha5")), machines=(machine,)))
    (row,) = found.nodes
    assert (row.owner, row.pool, row.claim, row.can_drift) == ("karpenter_alpha", "default", "c1", True)
    assert (row.capacity, row.instance_type, row.zone) == ("spot", "m5.large", "eu-west-1a")
    assert row.told_by == ("label", "owner", "provider_id")
    assert found.anomalies == ()


def test_a_machine_without_its_hash_cannot_drift():
    found = ownership(cluster(node(owner=("Machine", "v1alpha5")), machines=(claim(Machine),)))
    assert found.nodes[0].can_drift is False
    assert [item.id for item in found.anomalies] == ["machine-without-hash"]


def test_both_labels_follow_the_owner_reference():
    both = {"karpenter.sh/provisioner-name": "default", "karpenter.sh/nodepool": "default"}
    found = ownership(cluster(node(labels=both, owner=("Machine", "v1alpha5")), machines=(claim(Machine),)))
    assert found.nodes[0].owner == "karpenter_alpha"
    assert "both-labels" in found.nodes[0].anomalies


def test_every_anomaly_of_a_node_is_named():
    gone = node(labels={"karpenter.sh/nodepool": "gone"}, finalizers=[])
    pools = (msgspec.convert({"metadata": {"name": "other"}}, NodePool),)
    found = ownership(cluster(gone, nodepools=pools))
    assert found.nodes[0].anomalies == ("node-without-claim", "pool-gone", "finalizer-missing")


def test_a_claim_without_its_node_is_an_anomaly():
    found = ownership(cluster(nodeclaims=(claim(),), machines=(claim(Machine, "aws:///x/i-0b", "m1"),)))
    assert found.anomalies == (
        Anomaly(id="claim-without-node", kind="Machine", name="m1", detail="aws:///x/i-0b"),
        Anomaly(id="claim-without-node", kind="NodeClaim", name="c1", detail=ID),
    )


def test_what_was_not_seen_makes_no_anomaly():
    labelled = node(labels={"karpenter.sh/nodepool": "p"})
    found = ownership(cluster(labelled, nodeclaims=Unseen("forbidden"), nodepools=Unseen("forbidden")))
    assert (found.nodes[0].owner, found.anomalies) == ("karpenter_v1", ())


def test_a_pool_that_could_not_be_read_is_not_gone():
    labelled = node(labels={"karpenter.sh/provisioner-name": "p"}, owner=("Machine", "v1alpha5"))
    machine = claim(Machine, annotations={"karpenter.sh/provisioner-hash": "1"})
    assert ownership(cluster(labelled, machines=(machine,), provisioners=Unseen("timeout"))).anomalies == ()
    kept = (msgspec.convert({"metadata": {"name": "q"}}, Provisioner),)
    assert [a.id for a in ownership(cluster(labelled, machines=(machine,), provisioners=kept)).anomalies] == [
        "pool-gone"
    ]
