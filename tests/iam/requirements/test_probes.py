import re

import pytest

from migrations_app.iam.evaluate import IamRequest
from migrations_app.iam.requirements.features import ASSUMED, MEANING, Feature, every_minor, minor_text
from migrations_app.iam.requirements.needs import NEEDS, need_for
from migrations_app.iam.requirements.remedies import NEVER_CALLED
from migrations_app.iam.requirements.requests import BETA_LAUNCH, PROBES, V1_LAUNCH, probes_for
from migrations_app.iam.site import SOME_PARAMETERS, AwsSite
from tests import upstream
from tests.builders.newest import table_to

SITE = AwsSite(cluster="blue", account="111122223333", region="eu-west-1")


def probe(name):
    return next(one for one in PROBES if one.id == name)


def asked(name, minor, site=SITE):
    return probe(name).requests(site, minor)[0]


def test_no_id_stands_twice():
    assert len({one.id for one in PROBES}) == len(PROBES)


def test_how_many_requests_each_release_makes():
    told = every_minor(table=table_to("1.14"))
    sent = {minor_text(minor): sum(bool(one.requests(SITE, minor)) for one in probes_for(minor)) for minor in told}
    assert sent == {
        "0.28": 38,
        "0.29": 39,
        **dict.fromkeys(["0.30", "0.31"], 40),
        "0.32": 70,
        **dict.fromkeys(["0.33", "0.34", "0.35", "0.36", "0.37"], 47),
        "1.0": 49,
        **dict.fromkeys(["1.1", "1.2"], 48),
        **dict.fromkeys(["1.3", "1.4", "1.5", "1.6"], 62),
        **dict.fromkeys(["1.7", "1.8", "1.9", "1.10"], 64),
        "1.11": 67,
        **dict.fromkeys(["1.12", "1.13", "1.14"], 69),
    }


@pytest.mark.parametrize("minor", every_minor(), ids=minor_text)
def test_every_request_is_whole_and_every_need_is_told(minor):
    for one in probes_for(minor):
        for request in one.requests(SITE, minor):
            assert "{" not in request.resource
            assert "{" not in str([*(request.request_tags or {}).items(), *(request.resource_tags or {}).items()])
        need = need_for(one.action, minor)
        assert need.effect.endswith(".")
        assert need.source


def test_every_need_belongs_to_a_request():
    actions = {one.action for one in PROBES}
    assert {need.action for need in NEEDS} == actions
    assert not actions & NEVER_CALLED


def test_every_setting_has_a_meaning_and_is_used():
    assert set(MEANING) == set(Feature)
    assert {feature for one in PROBES for feature in one.features} == set(Feature)
    assert set(Feature) - ASSUMED == {
        Feature.RESERVATIONS,
        Feature.PLACEMENT_GROUPS,
        Feature.SNAPSHOTS,
        Feature.ZONAL_SHIFT,
        Feature.ASSUME_ROLE,
        Feature.BEFORE_MACHINES,
    }


def test_a_launch_of_1_0():
    assert asked("v1-run-instance", (1, 0)) == IamRequest(
        action="ec2:RunInstances",
        resource="arn:aws:ec2:eu-west-1:111122223333:instance/*",
        request_tags={
            "kubernetes.io/cluster/blue": "owned",
            "karpenter.sh/nodepool": "default",
            "eks:eks-cluster-name": "blue",
            "karpenter.k8s.aws/ec2nodeclass": "default",
        },
        resource_tags={},
        context={
            "aws:RequestedRegion": ("eu-west-1",),
            "aws:SecureTransport": ("true",),
            "aws:PrincipalAccount": ("111122223333",),
            "ec2:Region": ("eu-west-1",),
        },
    )


def test_launch_templates_carry_one_more_tag_up_to_1_0():
    key = "karpenter.k8s.aws/cluster"
    assert asked("v1-create-lt", (1, 0)).request_tags[key] == "blue"
    assert asked("v1-run-lt", (1, 0)).resource_tags[key] == "blue"
    assert key not in asked("v1-create-lt", (1, 1)).request_tags
    assert key not in asked("v1-run-instance", (1, 0)).request_tags


def test_tags_of_node_classes_come_with_what_is_created_and_stay_on_it():
    site = AwsSite(extra_tags={"team": "a", "karpenter.sh/nodepool": "mine"})
    assert asked("v1-run-instance", (1, 0), site).request_tags["team"] == "a"
    assert asked("v1-run-instance", (1, 0), site).request_tags["karpenter.sh/nodepool"] == "default"
    assert asked("v1-terminate", (1, 0), site).resource_tags["team"] == "a"
    assert asked("v1-adopt", (1, 0), site).resource_tags["team"] == "a"
    assert asked("ip-create-v1", (1, 0), site).request_tags["team"] == "a"
    assert asked("v1-adopt", (1, 0), site).request_tags == {"eks:eks-cluster-name": "my-cluster"}
    assert asked("v1-terminate", (1, 0), site).request_tags == {}


