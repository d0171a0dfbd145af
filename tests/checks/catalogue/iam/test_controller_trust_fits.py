import json
import shlex
from dataclasses import replace

import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.remedies.aws import NOT_LOOKED_AT
from migrations_app.inventory.parts import NOT_ASKED, Seen, Unseen
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import asked_hops, finding_of, helm_values_of, reads, remedies, result_of, result_without
from tests.builders.iam import ISSUER, PROVIDER, a_role, document, eks, oidc, permitted

CHECK = "controller_trust_fits"
GOOD = ("pass", "The controller can assume its IAM role", ())
ARN = "arn:aws:iam::111122223333:role/KarpenterController"
FIRST = "arn:aws:iam::111122223333:role/First"
WANTED = (
    f"sts:AssumeRoleWithWebIdentity by {PROVIDER} sub=system:serviceaccount:kube-system:karpenter aud=sts.amazonaws.com"
)


def by_token(namespace="kube-system", provider=PROVIDER):
    sub = f"system:serviceaccount:{namespace}:karpenter"
    return document(
        {
            "Effect": "Allow",
            "Principal": {"Federated": provider},
            "Action": "sts:AssumeRoleWithWebIdentity",
            "Condition": {"StringEquals": {f"{ISSUER}:sub": sub, f"{ISSUER}:aud": "sts.amazonaws.com"}},
        }
    )


def by_association(*actions):
    principal = {"Service": "pods.eks.amazonaws.com"}
    return document({"Effect": "Allow", "Principal": principal, "Action": list(actions)})


BOTH = by_association("sts:AssumeRole", "sts:TagSession")


def trusting(*roles, **parts):
    return permitted("0.37.8", *roles, **{"cluster": (eks(),), "oidc_provider": (oidc(),)} | parts)


def refused(seen, *, wanted=WANTED, path="trust policy, for kube-system/karpenter"):
    row = Evidence(kind="IAM role", name="KarpenterController", path=path, seen=seen, wanted=wanted)
    return "fail", "1 IAM role does not trust the controller", (row,)


def test_a_role_for_the_service_account_fits():
    assert result_of(CHECK, "1.0", trusting(a_role(trust=by_token()))) == GOOD


def test_a_role_for_an_association_fits_and_needs_no_provider():
    role = a_role(trust=BOTH, found_by="pod_identity")
    assert (
        result_of(CHECK, "1.0", trusting(role, cluster=Unseen("forbidden"), oidc_provider=Unseen("forbidden"))) == GOOD
    )


def test_after_a_move_the_trust_still_names_the_old_namespace():
    found = result_of(CHECK, "1.0", trusting(a_role(trust=by_token("karpenter"))))
    assert found == refused(
        f"sts:AssumeRoleWithWebIdentity: trust policy: Statement[0]: StringEquals {ISSUER}:sub wants "
        "system:serviceaccount:karpenter:karpenter, sent: system:serviceaccount:kube-system:karpenter"
    )


def test_the_provider_of_another_cluster_is_another():
    other = PROVIDER.replace("ABCDEF", "OTHER")
    assert result_of(CHECK, "1.0", trusting(a_role(trust=by_token(provider=other)))) == refused(f"it trusts {other}")


@pytest.mark.parametrize(
    ("provider", "seen"),
    [
        ((), "IAM has no identity provider for the token issuer of this cluster"),
        ((oidc("sigstore"),), "the identity provider takes tokens for sigstore only"),
    ],
)
def test_the_identity_provider_has_to_be_there(provider, seen):
    wanted = f"{PROVIDER} for sts.amazonaws.com"
    found = result_of(CHECK, "1.0", trusting(a_role(trust=by_token()), oidc_provider=provider))
    assert found == refused(seen, wanted=wanted)


def with_audience(audience, trusted="sts.amazonaws.com", *, clients=("sts.amazonaws.com",)):
    """A cluster whose service account asks for tokens of that audience."""
    trust = by_token().replace('"sts.amazonaws.com"', f'"{trusted}"')
    marks = meta("karpenter", "kube-system", annotations={"eks.amazonaws.com/audience": audience})
    cluster = trusting(a_role(trust=trust), oidc_provider=(oidc(*clients),)).without("controller_accounts")
    return cluster.with_docs(doc("v1", "ServiceAccount", metadata=marks))


