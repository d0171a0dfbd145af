from migrations_app.iam.requirements.remedies import removable
from migrations_app.iam.site import AwsSite

SITE = AwsSite(cluster="blue")


def told(policies, release):
    return [(one.statement.where, one.actions) for one in removable(policies, release=release, site=SITE)]


def test_what_is_needed_stays(policy, allow):
    given = policy(allow(["ec2:RunInstances", "ec2:CreateFleet"]), allow("sqs:DeleteMessage"))
    assert told([given], "1.0") == []


def test_a_dead_tag_condition_may_go(policy, allow):
    dead = {"StringLike": {"aws:ResourceTag/karpenter.sh/provisioner-name": "*"}}
    live = {"StringLike": {"aws:ResourceTag/karpenter.sh/nodepool": "*"}}
    given = policy(allow("ec2:TerminateInstances", "*", dead), allow("ec2:TerminateInstances", "*", live))
    assert told([given], "0.33") == [("test: Statement[0]", ())]
    # in 0.32 both generations of capacity are ended
    assert told([given], "0.32") == []


def test_of_two_that_do_the_same_the_earlier_goes(policy, allow):
    old, new = policy(allow("ec2:CreateFleet"), name="old"), policy(allow("ec2:CreateFleet"), name="new")
    assert told([old, new], "1.0") == [("old: Statement[0]", ())]
    assert told([new, old], "1.0") == [("new: Statement[0]", ())]


def test_actions_that_nobody_calls_may_go(policy, allow):
    given = policy(allow(["ec2:DescribeImages", "ec2:DescribeAvailabilityZones"]), allow("iam:GetRole"))
    assert told([given], "1.0") == [
        ("test: Statement[1]", ()),
        ("test: Statement[0]", ("ec2:DescribeAvailabilityZones",)),
    ]


def test_rights_for_settings_that_are_off_stay(policy, allow):
    assert told([policy(allow("ec2:DescribePlacementGroups"))], "1.11") == []
    assert told([policy(allow("ec2:DescribePlacementGroups"))], "1.10") == [("test: Statement[0]", ())]


def test_what_is_not_karpenters_is_left_alone(policy, allow, deny):
    given = policy(allow("s3:GetObject"), allow(["iam:GetRole", "s3:*"]), allow("ec2:*"), deny("ec2:DescribeImages"))
    assert told([given], "1.0") == []
    assert told([policy({"Effect": "Allow", "NotAction": "iam:GetRole", "Resource": "*"})], "1.0") == []


def test_after_0_33_the_alpha_document_is_no_longer_needed(official):
    both = [official("v0.31.4"), official("v0.37.8")]
    gone = {where for where, actions in told(both, "0.37") if not actions}
    assert {where for where in gone if where.startswith("v0.31.4")} == {one.where for one in both[0].statements}
    assert told(both[1:], "0.37") == [
        ("v0.37.8: Statement[6] (AllowRegionalReadActions)", ("ec2:DescribeAvailabilityZones",))
    ]
