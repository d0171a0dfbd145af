import pytest

from migrations_app.checks.base import Evidence
from migrations_app.inventory.objects.aws import TaggedInstances
from migrations_app.samples.karpenter_objects import Launched, claim
from tests.builders import a_cluster, an_empty_cluster, blind, reads, remedies, told

CHECK = "claims_tagged_with_cluster"
GOOD = ("pass", "Every instance is tagged with its cluster", ())
TAGGED = "compatibility.karpenter.k8s.aws/cluster-name-tagged"
LAUNCHED = Launched(pool="web", number=1, cluster="test", kubelet="v1.29.4")
ONE = "1 claim's instance is not tagged with its cluster"


def with_claim(annotations=None, **changes):
    found, node = claim(LAUNCHED, node_class="default", version="v1", annotations=annotations)
    for key, value in changes.items():
        found[key] = value
    return a_cluster("1.0.14").with_docs(found, node)


def untagged(seen: str) -> Evidence:
    path = f"metadata.annotations[{TAGGED}]"
    return Evidence(kind="NodeClaim", name=LAUNCHED.claim, path=path, seen=seen, wanted="true")


def test_1_0_has_tagged_them_all():
    assert told(CHECK, "1.1+", with_claim({TAGGED: "true"})) == GOOD
    assert told(CHECK, "1.1+", a_cluster("1.0.14")) == GOOD


@pytest.mark.parametrize(("annotations", "seen"), [(None, "absent"), ({TAGGED: "false"}, "false")])
def test_one_is_not_tagged(annotations, seen):
    assert told(CHECK, "1.1+", with_claim(annotations)) == ("fail", ONE, (untagged(seen),))


def test_a_claim_without_an_instance_has_nothing_to_tag():
    assert told(CHECK, "1.1+", with_claim(status={})) == GOOD


def test_claims_of_auto_mode_are_not_ours():
    reference = {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}
    assert told(CHECK, "1.1+", with_claim(spec={"nodeClassRef": reference})) == GOOD


def test_a_claim_without_reference_counts_as_ours():
    assert told(CHECK, "1.1+", with_claim(spec={})) == ("fail", ONE, (untagged("absent"),))


def test_another_release_does_not_tag():
    found = told(CHECK, "1.1+", a_cluster("0.37.8"))
    assert found == ("not_applicable", "the tag is written by 1.0, and 0.37.8 runs", ())


def test_an_unknown_release_is_unknown():
    found = told(CHECK, "1.1+", an_empty_cluster(), start="1.0.14")
    assert found == ("unknown", "which release runs is not known: there is no Karpenter Deployment", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    cluster = a_cluster("1.0.14")
    assert blind(CHECK, "1.1+", cluster, part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedies_are_the_permission_and_a_look():
    found = remedies(CHECK, "1.1+", with_claim())
    assert [(one.how, one.text) for one in found] == [
        (
            "iam",
            (
                "# For a person: allow the controller ec2:CreateTags with eks:eks-cluster-name on instances\n"
                "# 1.0 then tags them by itself\n"
                "# Look at: the policies of the controller's role; controller_permitted writes what is missing"
            ),
        ),
        ("kubectl", f"kubectl describe nodeclaims.karpenter.sh {LAUNCHED.claim}"),
    ]


def instances(**tags):
    group = TaggedInstances(tags=tuple({"karpenter.sh/nodepool": "web", **tags}.items()), count=1, samples=("i-1",))
    return {"instances": (group,)}


def test_the_tag_itself_proves_more_than_the_note_of_having_written_it():
    named = instances(**{"eks:eks-cluster-name": "test"})
    assert told(CHECK, "1.1+", with_claim().with_aws(**named)) == GOOD


@pytest.mark.parametrize("tags", [{}, {"eks:eks-cluster-name": "other"}])
def test_it_does_not_pass_where_ec2_shows_otherwise(tags):
    summary = "every claim says that its instance is tagged, and EC2 shows instances that are not"
    assert told(CHECK, "1.1+", with_claim({TAGGED: "true"}).with_aws(**instances(**tags))) == ("unknown", summary, ())
    assert told(CHECK, "1.1+", with_claim().with_aws(**instances(**tags))) == ("fail", ONE, (untagged("absent"),))


def test_instances_of_provisioners_prove_nothing_of_claims():
    alpha = TaggedInstances(tags=(("karpenter.sh/provisioner-name", "web"),), count=1, samples=("i-1",))
    assert told(CHECK, "1.1+", with_claim({TAGGED: "true"}).with_aws(instances=(alpha,))) == GOOD
