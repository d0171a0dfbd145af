import pytest
from msgspec.structs import replace

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.inventory.objects.aws import TaggedInstances
from migrations_app.samples.karpenter_objects import Launched, claim
from tests.builders.clusters import PLACE, a_cluster, an_empty_cluster, reads, remedies, result_of, result_without

CHECK = "claims_tagged_with_cluster"
GOOD = ("pass", "Every instance has the cluster tag", ())
TAGGED = "compatibility.karpenter.k8s.aws/cluster-name-tagged"
LAUNCHED = Launched(pool="web", number=1, cluster="test", kubelet="v1.29.4")
ONE = "1 instance has no cluster tag"


def with_claim(annotations=None, **changes):
    found, node = claim(LAUNCHED, node_class="default", version="v1", annotations=annotations)
    for key, value in changes.items():
        found[key] = value
    return a_cluster("1.0.14").with_docs(found, node)


def untagged(seen: str) -> Evidence:
    path = f"metadata.annotations[{TAGGED}]"
    return Evidence(kind="NodeClaim", name=LAUNCHED.claim, path=path, seen=seen, wanted="true")


def test_1_0_has_tagged_them_all():
    assert result_of(CHECK, "1.1+", with_claim({TAGGED: "true"})) == GOOD
    assert result_of(CHECK, "1.1+", a_cluster("1.0.14")) == GOOD


@pytest.mark.parametrize(("annotations", "seen"), [(None, "absent"), ({TAGGED: "false"}, "false")])
def test_one_is_not_tagged(annotations, seen):
    assert result_of(CHECK, "1.1+", with_claim(annotations)) == ("fail", ONE, (untagged(seen),))


def test_a_claim_without_an_instance_has_nothing_to_tag():
    assert result_of(CHECK, "1.1+", with_claim(status={})) == GOOD


def test_claims_of_auto_mode_are_not_ours():
    reference = {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}
    assert result_of(CHECK, "1.1+", with_claim(spec={"nodeClassRef": reference})) == GOOD


def test_a_claim_without_reference_counts_as_ours():
    assert result_of(CHECK, "1.1+", with_claim(spec={})) == ("fail", ONE, (untagged("absent"),))


def test_another_release_does_not_tag():
    found = result_of(CHECK, "1.1+", a_cluster("0.37.8"))
    assert found == ("not_applicable", "the tag is written by 1.0, and 0.37.8 runs", ())


def test_an_unknown_release_is_unknown():
    found = result_of(CHECK, "1.1+", an_empty_cluster(), start="1.0.14")
    assert found == ("unknown", "which release runs is not known: there is no Karpenter Deployment", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    cluster = a_cluster("1.0.14")
    assert result_without(CHECK, "1.1+", cluster, part=part) == ("unknown", f"{part} could not be read: forbidden")


ALLOWED = (
    "# For a person: see that the controller may call ec2:CreateTags with eks:eks-cluster-name among aws:TagKeys\n"
    "# 1.0 then writes the tag and the annotation by itself\n"
    "# Look at: the policies of the controller's role, and errors about tagging in its log"
)
WATCHED = (
    "# Wait until TAGGED is true for all: 1.0 tags one instance a second, of claims that have a node\n"
    "# A claim that is being deleted gets no tag: wait until it is gone\n"
    "kubectl get nodeclaims.karpenter.sh -o 'custom-columns=NAME:.metadata.name,NODE:.status.nodeName,"
    "DELETED:.metadata.deletionTimestamp,"
    "TAGGED:.metadata.annotations.compatibility\\.karpenter\\.k8s\\.aws/cluster-name-tagged'"
)


def test_the_remedies_are_the_permission_the_tag_by_hand_and_what_will_be_seen():
    tag, look = remedies(CHECK, "1.1+", with_claim().with_aws())
    by_hand = (
        "# Where it may not be allowed, write the tag yourself; 1.0 then writes the annotation alone\n"
        f"aws ec2 create-tags --region {PLACE.region} --resources {LAUNCHED.provider_id.rpartition('/')[2]} --tags "
        f"Key=eks:eks-cluster-name,Value={PLACE.cluster}"
    )
    assert ((tag.how, tag.text), (look.how, look.text)) == (("iam", f"{ALLOWED}\n{by_hand}"), ("kubectl", WATCHED))
    *_, made = leaves(tag.change)
    assert made.undo.words[-1] == "Key=eks:eks-cluster-name"


def test_a_claim_that_is_being_deleted_is_waited_for_and_not_tagged():
    cluster = with_claim()
    claim_ = next(one for one in cluster.build().nodeclaims.items)
    gone = replace(claim_, metadata=replace(claim_.metadata, deletion_timestamp="2026-09-01T00:00:00Z"))
    cluster = a_cluster("1.0.14").with_items("nodeclaims", gone)
    assert result_of(CHECK, "1.1+", cluster)[0] == "fail"
    assert [one.text for one in remedies(CHECK, "1.1+", cluster)] == [ALLOWED, WATCHED]


def instances(**tags):
    group = TaggedInstances(tags=tuple({"karpenter.sh/nodepool": "web", **tags}.items()), count=1, samples=("i-1",))
    return {"instances": (group,)}


def test_the_tag_itself_proves_more_than_the_note_of_having_written_it():
    named = instances(**{"eks:eks-cluster-name": "test"})
    assert result_of(CHECK, "1.1+", with_claim().with_aws(**named)) == GOOD


@pytest.mark.parametrize("tags", [{}, {"eks:eks-cluster-name": "other"}])
def test_it_does_not_pass_where_ec2_shows_otherwise(tags):
    summary = "every claim says that its instance is tagged, and EC2 shows instances that are not"
    assert result_of(CHECK, "1.1+", with_claim({TAGGED: "true"}).with_aws(**instances(**tags))) == (
        "unknown",
        summary,
        (),
    )
    assert result_of(CHECK, "1.1+", with_claim().with_aws(**instances(**tags))) == ("fail", ONE, (untagged("absent"),))


def test_instances_of_provisioners_prove_nothing_of_claims():
    alpha = TaggedInstances(tags=(("karpenter.sh/provisioner-name", "web"),), count=1, samples=("i-1",))
    assert result_of(CHECK, "1.1+", with_claim({TAGGED: "true"}).with_aws(instances=(alpha,))) == GOOD
