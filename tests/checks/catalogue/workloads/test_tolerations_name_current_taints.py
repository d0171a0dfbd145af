import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.checks.shell import json_word
from migrations_app.samples.kubernetes_objects import containers, pods_of, template, workload
from tests.builders.clusters import a_cluster, asked_hops, reads, remedies, result_of, result_without

CHECK = "tolerations_name_current_taints"
GOOD = ("pass", "No toleration uses an outdated disruption taint", ())
AT = "/spec/template/spec/tolerations"
CORDON = "node.kubernetes.io/unschedulable"
OLD, NEW = "karpenter.sh/disruption", "karpenter.sh/disrupted"


def tolerating(*tolerations):
    made = template({"app": "log"}, {"containers": containers("log", "log:1"), "tolerations": list(tolerations)})
    found = workload("DaemonSet", "log", namespace="kube-system", replicas=2, pod=made)
    return a_cluster().with_docs(found, *pods_of(found, ["n1", "n2"], count=2))


def keyed(*keys: str):
    return tolerating(*({"key": key, "operator": "Exists"} for key in keys))


@pytest.mark.parametrize("keys", [(), (NEW,), (OLD, NEW), ("node.kubernetes.io/not-ready",)])
def test_the_current_key_or_none(keys):
    assert result_of(CHECK, "1.0", keyed(*keys)) == GOOD


def test_a_blanket_toleration_needs_no_key():
    assert result_of(CHECK, "1.0", tolerating({"operator": "Exists"})) == GOOD


def test_the_old_key_alone():
    row = Evidence(
        kind="DaemonSet",
        namespace="kube-system",
        name="log",
        path="spec.template.spec.tolerations",
        seen=OLD,
        wanted=NEW,
        count=2,
    )
    assert result_of(CHECK, "1.0", keyed(OLD)) == ("fail", "2 pods tolerate an outdated disruption taint", (row,))


def on_0_31(*keys: str, templates: bool = True):
    rows = [{"key": key, "operator": "Exists"} for key in keys]
    made = template({"app": "log"}, {"containers": containers("log", "log:1"), "tolerations": rows})
    found = workload("DaemonSet", "log", namespace="kube-system", replicas=2, pod=made)
    pods = pods_of(found, ["n1", "n2"], count=2)
    return a_cluster("0.31.5", kubernetes="1.27").with_docs(*([found] if templates else []), *pods)


def test_tolerating_a_cordon_is_not_enough_from_0_32_on():
    row = Evidence(
        kind="DaemonSet", namespace="kube-system", name="log", path="spec.template.spec.tolerations", seen=CORDON,
        wanted=OLD,
    )  # fmt: skip
    assert result_of(CHECK, "0.32", on_0_31(CORDON)) == ("fail", "1 pod tolerates an outdated disruption taint", (row,))
    assert result_of(CHECK, "0.32", on_0_31(CORDON, OLD)) == GOOD


def test_what_the_daemon_set_controller_adds_to_pods_is_nobodys_choice():
    assert result_of(CHECK, "0.32", on_0_31(CORDON, templates=False)) == GOOD


def test_it_is_asked_where_the_key_changes():
    assert asked_hops(CHECK)[:3] == ("0.32", "1.0", "1.1+")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_names_the_daemon_set():
    (remedy,) = remedies(CHECK, "1.0", keyed(OLD))
    as_seen = {"op": "test", "path": AT, "value": [{"key": OLD, "operator": "Exists"}]}
    added = [as_seen, {"op": "add", "path": f"{AT}/-", "value": {"key": NEW, "operator": "Exists"}}]
    assert remedy.text == f"kubectl -n kube-system patch daemonset log --type=json -p {json_word(added)}"
    (step,) = leaves(remedy.change)
    assert [(one["op"], one["path"]) for one in step.undo.body] == [("test", f"{AT}/1"), ("remove", f"{AT}/1")]


def test_a_value_of_the_old_taint_is_not_asked_of_the_new_one():
    old = {"key": OLD, "operator": "Equal", "value": "disrupting", "effect": "NoSchedule"}
    (remedy,) = remedies(CHECK, "1.0", tolerating(old))
    (step,) = leaves(remedy.change)
    assert step.body[0]["value"] == [old]
    assert step.body[1]["value"] == {"key": NEW, "operator": "Exists", "effect": "NoSchedule"}
