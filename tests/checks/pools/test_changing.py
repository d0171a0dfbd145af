import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import ChangeTarget, ObjectPatch, PersonTask, leaves
from migrations_app.checks.remedies.commands import NAMES_SHOWN
from migrations_app.checks.remedies.karpenter_objects import (
    RESOURCES,
    changed,
    claims_deleted,
    converted,
    described,
    edited,
    finalizers_removed,
    kept,
    patched,
    target_of,
)
from migrations_app.checks.render import kubectl
from migrations_app.checks.shell import json_word
from migrations_app.inventory.facts.managers import Managed
from migrations_app.inventory.inventory import PART_NAMES
from migrations_app.inventory.objects.karpenter import Metadata, Node
from migrations_app.karpenter import kinds
from tests.builders import case_at
from tests.builders_pools import a_pool, at, parses

FLUX = {"kustomize.toolkit.fluxcd.io/name": "pools", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
POOL = ChangeTarget("NodePool", "web", resource="nodepools.karpenter.sh")
ROW = Evidence(kind="NodePool", name="web", path="spec.weight", seen="0", wanted="1  to\n100")


def case(changes=None):
    return case_at("1.1+", at("1.0.14", a_pool(changes)))


def test_resources_are_those_of_the_tables():
    assert all(part in PART_NAMES for part, _ in RESOURCES.values())
    assert {name: crd for name, (_, crd) in RESOURCES.items()} == {
        kind.kind: kind.crd_name for kind in (*kinds.ALPHA_KINDS, *kinds.CURRENT_KINDS)
    }


def test_what_a_hand_keeps():
    (remedy,) = changed(case(), [ROW], what="set it", line=edited, notes=("One", "Two"))
    line = "kubectl edit nodepools.karpenter.sh web  # spec.weight; 1 to 100"
    assert remedy.text.splitlines() == ["# One", "# Two", line]


def test_what_a_tool_keeps_is_changed_in_its_source_first():
    found = changed(case({"metadata.labels": FLUX}), [ROW], what="set it", line=edited)
    assert parses(found) == ["flux", "kubectl"]
    where = "kustomization pools --namespace flux-system"
    assert found[0].text.splitlines() == [
        "# In the repository that Flux applies (flux-system/pools): set it",
        f"# Then flux resume {where} && flux reconcile {where} --with-source",
    ]


def test_no_more_objects_than_fit_and_none_twice():
    rows = [Evidence(kind="NodePool", name=f"p{number}") for number in range(NAMES_SHOWN + 5)]
    (remedy,) = changed(case(), [*rows, *rows], what="set it", line=converted)
    assert len(remedy.text.splitlines()) == NAMES_SHOWN + 1
    assert remedy.text.endswith("\n# and 5 more, in the same way")
    (remedy,) = changed(case(), [ROW, ROW], what="set it", line=edited)
    assert len(remedy.text.splitlines()) == 1


@pytest.mark.parametrize("row", [Evidence(kind="NodePool", name="other"), Evidence(kind="Pod", name="web")])
def test_what_was_not_seen_is_kept_by_nobody(row):
    assert kept(case().inventory, row) == Managed("hand")


def test_the_change_of_a_field_knows_its_way_back():
    (remedy,) = changed(case({"spec.weight": 3}), [ROW], what="set it", line=patched("spec.weight", 5), when="after")
    command = "kubectl patch nodepools.karpenter.sh web --type=merge -p"
    assert remedy.text == f"""{command} '{{"spec":{{"weight":5}}}}'"""
    (step,) = leaves(remedy.change)
    assert (step.target, step.when, step.done) == (POOL, "after", "spec.weight is 5")
    assert step.undo == ObjectPatch(target=POOL, body={"spec": {"weight": 3}}, when="after")
    (remedy,) = changed(case(), [ROW], what="set it", line=patched("spec.new.field", None))
    (step,) = leaves(remedy.change)
    assert (step.undo.body, step.done) == ({"spec": {"new": None}}, "spec.new.field is gone")


def test_what_a_person_decides_is_their_task():
    assert edited(ROW) == PersonTask(target=POOL, what="spec.weight; 1  to\n100", why="the value is a choice")
    get = ("kubectl", "get", "nodepools.karpenter.sh", "web", "-o", "yaml")
    assert converted(ROW).pipe == (get, ("karpdash", "convert", "-f", "-"))
    assert kubectl.text(converted(ROW)) == ("kubectl get nodepools.karpenter.sh web -o yaml | karpdash convert -f -")
    assert described([ROW, ROW], "Look").text == "# Look\nkubectl describe nodepools.karpenter.sh web"


def test_names_cannot_leave_the_command():
    row = Evidence(kind="NodePool", name="a; reboot")
    assert target_of(row).name == "a; reboot"
    assert kubectl.text(edited(row)) == "kubectl edit nodepools.karpenter.sh 'a; reboot'  # "
    assert described([row]).text == "kubectl describe nodepools.karpenter.sh 'a; reboot'"


def test_machines_go_one_after_the_other():
    rows = [Evidence(kind="Machine", name=name) for name in "aba"]
    assert kubectl.text(claims_deleted(rows, "One at a time")).splitlines() == [
        "# One at a time",
        "kubectl delete machines.karpenter.sh a",
        "kubectl delete machines.karpenter.sh b",
    ]


def test_finalizers_of_others_stay():
    finalizers = ["other.example/x", "karpenter.sh/termination"]
    node = Node(metadata=Metadata(name="n1", finalizers=finalizers))
    lines = finalizers_removed([node], selected_by="karpenter.sh/nodepool").text.splitlines()
    assert lines[1].startswith("kubectl get nodes -l karpenter.sh/nodepool -o ")
    patch = [
        {"op": "test", "path": "/metadata/finalizers/1", "value": "karpenter.sh/termination"},
        {"op": "remove", "path": "/metadata/finalizers/1"},
    ]
    assert lines[2:] == [f"kubectl patch node n1 --type=json -p {json_word(patch)}"]
