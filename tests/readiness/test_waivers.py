"""A waiver covers what certainly fails, for a while, and the verdicts follow."""

from dataclasses import replace as changed
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.checks.registry import all_checks
from migrations_app.readiness.verdict import judged_columns
from migrations_app.readiness.waivers import WaiverRule, apply, as_stored, can_block, covering, from_stored
from tests.builders.rows import a_finding, a_report

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ANSWERED = "iam_change_known"
STATUSES = ("pass", "fail", "unknown", "not_applicable", "manual", "waived")


def waived(check="stuck", **told):
    usual = {"owner": "Ada", "reason": "known", "ends_at": NOW + timedelta(days=10), "blockers": True}
    return WaiverRule(check=check, **(usual | told))


def report(*findings):
    return a_report(checks=findings or (a_finding("stuck"), a_finding("fine", status="pass")))


def test_a_waived_blocker_no_longer_blocks_and_still_counts():
    found = apply(report(), [waived()], now=NOW)
    told, line = found.checks[0], found.hops[0]
    assert (told.status, told.summary) == (
        "waived",
        "2 objects keep stuck from being true (accepted by Ada until 2026-12-01: known)",
    )
    assert (line.verdict, line.counts.waived, line.counts.fail, line.reasons) == ("ready_with_warnings", 1, 0, ())
    assert judged_columns(found) == {"verdict": "ready_with_warnings", "blockers": 0, "warnings": 0, "unknowns": 0}
    assert told.evidence == report().checks[0].evidence


def test_without_a_waiver_the_very_report_comes_back():
    one = report()
    assert apply(one, [], now=NOW) is one
    assert apply(one, [waived("other")], now=NOW) is one


def test_it_fails_again_the_moment_the_waiver_ends():
    one, held = report(), waived()
    assert apply(one, [held], now=held.ends_at - timedelta(microseconds=1)) != one
    assert apply(one, [held], now=held.ends_at) is one


@pytest.mark.parametrize("status", [status for status in STATUSES if status != "fail"])
def test_only_a_failure_is_waived(status):
    one = report(a_finding("stuck", status=status))
    assert apply(one, [waived()], now=NOW) is one


@pytest.mark.parametrize(("severity", "covered"), [("blocker", False), ("warning", True), ("info", True)])
def test_who_may_not_accept_blockers_covers_none(severity, covered):
    one = report(a_finding("stuck", severity=severity))
    assert (apply(one, [waived(blockers=False)], now=NOW) is not one) == covered


def test_an_unknown_blocker_beside_it_still_needs_facts():
    one = report(a_finding("stuck"), a_finding("unread", status="unknown"))
    assert apply(one, [waived(), waived("unread")], now=NOW).hops[0].verdict == "needs_facts"


def test_hops_that_nothing_was_waived_at_stay_as_they_are():
    one = report(a_finding("stuck"), a_finding("other", hop="0.33+"))
    found = apply(one, [waived()], now=NOW)
    assert (found.hops[1] is one.hops[1], found.hops[0] == one.hops[0]) == (True, False)


def test_the_clusters_own_waiver_speaks_before_that_of_all():
    own, longer, all_of = waived(owner="own"), waived(ends_at=NOW + timedelta(days=20)), waived(own=False)
    asked = {"check": "stuck", "status": "fail", "severity": "blocker", "hop": "0.32"}
    assert covering([all_of, own], **asked) is own
    assert covering([own, longer], **asked) is longer
    assert covering([], **asked) is None


def test_what_a_snapshot_keeps_reads_back():
    held = (waived("a"), waived("b", own=False))
    assert from_stored(as_stored(reversed(held))) == held
    assert from_stored(None) == ()


def test_a_check_that_blocks_at_one_hop_can_block():
    check = next(one for one in all_checks() if one.severity == "warning" and not one.severity_at)
    assert (can_block(check), can_block(changed(check, severity_at={"0.32": "blocker"}))) == (False, True)


def test_the_word_of_a_person_answers_the_manual_question_about_iam():
    before = report(a_finding(ANSWERED, status="manual", severity="blocker", hop="1.0"))
    (held,) = apply(before, [waived(ANSWERED, hop="1.0")], now=NOW).checks
    assert held.status == "waived"
    assert apply(before, [waived(ANSWERED, hop="1.0", blockers=False)], now=NOW) == before
    other = report(a_finding("a", status="manual", severity="blocker", hop="1.0"))
    assert apply(other, [waived("a", hop="1.0")], now=NOW) == other


@pytest.mark.parametrize("about", ["", "0.33+", "1.1+"])
def test_the_word_about_another_hop_or_about_none_answers_nothing(about):
    before = report(a_finding(ANSWERED, status="manual", severity="blocker", hop="1.0"))
    assert apply(before, [waived(ANSWERED, hop=about)], now=NOW) is before


@pytest.mark.parametrize(("about", "covered"), [("", ("1.0", "1.1+")), ("1.0", ("1.0",)), ("0.32", ())])
def test_a_failure_is_waived_at_the_hop_of_the_waiver_or_at_each(about, covered):
    before = report(a_finding("stuck", hop="1.0"), a_finding("stuck", hop="1.1+"))
    after = apply(before, [waived(hop=about)], now=NOW)
    assert tuple(one.hop for one in after.checks if one.status == "waived") == covered


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(STATUSES), st.sampled_from(["blocker", "warning", "info"])),
        min_size=1,
        max_size=8,
        unique_by=lambda one: one[0],
    ),
    st.lists(st.builds(waived, st.sampled_from("abc"), blockers=st.booleans(), own=st.booleans()), max_size=4),
)
def test_a_waiver_loses_nothing_and_touches_failures_alone(rows, held):
    before = report(*(a_finding(name, status=status, severity=severity) for name, status, severity in rows))
    after = apply(before, held, now=NOW)
    for old, new in zip(before.checks, after.checks, strict=True):
        assert new == old or (old.status, new.status) == ("fail", "waived")
        assert msgspec.structs.replace(new, status=old.status, summary=old.summary) == old
    old, new = before.hops[0].counts, after.hops[0].counts
    assert (old.fail + old.waived, old.unknown, old.manual) == (new.fail + new.waived, new.unknown, new.manual)


RENAMED = [(check.formerly[0], check.id) for check in all_checks() if check.formerly]


@pytest.mark.parametrize(("held", "found"), [*RENAMED, *(pair[::-1] for pair in RENAMED)])
def test_a_waiver_from_before_a_check_was_renamed_covers_it(held, found):
    """Whichever of the two the snapshot holds."""
    one = report(a_finding(found))
    assert [finding.status for finding in apply(one, [waived(held)], now=NOW).checks] == ["waived"]
    assert apply(report(a_finding("other")), [waived(held)], now=NOW).checks[0].status == "fail"


def test_a_check_was_renamed():
    assert ("unread_kinds_current", "policies_name_current_keys") in RENAMED