def test_tags_of_things_that_karpenter_did_not_make_are_unknown():
    assert asked("v1-run-subnet", (1, 0)).resource_tags is None
    assert asked("ssm", (1, 0)).resource_tags is None
    assert asked("read-DescribeImages", (1, 0)).resource_tags == {}


def test_tagging_at_creation_names_the_call_and_later_tagging_does_not():
    assert asked("v1-tag-spot", (1, 0)).lookup("ec2:CreateAction") == ("RunInstances",)
    assert asked("v1-adopt", (1, 0)).lookup("ec2:CreateAction") == ()


def test_each_service_is_asked_in_its_region():
    regions = {name: asked(name, (1, 14)).lookup("aws:RequestedRegion")[0] for name in ("ssm", "pricing", "ip-list")}
    assert regions == {"ssm": "eu-west-1", "pricing": "eu-central-1", "ip-list": "us-east-1"}


def test_each_node_role_is_passed():
    site = AwsSite(node_roles=("a", "p/b"))
    assert [request.resource for request in probe("pass-role").requests(site, (1, 0))] == [
        "arn:aws:iam::000000000000:role/a",
        "arn:aws:iam::000000000000:role/p/b",
    ]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("v1-run-spot", "spot-instances-request"),
        ("pass-role", "role"),
        ("sqs-DeleteMessage", "queue"),
        ("ssm", "parameter"),
        ("eks", "cluster"),
        ("ip-get-path", "instance-profile"),
        ("pricing", "*"),
        ("assume-role", "assumed role"),
    ],
)
def test_kinds_of_resources(name, kind):
    assert probe(name).kind == kind


def test_the_owner_changes_at_0_32_and_the_tag_set_at_1_0():
    assert {one.mode for one in probes_for((0, 31))} == {"any", "provisioner"}
    assert {one.mode for one in probes_for((0, 32))} == {"any", "provisioner", "nodepool"}
    assert {one.mode for one in probes_for((0, 33))} == {"any", "nodepool"}
    assert probe("beta-terminate").resource_tags == BETA_LAUNCH
    assert probe("v1-terminate").resource_tags == V1_LAUNCH


# The rows above against tests/upstream, request by request.

# The second half of a creation with tags is no call of its own; 1.7 always lists; test_partitions.py has the others.
OURS_ONLY = {
    "ip-tag-create-beta",
    "ip-tag-create-v1",
    "ip-tag-create-path",
    "ip-list-always",
    "pass-role-china",
    "pass-role-profile-china",
    "pricing-govcloud",
}


def _braced(value):
    names = {"Partition": "partition", "Region": "region", "AccountId": "account", "ClusterName": "cluster"}
    names |= {"Queue": "queue", "NodeRole": "role", "AssumeRoleArn": "assume_role_arn", "PricingRegion": "region"}
    return re.sub(r"\$\{(\w+)\}", lambda found: f"{{{names[found[1]]}}}", value)


def _tags(value, sets):
    if value is None:
        return None
    pairs = value if isinstance(value, dict) else sets[value]
    return {(_braced(key), _braced(text)) for key, text in pairs.items()}


def test_the_rows_say_what_upstream_asks():
    sets = upstream.permissions().tag_sets
    told = {one.id: one for one in upstream.permissions().requests}
    assert {one.id for one in PROBES} - OURS_ONLY == set(told)
    for name, theirs in told.items():
        ours = probe(name)
        resource = ours.resource.replace("{owner}", "").replace("{path}", SOME_PARAMETERS[0].removeprefix("/"))
        assert (ours.action, ours.mode, ours.capability, ours.severity, resource) == (
            theirs.action,
            theirs.mode,
            theirs.capability,
            theirs.severity,
            _braced(theirs.resource),
        ), name
        assert (set(ours.request_tags) if ours.request_tags else None) == _tags(theirs.request_tags, sets), name
        assert (set(ours.resource_tags) if ours.resource_tags else None) == _tags(theirs.resource_tags, sets), name
        assert bool(ours.features) == theirs.conditional, name


def test_the_rows_hold_in_the_same_releases():
    told = {one.id: (one.since, one.until) for one in upstream.permissions().requests}
    ours = {one.id: (minor_text(one.span.since), one.span.until and minor_text(one.span.until)) for one in PROBES}
    ours["ip-list"] = (ours.pop("ip-list-always")[0], ours["ip-list"][1])
    assert {name: span for name, span in ours.items() if name not in OURS_ONLY} == told


def test_the_stated_context_is_the_same():
    words = SITE.words()
    for theirs in upstream.permissions().requests:
        minor = probe(theirs.id).span.since
        for key, value in theirs.context.items():
            wanted = "eu-central-1" if value == "${PricingRegion}" else _braced(value).format_map(words)
            assert asked(theirs.id, minor).lookup(key) == (wanted,), theirs.id


def test_actions_that_are_granted_and_that_no_release_calls():
    assert {one.action for one in upstream.permissions().actions if not one.called} == NEVER_CALLED
