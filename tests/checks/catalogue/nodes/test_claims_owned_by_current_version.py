import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import claim
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, remedies, result_of, result_without
from tests.builders.pods import OLD, is_shell

CHECK = "claims_owned_by_current_version"
GOOD = ("pass", "Every NodeClaim names its NodePool as v1", ())


def on_1_0(*docs, version: str = "1.0.8"):
    return a_cluster(version).with_docs(*docs)


def test_the_current_version():
    assert result_of(CHECK, "1.1+", on_1_0(*claim(OLD, node_class="d", version="v1"))) == GOOD
    assert result_of(CHECK, "1.1+", on_1_0()) == GOOD


def test_the_version_before():
    docs = claim(OLD, node_class="d", version="v1", born_as="v1beta1")
    row = Evidence(
        kind="NodeClaim", name=OLD.claim, path="metadata.ownerReferences", seen="karpenter.sh/v1beta1 NodePool web",
        wanted="karpenter.sh/v1",
    )  # fmt: skip
    assert result_of(CHECK, "1.1+", on_1_0(*docs)) == ("fail", "1 NodeClaim names its NodePool as v1beta1", (row,))


@pytest.mark.parametrize("owners", [None, [], [{"kind": "NodePool"}], [{"kind": "Thing", "apiVersion": "x/v1beta1"}]])
def test_other_owners_or_none(owners):
    made = claim(OLD, node_class="d", version="v1")
    made[0]["metadata"] |= {"ownerReferences": owners}
    assert result_of(CHECK, "1.1+", on_1_0(*made)) == GOOD


def test_claims_of_auto_mode_are_not_karpenters():
    made = claim(OLD, node_class="d", version="v1", born_as="v1beta1")
    made[0]["spec"]["nodeClassRef"] = {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "d"}
    assert result_of(CHECK, "1.1+", on_1_0(*made)) == GOOD


def test_up_to_1_0_it_is_the_current_version():
    docs = claim(OLD, node_class="d", version="v1beta1")
    why = "up to 1.0 that is the current version; ask again once it runs"
    assert result_of(CHECK, "1.1+", on_1_0(*docs, version="0.37.8")) == ("not_applicable", why, ())


def test_it_warns_from_1_1_on():
    assert asked_hops(CHECK)[0] == "1.1+"
    assert finding_of(CHECK, "1.1+", on_1_0()).severity == "warning"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.1+", on_1_0(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_replaces_them():
    docs = claim(OLD, node_class="d", version="v1", born_as="v1beta1")
    (remedy,) = remedies(CHECK, "1.1+", on_1_0(*docs))
    line = f"kubectl delete nodeclaims.karpenter.sh {OLD.claim}"
    assert remedy.text.splitlines()[1] == line
    assert is_shell(remedy.text)
