"""The inventory after each kind of change, and why there is none."""

from dataclasses import replace
from typing import Any

import pytest

from migrations_app.checks.changes import (
    AwsCall,
    Change,
    ChangeTarget,
    DeliveryPause,
    DeliveryResume,
    HelmChange,
    HelmValue,
    IamStatements,
    KarpdashAction,
    NodeTaint,
    ObjectApply,
    ObjectDelete,
    ObjectLabels,
    ObjectPatch,
    Observation,
    PersonTask,
    group,
)
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.aws import ControllerRole
from migrations_app.inventory.parts import Seen, Unseen
from migrations_app.readiness.runbook.effects.effect import effect
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown
from migrations_app.samples.karpenter_objects import ON_DEMAND, Launched, claim, pool
from migrations_app.samples.kubernetes_objects import doc, meta, pods_of, template, workload
from tests.builders.clusters import a_cluster
from tests.readiness.runbook.effects.positions import remembers_only_positions

POOL = ChangeTarget("NodePool", "web", resource="nodepools.karpenter.sh")
DEPLOYMENT = ChangeTarget("Deployment", "karpenter", "kube-system")
ROLE = "arn:aws:iam::111122223333:role/karpenter"
HOME = {"chart": "karpenter", "release": "karpenter", "namespace": "kube-system"}


def after(inventory: Inventory, change: Change) -> Inventory:
    found = effect(inventory, change)
    assert isinstance(found, Inventory), found
    assert remembers_only_positions(found)
    return found


def why(inventory: Inventory, change: Change) -> str:
    found = effect(inventory, change)
    assert isinstance(found, NotShown)
    return found.why


