"""Consolidation of nodes in use: those whose pods have room elsewhere go, one by one, unless something keeps them."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migrations_app.samples.installation import Crds, crds
from migrations_app.simulator.behaviour import Behaviour, Delays
from migrations_app.simulator.clock import SimulatedClock
from migrations_app.simulator.generations import ALPHA, TERMINATION, KarpenterObject, current
from migrations_app.simulator.karpenter.underused_nodes import quiet_seconds
from migrations_app.simulator.simulator import KarpenterSimulator
from migrations_app.twin.ports.controllers import TwinChanges, TwinControllers
from migrations_app.twin.server import Twin

Document = dict[str, Any]
START = datetime(2026, 9, 14, 8, tzinfo=UTC)
READY = [{"type": "Ready", "status": "True"}]
ALWAYS = {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s", "budgets": [{"nodes": "100%"}]}
HOST = "kubernetes.io/hostname"


@dataclass
class Site:
    """Nodes of 4 cores in one NodePool; `placed` is how many thousandths of a core each pod of each node asks for."""

    placed: list[list[int]]
    disruption: Document = field(default_factory=lambda: ALWAYS)
    marks: Document = field(default_factory=dict)
    """Annotations of the first node."""
    pod_marks: Document = field(default_factory=dict)
    spec: Document = field(default_factory=dict)
    """Further fields of every pod's spec."""
    away: int | None = None
    """maxUnavailable of a budget over all pods; None: no budget."""

    def simulator(self) -> KarpenterSimulator:
        clock = SimulatedClock(START)
        twin = Twin(clock.now, seed="site", open_definitions=True)
        twin.load([*crds(Crds(version="1.0.14")), *self._documents()])
        delays = Delays(node_ready=(60.0,), pod_start=5.0, pod_stop=1.0, disruption_poll=10.0, validation=15.0)
        behaviour = Behaviour(version="v1", consolidates=True, consolidates_used=True, at_once=10, delays=delays)
        made = KarpenterSimulator(TwinControllers(twin), behaviour, clock=clock, changes=TwinChanges(twin))
        made.advance(clock, START)
        self.clock = clock
        return made

    def after(self, seconds: float) -> KarpenterSimulator:
        """The simulator when that time has passed."""
        made = self.simulator()
        made.advance(self.clock, START + timedelta(seconds=seconds))
        return made

    def _documents(self) -> list[Document]:
        pool = {"metadata": {"name": "web", "uid": "pool"}, "spec": {"template": {"spec": {}}}}
        found = [{"apiVersion": "karpenter.sh/v1", "kind": "NodePool"} | pool]
        found[0]["spec"] = pool["spec"] | {"disruption": self.disruption}
        for number, pods in enumerate(self.placed):
            found += self._node(number, self.marks if number == 0 else {})
            for place, cpu in enumerate(pods):
                found += self._pod(f"a{number}-{place}", f"n{number}", cpu)
        if self.away is not None:
            spec = {"maxUnavailable": self.away, "selector": {"matchLabels": {"in": "shop"}}}
            metadata = {"name": "all", "namespace": "shop", "uid": "all"}
            found.append({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec})
        return found

    def _node(self, number: int, marks: Document) -> list[Document]:
        name = f"n{number}"
        labels = {"karpenter.sh/nodepool": "web", HOST: name, "topology.kubernetes.io/zone": "a"}
        own = {
            "labels": labels,
            "finalizers": [TERMINATION],
            "creationTimestamp": "2026-09-01T00:00:00Z",
            "annotations": marks,
        }
        room = {"cpu": "4", "memory": "16Gi", "pods": "20"}
        claim = {"metadata": {"name": f"c{number}", "uid": f"c{number}"} | own, "spec": {}}
        node = {"metadata": {"name": name, "uid": name} | own, "spec": {}}
        return [
            {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim"} | claim | {"status": {"nodeName": name}},
            {"apiVersion": "v1", "kind": "Node"}
            | node
            | {"status": {"conditions": READY, "allocatable": room, "capacity": room}},
        ]

    def _pod(self, name: str, node: str, cpu: int) -> list[Document]:
        """A ReplicaSet of one pod, and the pod."""
        inside = {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": f"{cpu}m"}}}]}
        marks: Document = {"labels": {"app": name, "in": "shop"}, "annotations": self.pod_marks}
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": f"rs-{name}", "controller": True}
        spec = inside | self.spec
        selector = {"matchLabels": {"app": name}}
        own = {"name": name, "namespace": "shop"}
        return [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": own | {"uid": f"rs-{name}"}}
            | {"spec": {"replicas": 1, "selector": selector, "template": {"metadata": marks, "spec": spec}}},
            {"apiVersion": "v1", "kind": "Pod", "metadata": own | {"uid": name, "ownerReferences": [owner]} | marks}
            | {"spec": spec | {"nodeName": node}, "status": {"phase": "Running", "conditions": READY}},
        ]


def left(simulator: KarpenterSimulator) -> list[str]:
    """The nodes that there are; a pod that waits would be a mistake."""
    assert not simulator.state.waiting
    return sorted(simulator.state.nodes)


def test_the_node_that_costs_least_goes_when_its_pods_have_room_elsewhere():
    found = Site([[1000, 1000, 1000], [1000, 1000], [500]]).after(300)
    assert (left(found), found.measurements.nodes_drained, found.measurements.peak_nodes) == (["n0", "n1"], ["n2"], 3)


def test_one_after_another_goes_until_the_rest_is_full():
    found = Site([[1000], [1000], [1000], [1000, 1000], [3500]]).after(900)
    assert len(left(found)) == 3
    assert found.measurements.pods_moved == 2
    assert found.measurements.peak_nodes == 5, "no node is launched for it"


def test_a_decision_has_to_hold_for_fifteen_seconds():
    site = Site([[1000], [1000]])
    assert site.after(10).measurements.nodes_drained == []
    assert site.after(60).measurements.nodes_drained == ["n0"]


@pytest.mark.parametrize(
    "kept",
    [
        {"disruption": ALWAYS | {"consolidationPolicy": "WhenEmpty"}},
        {"disruption": ALWAYS | {"consolidateAfter": "Never"}},
        {"disruption": ALWAYS | {"budgets": [{"nodes": "0"}]}},
        {"disruption": ALWAYS | {"budgets": [{"nodes": "1"}, {"nodes": "0", "reasons": ["Underutilized"]}]}},
        {"pod_marks": {"karpenter.sh/do-not-disrupt": "true"}},
        {"away": 0},
        {"placed": [[1000], [3500]], "spec": {"nodeSelector": {HOST: "n0"}}},
        {"spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "v"}}]}},
        {"placed": [[3000], [3000]]},
    ],
)
def test_what_keeps_nodes(kept):
    site = Site(**{"placed": [[1000], [1000]], **kept})
    assert left(site.after(900)) == ["n0", "n1"]


def test_a_node_that_must_not_be_disrupted_stays_and_another_goes():
    assert left(Site([[500], [1000]], marks={"karpenter.sh/do-not-disrupt": "true"}).after(300)) == ["n0"]


def test_a_budget_for_another_reason_keeps_none():
    budgets = [{"nodes": "1"}, {"nodes": "0", "reasons": ["Drifted"]}]
    assert left(Site([[1000], [1000]], ALWAYS | {"budgets": budgets}).after(300)) == ["n1"]


def test_pods_that_stay_apart_keep_their_nodes():
    rule = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"in": "shop"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}
    assert left(Site([[1000], [1000]], spec={"affinity": apart}).after(900)) == ["n0", "n1"]
    assert len(left(Site([[1000], [1000]]).after(900))) == 1, "the rule keeps them"


def test_after_a_pod_came_the_node_is_left_alone_for_as_long_as_the_pool_says():
    site = Site([[500], [2000], [2000, 1900]], ALWAYS | {"consolidateAfter": "10m"})
    assert left(site.after(300)) == ["n1", "n2"], "n1 took the pod of n0"
    assert site.simulator().state.nodes.keys() == {"n0", "n1", "n2"}


@settings(max_examples=25, deadline=None)
@given(placed=st.lists(st.lists(st.integers(100, 2000), max_size=4), min_size=1, max_size=5))
def test_no_pod_is_left_without_a_place_and_no_node_without_room_goes(placed):
    placed = [[cpu for cpu in pods if sum(pods) <= 4000] for pods in placed]
    found = Site(placed).after(1800)
    assert len(found.state.pods) == sum(map(len, placed))
    nodes = found.state.nodes.values()
    assert all(node.free.cpu >= 0 for node in nodes)
    assert len(nodes) <= len(placed)


@pytest.mark.parametrize(
    ("of", "spec", "seconds"),
    [
        (ALPHA, {"consolidation": {"enabled": True}}, 0.0),
        (ALPHA, {"ttlSecondsAfterEmpty": 30}, None),
        (current("v1beta1"), {"disruption": {"consolidationPolicy": "WhenUnderutilized"}}, 0.0),
        (current("v1beta1"), {"disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"}}, None),
        (current("v1beta1"), {}, 0.0),
        (current("v1"), {"disruption": ALWAYS | {"consolidateAfter": "1m"}}, 60.0),
        (current("v1"), {"disruption": ALWAYS | {"consolidateAfter": "Never"}}, None),
    ],
)
def test_each_generation_says_in_its_own_words_when_nodes_in_use_go(of, spec, seconds):
    assert quiet_seconds(KarpenterObject(of, {"metadata": {"name": "web", "uid": "u"}, "spec": spec})) == seconds
