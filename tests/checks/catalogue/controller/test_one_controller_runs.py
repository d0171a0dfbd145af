import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.samples.installation import Install, controller
from tests.builders.clusters import (
    NODE,
    a_cluster,
    an_empty_cluster,
    finding_of,
    reads,
    remedies,
    result_of,
    result_without,
    without_changes,
)

CHECK = "one_controller_runs"
GOOD = ("pass", "Exactly one Karpenter controller runs", ())


def a_row(namespace: str, path: str, seen: str, wanted: str) -> Evidence:
    return Evidence(kind="Deployment", namespace=namespace, name="karpenter", path=path, seen=seen, wanted=wanted)


def unready(ready: object, replicas: object):
    docs = controller(Install(cluster="test", version="0.37.8"), [NODE])
    docs[0]["status"], docs[0]["spec"]["replicas"] = {"readyReplicas": ready}, replicas
    return a_cluster().without("controller").with_docs(docs[0])


def test_one_with_all_replicas_ready():
    assert result_of(CHECK, "1.0", a_cluster()) == GOOD
    assert result_of(CHECK, "1.0", a_cluster(replicas=1)) == GOOD


def test_a_second_one_in_another_namespace():
    second = controller(Install(cluster="test", version="0.37.8", namespace="karpenter"), [NODE])
    found = result_of(CHECK, "1.0", a_cluster().with_docs(second[0]))
    row = a_row("karpenter", "metadata.namespace", "karpenter", "only that in kube-system")
    assert found == ("fail", "1 controller Deployment is missing, surplus or not ready", (row,))


def before_the_move(replicas: int, status: dict[str, int]):
    """The Deployment in the namespace that was used before."""
    (second, *_) = controller(Install(cluster="test", version="0.37.8", namespace="karpenter"), [NODE])
    return second | {"spec": second["spec"] | {"replicas": replicas}, "status": status}


@pytest.mark.parametrize(
    ("replicas", "status", "severity", "seen"),
    [
        (0, {}, "warning", "karpenter, scaled to 0"),
        (0, {"replicas": 2, "readyReplicas": 2}, "blocker", "karpenter"),  # they are on their way out
        (2, {"replicas": 2}, "blocker", "karpenter"),
    ],
)
def test_a_second_one_without_pods_blocks_nothing(replicas, status, severity, seen):
    found = finding_of(CHECK, "1.0", a_cluster().with_docs(before_the_move(replicas, status)))
    assert (found.status, found.severity) == ("fail", severity)
    assert found.evidence == (a_row("karpenter", "metadata.namespace", seen, "only that in kube-system"),)


def test_a_second_one_without_pods_beside_one_that_is_not_ready_blocks():
    docs = controller(Install(cluster="test", version="0.37.8"), [NODE])
    docs[0]["status"] = {"readyReplicas": 1}
    found = finding_of(CHECK, "1.0", a_cluster().without("controller").with_docs(docs[0], before_the_move(0, {})))
    assert (found.status, found.severity, len(found.evidence)) == ("fail", "blocker", 2)


@pytest.mark.parametrize(
    ("ready", "replicas", "seen", "wanted"),
    [(1, 2, "1", "2"), (None, 2, "0", "2"), (None, None, "0", "1")],
)
def test_replicas_that_are_not_ready(ready, replicas, seen, wanted):
    found = result_of(CHECK, "1.0", unready(ready, replicas))
    assert found[2] == (a_row("kube-system", "status.readyReplicas", seen, wanted),)


def test_scaled_to_zero():
    found = result_of(CHECK, "1.0", unready(0, 0))
    assert found[2] == (a_row("kube-system", "spec.replicas", "0", "1 or more"),)


def test_one_that_is_being_deleted():
    """Its pods run until the deletion in the foreground, or that of its namespace, reaches them."""
    docs = controller(Install(cluster="test", version="0.37.8"), [NODE])
    docs[0]["metadata"]["deletionTimestamp"] = "2026-10-01T10:00:00Z"
    found = result_of(CHECK, "1.0", a_cluster().without("controller").with_docs(docs[0]))
    assert found[2] == (a_row("kube-system", "metadata.deletionTimestamp", "being deleted", "absent"),)


def rolled(**status: int):
    """Two pods are wanted and ready; the other counts are as the Deployment controller tells them."""
    docs = controller(Install(cluster="test", version="1.1.9"), [NODE])
    docs[0]["status"] = {"readyReplicas": 2} | status
    return a_cluster("1.1.9", kubernetes="1.31").without("controller").with_docs(docs[0])


@pytest.mark.parametrize(
    ("status", "seen"),
    [
        ({"replicas": 3, "updatedReplicas": 1}, "2 of an older template, 2 ready"),
        ({"replicas": 3, "updatedReplicas": 2}, "1 of an older template, 2 ready"),
        # The server leaves a 0 out: paused, for example.
        ({"replicas": 2, "observedGeneration": 3}, "2 of an older template, 2 ready"),
    ],
)
def test_pods_of_an_older_template_still_run(status, seen):
    row = a_row("kube-system", "status.replicas", seen, "the newest one alone")
    found = result_of(CHECK, "1.14", rolled(**status))
    assert found == ("fail", "1 controller Deployment is missing, surplus or not ready", (row,))


@pytest.mark.parametrize("status", [{"replicas": 2, "updatedReplicas": 2}, {"replicas": 2}, {}])
def test_all_pods_are_of_the_newest_template_or_are_not_counted(status):
    assert result_of(CHECK, "1.14", rolled(**status)) == GOOD


def test_the_remedy_of_a_stuck_rollout_looks_at_both_templates():
    (one,) = without_changes(remedies(CHECK, "1.14", rolled(replicas=3, updatedReplicas=1)))
    assert one.text.splitlines() == [
        "kubectl -n kube-system describe deployment karpenter",
        "kubectl -n kube-system get replicasets,pods -l app.kubernetes.io/name=karpenter -o wide",
        "# For a person: Deployment kube-system/karpenter: let its new pods start, or roll the upgrade back with helm",
        "# only their logs say what fails",
        "# Look at: its events and logs",
    ]


def test_without_a_status_nobody_knows():
    docs = controller(Install(cluster="test", version="0.37.8"), [NODE])
    del docs[0]["status"]
    found = result_of(CHECK, "1.0", a_cluster().without("controller").with_docs(docs[0]))
    assert found == ("unknown", "Deployment karpenter: status.readyReplicas is not there", ())


def test_none_at_all():
    row = Evidence(kind="Deployment", name="karpenter", seen="absent", wanted="one Deployment with ready pods")
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("fail", "1 controller Deployment is missing, surplus or not ready", (row,))


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_looks_at_the_deployment():
    text = "kubectl -n kube-system describe deployment karpenter"
    assert without_changes(remedies(CHECK, "1.0", unready(1, 2))) == (Remedy(how="kubectl", text=text),)
