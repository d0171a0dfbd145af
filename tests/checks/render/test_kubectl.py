"""What kubectl is told, line by line."""

import subprocess

import pytest
from msgspec.structs import replace

from migrations_app.checks.changes import (
    ChangeTarget,
    NodeTaint,
    ObjectAnnotations,
    ObjectApply,
    ObjectDelete,
    ObjectLabels,
    ObjectPatch,
    Observation,
    PersonTask,
    group,
)
from migrations_app.checks.render.kubectl import MAX_NAMES_SHOWN, text


def pool(name="web"):
    return ChangeTarget("NodePool", name, resource="nodepools.karpenter.sh")


def lines(change):
    return text(change).splitlines()


def test_patches():
    merge = ObjectPatch(target=pool(), body={"spec": {"weight": None}}, notes=("Read this",))
    assert lines(merge) == [
        "# Read this",
        'kubectl patch nodepools.karpenter.sh web --type=merge -p \'{"spec":{"weight":null}}\'',
    ]
    json_patch = ObjectPatch(
        target=ChangeTarget("Deployment", "karpenter", "kube-system"),
        body=({"op": "remove", "path": "/spec/x"},),
        subresource="status",
    )
    command = "kubectl -n kube-system patch deployment karpenter --subresource=status --type=json -p"
    assert text(json_patch) == f"""{command} '[{{"op":"remove","path":"/spec/x"}}]'"""


def test_a_whole_object_is_printed_into_kubectl():
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"b": "it's\nso"}}
    assert lines(ObjectApply(manifest=manifest)) == [
        "printf '%s\\n' \\",
        "  'apiVersion: v1' \\",
        "  'kind: ConfigMap' \\",
        "  metadata: \\",
        "  '  name: a' \\",
        "  data: \\",
        "  '  b: |-' \\",
        "  '    it'\"'\"'s' \\",
        "  '    so' \\",
        "  | kubectl apply -f -",
    ]


def test_alike_changes_of_several_objects_are_one_command():
    deletes = group(*(ObjectDelete(target=pool(name), notes=("Gone for good",)) for name in "ab"), notes=("First",))
    assert lines(deletes) == ["# First", "# Gone for good", "kubectl delete nodepools.karpenter.sh a b"]
    marks = [ObjectLabels(target=pool(name), given={"k": "v w"}, removed=("old",)) for name in "ab"]
    marks += [ObjectLabels(target=pool("c"), given={"k": "other"})]
    assert lines(group(*marks)) == [
        "kubectl label nodepools.karpenter.sh a b 'k=v w' old- --overwrite",
        "kubectl label nodepools.karpenter.sh c k=other --overwrite",
    ]
    assert text(ObjectAnnotations(target=pool(), removed=("k",))) == "kubectl annotate nodepools.karpenter.sh web k-"
    foreground = ObjectDelete(target=pool(), propagation="foreground")
    assert text(foreground) == "kubectl delete nodepools.karpenter.sh web --cascade=foreground"


def test_objects_of_several_places_are_not_mixed():
    found = group(*(ObjectDelete(target=ChangeTarget("Job", "a", space)) for space in ("x", "y")))
    assert lines(found) == ["kubectl -n x delete job a", "kubectl -n y delete job a"]


def test_what_is_too_much_to_read_is_counted_not_left_out_silently():
    every = group(*(ObjectDelete(target=pool(f"p{number}")) for number in range(MAX_NAMES_SHOWN + 5)))
    command, more = lines(every)
    assert command.split()[3:] == [f"p{number}" for number in range(MAX_NAMES_SHOWN)]
    assert more == "# and 5 more, in the same way"
    patches = group(
        *(ObjectPatch(target=pool(f"p{number}"), body={"a": number}) for number in range(MAX_NAMES_SHOWN + 1))
    )
    assert len(lines(patches)) == MAX_NAMES_SHOWN + 1
    assert lines(patches)[-1] == "# and 1 more, in the same way"


