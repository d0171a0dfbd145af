"""What AWS shows beside what the cluster showed: the parts it adds, and what becomes of documents handed in."""

import json

import pytest

from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.aws import add_aws, refuse_aws, with_policies
from migrations_app.collect.collect import collect
from migrations_app.errors import Forbidden
from migrations_app.inventory.inventory import AWS_PARTS, PART_NAMES
from migrations_app.inventory.objects.aws import AWS_PART_NAMES, NO_AWS
from migrations_app.inventory.parts import Seen, Unseen
from migrations_app.samples.fleet import files, find
from tests.fakes.aws_api import FakeAws, a_document, a_role, role_arn

ALLOW = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ec2:RunInstances", "Resource": "*"}]}
TEXT = json.dumps(ALLOW).encode()


@pytest.fixture
def collected():
    story = find("beta_037")
    return collect(open_bundle(dict(files(story))), cluster=story.name)


def lines(found):
    return {line.name: line for line in found.parts if line.name.startswith("aws.")}


def test_without_access_nothing_is_said_of_aws(collected):
    assert add_aws(collected, None) is collected
    assert with_policies(collected, {}) is collected
    assert {line.name for line in collected.parts} == set(PART_NAMES)
    assert collected.inventory.aws is NO_AWS
    assert not collected.inventory.aws.asked


def test_what_aws_shows_is_listed_part_by_part(collected):
    found = add_aws(collected, FakeAws())
    assert tuple(lines(found)) == AWS_PARTS
    assert found.parts[: len(PART_NAMES)] == collected.parts
    assert found.inventory.aws.asked


def test_a_call_that_fails_is_a_part_unseen_and_the_scan_is_partial(collected):
    refused = FakeAws(fails={"queue": Forbidden("sqs:GetQueueUrl is refused")})
    line = lines(add_aws(collected, refused))["aws.queue"]
    assert (line.seen, line.why, line.detail) == (False, "forbidden", "sqs:GetQueueUrl is refused")
    assert not add_aws(collected, refused).complete


def test_what_is_unseen_within_a_part_is_counted_and_named(collected):
    arn = "arn:aws:iam::111122223333:role/KarpenterController"
    aws = FakeAws(
        roles={"KarpenterController": a_role("KarpenterController")},
        attached={"KarpenterController": ["main"]},
        fails={"attached_policies": Forbidden("iam:ListAttachedRolePolicies is refused")},
    )
    assert role_arn("KarpenterController") == arn
    line = lines(add_aws(collected, aws))["aws.controller_roles"]
    assert (line.seen, line.count, line.quarantined, line.detail) == (True, 1, 1, "policies: forbidden")


def test_an_account_that_lets_nobody_in_leaves_every_part_unseen(collected):
    found = refuse_aws(collected, Unseen("no_identity", "karpdash has no identity"))
    assert {line.why for line in lines(found).values()} == {"no_identity"}
    assert len(lines(found)) == len(AWS_PART_NAMES)


def test_documents_handed_in_are_the_controllers(collected):
    found = with_policies(collected, {"b.json": TEXT, "a.json": TEXT})
    (role,) = found.inventory.aws.controller_roles.items
    assert (role.found_by, [document.name for document in role.policies.items]) == ("given", ["a.json", "b.json"])
    assert role.policies.items[0].size == len(json.dumps(ALLOW, separators=(",", ":")))
    assert list(lines(found)) == ["aws.controller_roles"]
    assert found.complete is collected.complete


def test_documents_handed_in_take_the_place_of_what_aws_shows(collected):
    aws = FakeAws(documents={"main": a_document("main")})
    found = with_policies(add_aws(collected, aws), {"a.json": TEXT})
    assert isinstance(found.inventory.aws.queue, Seen)
    assert [role.found_by for role in found.inventory.aws.controller_roles.items] == ["given"]
    assert [line.name for line in found.parts].count("aws.controller_roles") == 1


@pytest.mark.parametrize("text", [b"", b"not json", b"[1]", b'{"Statement": 3}', b"\xff\xfe", b"[" * 100_000])
def test_a_document_that_is_none_makes_the_part_unseen_and_says_which(collected, text):
    found = with_policies(collected, {"good.json": TEXT, "bad.json": text})
    part = found.inventory.aws.controller_roles
    assert isinstance(part, Unseen)
    assert "bad.json" in part.detail
    assert not found.complete
