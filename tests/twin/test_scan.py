"""A scan of a sample cluster on a twin finds what the scan of its bundle finds."""

import msgspec
import pytest
from msgspec import structs

from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.clients.kubernetes.api import Resource
from migrations_app.collect.aws import add_aws
from migrations_app.collect.collect import collect
from migrations_app.errors import Expired, Forbidden
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import Report
from migrations_app.samples.fleet import MADE_AT, aws, files, find
from migrations_app.samples.story import Story
from migrations_app.twin.ports.reading import TwinReader
from tests.twin.moments import at, objects_of, twin_of_story

STORIES = ("alpha_030", "halfway_032", "beta_037", "v1_beta_stored", "v1_newest", "no_karpenter", "old_settings")


@pytest.fixture(params=STORIES)
def story(request) -> Story:
    return find(request.param)


def judged(api, story: Story) -> Report:
    return evaluate(add_aws(collect(api, cluster=story.name, now=MADE_AT), aws(story))).report


def test_the_findings_of_a_twin_are_those_of_the_bundle(story):
    # A bundle is listed as it was written down; a server lists by name.
    listed = {"apiVersion": "v1", "kind": "List", "items": objects_of(story)}
    bundle = open_bundle(dict(files(story)) | {"objects.json": msgspec.json.encode(listed)})
    twin = TwinReader(twin_of_story(story, at(MADE_AT)))
    assert without_measures(judged(twin, story)) == without_measures(judged(bundle, story))


def without_measures(report: Report) -> Report:
    """The report without how long each part took, how much discovery listed, and the namespaces a server adds."""
    counted = {"discovery": 0, "namespaces": 0}
    parts = [structs.replace(part, seconds=0.0, count=counted.get(part.name, part.count)) for part in report.parts]
    return structs.replace(report, parts=tuple(parts))


def test_a_kind_that_may_not_be_read_is_told_with_the_missing_rule():
    twin = twin_of_story(find("v1_newest"), at(MADE_AT))
    twin.grant("reader", [{"apiGroups": ["*"], "resources": ["nodes"], "verbs": ["list"]}])
    with pytest.raises(Forbidden, match=r"may not list pods; missing rule"):
        list(TwinReader(twin, "reader").pages(Resource("", "v1", "pods")))


def test_pages_come_at_one_version_and_hold_everything():
    story = find("v1_newest")
    twin = twin_of_story(story, at(MADE_AT))
    pages = list(TwinReader(twin).pages(Resource("", "v1", "pods", page_size=7)))
    names = [msgspec.json.decode(one)["metadata"]["name"] for page in pages for one in page.items]
    wanted = [one["metadata"]["name"] for one in objects_of(story) if one["kind"] == "Pod"]
    assert names == wanted
    assert len({page.resource_version for page in pages}) == 1


def test_a_list_that_expired_in_between_begins_again():
    twin = twin_of_story(find("v1_newest"), at(MADE_AT))
    pages = TwinReader(twin).pages(Resource("", "v1", "pods", page_size=7))
    next(pages)
    twin.expire_lists()
    with pytest.raises(Expired):
        next(pages)