def owned(document: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    reference = {"kind": kind, "name": name, "uid": "", "apiVersion": "v1"}
    return {**document, "metadata": {**document["metadata"], "ownerReferences": [reference]}}


def a_pool_with_nodes(**metadata: Any) -> Inventory:
    """A NodePool with a claim and its node, on which pods of a Deployment run."""
    made, launched = claim(
        Launched(pool="web", number=1, cluster="test", kubelet="v1.29.4"), node_class="c", version="v1"
    )
    made = owned(made, "NodePool", "web")
    launched = owned(launched, "NodeClaim", made["metadata"]["name"])
    for one in (made, launched):
        one["metadata"] |= metadata
    parent = {"kind": "ReplicaSet", "name": "shop-1", "controller": True}
    pod = doc("v1", "Pod", metadata=meta("shop-1-a", "shop"), spec={"nodeName": launched["metadata"]["name"]})
    pod["metadata"]["ownerReferences"] = [parent]
    above = pool("web", ON_DEMAND, node_class="c", version="v1")
    del above["metadata"]["uid"], made["metadata"]["uid"]
    return a_cluster("1.0.14").with_docs(above, made, launched, pod).build()


def test_a_merge_patch_and_its_reverse() -> None:
    before = a_cluster("1.0.14").with_docs(pool("web", ON_DEMAND, node_class="c", version="v1")).build()
    weight = ObjectPatch(target=POOL, body={"spec": {"weight": 7, "limits": None}})
    found = after(before, weight).nodepools.items[0]
    assert (found.get("spec.weight"), found.get("spec.limits")) == (7, None)
    assert replace(after(before, weight), nodepools=before.nodepools) == before


def test_each_change_of_a_spec_counts_the_generation_up() -> None:
    """The next patch of the same object tests it, as the API server has it then."""
    policy = doc("networking.k8s.io/v1", "NetworkPolicy", metadata=meta("guard", "kube-system"),
                 spec={"podSelector": {}, "ingress": []})  # fmt: skip
    policy["metadata"]["generation"] = 3
    before = a_cluster("1.0.14").with_docs(policy).build()
    target = ChangeTarget("NetworkPolicy", "guard", "kube-system")
    tested = {"op": "test", "path": "/metadata/generation", "value": 3}
    rule = {"op": "add", "path": "/spec/ingress/-", "value": {"ports": [{"port": 8080, "protocol": "TCP"}]}}
    found = after(before, ObjectPatch(target=target, body=(tested, rule)))
    assert found.network_policies.items[0].metadata.generation == 4
    assert why(found, ObjectPatch(target=target, body=(tested, rule))) == "refused"
    labelled = after(before, ObjectPatch(target=target, body={"metadata": {"labels": {"a": "b"}}}))
    assert labelled.network_policies.items[0].metadata.generation == 3


def test_a_json_patch_whose_result_is_there_already_changes_nothing() -> None:
    before = a_cluster("1.0.14").with_docs(pool("web", ON_DEMAND, node_class="c", version="v1")).build()
    path = "/spec/template/spec/nodeClassRef/name"
    tested = {"op": "test", "path": path, "value": "old"}
    written = {"op": "replace", "path": path, "value": "c"}
    assert after(before, ObjectPatch(target=POOL, body=(tested, written))) == before
    assert why(before, ObjectPatch(target=POOL, body=(tested, {**written, "value": "d"}))) == "refused"


def test_a_json_patch_is_refused_where_it_does_not_fit() -> None:
    before = a_cluster("1.0.14").with_docs(pool("web", ON_DEMAND, node_class="c", version="v1")).build()
    add = {"op": "add", "path": "/spec/template/spec/requirements/-", "value": {"key": "a", "operator": "Exists"}}
    found = after(before, ObjectPatch(target=POOL, body=(add,))).nodepools.items[0]
    assert found.get("spec.template.spec.requirements")[-1] == {"key": "a", "operator": "Exists"}
    for step in (
        {"op": "remove", "path": "/spec/none"},
        {"op": "test", "path": "/spec/weight", "value": 1},
        {"op": "replace", "path": "/spec/template/spec/requirements/99", "value": 1},
        {"op": "add", "path": "/spec/none/deep", "value": 1},
        {"op": "add", "path": "spec", "value": 1},
        {"op": "replace", "path": "/metadata/name", "value": "other"},
        *({"op": "add", "path": "", "value": document} for document in (None, [], "text", {})),
    ):
        assert why(before, ObjectPatch(target=POOL, body=(step,))) == "refused"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (ObjectPatch(target=ChangeTarget("NodePool", "gone"), body={"spec": {}}), "target_gone"),
        (ObjectPatch(target=ChangeTarget("Lease", "x"), body={"spec": {}}), "kind_not_read"),
        (ObjectPatch(target=DEPLOYMENT, body={"spec": {"minReadySeconds": 3}}), "field_not_kept"),
        (ObjectPatch(target=DEPLOYMENT, body={"spec": {"minReadySeconds": None}}), "field_not_kept"),
        (ObjectPatch(target=DEPLOYMENT, body={"spec": {"replicas": "two"}}), "refused"),
        (ObjectDelete(target=ChangeTarget("Pod", "x", "y")), "kind_not_read"),
        (ObjectApply(manifest={"kind": "Lease", "metadata": {"name": "x"}}), "kind_not_read"),
        (HelmChange(**{**HOME, "release": "other"}, values=(HelmValue("a", "1"),)), "record_not_read"),
        (HelmChange(**HOME, version="9.9.9"), "release_not_known"),
        (HelmChange(**HOME, when="person"), "for_a_person"),
        (IamStatements(role=ROLE, policy="p", statements=()), "part_not_read"),
        (PersonTask(why="a choice"), "for_a_person"),
        (Observation(pipe=(("kubectl", "get", "nodes"),)), "reads_only"),
        (AwsCall(service="sqs", operation="create-queue"), "in_aws"),
        (KarpdashAction(action="convert_and_apply"), "own_action"),
    ],
)
def test_what_cannot_be_shown_says_why(change: Change, reason: str) -> None:
    before = a_cluster("1.0.14").build()
    assert why(before, change) == reason
    labels = ObjectLabels(target=DEPLOYMENT, given={"a": "b"})
    if isinstance(change, Observation):
        assert after(before, group(change, labels)) == after(before, labels)
    else:
        assert why(before, group(labels, change)) == reason


def test_a_part_that_was_not_read_is_told_apart_from_an_object_that_is_gone() -> None:
    before = a_cluster("1.0.14").unseen("nodepools").build()
    assert why(before, ObjectPatch(target=POOL, body={"spec": {"weight": 1}})) == "part_not_read"


def test_marks_that_an_inventory_leaves_out_of_nodes_are_not_passed_over() -> None:
    before = a_pool_with_nodes()
    node = ChangeTarget("Node", before.nodes.items[0].name)
    assert why(before, ObjectLabels(target=node, given={"team": "a"})) == "field_not_kept"
    found = after(before, ObjectLabels(target=node, given={"karpenter.sh/x": "a"}, removed=("karpenter.sh/nodepool",)))
    labels = found.nodes.items[0].metadata.labels or {}
    assert (labels["karpenter.sh/x"], "karpenter.sh/nodepool" in labels) == ("a", False)


