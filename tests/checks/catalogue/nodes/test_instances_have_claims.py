import pytest

from migrations_app.checks.base import Evidence
from migrations_app.inventory.objects.aws import TaggedInstances
from migrations_app.samples.karpenter_objects import claim
from tests.builders.clusters import a_cluster, finding_of, reads, remedies, result_of, result_without
from tests.builders.pods import OLD, OTHER, is_shell

CHECK = "instances_have_claims"
GOOD = ("pass", "Every Karpenter instance has a NodeClaim", ())
TAGS = (("karpenter.sh/nodepool", "web"),)
FIRST, SECOND = (one.provider_id.rpartition("/")[2] for one in (OLD, OTHER))


def on_v1(*ids: str, count: int = 0):
    group = TaggedInstances(tags=TAGS, count=count or len(ids), samples=ids[:3])
    docs = [doc for one in (OLD, OTHER) for doc in claim(one, node_class="d", version="v1")]
    return a_cluster("1.0.8").with_docs(*docs).with_aws(instances=(group,) if group.count else ())


def row(name: str, count: int, total: int) -> Evidence:
    seen = f"{total} instances, 2 known to the cluster"
    return Evidence(kind="Instance", name=name, path="tags", seen=seen, wanted="a claim behind each", count=count)


def test_as_many_as_claims():
    assert result_of(CHECK, "1.1+", on_v1(FIRST, SECOND)) == GOOD
    assert result_of(CHECK, "1.1+", on_v1(FIRST)) == GOOD


def test_one_that_nobody_knows():
    found = result_of(CHECK, "1.1+", on_v1(FIRST, SECOND, "i-lost"))
    assert found == ("fail", "at least 1 instance has no NodeClaim", (row("i-lost", 1, 3),))


def test_one_in_the_place_of_another():
    assert result_of(CHECK, "1.1+", on_v1(FIRST, "i-lost"))[2] == (row("i-lost", 1, 2),)


def test_more_than_claims_while_the_ids_were_not_kept():
    found = finding_of(CHECK, "1.1+", on_v1(FIRST, SECOND, count=7))
    assert (found.evidence, found.evidence_exact) == ((row("ids not kept", 5, 7),), False)


def test_a_claim_that_could_not_be_read_may_stand_behind_one():
    found = result_of(CHECK, "1.1+", on_v1(FIRST, SECOND, "i-x").quarantined("nodeclaims"))
    assert found == ("unknown", "claims or nodes that could not be read may stand behind instances", ())


def test_without_instances_it_does_not_arise():
    assert result_of(CHECK, "1.1+", on_v1()) == ("not_applicable", "there is no instance of Karpenter's", ())
    assert finding_of(CHECK, "1.1+", on_v1()).severity == "info"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.1+", on_v1(FIRST), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_lists_them():
    (remedy,) = remedies(CHECK, "1.1+", on_v1(FIRST, SECOND, "i-lost"))
    assert remedy.how == "iam"
    assert remedy.text.splitlines()[1].startswith("aws ec2 describe-instances --region ")
    assert remedy.text.splitlines()[-1] == "# Look at: i-lost"
    assert is_shell(remedy.text)
