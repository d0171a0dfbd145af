import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.errors import InvalidPolicy
from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.policy import IamPolicy, PolicyStatement, parse_policy
from migrations_app.iam.requirements.features import ASSUMED, Feature, every_minor, minor_text
from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.requirements.remedies import (
    MANAGED_LIMIT,
    document_of,
    fitted,
    merged,
    size_of,
    statements_to_add,
)
from migrations_app.iam.site import AwsSite
from tests.builders.newest import NEWEST_MINOR

SITE = AwsSite(cluster="blue", account="111122223333", region="eu-west-1")
ALL = frozenset(Feature)


def report_of(policies, release, site=SITE, assumed=ASSUMED):
    return find_gaps(policies, release=release, site=site, assumed=assumed)


def read_again(documents):
    return [parse_policy(json.dumps(document), name=f"closing {n}") for n, document in enumerate(documents)]


@pytest.mark.parametrize("release", [minor_text(minor) for minor in every_minor()])
def test_what_is_missing_altogether_is_closed_altogether(release):
    site = AwsSite(cluster="blue", node_roles=("a", "b"), assume_role_arn="arn:aws:iam::444455556666:role/x")
    found = statements_to_add(report_of([], release, site), site, conditional=True)
    closed = report_of(read_again(found.documents()), release, site, ALL)
    assert (closed.gaps, closed.legacy_gaps, found.not_closed) == ((), (), ())


@pytest.mark.parametrize("release", ["0.31", "0.32", "1.0", NEWEST_MINOR])
def test_without_rare_settings_only_these_stay_open(release):
    found = statements_to_add(report_of([], release), SITE)
    closed = report_of(read_again(found.documents()), release)
    assert {gap.required for gap in (*closed.gaps, *closed.legacy_gaps)} <= {"conditional"}


def test_nothing_is_added_where_nothing_is_missing(policy, allow):
    found = statements_to_add(report_of([policy(allow("*"))], NEWEST_MINOR), SITE)
    assert (found.statements, found.not_closed, found.documents()) == ((), (), ())


def test_the_smallest_statement_for_one_refused_kind(policy, allow, official):
    report = report_of([official("v0.32.10")], "0.33")
    assert statements_to_add(report, SITE).documents() == (
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Sid": "TagAtCreation",
                    "Effect": "Allow",
                    "Action": "ec2:CreateTags",
                    "Resource": "arn:aws:ec2:eu-west-1:*:spot-instances-request/*",
                    "Condition": {
                        "StringEquals": {
                            "aws:RequestTag/kubernetes.io/cluster/blue": "owned",
                            "ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"],
                        },
                        "StringLike": {"aws:RequestTag/karpenter.sh/nodepool": "*"},
                    },
                }
            ],
        },
    )


def test_what_1_0_needs_on_running_instances(official):
    (statement,) = statements_to_add(report_of([official("v0.37.8")], "1.0"), SITE).statements
    assert statement.as_json() == {
        "Sid": "TagOwnInstances",
        "Effect": "Allow",
        "Action": "ec2:CreateTags",
        "Resource": "arn:aws:ec2:eu-west-1:*:instance/*",
        "Condition": {
            "StringEquals": {"aws:ResourceTag/kubernetes.io/cluster/blue": "owned"},
            "StringLike": {"aws:ResourceTag/karpenter.sh/nodepool": "*"},
            "StringEqualsIfExists": {"aws:RequestTag/eks:eks-cluster-name": "blue"},
            "ForAllValues:StringEquals": {"aws:TagKeys": ["karpenter.sh/nodeclaim", "Name", "eks:eks-cluster-name"]},
        },
    }


def test_the_closing_policy_of_0_32_covers_provisioners_when_wanted(official):
    report = report_of([official("v0.32.10")], "0.32")
    assert [one.sid for one in statements_to_add(report, SITE).statements] == [
        "LaunchTaggedProvisioner",
        "TagAtCreationProvisioner",
        "EndOwnCapacityProvisioner",
    ]
    assert statements_to_add(report, SITE, legacy=False).statements == ()


def test_the_zonal_shift_of_1_12_is_closed_on_all_resources(policy, allow):
    broken = policy(allow("arc-zonal-shift:GetManagedResource", "arn:aws:eks:*:*:cluster/blue"))
    report = report_of([broken], "1.12", assumed=ALL)
    resources = {one.sid: one.resources for one in statements_to_add(report, SITE).statements}
    assert resources["ReadZonalShift"] == ("*",)


def test_an_explicit_deny_is_not_closed_but_told(policy, allow, deny):
    report = report_of([policy(allow("*"), deny("iam:PassRole", "arn:aws:iam::111122223333:role/K*"))], "1.0")
    found = statements_to_add(report, SITE)
    assert found.statements == ()
    assert [(one.request.resource, one.answer.verdict) for one in found.not_closed] == [
        ("arn:aws:iam::111122223333:role/KarpenterNodeRole-blue", RequestVerdict.DENIED)
    ]


