"""Which role the controller works as: associations, annotations, settings, and what cannot be told."""

from dataclasses import replace

import pytest

from migrations_app.collect.aws import collect_aws
from migrations_app.errors import Forbidden
from migrations_app.inventory.aws_facts.permissions import permissions, requesting_roles
from migrations_app.inventory.aws_facts.simulation import Reply
from migrations_app.inventory.objects.aws import Association, CrossCheck
from migrations_app.inventory.parts import NOT_ASKED, Seen, UnparsableObject, Unseen
from tests.fakes.aws_api import FakeAws, a_document, a_role, policy_arn, role_arn
from tests.fakes.aws_inventory import an_inventory, controller, service_account

HOME = ("kube-system", "karpenter")
EVERYTHING = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}'


def associated(role="by-association", target="", **more):
    arn = role_arn(target) if target else ""
    one = Association(
        id="a-1", namespace=HOME[0], service_account=HOME[1], role_arn=role_arn(role), target_role_arn=arn, **more
    )
    return {HOME: [one]}


def roles(api=None, annotated="", **env):
    account = service_account(role_arn(annotated) if annotated else "")
    inventory = an_inventory(controller=(controller(**env),), controller_accounts=(account,))
    return collect_aws(api or FakeAws(), inventory, releases=()).controller_roles


def told(part):
    return [(one.found_by, one.arn.rpartition("/")[2]) for one in part.items]


def test_nothing_names_a_role():
    assert roles() == Seen(())


def test_an_association_comes_before_the_annotation():
    found = roles(FakeAws(associated=associated()), annotated="by-annotation")
    assert told(found) == [("pod_identity", "by-association"), ("irsa", "by-annotation")]


def test_an_association_with_a_target_leads_there():
    found = roles(FakeAws(associated=associated(target="target")))
    assert told(found) == [("pod_identity", "by-association"), ("pod_identity_target", "target")]
    assert [one.found_by for one in requesting_roles(found.items)] == ["pod_identity_target"]


def test_what_an_association_says_about_sessions_is_kept_with_its_roles():
    api = FakeAws(associated=associated(target="target", session_tags=False, external_id="x-1"))
    assert [(one.session_tags, one.external_id) for one in roles(api).items] == [(False, "x-1"), (False, "x-1")]
    assert [(one.session_tags, one.external_id) for one in roles(annotated="by-annotation").items] == [(True, "")]


@pytest.mark.parametrize("target", ["", "target"])
def test_the_policy_of_an_association_leaves_open_what_its_role_may_do(target):
    account = service_account()
    inventory = an_inventory(controller=(controller(),), controller_accounts=(account,))
    seen = collect_aws(FakeAws(associated=associated(target=target, limited=True)), inventory, releases=())
    why = "the policy of association a-1 limits the role, and is not evaluated"
    assert seen.controller_roles.quarantined == (UnparsableObject("PodIdentityAssociation", *HOME, "", why),)
    assert permissions(replace(inventory, aws=seen)) == Unseen("unreadable", f"karpenter: {why}")


def test_an_association_of_another_account_counts_for_nothing():
    other = {("karpenter", "karpenter"): associated()[HOME]}
    assert roles(FakeAws(associated=other)) == Seen(())


def test_refused_associations_leave_the_annotation_and_a_doubt():
    found = roles(FakeAws(fails={"associations": Forbidden("may not")}), annotated="by-annotation")
    assert told(found) == [("irsa", "by-annotation")]
    assert found.quarantined == (UnparsableObject("PodIdentityAssociation", *HOME, "", "may not"),)


def test_refused_associations_without_an_annotation_are_unseen():
    assert roles(FakeAws(fails={"associations": Forbidden("may not")})) == Unseen("forbidden", "may not")


def test_a_role_in_the_environment():
    assert told(roles(AWS_ROLE_ARN=role_arn("by-env"))) == [("environment", "by-env")]


def test_keys_in_the_environment_cannot_be_told():
    found = roles(AWS_ACCESS_KEY_ID="AKIAEXAMPLE")
    assert isinstance(found, Unseen)
    assert (found.why, "AKIA" in found.detail) == ("not_asked", False)


def test_a_role_that_the_controller_assumes_takes_the_requests():
    found = roles(annotated="door", ASSUME_ROLE_ARN=role_arn("worker"))
    assert told(found) == [("irsa", "door"), ("assume_role", "worker")]
    assert [one.arn for one in requesting_roles(found.items)] == [role_arn("worker")]


def test_without_redirection_all_roles_take_requests():
    found = roles(FakeAws(associated=associated()), annotated="by-annotation").items
    assert requesting_roles(found) == found


def an_account(text=EVERYTHING, **changed):
    held = {
        "roles": {"karpenter": a_role("karpenter")},
        "attached": {"karpenter": ["main"]},
        "documents": {policy_arn("main"): a_document("main", text=text)},
    }
    return FakeAws(**held | changed)


def simulated(api, releases=("1.0",)):
    inventory = an_inventory(controller_accounts=(service_account(role_arn("karpenter")),))
    return collect_aws(api, inventory, releases=releases)


def refusing(action):
    def answers(_arn, question):
        decided = {name: "implicitDeny" if name == action else "allowed" for name in question.actions}
        return tuple(Reply(action=name, decision=decision) for name, decision in decided.items())

    return answers


def test_agreement_on_every_request():
    found = simulated(an_account())
    assert {row.agreement for row in found.simulation.items} == {"agree"}
    assert found.disagreements == ()


def test_aws_says_when_it_disagrees():
    found = simulated(an_account(simulate=refusing("pricing:GetProducts")))
    assert found.disagreements == (
        CrossCheck(
            release="1.0", role_arn=role_arn("karpenter"), action="pricing:GetProducts", resource="*", ours="allowed",
            theirs="implicitDeny", agreement="disagree", because="no statement allows it", probes=("pricing",),
        ),
    )  # fmt: skip


def test_the_running_release_is_the_one_simulated_unless_told():
    assert {row.release for row in simulated(an_account(), releases=None).simulation.items} == {"1.0.14"}
    both = simulated(an_account(), releases=("0.37", "1.0")).simulation.items
    assert {row.release for row in both} == {"0.37", "1.0"}
    assert simulated(an_account(), releases=()).simulation == NOT_ASKED


def test_where_simulation_is_not_permitted_only_that_is_unseen():
    found = simulated(an_account(fails={"simulated": Forbidden("may not iam:SimulatePrincipalPolicy")}))
    assert found.simulation == Unseen("forbidden", "may not iam:SimulatePrincipalPolicy")
    assert isinstance(found.controller_roles, Seen)


def test_a_release_beyond_the_tables_has_a_reason():
    found = simulated(an_account(), releases=("9.9",)).simulation
    assert isinstance(found, Unseen)
    assert found.why == "bad_input"


def test_a_role_that_is_absent_is_not_simulated():
    assert simulated(FakeAws()).simulation == Seen(())


@pytest.mark.parametrize("method", ["role", "managed_policy"])
def test_what_was_not_read_is_not_simulated(method):
    api = an_account(fails={method: Forbidden("may not")})
    assert simulated(api).simulation == Unseen("forbidden", "may not")
    assert not [call for call in api.calls if call[0] == "simulated"]
