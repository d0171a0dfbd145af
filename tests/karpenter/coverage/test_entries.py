"""Nothing that is known is left without a check or a reason, and no check is named that does not exist."""

from pathlib import Path

from migrations_app.checks.registry import all_checks
from migrations_app.karpenter.coverage import entries
from migrations_app.karpenter.coverage.entries import CHANGES, KNOWN_PROBLEMS
from migrations_app.karpenter.coverage.entry import CAUSES
from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.tables.outside_rows import OUTSIDE_ROWS
from migrations_app.karpenter.versions import minor_order
from tests import upstream

PRODUCT = Path(entries.__file__).parents[2]
EVERY = (*CHANGES, *KNOWN_PROBLEMS)


def test_every_check_that_is_named_exists() -> None:
    known = {check.id for check in all_checks()}
    assert sorted({name for entry in EVERY for name in entry.checks} - known) == []


def test_every_table_that_is_named_exists() -> None:
    named = {entry.table for entry in EVERY if entry.table}
    assert sorted(name for name in named if not PRODUCT.joinpath(*name.split(".")).with_suffix(".py").is_file()) == []


def test_an_entry_has_checks_or_a_stated_cause() -> None:
    assert [entry.id for entry in EVERY if bool(entry.checks) == bool(entry.cause and entry.reason)] == []
    assert {entry.cause for entry in EVERY if entry.cause} <= set(CAUSES)
    assert [entry.id for entry in EVERY if len(set(entry.checks)) != len(entry.checks)] == []


def test_ids_are_told_once_and_releases_are_known() -> None:
    assert len({entry.id for entry in EVERY}) == len(EVERY)
    assert {entry.release for entry in CHANGES} <= {row.minor for row in RELEASES}
    assert {entry.release for entry in KNOWN_PROBLEMS} == {""}


def test_the_rows_to_be_searched_for_are_entries() -> None:
    by_id = {entry.id: entry for entry in EVERY}
    asked = {
        "queries": "queries_outside_current",
        "sources": "sources_outside_current",
    }
    assert [row.change for row in OUTSIDE_ROWS if asked[row.place] not in by_id[row.change].checks] == []


def test_what_a_check_answers() -> None:
    assert [entry.id for entry in entries.covers("spot_role_present")] == ["spot-service-linked-role", "CONV-02"]
    assert entries.covers("nobody") == ()
    assert entries.introduced_by("retired_annotations_replaced") == "0.32"
    assert entries.introduced_by("nobody") == ""


def test_every_known_change_is_in_the_table_and_nothing_else() -> None:
    known = {change.id: change.introduced_in for change in upstream.changes().values()}
    assert {entry.id: entry.release for entry in CHANGES} == known


def test_every_known_pain_is_in_the_table_and_nothing_else() -> None:
    assert sorted(entry.id for entry in KNOWN_PROBLEMS) == sorted(pain.id for pain in upstream.pains())


def test_what_can_be_read_is_checked_unless_nothing_is_lost() -> None:
    """A change that the cluster, Helm or AWS shows is left to a reason only where it harms nobody."""
    known = upstream.changes()
    readable = {name for name, change in known.items() if {"cluster", "helm", "aws"} & set(change.seen_in)}
    bare = [entry for entry in CHANGES if entry.id in readable and not entry.checks]
    assert {entry.cause for entry in bare} <= {"harmless", "how_we_read"}
    assert {known[entry.id].severity for entry in bare} <= {"info"}


def test_the_changes_are_in_the_order_of_the_road_within_each_table() -> None:
    for part in (entries.ALPHA_CHANGES, entries.BETA_CHANGES, entries.V1_CHANGES):
        order = [minor_order(entry.release) for entry in part]
        assert order == sorted(order)