def test_a_deny_that_may_apply_is_not_closed_but_told(policy, allow, deny):
    old_metadata = {"StringNotEquals": {"ec2:MetadataHttpTokens": "required"}}
    refused = deny("ec2:RunInstances", "arn:aws:ec2:*:*:instance/*", old_metadata)
    found = statements_to_add(find_gaps([policy(allow("*"), refused)], release="1.0", site=SITE), SITE)
    assert found.statements == ()
    assert {(one.request.action, one.probe.kind, one.answer.verdict) for one in found.not_closed} == {
        ("ec2:RunInstances", "instance", RequestVerdict.UNKNOWN)
    }


def test_every_node_role_is_named():
    site = AwsSite(account="111122223333", node_roles=("a", "b"))
    (statement,) = [
        one for one in statements_to_add(report_of([], "1.0", site), site).statements if one.sid == "PassNodeRole"
    ]
    assert statement.resources == ("arn:aws:iam::111122223333:role/a", "arn:aws:iam::111122223333:role/b")


def test_own_parameters_are_named_beside_the_public_ones():
    site = replace(SITE, parameters=("/aws/service/a", "/aws/service/b", "/team/node"))
    (statement,) = [
        one for one in statements_to_add(find_gaps((), release="1.4", site=site), site).statements if "ssm" in str(one)
    ]
    assert statement.resources == (
        f"arn:aws:ssm:{SITE.region}::parameter/aws/service/*",
        f"arn:aws:ssm:{SITE.region}:{SITE.account}:parameter/team/node",
    )


def test_size_counts_no_white_space():
    assert size_of({"a": "b c\n", "d": [1, 2]}) == len('{"a":"bc\\n","d":[1,2]}')


def statement(sid, length):
    return PolicyStatement(where=sid, sid=sid, actions=("ec2:X",), resources=(sid + "r" * length,))


def test_statements_are_spread_over_as_few_documents_as_fit():
    parts = [statement("A", 3000), statement("B", 3500), statement("C", 2500), statement("D", 10)]
    documents = fitted(parts, limit=MANAGED_LIMIT)
    assert [[one["Sid"] for one in document["Statement"]] for document in documents] == [["A", "C", "D"], ["B"]]
    assert all(size_of(document) <= MANAGED_LIMIT for document in documents)


STATEMENTS = st.lists(st.tuples(st.sampled_from(["", "A", "B b", "é"]), st.integers(0, 90)), unique=True)


@given(STATEMENTS, st.integers(250, 500))
def test_each_statement_stands_in_the_first_document_with_room(given_out, limit):
    parts = [statement(sid, length) for sid, length in given_out]
    piles = []
    for part in parts:
        pile = next((pile for pile in piles if size_of(document_of([*pile, part])) <= limit), None)
        if pile is None:
            piles.append(pile := [])
        pile.append(part)
    assert fitted(parts, limit=limit) == tuple(map(document_of, piles))


def test_a_statement_that_fits_nowhere_is_told():
    with pytest.raises(InvalidPolicy, match="alone exceeds the 6,144 characters"):
        fitted([statement("A", 7000)], limit=MANAGED_LIMIT)


def test_doubles_are_dropped_and_taken_sids_left_out():
    same = [statement("A", 5), statement("A", 5)]
    assert fitted(same, limit=MANAGED_LIMIT) == (document_of(same[:1]),)
    document = document_of([statement("A", 5), statement("A", 6)])
    assert [one.get("Sid") for one in document["Statement"]] == ["A", None]


@pytest.mark.parametrize(("tag", "release"), [("v0.31.4", "0.32"), ("v0.37.8", "1.0"), ("v1.0.14", "1.14")])
def test_the_merged_documents_fit_and_carry_both_releases(official, tag, release):
    given = [official(tag)]
    added = statements_to_add(report_of(given, release), SITE)
    documents = merged(given, added.statements, site=SITE)
    assert all(size_of(document) <= MANAGED_LIMIT for document in documents)
    report = report_of(read_again(documents), release)
    assert report.ok
    assert report.legacy_gaps == ()
    own = tag[1:].rpartition(".")[0]
    assert report_of(read_again(documents), own).ok


def test_both_generations_of_0_32_for_a_long_name_need_two_managed_policies():
    site = AwsSite(cluster="b" * 100, region="ap-southeast-2")
    documents = statements_to_add(report_of([], "0.32", site), site).documents()
    assert len(documents) == 2
    assert all(size_of(document) <= MANAGED_LIMIT for document in documents)


def test_a_refused_right_can_be_given_by_one_more_document(policy, allow):
    narrow = [policy(allow("ec2:TerminateInstances", "*", {"StringEquals": {"ec2:ResourceTag/Name": "x"}}))]
    added = statements_to_add(report_of(narrow, "1.0"), SITE).statements
    assert report_of([*narrow, IamPolicy(name="added", statements=added)], "1.0").ok
