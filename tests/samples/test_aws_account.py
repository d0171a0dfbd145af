"""The AWS account of a story answers like the port of AWS, and its cluster finds there what its objects name."""

import pytest

from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.aws import add_aws
from migrations_app.collect.collect import collect
from migrations_app.inventory.aws_facts.permissions import Permissions, permissions
from migrations_app.inventory.objects.aws import AWS_PART_NAMES
from migrations_app.inventory.parts import Seen
from migrations_app.samples.fleet import aws, files, find, stories

WITH_ACCOUNT = [story.name for story in stories() if story.aws]


@pytest.fixture(params=WITH_ACCOUNT)
def seen(request):
    story = find(request.param)
    return add_aws(collect(open_bundle(dict(files(story))), cluster=story.name), aws(story)).inventory


def test_every_part_is_seen_and_nothing_is_set_aside(seen):
    parts = {name: seen.aws.part(name) for name in AWS_PART_NAMES}
    assert {name for name, part in parts.items() if not isinstance(part, Seen) or part.quarantined} == set()


def test_the_controller_works_as_one_role_that_may_do_what_it_does_today(seen):
    found = permissions(seen)
    assert isinstance(found, Permissions)
    (role,) = found.roles
    running = next(iter(seen.controller.items)).metadata.labels["app.kubernetes.io/version"]
    report = found.report(role, running)
    assert [(gap.action, gap.verdict) for gap in report.gaps if gap.required == "always"] == []


def test_the_simulation_agrees_with_the_evaluator_that_it_is(seen):
    assert seen.aws.simulation.items != ()
    assert seen.aws.disagreements == ()


def test_instances_are_as_many_as_machines_and_claims(seen):
    claims = len(seen.machines.items) + len(seen.nodeclaims.items)
    if isinstance(seen.nodeclaims, Seen):
        assert sum(group.count for group in seen.aws.instances.items) == claims
    assert seen.aws.instances.items != ()


def test_some_stories_give_no_access_to_their_account():
    assert aws(find("forbidden")) is None
    assert len(WITH_ACCOUNT) >= 6
