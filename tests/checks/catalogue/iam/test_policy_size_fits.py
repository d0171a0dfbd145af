import json

import pytest
from msgspec import UNSET

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import PersonTask, leaves
from migrations_app.iam.policy import parse_policy
from migrations_app.iam.requirements.remedies import MANAGED_LIMIT, document_of, size_of
from tests.builders.clusters import asked_hops, reads, remedies, result_of, result_without
from tests.builders.iam import a_role, document, managed, permitted, policy_for

ADDED = "karpenter-test-eu-central-1-1-0-14-needs-1"
CHECK = "policy_size_fits"
GOOD = ("pass", "The new permissions fit into the controller's IAM policies", ())

UNTAGGED = policy_for("0.37", without=("iam:TagInstanceProfile",))
"""Both checks have something to add to it."""


def padded(text: str, size: int, *, name="KarpenterControllerPolicy-test", kind="customer_managed"):
    """The document with a statement about nothing that fills it up to that size."""
    body = json.loads(text)
    body["Statement"].append({"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::"})
    body["Statement"][-1]["Resource"] += "x" * (size - size_of(body))
    found = managed(json.dumps(body), name=name, kind=kind)
    assert found.size == size
    return found


def with_policies(*policies, version="0.37.8"):
    return permitted(version, a_role(*policies))


def test_with_room_it_passes():
    assert result_of(CHECK, "1.0", with_policies(policy_for("0.37"))) == GOOD


def test_where_nothing_has_to_be_added_a_full_policy_is_right():
    assert result_of(CHECK, "1.0", with_policies(padded(policy_for("1.0"), MANAGED_LIMIT))) == GOOD


def test_a_full_policy_has_no_room():
    row = Evidence(
        kind="IAM role",
        name="KarpenterController",
        path="policy KarpenterControllerPolicy-test",
        seen="7,085 characters with what 1.0.14 needs",
        wanted="at most 6,144 characters",
    )
    found = result_of(CHECK, "1.0", with_policies(padded(UNTAGGED, MANAGED_LIMIT - 10)))
    assert found == ("fail", "1 role has no space for the new permissions", (row,))


def test_room_in_another_policy_is_room():
    full, roomy = padded(policy_for("0.37"), MANAGED_LIMIT), managed(document(), name="small")
    assert result_of(CHECK, "1.0", with_policies(full, roomy)) == GOOD


def test_a_policy_of_aws_cannot_be_edited():
    full = padded(policy_for("0.37"), MANAGED_LIMIT)
    amazons = managed(document(), name="AmazonSomething", kind="aws_managed")
    (row,) = result_of(CHECK, "1.0", with_policies(full, amazons))[2]
    assert row.path == "policy KarpenterControllerPolicy-test"


def test_inline_policies_share_their_limit():
    first = padded(policy_for("0.37"), 6000, name="first", kind="inline")
    second = padded(document(), 4000, name="second", kind="inline")
    assert result_of(CHECK, "1.0", with_policies(first)) == GOOD
    (row,) = result_of(CHECK, "1.0", with_policies(first, second))[2]
    assert row.wanted == "at most 10,240 characters"


def test_it_is_said_when_no_further_policy_can_be_attached():
    full = [padded(policy_for("0.37"), MANAGED_LIMIT, name=f"n{n}") for n in range(10)]
    (row,) = result_of(CHECK, "1.0", with_policies(*full))[2]
    assert row.wanted == "at most 6,144 characters; 10 policies are attached"


def crowded(*, inline: int):
    """A role that takes no more managed policies, with one of that many characters inside it."""
    full = [padded(UNTAGGED, MANAGED_LIMIT, name=f"n{n}") for n in range(10)]
    return with_policies(*full, padded(document(), inline, name="own", kind="inline"))


def test_where_no_managed_policy_fits_it_goes_into_the_role():
    cluster = crowded(inline=4000)
    assert result_of(CHECK, "1.0", cluster) == GOOD
    change = remedies("controller_permitted", "1.0", cluster)[0].change
    assert [(one.policy, one.inline) for one in leaves(change)] == [(ADDED, True)]


def test_a_role_that_takes_no_more_at_all_is_told_with_what_to_do():
    cluster = crowded(inline=10_000)
    first, *_, last = result_of(CHECK, "1.0", cluster)[2]
    assert first.path == "policy own"
    seen = (
        "10 managed policies are attached, of 10 that a role takes, and 10,000 of the 10,240 characters that all its "
    )
    assert (last.path, last.seen) == ("policies of the role", f"{seen}inline policies may have are used")
    assert last.wanted.startswith("room for 2 more of ")
    (task,) = leaves(remedies("controller_permitted", "1.0", cluster)[0].change)
    assert isinstance(task, PersonTask)
    assert task.what == (
        f"make room on KarpenterController for {ADDED}: put policies of it together in fewer "
        "documents and take off those that are not needed, or have AWS raise the quota of managed policies a role: "
        "aws service-quotas request-service-quota-increase --service-code iam --quota-code L-0DA4ABF3 "
        "--region us-east-1 --desired-value 11"
    )


def test_without_a_policy_there_is_nothing_to_outgrow():
    assert result_of(CHECK, "1.0", with_policies()) == GOOD


def test_it_is_asked_at_every_hop():
    assert asked_hops(CHECK) == ("*",)


def test_a_role_not_read_whole_is_unknown():
    status, summary, _ = result_of(CHECK, "1.0", with_policies(managed("[]", name="odd")))
    assert (status, summary) == (
        "unknown",
        (
            "the controller's permissions could not be read: bad_policy "
            "(odd: not a policy: the document is no JSON object)"
        ),
    )


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", with_policies(), part=part) == (
        "unknown",
        f"{part} could not be read: forbidden",
    )


def test_the_remedy_splits_what_there_is():
    cluster = with_policies(padded(UNTAGGED, MANAGED_LIMIT))
    steps, *more = remedies(CHECK, "1.0", cluster)
    assert steps.text.startswith("# A managed policy holds 6,144 characters, all inline policies of a role 10,240.\n")
    changes = [one.change for one in more if one.change is not UNSET]
    others = ("controller_permitted", "role_profiles_permitted")
    assert changes == [remedies(check, "1.0", cluster)[0].change for check in others]
    bodies = [json.loads(one.text) for one in more if one.text.startswith("{")]
    sizes = [size_of(document_of(parse_policy(json.dumps(body)).statements)) for body in bodies]
    assert len(sizes) == 2
    assert max(sizes) <= MANAGED_LIMIT
    assert "enable_inline_policy = true" in more[-1].text
