"""What a rollout waits for has names: pods that budgets and annotations protect, and Pending pods."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.conditions import Terminating
from migrations_app.actions.gate import BlockedEviction, ClusterCounters, Gate
from migrations_app.execution.gates import cluster_counters
from migrations_app.karpenter.versions import release
from migrations_app.use_cases.runtime.connections import connect_writer
from tests.use_cases.rollouts.building import advanced, deleting, ended, node, rollout
from tests.use_cases.rollouts.concurrent_changes import reconnected

pytestmark = [pytest.mark.django_db(transaction=True)]
OLD = {"metadata": {"labels": {"karpenter.sh/provisioner-name": "web"}, "finalizers": ["karpenter.sh/termination"]}}
MARK = {"karpenter.sh/do-not-evict": "true"}


def pod(server, name, *, on="", owner="ReplicaSet", annotations=None, labels=None):
    owners = [{"apiVersion": "apps/v1", "kind": owner, "name": "x", "uid": "u", "controller": True}]
    head = {"name": name, "namespace": "default", "ownerReferences": owners}
    head |= {"annotations": annotations or {}, "labels": labels or {}}
    spec = {"containers": [{"name": "a", "image": "a:1"}]} | ({"nodeName": on} if on else {})
    server.admin.create({"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": spec})
    phase = {"phase": "Running" if on else "Pending"}
    server.admin.patch(f"/api/v1/namespaces/default/pods/{name}/status", {"status": phase})


def old_node(server, name) -> ObjectTarget:
    target, _ = node(server, name)
    server.admin.patch(target.path, OLD)
    return target


def tight_budget(server, labels):
    spec = {"selector": {"matchLabels": labels}, "minAvailable": 1}
    head = {"name": "tight", "namespace": "default"}
    server.admin.create({"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": head, "spec": spec})
    path = "/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets/tight/status"
    counts = {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    server.admin.patch(path, {"status": counts})


def counted(cluster, gate, **more) -> ClusterCounters:
    with connect_writer(cluster) as writer:
        return cluster_counters(writer, gate=gate, now=datetime.now(UTC), **more)


def held(name, on, by, budget="") -> BlockedEviction:
    return BlockedEviction(namespace="default", pod=name, node=on, by=by, budget=budget)


def test_pods_that_hold_a_drain_are_named(server, cluster):  # R23
    old_node(server, "node-1")
    pod(server, "marked", on="node-1", annotations=MARK)
    pod(server, "agent", on="node-1", owner="DaemonSet", annotations=MARK)
    pod(server, "free", on="node-1")
    server.admin.delete("/api/v1/nodes/node-1")
    told = counted(cluster, Gate())
    assert told.blocked == (held("marked", "node-1", "annotation karpenter.sh/do-not-evict"),)
    pod(server, "lost")
    assert (told.draining_nodes, told.pending_pods, counted(cluster, Gate()).pending) == (1, 0, ("default/lost",))


def test_a_protection_for_a_time_holds_until_it_is_over(server, cluster):  # R23
    """Only releases from 1.12 on read a duration; it counts from the start of the pod."""
    old_node(server, "node-1")
    now = datetime.now(UTC)
    for name, began in (("young", now), ("old", now - timedelta(hours=9)), ("unstarted", None)):
        pod(server, name, on="node-1", annotations={"karpenter.sh/do-not-disrupt": "8h"})
        status = {"startTime": began.strftime("%Y-%m-%dT%H:%M:%SZ")} if began else {}
        server.admin.patch(f"/api/v1/namespaces/default/pods/{name}/status", {"status": status})
    pod(server, "misspelled", on="node-1", annotations={"karpenter.sh/do-not-disrupt": "yes"})
    server.admin.delete("/api/v1/nodes/node-1")
    by = "annotation karpenter.sh/do-not-disrupt for 8h"
    protected = (held("unstarted", "node-1", by), held("young", "node-1", by))
    for running, told in ((release("1.12.0"), protected), (None, protected), (release("1.11.2"), ())):
        assert counted(cluster, Gate(), running=running).blocked == told


def test_a_budget_that_keeps_a_drain_from_beginning_is_named(server, cluster):  # R23
    old_node(server, "node-2")
    pod(server, "only", on="node-2", labels={"app": "web"})
    tight_budget(server, {"app": "web"})
    assert counted(cluster, Gate()).blocked == ()
    assert counted(cluster, Gate(no_legacy_nodes=True)).blocked == (
        held("only", "node-2", "budget tight", "default/tight"),
    )
    target = ObjectTarget("", "v1", "nodes", "Node", "node-2")
    assert counted(cluster, Gate(gone=(target,))).blocked == (held("only", "node-2", "budget tight", "default/tight"),)


@pytest.mark.parametrize(("hidden", "told"), [("pods", 0), ("poddisruptionbudgets", 1)])
def test_what_could_not_be_read_is_not_taken_for_nothing(server, cluster, proxy, hidden, told):  # R23
    old_node(server, "node-1")
    pod(server, "marked", on="node-1", annotations=MARK)
    server.admin.delete("/api/v1/nodes/node-1")
    everything = {"apiGroups": ["", "policy"], "resources": ["nodes", "pods", "poddisruptionbudgets"]}
    whole = counted(cluster, Gate())
    assert (whole.held_pods, whole.held_unread) == (1, False)
    listed = [name for name in everything["resources"] if name != hidden]
    user = server.make_user(f"without-{hidden}", [everything | {"resources": listed, "verbs": ["list"]}])
    reconnected(cluster, proxy.kubeconfig(user).encode())
    part = counted(cluster, Gate())
    assert (part.legacy_nodes, len(part.blocked), part.held_pods, part.held_unread) == (1, told, None, True)


def test_the_run_names_what_it_waits_for(server, cluster, complaints):  # R23, R24
    target = old_node(server, "node-1")
    read = server.admin.get(target.path)
    gate = Gate(gone=(target,), pending_above=0, seconds=0)
    row = rollout(cluster, msgspec.structs.replace(deleting(target, read, after=gate), postconditions=(Terminating(),)))
    pod(server, "marked", on="node-1", annotations=MARK)
    row = advanced(row)
    assert (ended(row)[0], complaints(row)) == ("paused", [])
    assert "Node node-1 is still there" in row.cause
    assert "default/marked on node-1 is held by annotation karpenter.sh/do-not-evict" in row.cause
    server.admin.patch(target.path, {"metadata": {"finalizers": None}})


def test_the_next_batch_waits_for_what_karpenter_drains_itself(server, cluster, complaints):  # A24
    first, second, third = (old_node(server, f"node-{number}") for number in (1, 2, 3))
    gate = Gate(gone=(first,), no_drains=True, pending_above=None, seconds=60)
    steps = [deleting(one, server.admin.get(one.path)) for one in (first, second)]
    row = rollout(cluster, msgspec.structs.replace(steps[0], postconditions=(Terminating(),), after=gate), steps[1])
    server.admin.delete(third.path)
    waits = []

    def drained():
        row.refresh_from_db()
        waits.append(row.waits_for)
        if len(waits) == 1:
            server.admin.patch(first.path, {"metadata": {"finalizers": None}})
        if len(waits) == 3:
            assert server.admin.get(second.path)["metadata"].get("deletionTimestamp") is None
            server.admin.patch(third.path, {"metadata": {"finalizers": None}})
        if server.admin.get(second.path)["metadata"].get("deletionTimestamp"):
            server.admin.patch(second.path, {"metadata": {"finalizers": None}})

    row = advanced(row, between=drained)
    assert (row.state, complaints(row)) == ("succeeded", [])
    assert "1 nodes that Karpenter drains are left" in waits[1:3]
