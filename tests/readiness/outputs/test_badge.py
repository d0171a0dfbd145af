"""The words and the colour of a badge: what is not known is grey, whatever else is said."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.readiness.outputs.badge import Badge, BadgeFacts, age_of, cluster_badge, fleet_badge

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
READY = BadgeFacts(
    verdict="ready", next_hop="1.0", blockers=0, complete=True, stale=False, unreachable=False, no_karpenter=False,
    scanned_at=NOW - timedelta(hours=3),
)  # fmt: skip
VERDICTS = ("ready", "ready_with_warnings", "blocked", "needs_facts", "in_progress", "done", "later", "", "new-word")
FACTS = st.builds(
    BadgeFacts,
    verdict=st.sampled_from(VERDICTS), next_hop=st.sampled_from(("", "1.0")), blockers=st.integers(0, 5),
    complete=st.booleans(), stale=st.booleans(), unreachable=st.booleans(), no_karpenter=st.booleans(),
    scanned_at=st.none() | st.just(NOW - timedelta(days=3)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "message", "colour"),
    [
        ({}, "ready for 1.0 · scanned 3 h ago", "green"),
        ({"verdict": "done", "next_hop": ""}, "upgraded · scanned 3 h ago", "green"),
        ({"verdict": "ready_with_warnings"}, "ready for 1.0 with warnings · scanned 3 h ago", "yellow"),
        ({"verdict": "in_progress"}, "in progress for 1.0 · scanned 3 h ago", "blue"),
        ({"verdict": "blocked", "blockers": 1}, "blocked for 1.0: 1 blocker · scanned 3 h ago", "red"),
        (
            {"verdict": "blocked", "blockers": 2, "complete": False},
            "blocked for 1.0: 2 blockers · scanned 3 h ago",
            "red",
        ),
        ({"verdict": "needs_facts"}, "unknown: facts are missing · scanned 3 h ago", "grey"),
        ({"complete": False}, "unknown: not all was read · scanned 3 h ago", "grey"),
        ({"stale": True}, "unknown: scan is too old · scanned 3 h ago", "grey"),
        ({"unreachable": True}, "unknown: not reachable · scanned 3 h ago", "grey"),
        ({"scanned_at": None}, "unknown: never scanned", "grey"),
        ({"no_karpenter": True, "complete": False}, "unknown: not all was read · scanned 3 h ago", "grey"),
        ({"no_karpenter": True}, "no Karpenter · scanned 3 h ago", "grey"),
    ],
)
def test_a_cluster(changed, message, colour):
    badge = cluster_badge("shop", replace(READY, **changed), now=NOW)
    assert badge == Badge(label="shop", message=message, colour=colour)


@given(FACTS)
def test_what_is_not_known_is_never_green(facts):
    colours = {cluster_badge("x", facts, now=NOW).colour, fleet_badge([READY, facts], now=NOW).colour}
    known = facts.scanned_at and not facts.stale and not facts.unreachable and facts.complete
    if not known or facts.verdict not in ("ready", "ready_with_warnings", "done") or facts.no_karpenter:
        assert cluster_badge("x", facts, now=NOW).colour not in ("green", "yellow")
    if not known:
        assert not colours & {"green", "yellow"}


@given(st.lists(FACTS, max_size=6), st.randoms())
def test_the_order_of_clusters_does_not_matter(clusters, random):
    mixed = list(clusters)
    random.shuffle(mixed)
    assert fleet_badge(clusters, now=NOW) == fleet_badge(mixed, now=NOW)


def test_a_fleet():
    old = replace(READY, verdict="blocked", blockers=4, scanned_at=NOW - timedelta(days=5))
    never, without = replace(READY, scanned_at=None), replace(READY, no_karpenter=True)
    told = fleet_badge([READY, old, never, without], now=NOW)
    assert told.message == "1 of 3 ready or done, 1 blocked, 1 unknown · oldest scan 5 d ago"
    assert (told.label, told.colour) == ("Karpenter fleet", "red")
    assert fleet_badge([READY, never], now=NOW).colour == "grey"
    assert fleet_badge([READY, without], now=NOW).colour == "green"
    assert fleet_badge([], now=NOW) == Badge(label="Karpenter fleet", message="no clusters", colour="grey")


@pytest.mark.parametrize(
    ("minutes", "word"), [(-5, "0 min"), (0, "0 min"), (59, "59 min"), (60, "1 h"), (2879, "47 h"), (2880, "2 d")]
)
def test_ages(minutes, word):
    assert age_of(NOW - timedelta(minutes=minutes), now=NOW) == word


def test_a_long_name_is_cut():
    assert cluster_badge("n" * 61, READY, now=NOW).label == "n" * 59 + "…"
