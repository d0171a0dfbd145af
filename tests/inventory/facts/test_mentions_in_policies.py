from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.facts.mentions import KeyMention, mentions, outdated_kinds
from migrations_app.inventory.objects.cluster import AdmissionPolicy
from migrations_app.karpenter.versions import release

LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=40))
TREES = st.recursive(LEAVES, lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(max_size=20), inner)))


def told(**spec):
    return mentions(AdmissionPolicy(spec=spec))


def test_keys_in_keys_values_and_programs():
    assert told(a={"karpenter.sh/nodepool": "x"}) == (
        KeyMention("spec.a[karpenter.sh/nodepool]", "karpenter.sh/nodepool"),
    )
    assert told(rego='input.labels["karpenter.k8s.aws/instance-family"]') == (
        KeyMention("spec.rego", "karpenter.k8s.aws/instance-family"),
    )
    assert [one.key for one in told(kinds=["karpenter.sh/v1beta1/NodePool", "karpenter.sh/v1/*"])] == [
        "karpenter.sh/v1beta1",
        "karpenter.sh/v1",
    ]


def test_what_only_looks_alike():
    assert told(a="notkarpenter.sh/nodepool", b="karpenter.sh", c="https://karpenter.sh/", d="karpenter.shop/x") == ()


def test_each_key_once_at_its_first_place():
    (found,) = told(a="karpenter.sh/nodepool", b="karpenter.sh/nodepool")
    assert found.path == "spec.a"


@given(st.dictionaries(st.text(max_size=10), TREES))
def test_any_policy_can_be_searched(spec):
    assert all("karpenter." in one.key for one in mentions(AdmissionPolicy(spec=spec)))


ROWS = st.fixed_dictionaries({}, optional={"apiGroups": TREES, "groups": TREES, "versions": TREES, "kinds": TREES})


@given(st.one_of(ROWS, st.lists(ROWS), TREES))
def test_any_list_of_kinds_can_be_read(entries):
    assert tuple(outdated_kinds(AdmissionPolicy(spec={"kinds": entries}), release("0.33.0"))) == ()