def test_the_tokens_are_for_the_audience_that_the_service_account_asks_for():
    """amazon-eks-pod-identity-webhook takes the annotation in place of sts.amazonaws.com."""
    assert result_of(CHECK, "1.0", with_audience("sts.amazonaws.com")) == GOOD
    assert result_of(CHECK, "1.0", with_audience("vault", "vault", clients=("vault",))) == GOOD


def test_an_audience_that_the_identity_provider_does_not_take():
    found = result_of(CHECK, "1.0", with_audience("vault", "vault"))
    assert found == refused(
        "the identity provider takes tokens for sts.amazonaws.com only", wanted=f"{PROVIDER} for vault"
    )


MAKES = f"aws iam create-open-id-connect-provider --url https://{ISSUER} --client-id-list"
ADDS = f"aws iam add-client-id-to-open-id-connect-provider --open-id-connect-provider-arn {PROVIDER} --client-id"


def test_the_identity_provider_that_is_there_gets_the_audience_and_one_that_is_not_is_made():
    lacking = remedies(CHECK, "1.0", with_audience("vault", "vault"))[0].text
    assert f"{ADDS} vault" in lacking
    assert MAKES not in lacking
    absent = remedies(CHECK, "1.0", trusting(a_role(trust=by_token()), oidc_provider=()))[0].text
    assert f"{MAKES} sts.amazonaws.com" in absent
    assert ADDS not in absent


def test_nothing_is_asked_of_an_identity_provider_that_takes_the_audience():
    given = remedies(CHECK, "1.0", with_audience("vault", clients=("vault",)))[0].text
    assert "open-id-connect" not in given


def test_the_identity_provider_of_another_account_is_not_that_of_the_role():
    other = replace(oidc(), arn=PROVIDER.replace("111122223333", "444455556666"))
    given = remedies(CHECK, "1.0", trusting(a_role(trust=document()), oidc_provider=(other,)))[0].text
    assert f"{MAKES} sts.amazonaws.com" in given


def test_an_audience_that_the_trust_policy_does_not_name():
    cluster = with_audience("vault", clients=("vault", "sts.amazonaws.com"))
    wanted = WANTED.replace("aud=sts.amazonaws.com", "aud=vault")
    seen = f"sts:AssumeRoleWithWebIdentity: trust policy: Statement[0]: StringEquals {ISSUER}:aud wants "
    assert result_of(CHECK, "1.0", cluster) == refused(f"{seen}sts.amazonaws.com, sent: vault", wanted=wanted)
    made = json.loads(next(one.text for one in remedies(CHECK, "1.0", cluster) if one.text.startswith("{")))
    assert made["Statement"][-1]["Condition"]["StringEquals"][f"{ISSUER}:aud"] == "vault"


def test_an_empty_audience_is_unknown():
    words = "the annotation eks.amazonaws.com/audience of its service account is empty: who takes its tokens is open"
    assert result_of(CHECK, "1.0", with_audience("")) == ("unknown", f"{ARN}: {words}", ())


def test_an_association_needs_the_tagging_of_sessions():
    role = a_role(trust=by_association("sts:AssumeRole"), found_by="pod_identity")
    assert result_of(CHECK, "1.0", trusting(role)) == refused(
        "sts:TagSession: no statement allows the action",
        wanted="sts:AssumeRole and sts:TagSession by pods.eks.amazonaws.com",
    )


def limited_to(**tags):
    wanted = {f"aws:RequestTag/{name.replace('_', '-')}": value for name, value in tags.items()}
    body = json.loads(BOTH)["Statement"][0] | {"Condition": {"StringEquals": wanted}}
    return document(body)


def test_an_association_without_session_tags_needs_no_tagging_and_shows_no_tags():
    untagged = {"found_by": "pod_identity", "session_tags": False}
    assert result_of(CHECK, "1.0", trusting(a_role(trust=by_association("sts:AssumeRole"), **untagged))) == GOOD
    limited = limited_to(kubernetes_namespace="kube-system")
    assert result_of(CHECK, "1.0", trusting(a_role(trust=limited, found_by="pod_identity"))) == GOOD
    status, _summary, (row,) = result_of(CHECK, "1.0", trusting(a_role(trust=limited, **untagged)))
    assert (status, row.wanted) == ("fail", "sts:AssumeRole by pods.eks.amazonaws.com")
    assert row.seen == (
        "sts:AssumeRole: trust policy: Statement[0]: StringEquals aws:RequestTag/kubernetes-namespace"
        " wants kube-system, sent: nothing"
    )


