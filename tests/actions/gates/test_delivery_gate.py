"""What an object of Flux or Argo CD has to say of itself before a rollout goes on."""

import pytest

from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.gate import ClusterCounters, Gate, judge
from migrations_app.actions.gates.controller_gate import ControllerGate, leader_lease
from migrations_app.actions.gates.delivery_gate import DeliveryGate, DeliveryStatus, delivery_reasons, delivery_status

TARGET = ObjectTarget("g", "v1", "helmreleases", "HelmRelease", "karpenter", namespace="flux")
GATE = DeliveryGate(target=TARGET, version="v1.0.14")
WHERE = "HelmRelease flux/karpenter"
READY = {"type": "Ready", "status": "True"}
BROUGHT = DeliveryStatus(found=True, observed=True, ready=True, version="1.0.14")


def flux(**status):
    told = {"observedGeneration": 3, "conditions": [READY], "history": [{"chartVersion": "1.0.14"}]}
    return {"kind": "HelmRelease", "metadata": {"generation": 3}, "spec": {}, "status": told | status}


def argo(spec=None, **status):
    told = {
        "sync": {"status": "Synced", "revision": "1.0.14", "comparedTo": {"source": {"targetRevision": "1.0.14"}}},
        "health": {"status": "Healthy"},
        "operationState": {"phase": "Succeeded"},
    }
    spec = spec or {"source": {"targetRevision": "1.0.14", "chart": "karpenter"}}
    return {"kind": "Application", "metadata": {}, "spec": spec, "status": told | status}


def reasons(read):
    return delivery_reasons(GATE, delivery_status(read))


@pytest.mark.parametrize(
    "read",
    [
        flux(),
        flux(history=[{"chartVersion": "1.0.14+3f1c", "status": "deployed"}]),
        flux(history=None, lastAppliedRevision="1.0.14"),
        argo(),
    ],
)
def test_what_has_brought_it(read):
    assert reasons(read) == []


def test_with_several_sources_the_one_with_the_chart_tells():
    several = [{"repoURL": "git", "path": "x"}, {"chart": "karpenter", "targetRevision": "1.0.14"}]
    sync = {"status": "Synced", "revisions": ["abc", "1.0.14"], "comparedTo": {"sources": several}}
    assert reasons(argo({"sources": several}, sync=sync)) == []
    assert reasons(argo({"sources": several}, sync=sync | {"revisions": ["1.0.14", "1.0.8"]})) == [
        f"{WHERE} has delivered 1.0.8, and v1.0.14 is wanted"
    ]


NOT_READY, NOT_YET = f"{WHERE} is not ready", f"{WHERE} was not taken up by its controller yet"
OTHER = f"{WHERE} has delivered 1.0.8, and v1.0.14 is wanted"


@pytest.mark.parametrize(
    ("read", "told"),
    [
        (None, [f"{WHERE} is not there"]),
        (flux(observedGeneration=2), [NOT_YET]),
        (flux(history=[{"chartVersion": "1.0.8"}]), [OTHER]),
        (flux(history=[{"chartVersion": "1.0.14", "status": "failed"}]), [NOT_READY]),
        (flux(conditions=[READY | {"status": "False", "message": "timed out"}]), [f"{NOT_READY}: timed out"]),
        (argo(health={"status": "Degraded"}), [NOT_READY]),
        (argo(operationState={"phase": "Failed", "message": "no chart"}), [f"{NOT_READY}: no chart"]),
        (argo() | {"operation": {"sync": {}}}, [NOT_READY]),
        (argo({"source": {"targetRevision": "1.0.15"}}), [NOT_YET]),
    ],
)
def test_what_has_not(read, told):
    assert reasons(read) == told


@pytest.mark.parametrize("read", [{"kind": "Application"}, {"kind": "HelmRelease", "status": "odd"}, {}])
def test_what_says_nothing_has_brought_nothing(read):  # K18
    assert reasons(read)[-1] == NOT_READY


def test_what_could_not_be_read_is_waited_for():
    gate, empty = Gate(delivery=GATE, pending_above=None, seconds=9), ClusterCounters(taken_at="")
    said = judge(gate, before=empty, now=empty, waited=0)
    assert (said.judgement, said.reasons) == ("wait", (f"{WHERE} could not be read",))
    brought = ClusterCounters(taken_at="", delivery=BROUGHT)
    assert judge(gate, before=empty, now=brought, waited=0).judgement == "go"


def test_without_a_rendered_chart_the_tag_of_the_image_tells():
    gate = ControllerGate(namespace="n", deployment="d", images=(), release="1.0.14")
    told = [
        gate.fits((image,)) for image in ("x/controller:1.0.14@sha256:1", "x/controller:v1.0.14", "x/controller:1.0.8")
    ]
    assert (told, gate.fits(("x/sidecar:1.0.8", "x/controller:1.0.14"))) == ([True, True, False], True)
    assert gate.wanted == "an image of 1.0.14"


@pytest.mark.parametrize(
    ("env", "lease"),
    [
        ({}, "karpenter-leader-election"),
        ({"LEADER_ELECTION_NAME": "own"}, "own"),
        ({"DISABLE_LEADER_ELECTION": "True"}, ""),
        ({"LEADER_ELECT": "false"}, ""),
    ],
)
def test_the_lease_of_the_leader(env, lease):
    assert leader_lease(env) == lease