def test_a_taint_is_put_over_one_of_its_key_and_effect() -> None:
    before = a_pool_with_nodes()
    node = ChangeTarget("Node", before.nodes.items[0].name)
    taint = NodeTaint(target=node, key="k", value="1", effect="NoSchedule")
    twice = after(after(before, taint), replace_value(taint, "2"))
    assert [(one.key, one.value) for one in twice.nodes.items[0].spec.taints or ()][-1] == ("k", "2")
    gone = after(twice, NodeTaint(target=node, key="k", removed=True))
    assert gone == before
    assert why(gone, NodeTaint(target=node, key="k", removed=True)) == "refused"


def replace_value(taint: NodeTaint, value: str) -> NodeTaint:
    return NodeTaint(target=taint.target, key=taint.key, value=value, effect=taint.effect)


def test_what_is_owned_goes_too_and_pods_run_elsewhere() -> None:
    before = a_pool_with_nodes()
    found = after(before, ObjectDelete(target=POOL))
    assert (found.nodepools.items, found.nodeclaims.items, found.nodes.items) == ((), (), ())
    assert [(one.count, one.nodes) for one in found.pods.items if one.namespace == "shop"] == [(1, [])]
    left = after(before, ObjectDelete(target=POOL, propagation="orphan"))
    assert (len(left.nodepools.items), len(left.nodeclaims.items), len(left.nodes.items)) == (0, 1, 1)


def test_a_finalizer_of_somebody_else_keeps_the_object_and_what_it_owns() -> None:
    before = a_pool_with_nodes(finalizers=["karpenter.sh/termination", "other/stay"])
    found = after(before, ObjectDelete(target=POOL))
    (waiting,) = found.nodeclaims.items
    assert (waiting.metadata.deletion_timestamp, waiting.metadata.finalizers) == (before.taken_at, ["other/stay"])
    assert (found.nodepools.items, found.nodes.items) == ((), before.nodes.items)
    patch = ObjectPatch(target=ChangeTarget("NodeClaim", waiting.name), body={"metadata": {"finalizers": None}})
    assert after(found, patch).nodeclaims.items == ()


def test_the_objects_of_a_crd_go_with_it() -> None:
    found = after(
        a_pool_with_nodes(), ObjectDelete(target=ChangeTarget("CustomResourceDefinition", "nodepools.karpenter.sh"))
    )
    assert (found.nodepools.items, found.nodes.items) == ((), ())
    assert "nodepools.karpenter.sh" not in [crd.name for crd in found.crds.items]


def test_a_manifest_is_put_there_or_replaces_the_spec() -> None:
    before, made = a_cluster("1.0.14").build(), pool("web", ON_DEMAND, node_class="c", version="v1")
    there = after(before, ObjectApply(manifest=made))
    assert [one.name for one in there.nodepools.items] == ["web"]
    again = {**made, "metadata": {"name": "web", "labels": {"a": "b"}}, "spec": {"weight": 3}}
    found = after(there, ObjectApply(manifest=again)).nodepools.items[0]
    assert (found.spec, found.metadata.labels, found.metadata.uid) == (
        {"weight": 3},
        {"a": "b"},
        made["metadata"]["uid"],
    )
    beta = {**made, "apiVersion": "karpenter.sh/v1alpha5"}
    assert why(before, ObjectApply(manifest={**beta, "kind": "Provisioner"})) == "refused"


def test_deliveries_stop_and_go_on() -> None:
    spec = {"syncPolicy": {"automated": {"prune": True}, "syncOptions": ["a"]}}
    app = doc("argoproj.io/v1alpha1", "Application", metadata=meta("k", "argocd"), spec=spec)
    flux = doc("kustomize.toolkit.fluxcd.io/v1", "Kustomization", metadata=meta("k", "argocd"), spec={})
    before = a_cluster("1.0.14").with_docs(app, flux).build()
    for kind, paused in (
        ("Application", {"syncPolicy": {"syncOptions": ["a"]}}),
        ("Kustomization", {"suspend": True}),
    ):
        target = ChangeTarget(kind, "k", "argocd")
        found = after(before, DeliveryPause(target=target))
        assert next(one.spec for one in found.deliveries.items if one.kind == kind) == paused
        assert after(found, DeliveryResume(target=target, prune=True)) == before


