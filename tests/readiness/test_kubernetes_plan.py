"""A stored report with a planned Kubernetes is the one that a scan with that plan gives."""

import msgspec
import pytest

from migrations_app.checks.runner import EVIDENCE_KEPT
from migrations_app.errors import InvalidInput
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.kubernetes_plan import planned_minor, with_planned
from migrations_app.readiness.report import CollectResult, Report
from migrations_app.readiness.stored_report import read_report
from migrations_app.readiness.verdict import exit_code
from tests.builders.clusters import a_cluster, an_empty_cluster
from tests.builders.newest import NEWEST, NEWEST_MINOR
from tests.builders.pools import a_class, at

RUNNING = [("0.30.0", "1.26"), ("0.37.8", "1.30"), ("1.0.14", "1.30"), (NEWEST, "1.33"), ("0.31.4", "1.31")]


@pytest.mark.parametrize("planned", ["1.23", "1.29", "1.33", "v1.34.1", "1.99"])
@pytest.mark.parametrize(("version", "kubernetes"), RUNNING)
def test_it_is_the_report_of_a_scan_with_that_plan(version, kubernetes, planned):
    running = a_cluster(version, kubernetes=kubernetes)
    collected = CollectResult(running.build(), ())
    stored = evaluate(collected).report
    assert with_planned(stored, planned) == evaluate(collected, kubernetes=planned).report


def test_nothing_planned_changes_nothing():
    stored = evaluate(CollectResult(a_cluster("1.0.14").build(), ())).report
    assert with_planned(stored, "") is stored


def test_without_karpenter_there_is_nothing_to_plan_for():
    stored = evaluate(CollectResult(an_empty_cluster().build(), ())).report
    assert with_planned(stored, "1.33") == stored


def test_the_last_hop_is_blocked_and_the_one_before_it_is_not():
    stored = evaluate(CollectResult(a_cluster("1.0.14", kubernetes="1.30").build(), ())).report
    before = {line.hop: line for line in stored.hops}
    after = {line.hop: line for line in with_planned(stored, "1.99").hops}
    assert after["1.1+"] == before["1.1+"]
    assert after[NEWEST_MINOR].verdict == "blocked"


@pytest.mark.parametrize("text", ["", "33", "latest", "1", "x" * 50, "1.33; drop"])
def test_what_is_no_version_is_refused(text):
    with pytest.raises(InvalidInput) as caught:
        planned_minor(text)
    assert caught.value.code == "bad_kubernetes"


@pytest.mark.parametrize(("text", "minor"), [("1.33", "1.33"), ("v1.33.2", "1.33"), ("1.33.1-eks-abc", "1.33")])
def test_a_version_names_its_minor(text, minor):
    assert planned_minor(text) == minor


AL2 = {"spec.amiSelectorTerms": [{"alias": "al2@latest"}]}
FAMILIES = "image_families_outlive_hop"


def stored_of(version: str, *documents, kubernetes: str, target: str | None = None) -> Report:
    """The report of a scan without a plan, as it is read from the database."""
    inventory = at(version, *documents, kubernetes=kubernetes).build()
    report = evaluate(CollectResult(inventory, ()), target=target).report
    return read_report(msgspec.json.encode(report))


def answered(report: Report, check: str, hop: str) -> tuple[str, str, int]:
    finding = next(finding for finding in report.checks if (finding.id, finding.hop) == (check, hop))
    return finding.status, finding.summary, finding.evidence_total


@pytest.mark.parametrize(
    ("planned", "expected"),
    [
        ("1.32", ("pass", "Every image family is published for this Kubernetes", 0)),
        ("1.33", ("fail", "From Kubernetes 1.33 on: 1 node class uses a discontinued image family", 1)),
        ("1.35", ("fail", "From Kubernetes 1.33 on: 1 node class uses a discontinued image family", 1)),
    ],
)
@pytest.mark.parametrize("version", ["1.3.8", NEWEST])
def test_a_planned_kubernetes_ends_an_image_family(version, planned, expected):
    report = with_planned(stored_of(version, a_class(AL2), kubernetes="1.32"), planned)
    assert answered(report, FAMILIES, NEWEST_MINOR) == expected
    (finding,) = (one for one in report.checks if (one.id, one.hop) == (FAMILIES, NEWEST_MINOR))
    assert [row.path for row in finding.evidence] == ["spec.amiSelectorTerms[0].alias"] * expected[2]
    assert bool(finding.remedies) is (expected[2] == 1)


def test_the_ended_image_family_blocks_the_hop_and_the_pipeline():
    stored = stored_of("1.3.8", a_class(AL2), kubernetes="1.32")
    line = next(line for line in with_planned(stored, "1.33").hops if line.hop == NEWEST_MINOR)
    assert (line.verdict, line.counts.fail) == ("blocked", next(iter(stored.hops[-1:])).counts.fail + 1)
    assert exit_code(with_planned(stored, "1.33")) == 1


@pytest.mark.parametrize(("planned", "status"), [("1.28", "pass"), ("1.29", "fail")])
def test_a_planned_kubernetes_ends_the_discovery_of_ubuntu(planned, status):
    ubuntu = a_class({"spec.amiFamily": "Ubuntu"}, version="v1beta1")
    stored = stored_of("0.32.10", ubuntu, kubernetes="1.27", target="0.37.8")
    assert answered(with_planned(stored, planned), "ubuntu_images_named", "0.33+")[0] == status


def test_an_older_stored_report_does_not_know_the_planned_kubernetes():
    stored = stored_of("1.3.8", a_class(AL2), kubernetes="1.32")
    plain = msgspec.to_builtins(stored)
    for finding in plain["checks"]:
        finding.pop("at_kubernetes", None)
    older = msgspec.convert(plain, Report)
    said = "From Kubernetes 1.33 on: not known for this scan, which was stored without it; scan again"
    assert answered(with_planned(older, "1.33"), FAMILIES, NEWEST_MINOR) == ("unknown", said, 0)
    assert answered(with_planned(older, "1.32"), FAMILIES, NEWEST_MINOR)[0] == "pass"


def test_what_fails_today_is_not_counted_again_for_the_planned_kubernetes():
    named, found = a_class({"spec.amiFamily": "Ubuntu"}, version="v1beta1"), a_class(version="v1beta1", name="other")
    stored = stored_of("0.32.10", named, found, kubernetes="1.29", target="0.37.8")
    before = answered(stored, "ubuntu_images_named", "0.33+")
    assert before[0] == "fail"
    assert answered(with_planned(stored, "1.30"), "ubuntu_images_named", "0.33+") == before


def test_the_evidence_of_a_planned_kubernetes_is_limited_with_all_other_evidence():
    classes = [a_class(AL2, name=f"class-{number}") for number in range(EVIDENCE_KEPT + 50)]
    report = with_planned(stored_of("1.3.8", *classes, kubernetes="1.32"), "1.33")
    (finding,) = (one for one in report.checks if (one.id, one.hop) == (FAMILIES, NEWEST_MINOR))
    assert finding.evidence_total == EVIDENCE_KEPT + 50
    assert len(finding.evidence) <= EVIDENCE_KEPT
