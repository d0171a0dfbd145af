import subprocess

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from migrations_app.checks.base import Finding, Reason, Remedy
from migrations_app.checks.remedies.aws import AWS_NOT_ASKED, NOT_LOOKED_AT
from migrations_app.readiness.next_step import OpenQuestion, cause_of, group_findings, remedies_to_read
from migrations_app.readiness.rbac.roles import PART_KINDS
from tests.readiness.outputs.reports import finding, findings

REFUSED = Reason("part_unread", "crds", "forbidden")


def unknown(name: str, reason: Reason | UnsetType, **more: str) -> Finding:
    return finding(name, "unknown", reason=reason, **more)


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        (AWS_NOT_ASKED, OpenQuestion(NOT_LOOKED_AT, "aws", "not_asked")),
        (REFUSED, OpenQuestion("crds could not be read: forbidden", "crds", "forbidden")),
        (
            Reason("part_unread", "aws.queue", "throttled"),
            OpenQuestion("aws.queue could not be read: throttled", "aws.queue", "throttled"),
        ),
        (Reason("part_unread", "version", "not_asked"), OpenQuestion("Summary of a")),
        (UNSET, OpenQuestion("Summary of a")),
    ],
)
def test_the_cause_is_told_from_the_reason_of_a_finding(reason: Reason | UnsetType, cause: OpenQuestion) -> None:
    assert cause_of(unknown("a", reason)) == cause


def test_without_a_summary_the_title_is_the_cause() -> None:
    assert cause_of(unknown("a", UNSET, summary="")) == OpenQuestion("Title of a")


@pytest.mark.parametrize("summary", ["crds could not be read: forbidden (may not list)", NOT_LOOKED_AT])
def test_no_sentence_is_a_reason(summary: str) -> None:
    assert cause_of(unknown("a", UNSET, summary=summary)) == OpenQuestion(summary)


def test_a_failure_that_speaks_of_what_was_not_read_is_its_own_cause() -> None:
    assert cause_of(finding("a", "fail", reason=REFUSED)) == OpenQuestion("Summary of a")


def test_one_refused_list_is_one_group_with_its_strictest_first() -> None:
    asked = (
        finding("fails", "fail"),
        unknown("late", REFUSED, severity="info"),
        unknown("first", REFUSED, severity="warning"),
        unknown("strict", REFUSED),
        unknown("odd", UNSET),
    )
    found = group_findings(asked, cluster="prod")
    assert [[one.id for one in group.findings] for group in found] == [["fails"], ["strict", "first", "late"], ["odd"]]
    assert [(group.alone, group.status, group.severity) for group in found] == [
        (True, "fail", "blocker"), (False, "unknown", "blocker"), (True, "unknown", "blocker"),
    ]  # fmt: skip
    assert [group.summary for group in found][1:] == [
        "crds could not be read: forbidden", "Summary of odd",
    ]  # fmt: skip


def test_failures_alike_stay_apart_and_items_by_hand_alike_do_not() -> None:
    asked = [finding(name, status, summary="the same") for status in ("fail", "manual") for name in ("a", "b")]
    named = (msgspec.structs.replace(one, id=f"{one.id}-{one.status}") for one in asked)
    apart = group_findings(named, cluster="prod")
    assert [[one.id for one in group.findings] for group in apart] == [["a-fail"], ["b-fail"], ["a-manual", "b-manual"]]


def test_a_failure_keeps_its_own_remedies_and_the_unknown_gets_one_for_its_cause() -> None:
    own = Remedy(how="helm", text="helm upgrade")
    failing, refused, aws, slow = group_findings(
        (
            finding("a", "fail", remedies=(own,)),
            unknown("b", REFUSED),
            unknown("c", AWS_NOT_ASKED),
            unknown("d", Reason("part_unread", "pods", "timed_out")),
        ),
        cluster="prod",
    )
    assert failing.remedies == (own,)
    assert [(one.how, "customresourcedefinitions" in one.text) for one in refused.remedies] == [("kubectl", True)]
    assert [(one.how, "karpdash cluster aws prod --eks" in one.text) for one in aws.remedies] == [("iam", True)]
    assert slow.remedies == ()


@pytest.mark.parametrize("part", sorted(PART_KINDS))
@pytest.mark.parametrize("why", ["forbidden", "not_asked"])
def test_how_to_see_a_part_parses_and_names_its_kinds(part: str, why: str) -> None:
    (remedy,) = remedies_to_read(OpenQuestion("", part, why), cluster="prod")
    assert all(kind.plural in remedy.text for kind in PART_KINDS[part])
    subprocess.run(["bash", "-n"], input=remedy.text.encode(), check=True)


def test_no_name_of_a_cluster_becomes_a_command() -> None:
    (remedy,) = remedies_to_read(OpenQuestion("", "aws", "not_asked"), cluster="x; rm -rf /")
    assert "rm -rf" not in remedy.text
    assert "karpdash cluster aws CLUSTER --eks" in remedy.text


@given(st.lists(findings(), max_size=8))
def test_every_finding_is_in_one_group(asked: list[Finding]) -> None:
    held = [one for group in group_findings(asked, cluster="prod") for one in group.findings]
    assert sorted(map(repr, held)) == sorted(map(repr, asked))
