"""Pods fold into groups: counts stay exact and memory follows the number of workloads."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.objects.karpenter import Constraint, PodGroup
from migrations_app.inventory.pod_groups import NODES_KEPT, PodGrouper


def pod(name, *, owner=("ReplicaSet", "web-5d9"), node="n1", phase="Running", **extra):
    kind, owner_name = owner
    metadata = {"name": name, "namespace": "shop", "labels": {"pod-template-hash": "5d9"}, **extra.pop("metadata", {})}
    if kind:
        metadata["ownerReferences"] = [{"kind": kind, "name": owner_name, "controller": True}]
    return {"metadata": metadata, "spec": {"nodeName": node, **extra}, "status": {"phase": phase}}


def folded(*pods):
    fold = PodGrouper()
    fold.add([msgspec.Raw(json.dumps(item).encode()) for item in pods])
    return fold.seen("v1")


def test_pods_of_one_deployment_are_one_group():
    seen = folded(pod("web-1"), pod("web-2"), pod("web-3"), pod("web-4"))
    assert seen.count == 4
    assert seen.items == (
        PodGroup(
            namespace="shop",
            owner_kind="Deployment",
            owner_name="web",
            markers={},
            placement=[],
            count=4,
            samples=["web-1", "web-2", "web-3"],
            nodes=["n1"],
            labels={"pod-template-hash": "5d9"},
        ),
    )


def test_pods_of_a_daemon_set_are_everywhere_and_keep_no_nodes():
    (group,) = folded(pod("a", owner=("DaemonSet", "agent")), pod("b", owner=("DaemonSet", "agent"))).items
    assert (group.owner_kind, group.count, group.nodes) == ("DaemonSet", 2, [])


def test_the_longest_grace_period_and_the_labels_of_the_first_pod():
    pods = (pod(f"p{seconds}", terminationGracePeriodSeconds=seconds) for seconds in (30, 3600, 60))
    (group,) = folded(*pods, pod("unset", metadata={"labels": {"pod-template-hash": "5d9", "app": "web"}})).items
    assert (group.grace_seconds, group.labels) == (3600, {"pod-template-hash": "5d9"})


@pytest.mark.parametrize(
    ("volume", "storage"),
    [
        ({"emptyDir": {}}, ["emptyDir"]),
        ({"emptyDir": {"medium": "Memory"}}, []),
        ({"hostPath": {"path": "/var/log"}}, ["hostPath"]),
        ({"persistentVolumeClaim": {"claimName": "data"}}, ["claim"]),
        ({"ephemeral": {"volumeClaimTemplate": {}}}, ["claim"]),
        ({"configMap": {"name": "settings"}}, []),
    ],
)
def test_volumes_that_a_move_concerns(volume, storage):
    assert [group.storage for group in folded(pod("a", volumes=[volume])).items] == [storage]


def test_a_marker_or_a_selector_makes_a_group_of_its_own():
    marked = pod("a", metadata={"annotations": {"karpenter.sh/do-not-evict": "true", "team": "x"}})
    placed = pod("b", nodeSelector={"karpenter.sh/provisioner-name": "default", "disk": "ssd"})
    plain, one, two = sorted(folded(pod("c"), marked, placed).items, key=lambda g: (len(g.placement), len(g.markers)))
    assert (plain.markers, plain.placement) == ({}, [])
    assert one.markers == {"karpenter.sh/do-not-evict": "true"}
    assert one.nodes == ["n1"]
    wanted = Constraint(path="spec.nodeSelector", key="karpenter.sh/provisioner-name", value="default")
    assert two.placement == [wanted]


def test_pods_without_an_owner_keep_their_nodes():
    seen = folded(*(pod(f"p{i}", owner=("", ""), node=f"n{i}") for i in range(NODES_KEPT + 5)))
    (group,) = seen.items
    assert (group.owner_kind, group.count, len(group.nodes)) == ("", NODES_KEPT + 5, NODES_KEPT)


def test_finished_pods_count_in_the_total_only():
    seen = folded(pod("a"), pod("b", phase="Succeeded"), pod("c", phase="Failed"))
    assert (seen.count, [group.count for group in seen.items]) == (3, [1])


def test_an_unreadable_pod_is_counted_and_named():
    seen = folded(pod("a"), {"metadata": {"name": "bad", "namespace": "shop"}, "spec": {"nodeSelector": 5}})
    assert seen.count == 2
    assert [(bad.name, bad.field) for bad in seen.quarantined] == [("bad", "$.spec.nodeSelector")]


@given(st.lists(st.sampled_from(["web", "api", "db"]), max_size=30))
def test_groups_add_up_to_the_pods(owners):
    seen = folded(*(pod(f"p{i}", owner=("StatefulSet", owner)) for i, owner in enumerate(owners)))
    assert sum(group.count for group in seen.items) == len(owners)
    assert len(seen.items) == len(set(owners))