def test_a_role_that_does_not_exist():
    found = result_of(CHECK, "1.0", trusting(a_role(role=Seen(()))))
    assert found == refused("AWS has no role of this ARN", wanted="a role that exists")


def going_on(*actions, principal=FIRST):
    return document({"Effect": "Allow", "Principal": {"AWS": principal}, "Action": list(actions)})


def test_the_target_of_an_association_trusts_the_role_before_it():
    before = a_role(name="First", trust=BOTH, found_by="pod_identity")
    right = a_role(trust=going_on("sts:AssumeRole", "sts:TagSession"), found_by="pod_identity_target")
    assert result_of(CHECK, "1.0", trusting(before, right)) == GOOD
    wrong = a_role(trust=going_on("sts:AssumeRole"), found_by="pod_identity_target")
    assert result_of(CHECK, "1.0", trusting(before, wrong)) == refused(
        "sts:TagSession: no statement allows the action", wanted=f"sts:AssumeRole and sts:TagSession by {FIRST}"
    )


@pytest.mark.parametrize(("sent", "status"), [("x-1", "pass"), ("x-2", "fail"), ("", "unknown")])
def test_the_target_of_an_association_is_assumed_with_its_external_id(sent, status):
    before = a_role(name="First", trust=BOTH, found_by="pod_identity")
    trust = json.loads(going_on("sts:AssumeRole", "sts:TagSession"))["Statement"][0]
    asking = document(trust | {"Condition": {"StringEquals": {"sts:ExternalId": "x-1"}}})
    target = a_role(trust=asking, found_by="pod_identity_target", external_id=sent)
    assert result_of(CHECK, "1.0", trusting(before, target))[0] == status


def test_a_role_by_setting_trusts_the_role_of_the_pods():
    before = a_role(name="First", trust=by_token())
    assumed = a_role(trust=going_on("sts:AssumeRole"), found_by="assume_role", namespace="", service_account="")
    assert result_of(CHECK, "1.0", trusting(before, assumed)) == GOOD
    other = a_role(trust=going_on("sts:AssumeRole", principal=ARN), found_by="assume_role", service_account="")
    assert result_of(CHECK, "1.0", trusting(before, other)) == refused(
        f"it trusts {ARN}", wanted=f"sts:AssumeRole by {FIRST}", path="trust policy, for the controller"
    )


def test_of_two_ways_in_nobody_knows_which_counts():
    good = a_role(name="First", trust=BOTH, found_by="pod_identity")
    stale = a_role(trust=by_token("karpenter"))
    status, summary, evidence = result_of(CHECK, "1.0", trusting(good, stale))
    assert (status, evidence) == ("unknown", ())
    assert summary.startswith(f"{ARN} does not let the controller in and another role does: ")


@pytest.mark.parametrize(
    ("role", "parts", "why"),
    [
        (a_role(role=Unseen("other_account", "x")), {}, f"{ARN} could not be read: other_account (x)"),
        (a_role(trust="nonsense"), {}, f"{ARN}: trust policy: line 1: not JSON: Expecting value"),
        (
            a_role(trust=by_token()),
            {"cluster": Unseen("forbidden")},
            f"{ARN}: the token issuer of the cluster is not known: forbidden",
        ),
        (a_role(trust=by_token()), {"cluster": (eks(issuer=""),)}, f"{ARN}: EKS names no token issuer of the cluster"),
        (a_role(trust=by_token()), {"oidc_provider": Unseen("forbidden")}, f"{PROVIDER} could not be read: forbidden"),
        (
            a_role(trust=by_token(), found_by="environment"),
            {},
            f"{ARN}: how the controller comes into a role found by environment is not known",
        ),
        (
            a_role(trust=going_on("sts:AssumeRole"), found_by="assume_role"),
            {},
            f"{ARN}: which role goes on to this one is not known",
        ),
        (
            a_role(found_by="given", arn="", role=NOT_ASKED),
            {"identity": NOT_ASKED},
            f"no role of the controller was seen. {NOT_LOOKED_AT}",
        ),
    ],
)
def test_what_cannot_be_told_is_unknown(role, parts, why):
    assert result_of(CHECK, "1.0", trusting(role, **parts)) == ("unknown", why, ())


