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

CHECK = "gpu_pools_name_images"
GOOD = ("pass", "NodePools with accelerators set their images")
GPU = ("karpenter.k8s.aws/instance-gpu-count", "Gt", ("0",))
PATH = "spec.template.spec.requirements"


def beta(*rows, pool=None, node_class=None):
    return at("0.37.8", a_pool(pool, *rows, version="v1beta1"), a_class(node_class, version="v1beta1"))


ASKING = row(
    "NodePool",
    "web",
    PATH,
    seen="accelerators, of default with AL2023 by discovery",
    wanted="amiSelectorTerms that name an accelerated image",
)


def test_ordinary_pools():
    assert answer(CHECK, "1.0", beta()) == GOOD


@pytest.mark.parametrize(
    "requirement",
    [
        GPU,
        ("karpenter.k8s.aws/instance-category", "In", ("g", "p")),
        ("karpenter.k8s.aws/instance-family", "In", ("inf2",)),
        ("node.kubernetes.io/instance-type", "In", ("trn1.32xlarge",)),
        ("karpenter.k8s.aws/instance-accelerator-name", "Exists", ()),
    ],
)
def test_accelerators_by_requirement(requirement):
    assert found(CHECK, "1.0", beta(requirement)) == ("fail", (ASKING,))


def test_it_informs_as_1_0_finds_the_accelerated_images_by_itself():
    assert finding_of(CHECK, "1.0", beta(GPU)).severity == "info"


def test_accelerators_by_limit():
    assert found(CHECK, "1.0", beta(pool={"spec.limits": {"nvidia.com/gpu": 4}})) == ("fail", (ASKING,))


def test_named_images_are_fine():
    named = {"spec.amiSelectorTerms": [{"name": "own-gpu-*"}]}
    absent = ("not_applicable", "no node class takes AL2023 images by discovery")
    assert answer(CHECK, "1.0", beta(GPU, node_class=named)) == absent
    assert answer(CHECK, "1.0", beta(GPU, node_class={"spec.amiFamily": "AL2"})) == absent


def test_another_class_is_not_meant():
    cluster = beta(GPU, pool={f"{REFERENCE}.name": "other"})
    assert answer(CHECK, "1.0", cluster) == GOOD


@pytest.mark.parametrize(("path", "odd"), [(PATH, {}), (PATH, [7]), ("spec.limits", [])])
def test_odd_values_are_unknown_by_their_field(path, odd):
    status, summary = answer(CHECK, "1.0", beta(pool={path: odd}))
    assert (status, summary.startswith(f"NodePool web: {path} is not")) == ("unknown", True)


def test_values_that_are_no_list_ask_for_nothing():
    odd = [{"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": 7}]
    assert answer(CHECK, "1.0", beta(pool={PATH: odd})) == GOOD


def test_pools_of_auto_mode_are_not_asked_about():
    assert answer(CHECK, "1.0", beta(GPU, pool={REFERENCE: AUTO_MODE})) == GOOD
    assert asked_hops(CHECK) == ("1.0",)


def test_unseen():
    unseen_is_unknown(CHECK, "1.0", version="0.37.8")


def test_the_remedy():
    given = remedies(CHECK, "1.0", beta(GPU))
    assert parses(given) == ["kubectl"]
    edit = f"kubectl edit nodepools.karpenter.sh web  # {PATH}; amiSelectorTerms that name an accelerated image"
    assert given[0].text.splitlines()[1:] == [edit]
