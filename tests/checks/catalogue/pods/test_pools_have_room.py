import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.samples.karpenter_objects import claim, pool
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, remedies, result_of, result_without
from tests.builders.patches import patch_words
from tests.builders.pods import NOTHING, OLD, OTHER, is_shell

CHECK = "pools_have_room"
GOOD = ("pass", "Every NodePool has room for one more node", ())


def with_pool(limits: object, used: object, *, nodes=(OLD, OTHER), name: str = "web", **more):
    made = pool(name, node_class="d", version="v1beta1")
    made["spec"] |= {"limits": limits}
    made["status"] = {"resources": used}
    docs = [doc for one in nodes for doc in claim(one, node_class="d", version="v1beta1")]
    return a_cluster().with_docs(made, *docs)


def row(path: str, seen: str) -> Evidence:
    wanted = "room for one node more"
    return Evidence(kind="NodePool", name="web", path=f"spec.limits.{path}", seen=seen, wanted=wanted)


@pytest.mark.parametrize(
    ("limits", "used"),
    [
        ({"cpu": "24"}, {"cpu": "16"}),
        ({"cpu": 24}, {"cpu": "16"}),
        ({}, {"cpu": "16"}),
        (None, None),
        ({"memory": "1Ti"}, {"memory": "64Gi"}),
        ({"nvidia.com/gpu": "1"}, {}),
    ],
)
def test_room_enough(limits, used):
    assert result_of(CHECK, "1.0", with_pool(limits, used)) == GOOD


@pytest.mark.parametrize(
    ("limits", "used", "found"),
    [
        ({"cpu": "20"}, {"cpu": "16"}, row("cpu", "20, 16 of it used by 2 nodes")),
        ({"cpu": "16"}, {"cpu": "16"}, row("cpu", "16, 16 of it used by 2 nodes")),
        ({"cpu": "16", "memory": "1"}, {"cpu": "16", "memory": "1"}, row("cpu", "16, 16 of it used by 2 nodes")),
        ({"memory": "odd", "cpu": "16"}, {"cpu": "16"}, row("cpu", "16, 16 of it used by 2 nodes")),
        ({"memory": "80Gi"}, {"memory": "64Gi"}, row("memory", "80Gi, 64Gi of it used by 2 nodes")),
    ],
)
def test_no_room(limits, used, found):
    assert result_of(CHECK, "1.0", with_pool(limits, used)) == (
        "fail",
        "1 NodePool has no room for one more node",
        (found,),
    )


def test_a_pool_that_is_closed():
    cluster = with_pool({"cpu": "0"}, {}, name="closed")
    found = result_of(CHECK, "1.0", cluster)
    assert [(one.name, one.seen) for one in found[2]] == [("closed", "0, 0 of it used by 0 nodes")]


@pytest.mark.parametrize(
    ("limits", "used"), [({"cpu": "many"}, {}), ({"cpu": "1"}, {"cpu": []}), ({"cpu": "1"}, "odd")]
)
def test_odd_quantities_are_unknown(limits, used):
    why = "NodePool web: spec.limits.cpu or status.resources.cpu cannot be read"
    assert result_of(CHECK, "1.0", with_pool(limits, used)) == ("unknown", why, ())


def test_it_does_not_arise():
    assert result_of(CHECK, "1.0", with_pool({"cpu": "0"}, {}, nodes=())) == NOTHING
    assert asked_hops(CHECK)[0] == "0.33+"
    assert finding_of(CHECK, "1.0", a_cluster()).severity == "warning"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_raises_the_limit():
    (remedy,) = remedies(CHECK, "1.0", with_pool({"cpu": "16"}, {"cpu": "16"}))
    patch = patch_words(("/spec/limits/cpu", "16", "32"))
    seen = "16, 16 of it used by 2 nodes"
    assert remedy.text.splitlines() == [
        f"# NodePool web, spec.limits.cpu: {seen}",
        f"kubectl patch nodepools.karpenter.sh web {patch}",
    ]
    (step,) = leaves(remedy.change)
    assert step.undo.body == {"spec": {"limits": {"cpu": "16"}}}
    assert is_shell(remedy.text)
    (large,) = remedies(CHECK, "1.0", with_pool({"memory": "1500Mi"}, {"memory": "1500Mi"}))
    assert patch_words(("/spec/limits/memory", "1500Mi", "3145728000")) in large.text
