"""A plan as sentences, commands, manifests and differences; a cluster's text never leaves its quotes."""

import json
import shlex
import subprocess

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from migrations_app.actions.changes import ObjectTarget, application, creation, deletion, merge
from migrations_app.actions.gate import Gate
from migrations_app.actions.plan import ClusterIdentity, Forecast, ListLimit, Plan, RolloutLimits, Step, numbered
from migrations_app.actions.render import (
    as_kubectl,
    as_manifest,
    command,
    diff_lines,
    gate_words,
    gitops_patch,
    step_lines,
)
from migrations_app.errors import InvalidInput

POOL = ObjectTarget("karpenter.sh", "v1", "nodepools", "NodePool", "web")
NODE = ObjectTarget("", "v1", "nodes", "Node", "n1", uid="u")
APP = ObjectTarget("apps", "v1", "deployments", "Deployment", "web", namespace="shop")
BODY = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "web"}, "spec": {"weight": 1}}
MERGE = "--field-manager=karpdash --type=merge"
HOSTILE = st.text(alphabet=st.sampled_from("a'\"$`\\\n\r;&|<>(){}#!* EOF_-\u2028\x1b"), max_size=30)


def a_plan(*steps: Step) -> Plan:
    return Plan(
        action="a", title="T", parameters={}, cluster="c", identity=ClusterIdentity("u", "f", "https://c"),
        steps=numbered(steps), limits=RolloutLimits(), forecast=Forecast(), author="ada", snapshot="", policy=1,
    )  # fmt: skip


def parses(text: str) -> bool:
    return subprocess.run(["bash", "-n"], input=text.encode(), capture_output=True, check=False).returncode == 0


def words(line: str) -> list[str]:
    """The words that bash makes of a command without a here document."""
    told = subprocess.run(
        ["bash", "-c", f"kubectl() {{ printf '%s\\0' \"$@\"; }}; {line}"], capture_output=True, check=True
    )
    return told.stdout.decode().split("\0")[:-1]


def test_a_plan_in_sentences():
    patch = Step(
        id="", title="Taint Provisioner web", change=merge(POOL, {"spec": {}}), undo=merge(POOL, {}), risk="medium",
        note="mind this", manager="Flux infra",
    )  # fmt: skip
    gone = Step(
        id="", title="Drain node n1", change=deletion(NODE), risk="high", after=Gate(gone=(NODE,), replaced=True)
    )
    calm = "all that was launched is Ready, no more pods are Pending than before, at most 900 s"
    plan = a_plan(patch, gone, Step(id="", title="Watch", after=Gate(no_legacy_nodes=True)))
    assert tuple(line for step in plan.steps for line in step_lines(step)) == (
        "s001: Taint Provisioner web",
        "  risk medium; undo: patching NodePool web",
        "  kept by Flux infra, who would revert it",
        "  mind this",
        "s002: Drain node n1",
        "  risk high; no undo",
        f"  then: wait until Node n1 is gone, {calm}",
        "s003: Watch",
        "  then: wait until no node of a Provisioner is left, no more pods are Pending than before, at most 900 s",
    )


def test_gates_in_words():
    assert (
        gate_words(Gate(gone=(NODE, NODE), pending_above=None, seconds=5))
        == "wait until 2 objects are gone, at most 5 s"
    )
    assert gate_words(Gate(pending_above=3)).startswith("wait until no more pods are Pending than before, but 3")
    assert gate_words(Gate(pending_above=None)) == "wait until the cluster shows it, at most 900 s"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            merge(POOL, {"spec": {"x": "it's"}}),
            f"kubectl patch nodepools.v1.karpenter.sh web {MERGE} " + """-p '{"spec":{"x":"it'"'"'s"}}'""",
        ),
        (
            merge(APP, {"status": {}}, subresource="status"),
            f"kubectl -n shop patch deployments.v1.apps web {MERGE} --subresource=status " + """-p '{"status":{}}'""",
        ),
        (deletion(NODE), "kubectl delete nodes n1 --cascade=background --wait=false"),
        (
            deletion(POOL, foreground=True),
            "kubectl delete nodepools.v1.karpenter.sh web --cascade=foreground --wait=false",
        ),
    ],
)  # fmt: skip
def test_commands(change, line):
    assert (command(change), parses(line)) == (line, True)


def test_a_command_is_for_the_planned_object_only():  # R22
    pool = msgspec.structs.replace(POOL, uid="u-1")
    assert words(command(merge(pool, {"spec": {"x": 1}})))[-1] == '{"spec":{"x":1},"metadata":{"uid":"u-1"}}'
    applied = command(application(pool, {"spec": {"weight": 1}})).split("\n", 1)[1].rpartition("\n")[0]
    assert yaml.safe_load(applied)["metadata"] == {"name": "web", "uid": "u-1"}
    node = msgspec.structs.replace(NODE, uid="u-2")
    limits = (ListLimit(group="karpenter.sh", version="v1", plural="nodepools", what="pools", label_selector="a=b,!c"),)
    text = as_kubectl(Step(id="", title="Delete", change=deletion(node), at_most=limits))
    said = "not sent: Node n1 is another one now, or takes more along than was previewed"
    assert text == (
        "# Delete\n"
        "if [ \"$(kubectl get nodes n1 -o 'jsonpath={.metadata.uid}')\" = u-2 ] && "
        "found=$(kubectl get nodepools.v1.karpenter.sh --all-namespaces -l 'a=b,!c' -o name) && "
        '[ "$(printf %s "$found" | grep -c .)" -le 0 ]; then '
        f"kubectl delete nodes n1 --cascade=background --wait=false; else echo '{said}' >&2; false; fi"
    )
    assert parses(text)


