import json

import pytest

from tests.builders.clusters import asked_hops, finding_of, remedies
from tests.builders.pools import (
    AUTO_MODE,
    REFERENCE,
    a_class,
    a_pool,
    answer,
    at,
    found,
    parses,
    row,
    unseen_is_unknown,
)

CHECK = "kubelet_settings_in_classes"
GOOD = ("pass", "Kubelet settings are in node classes")
PATH = "spec.template.spec.kubelet"
KEY = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
MANY = {"maxPods": 58}


def beta(**kubelets):
    """Pools of one class, each with its kubelet settings."""
    pools = [a_pool({PATH: given}, name=name, version="v1beta1") for name, given in kubelets.items()]
    return at("0.37.8", *pools, a_class(version="v1beta1"))


def v1(*, own=None, **parked):
    pools = [a_pool({"metadata.annotations": {KEY: text} if text else {}}, name=name) for name, text in parked.items()]
    return at("1.0.14", *pools, a_class({"spec.kubelet": own}))


def cause(name: str, path: str, *, shared: bool):
    seen = '{"maxPods": 58}' + (", unlike other pools of the class" if shared else "")
    return row("NodePool", name, path, seen=seen, wanted=f"spec.kubelet of {'a copy of ' if shared else ''}default")


@pytest.mark.parametrize("nothing", [None, {}])
def test_pools_without_settings(nothing):
    assert answer(CHECK, "1.0", beta(web=nothing, api=None)) == GOOD


def test_settings_that_all_pools_share():
    expected = ("fail", (cause("web", PATH, shared=False), cause("api", PATH, shared=False)))
    assert found(CHECK, "1.0", beta(web=MANY, api={"maxPods": 58})) == expected


def test_settings_that_differ():
    assert found(CHECK, "1.1+", beta(web=MANY, api=None)) == ("fail", (cause("web", PATH, shared=True),))


def test_quantities_are_compared_by_value():
    cluster = beta(web={"systemReserved": {"memory": "1Gi"}}, api={"systemReserved": {"memory": "1024Mi"}})
    assert [one.wanted for one in found(CHECK, "1.0", cluster)[1]] == ["spec.kubelet of default"] * 2


def test_parked_settings_that_differ():
    path = f"metadata.annotations[{KEY}]"
    assert found(CHECK, "1.1+", v1(web=json.dumps(MANY), api="")) == ("fail", (cause("web", path, shared=True),))


def test_parked_settings_of_one_mind_are_for_another_check():
    assert answer(CHECK, "1.1+", v1(web=json.dumps(MANY), api=json.dumps(MANY))) == GOOD


def test_a_pool_without_settings_follows_its_class():
    assert answer(CHECK, "1.1+", v1(own=MANY, web=json.dumps(MANY), api="")) == GOOD


@pytest.mark.parametrize("odd", ["x", [58], {"systemReserved": ["cpu"]}])
def test_odd_values_are_unknown_by_their_field(odd):
    assert answer(CHECK, "1.0", beta(web=odd)) == ("unknown", f"NodePool web: {PATH} cannot be read")


@pytest.mark.parametrize("text", ["{", "[]", '"x"', '{"kubeReserved": 7}'])
def test_odd_annotations_are_unknown(text):
    words = f"NodePool web: metadata.annotations[{KEY}] cannot be read"
    assert answer(CHECK, "1.1+", v1(web=text)) == ("unknown", words)


def test_pools_of_auto_mode_are_not_asked_about():
    cluster = at("1.0.14", a_pool({REFERENCE: AUTO_MODE, PATH: MANY}))
    assert answer(CHECK, "1.1+", cluster) == ("not_applicable", "there is no NodePool of Karpenter's own yet")


def test_it_blocks_where_the_annotation_ends():
    assert asked_hops(CHECK) == ("1.0", "1.1+")
    assert [finding_of(CHECK, hop, beta(web=MANY)).severity for hop in ("1.0", "1.1+")] == ["warning", "blocker"]


def test_unseen():
    unseen_is_unknown(CHECK, "1.0", version="0.37.8")


BOTH = "kubectl get ec2nodeclasses.karpenter.k8s.aws,nodepools.karpenter.sh -o yaml | karpdash convert -f -"


@pytest.mark.parametrize(
    ("hop", "cluster", "last"),
    [
        ("1.0", beta(web=MANY), "# It prints v1 objects: apply them once 1.0 runs"),
        ("1.1+", v1(web='{"maxPods": 58}', api='{"maxPods": 9}'), "# Remove the annotations only after that"),
    ],
)
def test_the_remedy_reads_pools_and_classes_together(hop, cluster, last):
    given = remedies(CHECK, hop, cluster)
    assert parses(given) == ["kubectl"]
    assert given[0].text.splitlines()[2:] == [last, BOTH]


def test_quantities_are_shown_as_they_are_written():
    cluster = v1(web='{"systemReserved": {"cpu": "100m", "memory": "1Gi"}, "evictionHard": {}}', api="")
    (row,) = found(CHECK, "1.1+", cluster)[1]
    written = '{"systemReserved": {"cpu": "100m", "memory": "1Gi"}}'
    assert row.seen == f"{written}, unlike other pools of the class"


def test_a_pool_that_cannot_be_read_is_not_said_to_differ():
    words = f"NodePool api: metadata.annotations[{KEY}] cannot be read"
    assert answer(CHECK, "1.1+", v1(web=json.dumps(MANY), api="{")) == ("unknown", words)


def test_pools_that_name_no_class_share_none():
    nameless = [
        a_pool({REFERENCE: {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass"}, **own}, name=name)
        for name, own in (("web", {"metadata.annotations": {KEY: json.dumps(MANY)}}), ("api", {}))
    ]
    assert answer(CHECK, "1.1+", at("1.0.14", *nameless)) == GOOD
