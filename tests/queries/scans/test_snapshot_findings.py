"""Since when a finding has its answer: found in the earlier snapshots of the same cluster, as far back as is looked."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from migrations_app.queries.scans.snapshot_findings import AnswerAge, ages_of

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
KEY = ("legacy_machines_gone", "0.33+")


def scans(*answers):
    """Scans an hour apart, the newest first; None: the check was not asked."""
    return [(NOW - timedelta(hours=back), {} if one is None else {KEY: one}) for back, one in enumerate(answers)]


def age(*answers):
    return ages_of(scans(*answers))[KEY]


def test_one_scan_knows_no_more_than_itself():
    assert age("fail") == AnswerAge(NOW, exact=False)


def test_the_answer_before_bounds_it():
    assert age("fail", "fail", "pass", "fail") == AnswerAge(NOW - timedelta(hours=1), exact=True)


def test_a_scan_that_did_not_ask_bounds_it_too():
    assert age("fail", None, "fail") == AnswerAge(NOW, exact=True)


def test_always_the_same_is_at_least_as_old_as_the_oldest():
    assert age("unknown", "unknown", "unknown") == AnswerAge(NOW - timedelta(hours=2), exact=False)


@given(st.lists(st.sampled_from(["fail", "pass", "unknown", None]), max_size=12))
def test_from_since_on_every_scan_says_the_same(earlier):
    found = age("fail", *earlier)
    told = [(at, answers.get(KEY)) for at, answers in scans("fail", *earlier)]
    assert {answer for at, answer in told if at >= found.since} == {"fail"}
    before = [answer for at, answer in told if at < found.since]
    assert found.exact == bool(before)
    assert not before or before[0] != "fail"
