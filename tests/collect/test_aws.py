"""Inventory + AWS -> AwsSeen: what is found, and what becomes of every call that fails."""

from dataclasses import replace

import pytest

from migrations_app.collect.aws import collect_aws
from migrations_app.errors import Forbidden, ServerFailed, Unauthorized
from migrations_app.inventory.objects.aws import (
    AWS_PART_NAMES,
    AccessEntry,
    AttachedPolicy,
    AuthRow,
    Caller,
    ControllerRole,
    InstanceProfile,
    NamedBy,
    NodeRole,
    OidcProvider,
    Queue,
    TaggedInstances,
)
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.inventory.parts import NOT_ASKED, Seen, UnparsableObject, Unseen
from tests.fakes.aws_api import ACCOUNT, PLACE, FakeAws, a_cluster, a_document, a_role, policy_arn, role_arn
from tests.fakes.aws_inventory import an_inventory, config_map, controller, node_class, node_template, service_account

CONTROLLER = role_arn("karpenter")
PROVIDER = f"arn:aws:iam::{ACCOUNT}:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/ABC"
INSTANCES = TaggedInstances(tags=(("karpenter.sh/nodepool", "default"),), count=3, samples=("i-1",))
ENTRY = AccessEntry(principal_arn=role_arn("nodes"), type="EC2_LINUX")
SPOT = a_role("AWSServiceRoleForEC2Spot", path="aws-service-role/spot.amazonaws.com/")
READ = NamedBy(kind="EC2NodeClass", name="default", path="spec.role")
HELD = NamedBy(kind="AWSNodeTemplate", name="old", path="spec.instanceProfile")


def profile(exists=True):
    arn = f"arn:aws:iam::{ACCOUNT}:instance-profile/old-profile"
    return InstanceProfile(name="old-profile", exists=exists, arn=arn, role_arns=(role_arn("old-nodes"),))


def aws(**changed):
    """An account where everything is in its place."""
    held = {
        "roles": {
            "karpenter": a_role("karpenter", boundary_arn=policy_arn("limit")),
            "nodes": a_role("nodes"),
            "old-nodes": a_role("old-nodes"),
            "AWSServiceRoleForEC2Spot": SPOT,
        },
        "attached": {"karpenter": ["main"], "nodes": ["worker"]},
        "inline": {"karpenter": [a_document("extra", kind="inline")], "nodes": [a_document("own", kind="inline")]},
        "documents": {policy_arn(name): a_document(name) for name in ("main", "limit")},
        "profiles": {"old-profile": profile()},
        "providers": {PROVIDER: OidcProvider(arn=PROVIDER, url="u", client_ids=("sts.amazonaws.com",))},
        "addons": {"eks-pod-identity-agent": "ACTIVE"},
        "entries": {role_arn("nodes"): ENTRY},
        "queues": {"shop": Queue(name="shop", exists=True, arn="arn:q")},
        "instances": (INSTANCES,),
    }
    return FakeAws(**held | changed)


def shop(**parts):
    given = {
        "controller": (controller(INTERRUPTION_QUEUE="shop", CLUSTER_NAME="shop"),),
        "controller_accounts": (service_account(CONTROLLER),),
        "ec2nodeclasses": (node_class(role="nodes"),),
        "awsnodetemplates": (node_template("old", instanceProfile="old-profile"),),
        "aws_auth": (config_map("aws-auth", mapRoles=f"- rolearn: {role_arn('old-nodes')}"),),
    }
    return an_inventory(**given | parts)


def seen(api=None, releases=(), **parts):
    return collect_aws(api or aws(), shop(**parts), releases=releases)


def unseen_parts(found):
    return {name for name in AWS_PART_NAMES if isinstance(found.part(name), Unseen)}


def the_controller(found_by="irsa", **changed):
    facts = {
        "found_by": found_by,
        "arn": CONTROLLER,
        "role": Seen((a_role("karpenter", boundary_arn=policy_arn("limit")),)),
        "policies": Seen((a_document("main"), a_document("extra", kind="inline"))),
        "boundary": Seen((a_document("limit"),)),
        "namespace": "kube-system",
        "service_account": "karpenter",
    }
    return ControllerRole(**facts | changed)


def node(name, by, **changed):
    facts = {
        "role": Seen((a_role(name),)),
        "policies": Seen(),
        "inline": Seen(),
        "access_entry": Seen(),
        "named_by": (by,),
    }
    return NodeRole(name=name, **facts | changed)


