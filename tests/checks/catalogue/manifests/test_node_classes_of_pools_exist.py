import pytest

from tests.builders.clusters import asked_hops, finding_of, remedies
from tests.builders.patches import patch_words
from tests.builders.pools import (
    AUTO_MODE,
    GONE,
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

CHECK = "node_classes_of_pools_exist"
GOOD = ("pass", "The node class of every NodePool exists")
NONE = ("not_applicable", "there is no NodePool of Karpenter's own yet")
V1 = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gone"}
BETA = {"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "gone"}


def missing(seen: str = "gone"):
    return row("NodePool", "web", f"{REFERENCE}.name", seen=seen, wanted="the name of an EC2NodeClass that is there")


@pytest.mark.parametrize(("release", "version", "hop"), [("0.37.8", "v1beta1", "1.0"), ("1.0.14", "v1", "1.1+")])
def test_it_is_there(release, version, hop):
    assert answer(CHECK, hop, at(release, a_pool(version=version), a_class(version=version))) == GOOD


@pytest.mark.parametrize("reference", [BETA, {"name": "gone"}, {"kind": "EC2NodeClass", "name": "gone"}])
def test_a_beta_pool_whose_class_is_not_there(reference):
    cluster = at("0.37.8", a_pool({REFERENCE: reference}, version="v1beta1"), a_class(version="v1beta1"))
    assert found(CHECK, "1.0", cluster) == ("fail", (missing(),))


@pytest.mark.parametrize("reference", [V1, {**V1, "group": "karpenter.k8s.aws/v1"}])
def test_a_v1_pool_whose_class_is_not_there(reference):
    assert found(CHECK, "1.1+", at("1.0.14", a_pool({REFERENCE: reference}), a_class())) == ("fail", (missing(),))


def test_no_class_at_all():
    assert found(CHECK, "1.1+", at("1.0.14", a_pool())) == ("fail", (missing("default"),))


@pytest.mark.parametrize("reference", [GONE, {}, {"name": ""}])
def test_a_pool_that_names_none(reference):
    assert found(CHECK, "1.1+", at("1.0.14", a_pool({REFERENCE: reference}))) == ("fail", (missing("absent"),))


@pytest.mark.parametrize("other", [{"group": "karpenter.kwok.sh"}, {"apiVersion": "karpenter.azure.com/v1beta1"}])
def test_classes_of_other_providers_are_not_looked_up(other):
    assert answer(CHECK, "1.1+", at("1.0.14", a_pool({REFERENCE: {"name": "gone", **other}}))) == GOOD


OF_V1 = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
OF_BETA = {"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "default"}
WRONG = (
    ("v1beta1", {"kind": "AWSNodeTemplate"}, "kind", "AWSNodeTemplate", "EC2NodeClass"),
    ("v1beta1", {"kind": "ec2nodeclass"}, "kind", "ec2nodeclass", "EC2NodeClass"),
    ("v1beta1", {"apiVersion": "v1beta1"}, "apiVersion", "v1beta1", "karpenter.k8s.aws/v1beta1"),
    ("v1beta1", {"apiVersion": "karpenter.sh/v1beta1"}, "apiVersion", "karpenter.sh/v1beta1", OF_BETA["apiVersion"]),
    ("v1", {"kind": "NodeClass"}, "kind", "NodeClass", "EC2NodeClass"),
    ("v1", {"group": "karpenter.sh"}, "group", "karpenter.sh", "karpenter.k8s.aws"),
)


@pytest.mark.parametrize(("version", "change", "field", "seen", "wanted"), WRONG)
def test_from_1_0_on_group_and_kind_lead_to_the_class(version, change, field, seen, wanted):
    """v1beta1 looks at the name alone; conversion keeps the rest, and 1.0 finds no node class: NodeClassNotFound."""
    reference = (OF_V1 if version == "v1" else OF_BETA) | change
    cluster = at("0.37.8", a_pool({REFERENCE: reference}, version=version), a_class(version=version))
    fault = row("NodePool", "web", f"{REFERENCE}.{field}", seen=seen, wanted=wanted)
    assert found(CHECK, "1.0", cluster) == ("fail", (fault,))


def test_up_to_0_37_the_name_is_enough():
    older = at("0.32.10", a_pool({REFERENCE: OF_BETA | {"kind": "Any"}}, version="v1beta1"), a_class(version="v1beta1"))
    assert answer(CHECK, "0.33+", older) == GOOD


def test_pools_of_auto_mode_are_not_asked_about():
    assert answer(CHECK, "1.1+", at("1.0.14", a_pool({REFERENCE: AUTO_MODE}))) == NONE
    assert answer(CHECK, "1.1+", at("1.0.14", a_class())) == NONE


@pytest.mark.parametrize("odd", ["default", ["default"], 7])
def test_an_odd_reference_is_unknown_by_its_field(odd):
    told = ("unknown", f"NodePool web: {REFERENCE} is not a map")
    assert answer(CHECK, "1.1+", at("1.0.14", a_pool({REFERENCE: odd}), a_class())) == told


@pytest.mark.parametrize("field", ["group", "kind", "name", "apiVersion"])
@pytest.mark.parametrize("odd", [[], {}, ["default"], 7])
def test_an_odd_field_is_unknown_by_its_name(field, odd):
    told = ("unknown", f"NodePool web: {REFERENCE}.{field} is not a text")
    assert answer(CHECK, "1.1+", at("1.0.14", a_pool({f"{REFERENCE}.{field}": odd}), a_class())) == told


def test_a_class_that_was_set_aside_is_there():
    cluster = at("1.0.14", a_pool()).quarantined("ec2nodeclasses", name="default")
    told = ("unknown", "1 of ec2nodeclasses could not be read, first default at $.spec")
    assert answer(CHECK, "1.1+", cluster) == told


def test_it_blocks_where_nodes_are_replaced():
    assert asked_hops(CHECK)[0] == "0.33+"
    assert [finding_of(CHECK, hop, at("0.37.8")).severity for hop in ("1.0", "1.1+")] == ["blocker", "warning"]


def test_unseen():
    unseen_is_unknown(CHECK, "1.1+", version="1.0.14")


def test_the_remedy_edits_the_pool():
    (given,) = remedies(CHECK, "1.1+", at("1.0.14", a_pool({REFERENCE: V1})))
    assert parses([given]) == ["kubectl"]
    assert given.text.splitlines()[2].startswith("kubectl edit nodepools.karpenter.sh web  # ")


def test_the_remedy_writes_group_and_kind():
    wrong = a_pool({REFERENCE: OF_BETA | {"kind": "AWSNodeTemplate"}}, version="v1beta1")
    (given,) = remedies(CHECK, "1.0", at("0.37.8", wrong, a_class(version="v1beta1")))
    assert parses([given]) == ["kubectl"]
    assert given.text.splitlines()[1] == (
        "kubectl patch nodepools.karpenter.sh web "
        f"{patch_words(('/spec/template/spec/nodeClassRef/kind', 'AWSNodeTemplate', 'EC2NodeClass'))}"
    )