def test_whole_objects_come_from_a_here_document():
    text = "kubectl create --field-manager=karpdash -f - <<'EOF'\n"
    body = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: web\nspec:\n  weight: 1\nEOF"
    assert command(creation(POOL, BODY)) == text + body
    applied = command(application(POOL, {"spec": {"weight": 1}}))
    assert applied == text.replace("create", "apply --server-side") + body


def test_a_here_document_ends_where_it_should():
    change = creation(POOL, BODY | {"spec": {"userData": "EOF\nrm -rf x\nEOF_0\nEOF"}})
    text = command(change)
    delimiter = text.splitlines()[0].rpartition("<<")[2].strip("'")
    held = text.split("\n", 1)[1].rpartition("\n")[0]
    assert delimiter not in held.splitlines()
    assert (parses(text), yaml.safe_load(held)["spec"]) == (True, {"userData": "EOF\nrm -rf x\nEOF_0\nEOF"})


def test_a_watch_is_a_comment():
    step = Step(id="", title="Watch\n rm -rf /", after=Gate(pending_above=None))
    assert as_kubectl(step) == "# Watch  rm -rf /\n# wait until the cluster shows it, at most 900 s"
    assert as_manifest(step) == ""


@pytest.mark.parametrize("name", ["", ".", "..", "-n", "a b", "$(x)", "a\nb"])
def test_what_is_no_name_is_no_command(name):
    with pytest.raises(InvalidInput):
        command(deletion(ObjectTarget("", "v1", "nodes", "Node", name)))


@settings(max_examples=40)
@given(title=HOSTILE, value=HOSTILE)
def test_hostile_text_stays_in_its_quotes(title, value):
    step = Step(id="", title=title, change=merge(POOL, {"spec": {"x": value}}))
    text = as_kubectl(step)
    head, _, line = text.partition("\n")
    assert head.startswith("# ")
    assert words(line)[-2:] == ["-p", json.dumps({"spec": {"x": value}}, separators=(",", ":"))]
    assert shlex.split(line)[0] == "kubectl"


@settings(max_examples=40)
@given(title=HOSTILE, value=HOSTILE)
def test_hostile_text_stays_in_its_yaml(title, value):
    step = Step(id="", title=title, change=creation(POOL, BODY | {"spec": {"x": value}}))
    assert yaml.safe_load(as_manifest(step))["spec"] == {"x": value}
    assert parses(as_kubectl(step))


def test_manifests_for_a_repository():
    patch = Step(id="", title="Taint", change=merge(POOL, {"spec": {"taints": None}}))
    assert as_manifest(patch) == (
        "# Taint\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: web\nspec:\n  taints: null\n"
    )
    gone = Step(id="", title="Delete", change=deletion(POOL))
    assert yaml.safe_load(as_manifest(gone)) == {"$patch": "delete"} | {key: BODY[key] for key in BODY if key != "spec"}


def test_a_list_that_kustomize_would_join_by_key_is_replaced():
    rows = [{"topologyKey": "a"}]
    spec = {"template": {"spec": {"topologySpreadConstraints": rows}}}
    found = yaml.safe_load(as_manifest(Step(id="", title="t", change=merge(APP, {"spec": spec}))))
    assert found["metadata"] == {"name": "web", "namespace": "shop"}
    assert found["spec"]["template"]["spec"]["topologySpreadConstraints"] == [*rows, {"$patch": "replace"}]


def test_what_no_repository_holds_is_told():
    plan = a_plan(
        Step(id="", title="Create", change=creation(POOL, BODY)),
        Step(id="", title="Drain n1", change=deletion(NODE)),
        Step(id="", title="Stored", change=merge(POOL, {"status": {}}, subresource="status")),
        Step(id="", title="Taint", change=merge(POOL, {"spec": {"weight": 2}})),
        Step(id="", title="Watch", after=Gate()),
    )
    text = gitops_patch(plan)
    assert text.splitlines()[:2] == [
        "# not for a repository: Drain n1 (no repository holds a Node)",
        "# not for a repository: Stored (only the cluster holds a status)",
    ]
    assert [one["spec"] for one in yaml.safe_load_all(text)] == [{"weight": 1}, {"weight": 2}]


def test_a_difference_leaves_out_what_moves_by_itself():
    before = BODY | {"metadata": {"name": "web", "resourceVersion": "1", "uid": "u"}, "status": {"x": 1}}
    marks = {"karpdash.io/rollout": "r", "mine": "1"}
    after = BODY | {"metadata": {"name": "web", "resourceVersion": "2", "annotations": marks}, "spec": {"weight": 2}}
    assert diff_lines(before, after) == (
        ("@", ""),
        (" ", "apiVersion: karpenter.sh/v1"),
        (" ", "kind: NodePool"),
        (" ", "metadata:"),
        ("+", "  annotations:"),
        ("+", '    mine: "1"'),
        (" ", "  name: web"),
        (" ", "spec:"),
        ("-", "  weight: 1"),
        ("+", "  weight: 2"),
    )
    assert diff_lines(before, before | {"status": {}}) == ()


def test_what_is_made_and_what_goes():
    assert [sign for sign, _ in diff_lines(None, BODY)] == ["@"] + ["+"] * 6
    assert [sign for sign, _ in diff_lines(BODY, None)] == ["@"] + ["-"] * 6
    assert diff_lines(None, None) == ()