def test_everything_in_its_place():
    found = seen()
    assert found.place == PLACE
    assert found.identity == Seen((Caller(account=ACCOUNT, arn=f"arn:aws:sts::{ACCOUNT}:assumed-role/karpdash/s"),))
    assert found.cluster == Seen((a_cluster(),))
    assert found.controller_roles == Seen((the_controller(),))
    assert found.instance_profiles == Seen((replace(profile(), named_by=(HELD,)),))
    worker = AttachedPolicy(name="worker", arn=policy_arn("worker"))
    assert found.node_roles == Seen(
        (
            node("nodes", READ, policies=Seen((worker,)), inline=Seen(("own",)), access_entry=Seen((ENTRY,))),
            node("old-nodes", HELD),
        )
    )
    assert found.aws_auth == Seen((AuthRow(role_arn=role_arn("old-nodes"), username=""),))
    assert found.queue == Seen((Queue(name="shop", exists=True, arn="arn:q"),))
    assert found.spot_role == Seen((SPOT,))
    assert found.oidc_provider.items[0].client_ids == ("sts.amazonaws.com",)
    assert found.pod_identity_agent == Seen(("ACTIVE",))
    assert found.instances == Seen((INSTANCES,))
    assert found.simulation == NOT_ASKED


def test_nothing_there_is_seen_and_empty():
    found = collect_aws(FakeAws(eks=None), an_inventory(), releases=())
    for name in ("cluster", "controller_roles", "instance_profiles", "node_roles", "queue", "spot_role",
                 "oidc_provider", "pod_identity_agent", "instances", "aws_auth", "quotas",
                 "reservations", "offerings"):  # fmt: skip
        assert found.part(name) == Seen(()), name


def test_the_wrong_account_is_not_read():
    api = aws(account="999900001111")
    found = seen(api)
    told = f"these credentials are of account 999900001111, the cluster is in {ACCOUNT}"
    assert unseen_parts(found) == set(AWS_PART_NAMES) - {"aws_auth", "identity"}
    assert found.controller_roles == Unseen("wrong_account", told)
    assert api.calls == [("caller",)]


def test_an_account_that_nobody_told_is_the_one_reached():
    found = seen(aws(place=AwsPlace(region="eu-west-1", cluster="shop")))
    assert found.place == PLACE


def test_expired_credentials_leave_nothing_seen():
    gone = Unauthorized("the AWS credentials have expired", code="expired_credentials")
    found = seen(aws(fails={"caller": gone}))
    assert unseen_parts(found) == set(AWS_PART_NAMES) - {"aws_auth"}
    assert found.spot_role == Unseen("expired_credentials", "the AWS credentials have expired")


FAILURES = {
    "cluster": {"cluster", "oidc_provider", "subnets"},
    "role": {"spot_role"},
    "attached_policies": set(),
    "inline_names": set(),
    "inline_policy": set(),
    "managed_policy": set(),
    "instance_profile": {"instance_profiles"},
    "oidc_provider": {"oidc_provider"},
    "associations": set(),
    "addon_status": {"pod_identity_agent"},
    "access_entry": set(),
    "queue": {"queue"},
    "tagged_instances": {"instances"},
    "subnets": {"subnets"},
    "vcpu_quotas": {"quotas"},
    "capacity_reservations": {"reservations"},
}


@pytest.mark.parametrize("error", [Forbidden("may not"), ServerFailed("AWS throttles", code="throttled")])
@pytest.mark.parametrize("method", FAILURES)
def test_a_refused_or_throttled_call_leaves_exactly_its_parts_unseen(method, error):
    found = seen(aws(fails={method: error}))
    assert unseen_parts(found) == FAILURES[method] | {"simulation"}
    assert {found.part(name) for name in FAILURES[method]} <= {Unseen(error.code, error.message)}


@pytest.mark.parametrize("method", ["attached_policies", "inline_names", "inline_policy", "managed_policy"])
def test_one_unread_policy_makes_all_of_the_role_unseen(method):
    (role,) = seen(aws(fails={method: Forbidden("may not")})).controller_roles.items
    assert role.policies == Unseen("forbidden", "may not")
    assert role.role == the_controller().role


def test_a_refused_boundary_is_unseen_not_absent():
    found = aws()
    del found.documents[policy_arn("limit")]
    (role,) = seen(found).controller_roles.items
    assert role.boundary == Unseen("moved", "a policy was removed while the role was read")