def test_the_counts_of_a_disruption_budget_follow_its_spec() -> None:
    status = {"expectedPods": 4, "currentHealthy": 4, "desiredHealthy": 4, "disruptionsAllowed": 0}
    budget = doc(
        "policy/v1", "PodDisruptionBudget", metadata=meta("b", "shop"), spec={"minAvailable": 4}, status=status
    )
    before = a_cluster("1.0.14").with_docs(budget).build()
    body = {"spec": {"minAvailable": None, "maxUnavailable": "30%"}}
    found = after(before, ObjectPatch(target=ChangeTarget("PodDisruptionBudget", "b", "shop"), body=body)).pdbs.items[0]
    assert found.status
    assert (found.status.desired_healthy, found.status.disruptions_allowed) == (2, 2)


def test_pods_follow_the_template_of_their_workload() -> None:
    key = "karpenter.sh/do-not-evict"
    template = {"metadata": {"annotations": {key: "true"}}, "spec": {}}
    made = doc("apps/v1", "StatefulSet", metadata=meta("db", "shop"), spec={"template": template})
    pod = doc("v1", "Pod", metadata=meta("db-0", "shop", annotations={key: "true"}), spec={})
    pod["metadata"]["ownerReferences"] = [{"kind": "StatefulSet", "name": "db", "controller": True}]
    before = a_cluster("1.0.14").with_docs(made, pod).build()
    body = {"spec": {"template": {"metadata": {"annotations": {key: None, "karpenter.sh/do-not-disrupt": "true"}}}}}
    found = after(before, ObjectPatch(target=ChangeTarget("StatefulSet", "db", "shop"), body=body))
    assert [one.markers for one in found.pods.items if one.namespace == "shop"] == [
        {"karpenter.sh/do-not-disrupt": "true"}
    ]
    gone = after(found, ObjectDelete(target=ChangeTarget("StatefulSet", "db", "shop"))).pods
    assert isinstance(gone, Seen)
    assert [one.namespace for one in gone.items] == ["kube-system"]
    assert gone.total == (before.pods.count or 0) - 1


def test_a_policy_is_attached_once_and_detached() -> None:
    role = ControllerRole(found_by="irsa", arn=ROLE, role=Seen(()), policies=Seen(()), boundary=Seen(()))
    before = a_cluster("1.0.14").with_aws(controller_roles=(role,)).build()
    change = IamStatements(
        role=ROLE, policy="more", statements=({"Effect": "Allow", "Action": "a:b", "Resource": "*"},)
    )
    found = after(before, change)
    (policy,) = found.aws.controller_roles.items[0].policies.items
    assert (policy.arn, policy.kind) == ("arn:aws:iam::111122223333:policy/more", "customer_managed")
    assert policy.text == '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"a:b","Resource":"*"}]}'
    assert why(found, change) == "refused"
    undo = IamStatements(role=ROLE, policy="more", statements=change.statements, removed=True)
    assert after(found, undo) == before
    unread = replace(role, policies=Unseen("forbidden"))
    assert why(a_cluster().with_aws(controller_roles=(unread,)).build(), change) == "part_not_read"


@pytest.mark.parametrize(("replicas", "ready"), [(2, 2), (0, None)])
def test_pods_and_what_is_ready_follow_the_number_of_replicas(replicas: int, ready: int | None) -> None:
    pod = template({"app": "web"}, {"containers": []}, annotations={"karpenter.sh/do-not-disrupt": "true"})
    web = workload("Deployment", "web", namespace="shop", replicas=1, pod=pod) | {"status": {"readyReplicas": 1}}
    before = a_cluster("1.0.8").with_docs(web, *pods_of(web, ["node-a"], count=1)).build()
    target = ChangeTarget("Deployment", "web", "shop")
    found = after(before, ObjectPatch(target=target, body={"spec": {"replicas": replicas}}))
    (scaled,) = [one for one in found.deployments.items if one.name == "web"]
    assert (scaled.spec.replicas, scaled.status and scaled.status.ready_replicas) == (replicas, ready)
    counts = [one.count for one in found.pods.items if one.owner_name == "web"]
    assert counts == ([replicas] if replicas else [])
    back = after(found, ObjectPatch(target=target, body={"spec": {"replicas": 1}}))
    assert back.deployments == before.deployments
