"""What news says, and what two pieces of it come to."""

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from migrations_app.readiness import notification_events
from migrations_app.readiness.notification_events import (
    EVENTS,
    TO_PEOPLE,
    URGENT,
    headline,
    merge_key,
    merged,
    text_of,
)
from tests.house.measures import text


def event(kind="scan.failed", subject="shop", **data):
    return {
        "id": f"{kind} {subject} {data}",
        "type": kind,
        "subject": subject,
        "time": "2026-01-01T00:00:00Z",
        "data": data,
    }


def test_the_page_lists_every_event():
    table = text("docs/notifications.md").partition("\n## ")[0]
    listed = [event for row in re.findall(r"^\| (`.+?) \|", table, re.M) for event in re.findall(r"`(.+?)`", row)]
    assert sorted(listed) == sorted(EVENTS)


def test_what_every_approver_receives_is_urgent_and_so_is_only_what_a_channel_may_receive():
    assert (TO_PEOPLE - URGENT, URGENT - set(EVENTS)) == (frozenset(), {notification_events.TEST})


def test_a_few_events_are_a_line_each_and_many_are_one_that_counts_them():
    few = [event(subject=f"c{n}", cluster=str(n), code="timeout") for n in range(2)]
    assert text_of(few) == "Scans fail: c0 (code timeout)\nScans fail: c1 (code timeout)"
    many = [event(subject=f"c{n}", cluster=str(n)) for n in range(300)]
    assert text_of([*many, event("kill_switch.on", "all clusters", by="ann")]) == (
        "Scans fail: 300 clusters: c0, c1, c2, c3, c4 and 295 more\nAll changes are stopped: all clusters (by ann)"
    )
    assert headline(many) == "Scans fail: 300 clusters"
    assert headline(many[:1]) == "Scans fail: c0"
    assert headline([*many, event("kill_switch.on")]) == "Scans fail and 300 more"


def test_a_line_holds_no_line_ends_and_no_signs_that_reorder():
    told = event(subject="shop\r\nBcc: eve@example.com\u202e", code="a\x00b")
    assert text_of([told]) == "Scans fail: shop Bcc: eve@example.com (code a b)"
    assert headline([told]) == "Scans fail: shop Bcc: eve@example.com"


verdicts = st.sampled_from(["ready", "blocked", "needs_facts", "in_progress"])


@given(st.lists(verdicts, min_size=2, max_size=8))
def test_a_row_of_verdicts_comes_to_its_first_and_last(row):
    waiting = None
    for was, now in pairwise(row):
        if was != now:
            new = event("hop.verdict_changed", cluster="1", hop="0.32", verdict=now, was=was, was_hop="0.32")
            waiting = new if waiting is None else merged(waiting, new)
    if row[0] == row[-1]:
        assert waiting is None
    else:
        assert (waiting["data"]["was"], waiting["data"]["verdict"]) == (row[0], row[-1])


def test_another_hop_with_the_same_verdict_is_news():
    first = event("hop.verdict_changed", cluster="1", hop="0.33+", verdict="blocked", was="ready", was_hop="0.32")
    second = event("hop.verdict_changed", cluster="1", hop="0.33+", verdict="ready", was="blocked", was_hop="0.33+")
    assert merged(first, second)["data"] == second["data"] | {"was": "ready", "was_hop": "0.32"}


@given(st.sampled_from(EVENTS), st.sampled_from(EVENTS))
def test_only_the_same_matter_of_the_same_cluster_is_joined(one, other):
    first, second = event(one, cluster="1"), event(other, cluster="2")
    assert merge_key(first) == "" or merge_key(first) != merge_key(second)
    assert (merge_key(event(one, cluster="1")) == "") == (one not in notification_events._MERGE_SUBJECTS)


@given(st.text(), st.text())
def test_no_text_of_a_cluster_makes_a_second_line_or_a_long_one(subject, code):
    line = text_of([event(subject=subject, code=code)])
    assert (len(line) <= notification_events.LONGEST_LINE, line.splitlines() == [line]) == (True, True)