def test_without_any_role_it_is_unknown():
    why = "no role of the controller was seen, so its trust policy was not either"
    assert result_of(CHECK, "1.0", trusting()) == ("unknown", why, ())
    assert finding_of(CHECK, "1.0", trusting()).severity == "blocker"


def test_policies_that_were_handed_in_where_nobody_asked_aws_warn():
    handed_in = a_role(found_by="given", arn="", role=NOT_ASKED)
    assert finding_of(CHECK, "1.0", trusting(handed_in, identity=NOT_ASKED)).severity == "warning"
    assert finding_of(CHECK, "1.0", trusting(handed_in)).severity == "blocker"


def test_it_is_asked_at_every_hop():
    assert asked_hops(CHECK) == ("*",)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", trusting(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_keeps_what_is_trusted_and_covers_both_namespaces():
    old = by_token("karpenter", provider=PROVIDER.replace("ABCDEF", "OTHER"))
    role = a_role(trust=old, namespace="karpenter")
    steps, body, code = remedies(CHECK, "1.0", trusting(role))
    words = shlex.split(steps.text.splitlines()[-1])
    assert words[:-1] == [
        *("aws", "iam", "update-assume-role-policy", "--role-name", "KarpenterController", "--policy-document")
    ]
    assert json.loads(words[-1]) == json.loads(body.text)
    first, added = json.loads(body.text)["Statement"]
    assert first == json.loads(old)["Statement"][0]
    assert added["Condition"]["StringEquals"][f"{ISSUER}:sub"] == [
        "system:serviceaccount:karpenter:karpenter",
        "system:serviceaccount:kube-system:karpenter",
    ]
    assert 'irsa_namespace_service_accounts = ["karpenter:karpenter"]' in code.text
    assert (steps.how, body.how, code.how) == ("iam", "iam", "terraform")


def test_what_the_remedy_proposes_fits():
    for role in (a_role(trust=document()), a_role(trust=document(), found_by="pod_identity")):
        body = remedies(CHECK, "1.0", trusting(role))[1].text
        (again,) = (a_role(trust=body, found_by=role.found_by),)
        assert result_of(CHECK, "1.0", trusting(again)) == GOOD


def added_to(role, *others):
    return json.loads(remedies(CHECK, "1.0", trusting(role, *others))[1].text)["Statement"][-1]


def test_the_remedy_admits_no_more_than_the_sessions_of_the_controller():
    tagged = added_to(a_role(trust=document(), found_by="pod_identity", namespace="karpenter"))
    assert tagged["Condition"] == {
        "StringEquals": {
            "aws:RequestTag/kubernetes-namespace": ["karpenter", "kube-system"],
            "aws:RequestTag/kubernetes-service-account": "karpenter",
            "aws:RequestTag/eks-cluster-name": "test",
        }
    }
    untagged = added_to(a_role(trust=document(), found_by="pod_identity", session_tags=False))
    assert ("Condition" in untagged, untagged["Action"]) == (False, "sts:AssumeRole")
    before = a_role(name="First", trust=BOTH, found_by="pod_identity")
    target = a_role(trust=document(), found_by="pod_identity_target", external_id="x-1")
    assert added_to(before, target)["Condition"] == {"StringEquals": {"sts:ExternalId": "x-1"}}


@pytest.mark.parametrize(
    ("clusters", "told"), [(1, ""), (5, "have AWS raise the quota of the length"), (12, "take out of the trust policy")]
)
def test_a_trust_policy_that_does_not_fit_is_told(clusters, told):
    others = [json.loads(by_token(provider=f"{PROVIDER}{number}"))["Statement"][0] for number in range(clusters)]
    steps = remedies(CHECK, "1.0", trusting(a_role(trust=document(*others))))[0].text
    assert told in steps
    assert ("of 2,048 that IAM takes by default" in steps) == bool(told)
    quota = "aws service-quotas request-service-quota-increase --service-code iam --quota-code L-C07B4B0D"
    assert (f"{quota} --region us-east-1 --desired-value 4096" in steps) == (clusters == 5)


def test_for_a_role_that_is_gone_the_chart_names_another():
    first = remedies(CHECK, "1.0", trusting(a_role(role=Seen(()))))[0]
    assert first.how == "helm"
    assert helm_values_of(first, when="person") == {
        "serviceAccount.annotations.eks\\.amazonaws\\.com/role-arn": '"arn:aws:iam::<account>:role/<name>"'
    }
