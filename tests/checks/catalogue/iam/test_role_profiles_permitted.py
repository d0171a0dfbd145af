import pytest

from migrations_app.checks.base import Evidence
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter.hops import hops_from
from migrations_app.samples.karpenter_objects import node_class
from tests.builders.clusters import asked_hops, finding_of, reads, remedies, result_of, result_without
from tests.builders.iam import NODE_ROLE, a_node_role, a_role, permitted, policy_for
from tests.builders.newest import NEWEST_MINOR

CHECK = "role_profiles_permitted"
GOOD = ("pass", "The controller may create instance profiles and pass node roles", ())
SIX = tuple(f"iam:{verb}InstanceProfile" for verb in ("AddRoleTo", "Create", "Delete", "Get", "RemoveRoleFrom", "Tag"))
ALL_OF_THEM = (*SIX, "iam:ListInstanceProfiles", "iam:PassRole")


def lacking(*actions: str, release="1.0", version="0.37.8", **parts):
    return permitted(version, a_role(policy_for(release, without=actions)), **parts)


@pytest.mark.parametrize(
    ("version", "hop", "release"),
    [("0.31.4", "0.32", "0.32"), ("0.37.8", "1.0", "1.0"), ("1.0.14", NEWEST_MINOR, NEWEST_MINOR)],
)
def test_a_policy_for_the_release_is_enough(version, hop, release):
    assert result_of(CHECK, hop, lacking(release=release, version=version)) == GOOD


def test_a_missing_right_on_profiles():
    row = Evidence(
        kind="IAM role",
        name="KarpenterController",
        path="iam:GetInstanceProfile on instance-profile",
        seen="not granted: no statement allows the action",
        wanted=(
            "allowed, for instance-profile. The profile of the node class does not resolve and the node class is never "
            "ready. The controller logs: getting instance profile ... AccessDenied ... iam:GetInstanceProfile."
        ),
    )
    found = result_of(CHECK, "1.0", lacking("iam:GetInstanceProfile"))
    assert found == ("fail", "1 IAM action on roles and instance profiles is refused", (row,))


@pytest.mark.parametrize(
    ("actions", "severity"),
    [
        (("iam:ListInstanceProfiles",), "warning"),
        (("iam:ListInstanceProfiles", "iam:DeleteInstanceProfile"), "warning"),
        (("iam:ListInstanceProfiles", "iam:GetInstanceProfile"), "blocker"),
    ],
)
def test_it_warns_where_only_profiles_are_left_behind(actions, severity):
    found = finding_of(CHECK, NEWEST_MINOR, lacking(*actions, release=NEWEST_MINOR, version="1.0.14"))
    assert (found.status, found.severity) == ("fail", severity)


def test_alpha_policies_lack_all_of_them_at_the_step_to_beta():
    paths = [row.path for row in result_of(CHECK, "0.32", lacking(release="0.31", version="0.31.4"))[2]]
    assert paths == [f"{action} on instance-profile" for action in SIX]


def test_pass_role_has_to_cover_every_role_in_use():
    roles = (a_node_role(), a_node_role("NodesOfTeamB"))
    (row,) = result_of(CHECK, "1.0", lacking(node_roles=roles))[2]
    assert (row.path, row.seen) == (
        "iam:PassRole on role",
        (
            "not granted on this resource: KarpenterControllerPolicy-test: Statement[15] (PassNodeRole) does not name "
            "arn:aws:iam::111122223333:role/NodesOfTeamB"
        ),
    )


def test_other_actions_are_for_another_check():
    assert result_of(CHECK, "1.0", lacking("ec2:TerminateInstances", "sqs:GetQueueUrl")) == GOOD


def test_with_profiles_of_their_own_node_classes_need_no_other():
    profiled = node_class("default", cluster="test", version="v1beta1", role=None, instanceProfile="nodes")
    assert result_of(CHECK, "1.0", lacking(*SIX).with_docs(profiled)) == GOOD
    paths = [row.path for row in result_of(CHECK, "1.0", lacking(*ALL_OF_THEM).with_docs(profiled))[2]]
    assert paths == ["iam:PassRole on role"]
    later = lacking(*ALL_OF_THEM, release=NEWEST_MINOR, version="1.0.14").with_docs(profiled)
    assert [row.path for row in result_of(CHECK, NEWEST_MINOR, later)[2]] == [
        "iam:ListInstanceProfiles on *",
        "iam:PassRole on role",
    ]


def test_one_class_with_a_role_needs_them():
    profiled = node_class("a", cluster="test", version="v1beta1", role=None, instanceProfile="nodes")
    cluster = lacking(*SIX).with_docs(profiled, node_class("b", cluster="test", version="v1beta1"))
    assert len(result_of(CHECK, "1.0", cluster)[2]) == len(SIX)


@pytest.mark.parametrize("node_roles", [(), Unseen("forbidden")])
def test_where_nobody_knows_the_role_of_the_nodes_passing_it_proves_nothing(node_roles):
    found = result_of(CHECK, "1.0", lacking(node_roles=node_roles))
    assert found == ("unknown", "iam:PassRole: nothing tells the role of the nodes", ())


def test_where_it_is_not_allowed_at_all_it_fails_for_every_role():
    (row,) = result_of(CHECK, "1.0", lacking("iam:PassRole", node_roles=()))[2]
    assert (row.path, row.seen) == ("iam:PassRole on role", "not granted: no statement allows the action")


def test_node_classes_tell_their_role_where_aws_was_not_asked():
    cluster = lacking(node_roles=Unseen("forbidden")).with_docs(node_class("a", cluster="test", version="v1beta1"))
    assert result_of(CHECK, "1.0", cluster) == GOOD
    other = lacking(node_roles=Unseen("forbidden"))
    other.with_docs(node_class("a", cluster="test", version="v1beta1", role="Nodes"))
    assert [row.path for row in result_of(CHECK, "1.0", other)[2]] == ["iam:PassRole on role"]


def test_it_is_asked_from_the_release_that_makes_profiles():
    assert asked_hops(CHECK) == hops_from("0.32")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", lacking(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_grants_what_is_missing_and_passes_the_real_role():
    texts = [remedy.text for remedy in remedies(CHECK, "1.0", lacking("iam:PassRole"))]
    assert f'"Resource": "arn:aws:iam::111122223333:role/{NODE_ROLE}"' in texts[1]
