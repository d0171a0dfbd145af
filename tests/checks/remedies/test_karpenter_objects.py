import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import ChangeTarget, ObjectPatch, PersonTask, leaves
from migrations_app.checks.remedies.commands import NAMES_SHOWN
from migrations_app.checks.remedies.karpenter_objects import (
    RESOURCES,
    change_remedies,
    conversion_task,
    delete_claims,
    describe_remedy,
    edit_task,
    manager_of,
    merge_patch_of,
    remove_finalizers,
    target_of,
)
from migrations_app.checks.render import kubectl
from migrations_app.checks.shell import json_word
from migrations_app.inventory.facts.managers import Managed
from migrations_app.inventory.inventory import PART_NAMES
from migrations_app.inventory.objects.karpenter import Metadata, Node
from migrations_app.karpenter import kinds
from tests.builders.clusters import case_at
from tests.builders.patches import patch_words
from tests.builders.pools import a_pool, at, parses

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
    (remedy,) = change_remedies(case(), [ROW], what="set it", line=edit_task, notes=("One", "Two"))
    line = "kubectl edit nodepools.karpenter.sh web  # spec.weight; 1 to 100"
    assert remedy.text.splitlines() == ["# One", "# Two", line]


def test_what_a_tool_keeps_is_changed_in_its_source_first():
    found = change_remedies(case({"metadata.labels": FLUX}), [ROW], what="set it", line=edit_task)
    assert parses(found) == ["flux", "kubectl"]
    where = "kustomization pools --namespace flux-system"
    assert found[0].text.splitlines() == [
        "# In the repository that Flux applies (flux-system/pools): set it",
        f"# Then flux resume {where} && flux reconcile {where} --with-source",
    ]


def test_no_more_objects_than_fit_and_none_twice():
    rows = [Evidence(kind="NodePool", name=f"p{number}") for number in range(NAMES_SHOWN + 5)]
    (remedy,) = change_remedies(case(), [*rows, *rows], what="set it", line=edit_task)
    assert len(remedy.text.splitlines()) == NAMES_SHOWN + 1
    assert remedy.text.endswith("\n# and 5 more, in the same way")
    (remedy,) = change_remedies(case(), [ROW, ROW], what="set it", line=edit_task)
    assert len(remedy.text.splitlines()) == 1


def test_many_objects_are_converted_by_one_command_for_each_kind():
    """In any order of the evidence; a name that another word of the command is has a command of its own."""
    numbers = range(NAMES_SHOWN + 5)
    rows = [Evidence(kind=kind, name=f"p{number}") for number in numbers for kind in ("NodePool", "EC2NodeClass")]
    odd = Evidence(kind="NodePool", name="yaml")
    (remedy,) = change_remedies(case(), [odd, *rows], what="convert it", line=conversion_task)
    names = " ".join(f"p{number}" for number in range(NAMES_SHOWN))
    more = "# and 5 more, in the same way"
    assert remedy.text.splitlines() == [
        "kubectl get nodepools.karpenter.sh yaml -o yaml | karpdash convert -f -",
        f"kubectl get nodepools.karpenter.sh {names} -o yaml | karpdash convert -f -",
        more,
        f"kubectl get ec2nodeclasses.karpenter.k8s.aws {names} -o yaml | karpdash convert -f -",
        more,
    ]


@pytest.mark.parametrize("row", [Evidence(kind="NodePool", name="other"), Evidence(kind="Pod", name="web")])
def test_what_was_not_seen_is_kept_by_nobody(row):
    assert manager_of(case().inventory, row) == Managed("hand")


def test_the_change_of_a_field_knows_its_reverse():
    (remedy,) = change_remedies(
        case({"spec.weight": 3}), [ROW], what="set it", line=merge_patch_of("spec.weight", 5), when="after"
    )
    assert remedy.text == f"kubectl patch nodepools.karpenter.sh web {patch_words(('/spec/weight', 3, 5))}"
    (step,) = leaves(remedy.change)
    assert (step.target, step.when, step.done) == (POOL, "after", "spec.weight is 5")
    undo = ObjectPatch(target=POOL, body={"spec": {"weight": 3}}, seen={"spec": {"weight": 5}}, when="after")
    assert (step.undo, step.seen) == (undo, {"spec": {"weight": 3}})
    (remedy,) = change_remedies(case(), [ROW], what="set it", line=merge_patch_of("spec.new.field", None))
    (step,) = leaves(remedy.change)
    assert (step.undo.body, step.seen, step.done) == ({"spec": {"new": None}}, {"spec": {}}, "spec.new.field is gone")


def test_what_a_person_decides_is_their_task():
    assert edit_task(ROW) == PersonTask(target=POOL, what="spec.weight; 1  to\n100", why="the value is a choice")
    get = ("kubectl", "get", "nodepools.karpenter.sh", "web", "-o", "yaml")
    assert conversion_task(ROW).pipe == (get, ("karpdash", "convert", "-f", "-"))
    assert kubectl.text(conversion_task(ROW)) == (
        "kubectl get nodepools.karpenter.sh web -o yaml | karpdash convert -f -"
    )
    assert describe_remedy([ROW, ROW], "Look").text == "# Look\nkubectl describe nodepools.karpenter.sh web"


def test_names_cannot_leave_the_command():
    row = Evidence(kind="NodePool", name="a; reboot")
    assert target_of(row).name == "a; reboot"
    assert kubectl.text(edit_task(row)) == "kubectl edit nodepools.karpenter.sh 'a; reboot'  # "
    assert describe_remedy([row]).text == "kubectl describe nodepools.karpenter.sh 'a; reboot'"


def test_machines_go_one_after_the_other():
    rows = [Evidence(kind="Machine", name=name) for name in "aba"]
    assert kubectl.text(delete_claims(rows, "One at a time")).splitlines() == [
        "# One at a time",
        "kubectl delete machines.karpenter.sh a",
        "kubectl delete machines.karpenter.sh b",
    ]


def test_finalizers_of_others_stay():
    finalizers = ["other.example/x", "karpenter.sh/termination"]
    node = Node(metadata=Metadata(name="n1", finalizers=finalizers))
    lines = remove_finalizers([node], selected_by="karpenter.sh/nodepool").text.splitlines()
    assert lines[1].startswith("kubectl get nodes -l karpenter.sh/nodepool -o ")
    patch = [
        {"op": "test", "path": "/metadata/finalizers/1", "value": "karpenter.sh/termination"},
        {"op": "remove", "path": "/metadata/finalizers/1"},
    ]
    assert lines[2:] == [f"kubectl patch node n1 --type=json -p {json_word(patch)}"]
