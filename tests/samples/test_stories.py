"""Each story, from its bundle through the whole of a scan, against what an operator would say."""

import json
import os
import subprocess
import sys
from functools import cache
from typing import get_args

import pytest

from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.aws import add_aws
from migrations_app.collect.collect import collect
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import CollectResult, Report, Verdict
from migrations_app.samples.fleet import aws, files, find, stories, write
from migrations_app.samples.story import Story
from tests import upstream
from tests.builders.newest import NEWEST_MINOR
from tests.samples.expected import EXPECTED

pytestmark = pytest.mark.xdist_group("stories")  # judged once, in one worker

NAMES = [story.name for story in stories()]


def scanned(story: Story) -> CollectResult:
    return add_aws(collect(open_bundle(dict(files(story))), cluster=story.name), aws(story))


@cache
def report_on(name: str) -> Report:
    """The report on that story; nobody changes it."""
    story = find(name)
    assert story is not None
    return evaluate(scanned(story)).report


@pytest.fixture(params=stories(), ids=NAMES)
def story(request) -> Story:
    return request.param


@pytest.fixture
def report(story) -> Report:
    return report_on(story.name)


def test_stage_and_verdicts_are_those_of_an_operator(story, report):
    told = (report.cluster.stage, {line.hop: line.verdict for line in report.hops})
    wanted = dict(EXPECTED[story.name].verdicts)
    imaginary = NEWEST_MINOR not in {row.minor for row in upstream.releases().releases}
    if imaginary and wanted.get(NEWEST_MINOR) == "later" and lacks_rights(report, NEWEST_MINOR):
        wanted[NEWEST_MINOR] = "blocked"  # tests.tools.next_minor asks for a right that the roles of the samples lack
    assert told == (EXPECTED[story.name].stage, wanted)


def lacks_rights(report, hop):
    """Whether AWS refuses something that the release of the hop needs."""
    asked = (one for one in report.checks if (one.hop, one.id) == (hop, "controller_permitted"))
    return any(one.open_blocker and one.status == "fail" for one in asked)


def test_hops_are_in_the_order_of_the_road(story, report):
    assert [line.hop for line in report.hops] == list(EXPECTED[story.name].verdicts)


def test_the_open_blockers_of_the_next_hop(story, report):
    following = report.target.path[0].name if report.target.path else ""
    found = {finding.id for finding in report.checks if finding.hop == following and finding.open_blocker}
    assert found == set(EXPECTED[story.name].blockers)


def test_no_check_crashes_on_a_story(report):
    assert [finding.summary for finding in report.checks if finding.summary.startswith("check failed")] == []


def test_only_refused_parts_are_unseen(story, report):
    assert report.complete is not bool(story.refused)
    assert all(line.quarantined == 0 for line in report.parts)


def test_every_failure_offers_a_remedy(report):
    exempt = {"alpha_crds_gone", "way_back_open"}
    bare = {f.id for f in report.checks if f.status == "fail" and not f.remedies}
    assert bare <= exempt


def test_every_node_has_an_owner(report):
    assert report.nodes.by_owner["unknown"] == 0
    assert report.nodes.total == sum(report.nodes.by_owner.values())


def test_the_fleet_covers_every_stage_and_verdict():
    assert sorted(EXPECTED) == sorted(NAMES)
    expected = list(EXPECTED.values())
    assert len(expected) >= 8
    assert {one.stage for one in expected} >= {"no_karpenter", "alpha", "mixed", "beta_v1", "v1", "unknown"}
    verdicts = {verdict for one in expected for verdict in one.verdicts.values()}
    assert verdicts == set(get_args(Verdict))


def test_names_are_file_names_and_titles_are_unlike():
    assert [story.name for story in stories()] == sorted(NAMES)
    assert len({story.title for story in stories()}) == len(NAMES)
    assert find("alpha_030") is stories()[0]
    assert find("nobody") is None


DIGEST = """
import hashlib
from migrations_app.samples.fleet import files, stories
print(hashlib.sha256(b"".join(body for story in stories() for body in files(story).values())).hexdigest())
"""


def test_the_bundles_are_the_same_in_every_process():
    told = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


def test_objects_have_names_of_their_own(story):
    keys = [(doc["kind"], doc["metadata"].get("namespace", ""), doc["metadata"]["name"]) for doc in story.docs]
    assert len(keys) == len(set(keys))


def test_write_puts_the_files_into_a_folder(tmp_path, story):
    write(story, tmp_path / "a" / story.name)
    folder = tmp_path / "a" / story.name
    written = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert written == dict(files(story))
    assert json.loads((tmp_path / "a" / story.name / "manifest.json").read_text())["whole"] is True


def test_what_is_refused_is_not_in_the_bundle():
    held = json.loads(files(find("forbidden"))["objects.json"])["items"]
    assert "CustomResourceDefinition" not in {doc["kind"] for doc in held}


@pytest.mark.parametrize(
    ("name", "told_by", "alpha", "current"),
    [
        ("alpha_030", "image tag", 10, 0),
        ("halfway_032", "image tag", 4, 5),
        ("beta_037", "image tag", 0, 11),
        ("forbidden", "image tag", 0, 3),
    ],
)
def test_how_the_release_was_told_and_whose_the_nodes_are(name, told_by, alpha, current):
    found = evaluate(scanned(find(name))).report
    by_owner = found.nodes.by_owner
    assert found.cluster.karpenter_told_by == told_by
    assert (by_owner["karpenter_alpha"], by_owner["karpenter_beta"] + by_owner["karpenter_v1"]) == (alpha, current)


@pytest.mark.parametrize("text", ["", "latest", "v1"])
def test_a_server_version_that_says_nothing_leaves_that_question_open(text):
    held = dict(files(find("beta_037"))) | {"version.json": json.dumps({"gitVersion": text}).encode()}
    found = evaluate(collect(open_bundle(held), cluster="odd")).report
    window = next(f for f in found.checks if (f.id, f.hop) == ("kubernetes_inside_window", "1.0"))
    assert (window.status, found.hops[1].verdict) == ("unknown", "needs_facts")
