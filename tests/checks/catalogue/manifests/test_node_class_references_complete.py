import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import ON_DEMAND, Launched, claim, pool
from tests.builders.clusters import a_cluster, asked_hops, reads, remedies, result_of, result_without
from tests.builders.patches import patch_words

CHECK = "node_class_references_complete"
GOOD = ("pass", "Every node class reference is complete", ())
LAUNCHED = Launched(pool="web", number=1, cluster="test", kubelet="v1.29.4")
ABSENT = ("not_applicable", "pools and claims are not read as v1 yet; 1.0 fills the references in", ())


def with_references(pool_reference=None, claim_reference=None, *, version: str = "v1", **labels):
    made = pool("web", ON_DEMAND, node_class="default", version=version)
    found, node = claim(LAUNCHED, node_class="default", version=version)
    made["metadata"]["labels"] = labels
    if pool_reference is not None:
        made["spec"]["template"]["spec"]["nodeClassRef"] = pool_reference
    if claim_reference is not None:
        found["spec"]["nodeClassRef"] = claim_reference
    return a_cluster("1.0.14").with_docs(made, found, node)


def missing(kind: str, name: str, path: str) -> Evidence:
    wanted = "karpenter.k8s.aws" if path.endswith("group") else "EC2NodeClass"
    return Evidence(kind=kind, name=name, path=path, seen="absent", wanted=wanted)


def test_group_and_kind_are_set():
    assert result_of(CHECK, "1.1+", with_references()) == GOOD


def test_a_pool_without_group():
    found = result_of(CHECK, "1.1+", with_references({"kind": "EC2NodeClass", "name": "default"}))
    row = missing("NodePool", "web", "spec.template.spec.nodeClassRef.group")
    assert found == ("fail", "1 node class reference is incomplete", (row,))


@pytest.mark.parametrize("reference", [{"name": "default"}, {"group": "", "kind": "", "name": "default"}, {}])
def test_a_claim_without_both(reference):
    found = result_of(CHECK, "1.1+", with_references(None, reference))
    assert found == (
        "fail",
        "2 node class references are incomplete",
        (
            missing("NodeClaim", LAUNCHED.claim, "spec.nodeClassRef.group"),
            missing("NodeClaim", LAUNCHED.claim, "spec.nodeClassRef.kind"),
        ),
    )


@pytest.mark.parametrize("odd", ["default", [], 7])
def test_a_reference_of_a_wrong_type_is_incomplete(odd):
    assert len(result_of(CHECK, "1.1+", with_references(odd))[2]) == 2


@pytest.mark.parametrize("odd", [["karpenter.k8s.aws"], {"a": 1}, [], {}, 7, False])
def test_a_group_of_a_wrong_type_is_unknown_by_its_field(odd):
    found = result_of(CHECK, "1.1+", with_references({"group": odd, "kind": "EC2NodeClass", "name": "default"}))
    assert found == ("unknown", "NodePool web: spec.template.spec.nodeClassRef.group is no text", ())


def test_read_as_v1beta1_there_is_no_group_yet():
    assert result_of(CHECK, "1.1+", with_references(version="v1beta1")) == ABSENT


def test_without_pools_there_is_nothing_to_ask():
    assert result_of(CHECK, "1.1+", a_cluster("1.0.14")) == ABSENT


def test_it_is_asked_where_beta_ends():
    assert asked_hops(CHECK) == ("1.1+",)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    cluster = a_cluster("1.0.14")
    assert result_without(CHECK, "1.1+", cluster, part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_patches_pools_and_replaces_claims():
    cluster = with_references({"name": "default"}, {"name": "default"})
    pools, claims = remedies(CHECK, "1.1+", cluster)
    assert pools.text == PATCH
    assert claims.text.splitlines() == [NOTE, f"kubectl delete nodeclaims.karpenter.sh {LAUNCHED.claim}"]


REFERENCE = '{"spec":{"template":{"spec":{"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass"}}}}}'
AT = "/spec/template/spec/nodeClassRef"
TESTED = patch_words((f"{AT}/group", None, "karpenter.k8s.aws"), (f"{AT}/kind", None, "EC2NodeClass"))
PATCH = f"kubectl patch nodepools.karpenter.sh web {TESTED}"
NOTE = "# A claim's spec cannot be changed: replace these, one after the other"


def test_the_remedy_follows_the_manager_of_the_pool():
    labels = {"kustomize.toolkit.fluxcd.io/name": "pools", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    found = remedies(CHECK, "1.1+", with_references({"name": "default"}, **labels))
    where = "kustomization pools --namespace flux-system"
    edit = f"# In the repository that Flux applies (flux-system/pools): set '{REFERENCE}'"
    then = f"# Then flux resume {where} && flux reconcile {where} --with-source"
    assert [(one.how, one.text) for one in found] == [("flux", f"{edit}\n{then}"), ("kubectl", PATCH)]