def test_a_change_that_is_told_twice_is_made_once():
    assert lines(group(*[ObjectDelete(target=pool())] * 2)) == ["kubectl delete nodepools.karpenter.sh web"]


def test_taints():
    node = ChangeTarget("Node", "n1", resource="node")
    put = NodeTaint(target=node, key="k", value="v", effect="NoSchedule")
    assert text(put) == "kubectl taint node n1 k=v:NoSchedule --overwrite"
    assert text(NodeTaint(target=node, key="k", removed=True)) == "kubectl taint node n1 k-"
    assert text(NodeTaint(target=node, key="k", effect="NoExecute", removed=True)) == (
        "kubectl taint node n1 k:NoExecute-"
    )


def test_a_deletion_that_is_only_right_later_looks_first():
    guard = (("kubectl", "get", "machines"), ("grep", "-q", "none"))
    steps = [ObjectDelete(target=pool(name), guard=guard) for name in ("a", "b")]
    assert text(group(*steps)) == (
        "if kubectl get machines | grep -q none; then kubectl delete nodepools.karpenter.sh a b; "
        "else echo 'not deleted: nodepools.karpenter.sh a b; look first at: kubectl get machines' >&2; false; fi"
    )
    assert lines(group(steps[0], replace(steps[1], guard=())))[1] == "kubectl delete nodepools.karpenter.sh b"


@pytest.mark.parametrize(("found", "done"), [("none", (0, "deleted\nnext\n")), ("one", (1, ""))])
def test_a_script_ends_at_what_was_not_done_and_says_so(found, done):
    guard = (("kubectl", "get", "machines", "-o", "name"), ("grep", "-qx", "none"))
    line = text(ObjectDelete(target=pool("it's"), guard=guard))
    stub = f"kubectl() {{ if [ $1 = get ]; then echo {found}; else echo deleted; fi; }}"
    script = "\n".join(("set -euo pipefail", stub, line, "echo next"))
    ran = subprocess.run(("/bin/bash", "-c", script), capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == done
    said = "not deleted: nodepools.karpenter.sh it's; look first at: kubectl get machines\n"
    assert ran.stderr == (said if found == "one" else "")


def test_a_pasted_line_leaves_the_shell_open():
    line = text(ObjectDelete(target=pool(), guard=(("false",),)))
    ran = subprocess.run(("/bin/bash",), input=f"{line}\necho next\n", capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "next\n")


def test_what_only_reads_keeps_its_words():
    pipe = (("kubectl", "get", "crd", "-o", "yaml"), ("karpdash", "convert", "-f", "-"))
    assert text(Observation(pipe=pipe, notes=("Look",))) == "# Look\nkubectl get crd -o yaml | karpdash convert -f -"


@pytest.mark.parametrize("name", ["a file", "before.yaml", "a b.tar.gz", ".yaml", "it's $(here).yaml"])
def test_what_was_saved_is_never_overwritten(name, tmp_path):
    """As when the same line runs for another cluster, or again once the objects are changed or gone."""
    line = text(Observation(pipe=(("kubectl", "get", "crd"),), into=name))
    stubs = "kubectl() { echo $said; }; date() { echo $at; }"
    script = "\n".join((stubs, "said=kept at=1", line, "said=gone at=2", line))
    subprocess.run(("/bin/bash", "-e", "-o", "pipefail", "-c", script), cwd=tmp_path, check=True)
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["gone\n", "kept\n"]


def test_tasks_of_a_person():
    assert text(PersonTask(target=pool(), what="spec.weight; 1  to\n100")) == (
        "kubectl edit nodepools.karpenter.sh web  # spec.weight; 1 to 100"
    )
    assert lines(PersonTask(what="name a role", why="nobody told it", where="IAM")) == [
        "# For a person: name a role",
        "# nobody told it",
        "# Look at: IAM",
    ]
