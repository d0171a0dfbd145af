import pytest

from migrations_app.samples.karpenter_objects import ON_DEMAND, Launched, machine, provisioner
from tests.builders.clusters import asked_hops, reads, remedies, result_of, result_without
from tests.builders.iam import a_role, permitted, policy_for

CHECK = "legacy_permissions_kept"
GOOD = ("pass", "0.32 may still manage the capacity of Provisioners", ())
GONE = ("not_applicable", "no Provisioner, Machine or node of theirs is left", ())
LAUNCHED = Launched(pool="web", number=1, cluster="test", kubelet="v1.27.4")
PROVISIONER = provisioner("web", ON_DEMAND, template="default")
ALL_OF_IT = [
    "ec2:CreateFleet on fleet, instance, launch-template, volume",
    "ec2:CreateLaunchTemplate on launch-template",
    "ec2:CreateTags on fleet, instance, launch-template, network-interface, volume",
    "ec2:DeleteLaunchTemplate on launch-template",
    "ec2:RunInstances on instance, launch-template, network-interface, volume",
    "ec2:TerminateInstances on instance",
]


def with_policy(*releases: str, version="0.31.4"):
    return permitted(version, a_role(policy_for(*releases))).with_docs(PROVISIONER)


def test_both_documents_together_are_right():
    assert result_of(CHECK, "0.32", with_policy("0.31", "0.32")) == GOOD


def test_the_alpha_document_alone_is_enough_here():
    """What it lacks for NodePools is for controller_permitted."""
    assert result_of(CHECK, "0.32", with_policy("0.31")) == GOOD


def only_beta():
    """A policy for NodePools alone, as the release after 0.32 has it."""
    return with_policy("0.33")


def test_the_beta_document_alone_ends_no_node_of_a_provisioner():
    status, summary, evidence = result_of(CHECK, "0.32", only_beta())
    assert (status, summary) == ("fail", "6 IAM actions on Provisioner capacity are refused to 0.32")
    assert [row.path for row in evidence] == ALL_OF_IT
    assert evidence[-1].seen == (
        "blocked by a condition: KarpenterControllerPolicy-test: Statement[4] (EndOwnCapacity): "
        "StringLike aws:ResourceTag/karpenter.sh/nodepool wants *, sent: nothing"
    )


@pytest.mark.parametrize(
    "docs", [[PROVISIONER], machine(LAUNCHED, template="default"), machine(LAUNCHED, template="default")[1:]]
)
def test_any_of_them_needs_the_rights(docs):
    cluster = permitted("0.32.10", a_role(policy_for("0.33"))).with_docs(*docs)
    assert len(result_of(CHECK, "0.33+", cluster)[2]) == len(ALL_OF_IT)


@pytest.mark.parametrize(("version", "hop"), [("0.31.4", "0.32"), ("0.32.10", "0.33+")])
def test_where_nothing_of_alpha_is_left_it_does_not_apply(version, hop):
    assert result_of(CHECK, hop, permitted(version, a_role(policy_for("0.33")))) == GONE


@pytest.mark.parametrize("part", ["provisioners", "machines", "nodes"])
def test_an_object_set_aside_may_be_one_of_them(part):
    cluster = permitted("0.32.10", a_role(policy_for("0.33"))).quarantined(part)
    assert result_of(CHECK, "0.33+", cluster) == (
        "unknown",
        f"1 of {part} could not be read, first broken at $.spec",
        (),
    )


def test_it_is_asked_while_0_32_is_there():
    assert asked_hops(CHECK) == ("0.32", "0.33+")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "0.32", with_policy("0.31"), part=part) == (
        "unknown",
        f"{part} could not be read: forbidden",
    )


def test_the_remedy_keeps_both():
    steps, body, *_ = remedies(CHECK, "0.32", only_beta())
    assert "# Keep what the role has until no node of a Provisioner is left: 0.32 needs both." in steps.text
    assert "--policy-name karpenter-test-eu-central-1-0-32-provisioners-1 " in steps.text
    assert "aws:ResourceTag/karpenter.sh/provisioner-name" in body.text