def test_a_refused_role_hides_what_hangs_on_it():
    found = seen(aws(fails={"role": Forbidden("may not")}))
    hidden = Unseen("forbidden", "may not")
    assert found.controller_roles == Seen((the_controller(role=hidden, policies=hidden, boundary=hidden),))
    assert found.node_roles.items[0] == node(
        "nodes", READ, role=hidden, policies=hidden, inline=hidden, access_entry=hidden
    )


def test_a_refused_profile_casts_doubt_on_the_node_roles():
    found = seen(aws(fails={"instance_profile": Forbidden("may not")}))
    assert [role.name for role in found.node_roles.items] == ["nodes"]
    assert found.node_roles.quarantined == (UnparsableObject("InstanceProfile", "", "", "", "may not"),)


def test_a_role_that_does_not_exist_is_seen_as_absent():
    found = seen(aws(roles={}))
    absent = the_controller(role=Seen(), policies=Seen(), boundary=Seen())
    assert found.controller_roles == Seen((absent,))
    assert found.node_roles == Seen((node("nodes", READ, role=Seen()), node("old-nodes", HELD, role=Seen())))
    assert found.spot_role == Seen(())


def test_a_role_of_the_same_name_under_another_path_is_not_it():
    elsewhere = role_arn("karpenter", path="team/")
    (role,) = seen(controller_accounts=(service_account(elsewhere),)).controller_roles.items
    assert (role.arn, role.role, role.policies) == (elsewhere, Seen(()), Seen(()))


def test_a_role_in_another_account_is_not_looked_up_in_ours():
    other = role_arn("karpenter", account="999900001111")
    told = f"the role is in account 999900001111; these credentials read account {ACCOUNT}"
    (role,) = seen(controller_accounts=(service_account(other),)).controller_roles.items
    assert (role.role, role.policies, role.boundary) == (Unseen("other_account", told),) * 3


def test_an_annotation_that_is_no_arn_has_a_reason():
    (role,) = seen(controller_accounts=(service_account("karpenter"),)).controller_roles.items
    assert role.role == Unseen("bad_name", "'karpenter' is not the ARN of a role")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not JSON"),
        ('{"Version":"2012-10-17"}', "the document has no Statement"),
        ('{"Statement":7}', "Statement is neither"),
        ('{"Statement":[{"Effect":"Allow"}]}', "needs either"),
        (f'{{"Statement":[],"Id":"{"x" * 200_000}"}}', "more than 100,000 bytes"),
    ],
)
def test_a_document_that_cannot_be_judged_is_unseen_with_its_reason(text, told):
    api = aws()
    api.documents[policy_arn("main")] = a_document("main", text=text)
    (role,) = seen(api).controller_roles.items
    assert isinstance(role.policies, Unseen)
    assert (role.policies.why, told in role.policies.detail) == ("bad_policy", True)


def test_without_the_queues_setting_there_is_no_queue():
    api = aws()
    assert seen(api, controller=(controller(),)).queue == Seen(())
    assert not [call for call in api.calls if call[0] == "queue"]


def test_a_queue_that_is_not_there_and_one_that_cannot_be():
    assert seen(aws(queues={})).queue == Seen((Queue(name="shop", exists=False),))
    odd = seen(controller=(controller(INTERRUPTION_QUEUE="a b"),)).queue
    assert odd == Unseen("bad_name", "'a b' is not the name of a queue")


def test_a_profile_that_is_not_there():
    found = seen(aws(profiles={})).instance_profiles
    assert found == Seen((InstanceProfile(name="old-profile", exists=False, named_by=(HELD,)),))


@pytest.mark.parametrize("mode", ["CONFIG_MAP", ""])
def test_entries_are_not_asked_for_where_the_cluster_has_none(mode):
    api = aws(eks=a_cluster(authentication_mode=mode))
    assert {role.access_entry for role in seen(api).node_roles.items} == {Seen(())}
    assert not [call for call in api.calls if call[0] == "access_entry"]


def test_without_the_cluster_nobody_knows_about_entries():
    found = seen(aws(fails={"cluster": Forbidden("may not")}))
    assert {role.access_entry for role in found.node_roles.items} == {Unseen("forbidden", "may not")}


@pytest.mark.parametrize("part", ["controller", "controller_accounts"])
def test_what_the_cluster_scan_did_not_see_stays_unseen(part):
    found = seen(**{part: Unseen("timeout", "slow")})
    assert found.controller_roles == Unseen("timeout", "slow")
    assert found.simulation == Unseen("timeout", "slow")
