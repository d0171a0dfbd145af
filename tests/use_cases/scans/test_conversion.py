"""What a cluster holds, converted with what its scan tells; every story of the sample fleet goes through it."""

import dataclasses

import msgspec
import pytest
from django.conf import settings as django_settings

from migrations_app.conversion.objects import KnownNames, Options
from migrations_app.inventory.facts.ownership import OwnedNode
from migrations_app.models.cluster import Cluster
from migrations_app.readiness.iam_sheet.values import IamProfile
from migrations_app.readiness.report import PartLine
from migrations_app.samples import fleet
from migrations_app.use_cases.scans import queue
from migrations_app.use_cases.scans.conversion import conversion_facts, convert_cluster, next_target, unread_parts
from migrations_app.use_cases.scans.worker import scan_claimed
from tests.builders.rows import a_report

STORIES = [story.name for story in fleet.stories()]


@pytest.fixture(autouse=True)
def _sealing(settings):
    settings.ENV = dataclasses.replace(django_settings.ENV, encryption_keys=(("k1", b"0" * 32),))


def a_scanned(story):
    row = Cluster.objects.create(name=story, source=Cluster.Source.SAMPLE, context=story)
    scan_claimed(queue.claim(queue.request_scan(row.pk).scan_id))
    return row


def converted(story, **options):
    return convert_cluster(a_scanned(story).pk, Options(live=True, **options), known_names=KnownNames())


@pytest.mark.django_db
@pytest.mark.parametrize("story", STORIES)
def test_no_sample_cluster_holds_what_cannot_be_converted(story):
    found = converted(story, to="v1")
    assert found is not None
    assert [loss for loss in found.losses if loss.severity == "error"] == []


@pytest.mark.django_db
def test_a_half_way_cluster_has_both_generations():
    found = converted("halfway_032", to="v1beta1")
    assert [(item.generation, item.kind, item.name, len(item.objects)) for item in found.items] == [
        ("alpha", "Provisioner", "general", 1),
        ("alpha", "AWSNodeTemplate", "general", 1),
        ("beta", "NodePool", "encoders", 1),
        ("beta", "NodePool", "general-beta", 1),
        ("beta", "EC2NodeClass", "general", 1),
    ]


@pytest.mark.django_db
def test_a_cluster_on_v1_has_nothing_left_to_do():
    found = converted("v1_newest", to="v1")
    assert found.items
    assert [item.objects for item in found.items] == [[item.source] for item in found.items]


@pytest.mark.django_db
def test_a_cluster_without_kept_objects_is_not_an_empty_one():
    row = Cluster.objects.create(name="new", source=Cluster.Source.SAMPLE)
    assert convert_cluster(row.pk, Options(), known_names=KnownNames()) is None
    assert converted("no_karpenter").items == ()


def test_a_scan_tells_nodes_by_pool():
    nodes = [OwnedNode(name=f"n{i}", owner="karpenter_beta", pool=pool) for i, pool in enumerate(("a", "a", "b", ""))]
    known = conversion_facts(report_with(provisioners=True, nodepools=True), nodes)
    assert known == KnownNames(nodes_of_pool={"a": 2, "b": 1}, all_pools_given=True)


@pytest.mark.parametrize("parts", [{}, {"provisioners": True}, {"provisioners": True, "nodepools": False}])
def test_pools_that_were_not_read_may_be_there(parts):
    assert not conversion_facts(report_with(**parts), []).all_pools_given


def test_a_pool_that_was_set_aside_may_matter():
    report = report_with(provisioners=True)
    odd = PartLine(name="nodepools", seen=True, count=3, quarantined=1)
    report = msgspec.structs.replace(report, parts=(*report.parts, odd))
    assert not conversion_facts(report, []).all_pools_given
    assert unread_parts(report) == (odd,)


def test_only_parts_that_are_converted_are_missed():
    report = report_with(pods=False, nodepools=True, ec2nodeclasses=False)
    assert [part.name for part in unread_parts(report)] == ["ec2nodeclasses"]


@pytest.mark.parametrize(
    ("stage", "target"),
    [("alpha", "v1beta1"), ("mixed", "v1beta1"), ("beta", "v1"), ("beta_v1", "v1"), ("v1", "v1"), ("unknown", "v1")],
)
def test_the_next_target(stage, target):
    assert next_target(stage) == target


def report_with(**seen):
    parts = tuple(
        PartLine(name=name, seen=approval_request, why="" if approval_request else "forbidden")
        for name, approval_request in seen.items()
    )
    return msgspec.structs.replace(a_report(), parts=parts)


def test_a_scan_that_saw_the_profile_in_aws_names_its_role():
    profiles = (IamProfile(name="old", role="KarpenterNodeRole-shop", default=True),)
    found = conversion_facts(a_report(), (), profiles=profiles)
    assert (found.role_of_profile, found.default_profile) == ({"old": "KarpenterNodeRole-shop"}, "old")
