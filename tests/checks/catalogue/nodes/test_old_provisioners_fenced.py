import json

import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.samples.karpenter_objects import pool, provisioner
from tests.builders.clusters import a_cluster, asked_hops, reads, remedies, result_of, result_without
from tests.builders.pods import is_shell

CHECK = "old_provisioners_fenced"
GOOD = ("pass", "No Provisioner launches new nodes", ())
LEGACY = {"key": "karpenter.sh/legacy", "value": "true", "effect": "NoSchedule"}
DEDICATED = {"key": "team", "value": "ml", "effect": "NoSchedule"}
POOL = pool("new", node_class="d", version="v1beta1")


def on_0_32(*docs):
    return a_cluster("0.32.10", kubernetes="1.28").with_docs(*docs)


def row(seen: str = "no fence, weight 0 beside 0 of the NodePools") -> Evidence:
    wanted = "karpenter.sh/legacy=true:NoSchedule"
    return Evidence(kind="Provisioner", name="old", path="spec.taints", seen=seen, wanted=wanted)


def deleting(one):
    return one | {"metadata": one["metadata"] | {"deletionTimestamp": "2026-10-01T11:00:00Z"}}


@pytest.mark.parametrize(
    "old",
    [
        provisioner("old", template="d", taints=[LEGACY]),
        provisioner("old", template="d", taints=[DEDICATED, LEGACY]),
        provisioner("old", template="d", limits={"resources": {"cpu": "0"}}),
        deleting(provisioner("old", template="d")),
    ],
)
def test_fenced(old):
    assert result_of(CHECK, "0.33+", on_0_32(POOL, old)) == GOOD


@pytest.mark.parametrize("taints", [[], [LEGACY | {"effect": "PreferNoSchedule"}], "odd", ["odd"]])
def test_open(taints):
    old = provisioner("old", template="d", taints=taints)
    assert result_of(CHECK, "0.33+", on_0_32(POOL, old)) == ("fail", "1 Provisioner can still launch nodes", (row(),))


def test_a_taint_that_the_new_pool_has_too_is_no_fence():
    new = pool("new", node_class="d", version="v1beta1", taints=[DEDICATED])
    assert result_of(CHECK, "0.33+", on_0_32(new, provisioner("old", template="d", taints=[DEDICATED])))[2] == (row(),)


def test_the_weights_are_told():
    new = POOL | {"spec": POOL["spec"] | {"weight": 10}}
    found = result_of(CHECK, "0.33+", on_0_32(new, provisioner("old", template="d", weight=50)))
    assert found[2] == (row("no fence, weight 50 beside 10 of the NodePools"),)


def test_it_does_not_arise():
    assert result_of(CHECK, "0.33+", on_0_32(POOL)) == ("not_applicable", "no Provisioner is left", ())
    only_old = on_0_32(provisioner("old", template="d"))
    assert result_of(CHECK, "0.33+", only_old) == ("not_applicable", "there is no NodePool yet", ())
    assert asked_hops(CHECK) == ("0.33+",)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "0.33+", on_0_32(), part=part) == ("unknown", f"{part} could not be read: forbidden")


@pytest.mark.parametrize(
    ("taints", "path", "value"), [([], "/spec/taints", "[{}]"), ([DEDICATED], "/spec/taints/-", "{}")]
)
def test_the_remedy_adds_the_taint(taints, path, value):
    new = pool("new", node_class="d", version="v1beta1", taints=taints)
    (remedy,) = remedies(CHECK, "0.33+", on_0_32(new, provisioner("old", template="d", taints=taints)))
    body = '{"key":"karpenter.sh/legacy","value":"true","effect":"NoSchedule"}'
    seen = json.dumps(taints, separators=(",", ":"))
    add = f'{{"op":"add","path":"{path}","value":{value.replace("{}", body)}}}'
    patch = f'[{{"op":"test","path":"/spec/taints","value":{seen}}},{add}]'
    assert remedy.text.splitlines()[1] == f"kubectl patch provisioners.karpenter.sh old --type=json -p '{patch}'"
    assert is_shell(remedy.text)
    (step,) = leaves(remedy.change)
    where, added = ("/spec/taints/1", json.loads(body)) if taints else ("/spec/taints", [json.loads(body)])
    assert list(step.undo.body) == [{"op": "test", "path": where, "value": added}, {"op": "remove", "path": where}]
    assert step.needs == ("pools_admit_provisioner_pods",)
