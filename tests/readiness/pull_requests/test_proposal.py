"""What a pull request would hold: which files change, its branch, its text, and what is refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.checks.base import Remedy
from migrations_app.checks.changes import (
    ChangeTarget,
    KarpdashAction,
    ObjectAnnotations,
    ObjectLabels,
    ObjectPatch,
    Observation,
    group,
)
from migrations_app.errors import InvalidInput
from migrations_app.readiness.pull_requests.object_edits import (
    change_of,
    is_delivered_by_git,
    is_object,
    object_edits,
    with_edit,
    work_outside_files,
)
from migrations_app.readiness.pull_requests.proposal import RequestSubject, branch_name, may_hold, propose
from tests.builders.rows import a_finding

SHOP = ChangeTarget("NodePool", "shop", resource="nodepools.karpenter.sh")
WEB = ChangeTarget("NodePool", "web", resource="nodepools.karpenter.sh")
POOL = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: {}\nspec:\n  weight: 10 # why\n"
SUBJECT = RequestSubject(key="1", cluster="Shop (EU)", check="weights_fit", hop="1.0", title="Weights fit")


def heavier(target=SHOP, weight=20):
    return ObjectPatch(target=target, body={"spec": {"weight": weight}})


def test_every_object_of_the_change_is_written_in_its_file():
    change = group(heavier(), heavier(WEB, 30))
    texts = {"a.yaml": POOL.format("shop"), "b.yaml": POOL.format("other") + "---\n" + POOL.format("web")}
    found = propose(change, texts, subject=SUBJECT)
    assert [one.path for one in found.files] == ["a.yaml", "b.yaml"]
    assert found.files[0].new == texts["a.yaml"].replace("10", "20")
    assert found.files[1].new == POOL.format("other") + "---\n" + POOL.format("web").replace("10", "30")
    assert (found.missing, found.beside) == ((), ())
    assert found.title == "Weights fit (Shop (EU))"


def test_several_edits_of_one_object_come_together():
    change = group(heavier(), ObjectLabels(target=SHOP, given={"a": "b"}))
    (one,) = propose(change, {"a.yaml": POOL.format("shop")}, subject=SUBJECT).files
    assert one.new == POOL.format("shop").replace("10", "20").replace(
        "name: shop\n", "name: shop\n  labels:\n    a: b\n"
    )


def test_what_is_in_no_file_and_what_belongs_beside_it_is_told():
    change = group(heavier(), heavier(WEB), KarpdashAction(action="x", what="start the action x"))
    found = propose(change, {"a.yaml": POOL.format("shop")}, subject=SUBJECT)
    assert (found.missing, found.beside) == (("NodePool web",), ("start the action x",))
    assert "not in these files: NodePool web" in found.body
    assert "to be done beside it: start the action x" in found.body


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        ({}, "not_in_files"),
        ({"a.yaml": POOL.format("web")}, "not_in_files"),
        ({"a.yaml": POOL.format("shop").replace("karpenter.sh", "other.io")}, "not_in_files"),
        ({"a.yaml": POOL.format("shop"), "b.yaml": POOL.format("shop")}, "in_several_files"),
        ({"a.yaml": POOL.format("shop").replace("10", "20")}, "nothing_to_change"),
        ({"a.yaml": POOL.format("shop") + "---\nkind: Secret\n"}, "secret_in_file"),
        ({"a.yaml": POOL.format("shop") + "---\nkind:\n  Secret\n"}, "secret_in_file"),
        ({"a.yaml": POOL.format("shop").replace("spec:", "spec: &a") + "more: *a\n"}, "edit_refused"),
    ],
)
def test_files_that_hold_no_one_place_are_refused(texts, code):
    with pytest.raises(InvalidInput) as caught:
        propose(heavier(), texts, subject=SUBJECT)
    assert caught.value.code == code


def test_a_json_patch_that_does_not_fit_the_file_is_refused():
    steps = ({"op": "test", "path": "/spec/weight", "value": 11}, {"op": "remove", "path": "/spec/weight"})
    with pytest.raises(InvalidInput) as caught:
        propose(ObjectPatch(target=SHOP, body=steps), {"a.yaml": POOL.format("shop")}, subject=SUBJECT)
    assert caught.value.code == "edit_refused"
    fits = (steps[0] | {"value": 10}, steps[1])
    (one,) = propose(ObjectPatch(target=SHOP, body=fits), {"a.yaml": POOL.format("shop")}, subject=SUBJECT).files
    assert one.new.endswith("spec: {}\n") or "weight" not in one.new


def test_marks_that_are_not_there_are_taken_off_without_a_trace():
    document = {"metadata": {"name": "shop"}}
    assert with_edit(document, ObjectAnnotations(target=SHOP, removed=("x",))) == document


def test_only_objects_of_that_kind_group_name_and_namespace_are_meant():
    found = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "shop"}}
    assert is_object(found, heavier())
    for other in ({"kind": "NodeClaim"}, {"apiVersion": "x.io/v1"}, {"metadata": {"name": "web"}}, {"metadata": None}):
        assert not is_object(found | other, heavier())
    there = ObjectPatch(target=ChangeTarget("Deployment", "shop", "here"), body={})
    named = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop", "namespace": "there"}}
    assert not is_object(named, there)
    assert not is_object("text", there)


def test_a_finding_offers_its_first_change_of_objects():
    looks = Observation(pipe=(("kubectl", "get", "x"),))
    status = ObjectPatch(target=SHOP, body={"status": {}}, subresource="status")
    both = group(looks, heavier(), status)
    finding = a_finding(remedies=(Remedy(how="helm", text="x"), Remedy(how="flux", text="x", change=both)))
    assert change_of(finding) == both
    assert object_edits(both) == (heavier(),)
    assert work_outside_files(both) == ("NodePool shop",)
    assert is_delivered_by_git(finding)
    plain = a_finding(remedies=(Remedy(how="kubectl", text="x", change=looks),))
    assert (change_of(plain), is_delivered_by_git(plain)) == (None, False)


def test_only_yaml_that_names_an_object_is_read_further():
    assert may_hold("a/b.yml", "shop", change=heavier())
    assert not may_hold("a/b.yml", "web", change=heavier())
    assert not may_hold("a/b.json", "shop", change=heavier())


WILD = st.text(max_size=60)


@given(cluster=WILD, check=WILD, hop=WILD, key=WILD)
def test_a_branch_is_a_name_that_git_takes(cluster, check, hop, key):
    subject = RequestSubject(key=key, cluster=cluster, check=check, hop=hop, title="x")
    name = branch_name(subject)
    assert re.fullmatch(r"karpdash/[a-z0-9]+(-[a-z0-9]+)*/([a-z0-9]+-|-)+[0-9a-f]{8}", name)
    assert branch_name(subject) == name


@given(cluster=WILD, note=WILD)
def test_nothing_that_others_say_leaves_its_block_of_code(cluster, note):
    change = ObjectPatch(target=SHOP, body={"spec": {"weight": 20}}, notes=(note,))
    subject = RequestSubject(key="1", cluster=cluster, check="x", hop="", title="x")
    found = propose(change, {"a.yaml": POOL.format("shop")}, subject=subject)
    lines = found.body.splitlines()
    fence = next(line for line in lines if line.startswith("```")).removesuffix("text")
    assert lines.count(fence) == 1
    inside = lines[lines.index(f"{fence}text") + 1 : lines.index(fence)]
    assert len(inside) == 5
    assert not any(fence in line for line in inside)
