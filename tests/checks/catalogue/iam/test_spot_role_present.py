import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.checks.render.sources import TERRAFORM as APPLIED
from migrations_app.inventory.parts import Seen, Unseen
from migrations_app.samples.karpenter_objects import ON_DEMAND, SPOT, Launched, claim, pool, provisioner
from tests.builders.aws import parse_all
from tests.builders.clusters import (
    a_cluster,
    asked_hops,
    finding_of,
    reads,
    remedies,
    result_of,
    result_without,
    without_changes,
)
from tests.fakes.aws_api import a_role

CHECK = "spot_role_present"
GOOD = ("pass", "The Spot service-linked role exists", ())
ABSENT = Evidence(
    kind="Role",
    name="AWSServiceRoleForEC2Spot",
    path="iam:CreateServiceLinkedRole",
    seen="absent, and no official policy lets the controller create it",
    wanted="present. Else: no spot instance starts. Log: AuthFailure.ServiceLinkedRoleCreationNotPermitted",
)
FAILS = ("fail", "The Spot service-linked role is missing", (ABSENT,))


def with_pool(*rows, **aws):
    cluster = a_cluster().with_docs(pool("web", *rows, node_class="default", version="v1beta1"))
    return cluster.with_aws(**aws) if aws else cluster


def test_the_role_is_there():
    assert result_of(CHECK, "1.0", with_pool(SPOT, spot_role=(a_role("AWSServiceRoleForEC2Spot"),))) == GOOD


@pytest.mark.parametrize("rows", [(), (SPOT,)])
def test_spot_is_possible_and_the_role_is_not_there(rows):
    assert result_of(CHECK, "1.0", with_pool(*rows, spot_role=())) == FAILS


def test_a_provisioner_counts_too():
    cluster = a_cluster("0.31.4", kubernetes="1.27").with_docs(provisioner("web", SPOT, template="default"))
    assert result_of(CHECK, "0.32", cluster.with_aws()) == FAILS


@pytest.mark.parametrize("cluster", [with_pool(ON_DEMAND), with_pool(ON_DEMAND, spot_role=()), a_cluster()])
def test_without_spot_there_is_nothing_to_ask(cluster):
    assert result_of(CHECK, "1.0", cluster) == ("not_applicable", "no NodePool allows Spot", ())


def test_a_spot_node_that_runs_is_proof():
    launched = Launched(pool="web", number=1, cluster="test", kubelet="v1.29.4", capacity="spot")
    cluster = with_pool(SPOT).with_docs(*claim(launched, node_class="default", version="v1beta1"))
    assert result_of(CHECK, "1.0", cluster) == GOOD


def test_an_on_demand_node_is_none():
    launched = Launched(pool="web", number=1, cluster="test", kubelet="v1.29.4")
    cluster = with_pool(SPOT, spot_role=()).with_docs(*claim(launched, node_class="default", version="v1beta1"))
    assert result_of(CHECK, "1.0", cluster) == FAILS


def test_without_aws_it_says_how_to_give_access():
    found = finding_of(CHECK, "1.0", with_pool(SPOT))
    assert (found.status, found.severity) == ("unknown", "warning")
    assert found.summary.startswith("AWS not connected: give karpdash ")


def test_a_refusal_of_aws_is_told():
    refused = Unseen("forbidden", "iam:GetRole is refused")
    summary = "aws.spot_role could not be read: forbidden (iam:GetRole is refused)"
    assert result_of(CHECK, "1.0", with_pool(SPOT, spot_role=refused)) == ("unknown", summary, ())


def test_an_odd_requirement_leaves_it_open():
    summary = "whether a NodePool allows Spot is not known: a requirement on karpenter.sh/capacity-type is odd"
    odd = ("karpenter.sh/capacity-type", "Near", ("spot",))
    assert result_of(CHECK, "1.0", with_pool(odd, spot_role=())) == ("unknown", summary, ())
    assert result_of(CHECK, "1.0", with_pool(odd, spot_role=Seen((a_role("x"),)))) == GOOD


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", with_pool(SPOT), part=part) == (
        "unknown",
        f"{part} could not be read: forbidden",
    )


def test_it_is_asked_at_every_hop():
    assert asked_hops(CHECK) == ("*",)


def test_the_remedies_make_the_role():
    found = remedies(CHECK, "1.0", with_pool(SPOT, spot_role=()))
    assert without_changes(found) == (
        Remedy(how="iam", text="aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"),
        Remedy(
            how="terraform",
            text=(
                'resource "aws_iam_service_linked_role" "ec2_spot" {\n  aws_service_name = "spot.amazonaws.com"\n}\n'
                f"# {APPLIED}"
            ),
        ),
    )
    parse_all(found)
