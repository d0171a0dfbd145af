"""What the coverage calls proven is what tests plant: each entry by a fault, or by the words that a person is told."""

from dataclasses import replace

import pytest

from migrations_app.karpenter.coverage.entries import CHANGES, KNOWN_PROBLEMS, counted
from migrations_app.karpenter.coverage.entry import Coverage
from migrations_app.karpenter.coverage.proofs import PROVEN
from migrations_app.karpenter.tables.outside_rows import OUTSIDE_ROWS, OutsideRow
from migrations_app.karpenter.versions import minor_order, parse
from tests.acceptance.clusters import CLEAN, find, made, objects
from tests.acceptance.entries_planted import PLANTED_ENTRIES
from tests.acceptance.faults_aws import AWS_FAULTS, AwsFault
from tests.acceptance.judged_faults import ONE_WORKER
from tests.acceptance.judging import at, judged
from tests.acceptance.planted import FAULTS
from tests.acceptance.planted_entries import PlantedEntry
from tests.acceptance.stands_for import STANDS_FOR

pytestmark = ONE_WORKER

ENTRIES = {entry.id: entry for entry in (*CHANGES, *KNOWN_PROBLEMS)}
GONE_ROUND = (
    ("rollback-from-0.32", "alpha-031", "0.31.3", "0.31.4", "0.32"),
    ("rollback-1.1-to-1.0", "v1-10", "1.0.8", "1.0.9", "1.1+"),
)
"""Entries that the path goes round: in that cluster at the first release a rollback would be impossible, and at the
second one it is open; the hop that it is about."""
TELLS = {"queries": "queries_outside_current", "sources": "sources_outside_current"}


def planted() -> dict[str, set[str]]:
    """By entry the checks that a planted fault proves: test_faults.py and test_entries_planted.py put each to a whole
    scan, test_fixes_in_aws.py those that only AWS shows, and below those that the path goes round."""
    found: dict[str, set[str]] = {}
    for fault in FAULTS:
        for name in (fault.of, *STANDS_FOR.get(fault.of, ())):
            if name in ENTRIES:
                found.setdefault(name, set()).add(fault.check)
    for name, *_ in GONE_ROUND:
        found.setdefault(name, set()).add("way_back_open")
    beside: tuple[AwsFault | PlantedEntry, ...] = (*AWS_FAULTS, *PLANTED_ENTRIES)
    for one in beside:
        for name in one.of:
            if name in ENTRIES:
                found.setdefault(name, set()).add(one.check)
    return found


def told() -> dict[str, set[str]]:
    """By entry the checks that tell a person what to search for (below)."""
    found: dict[str, set[str]] = {}
    for row in OUTSIDE_ROWS:
        found.setdefault(row.change, set()).add(TELLS[row.place])
    return found


def proves(entry: Coverage, checks: set[str]) -> bool:
    return bool(checks & set(entry.checks))


def test_the_table_of_what_is_proven_is_what_tests_plant() -> None:
    everything = [*planted().items(), *told().items()]
    assert {name for name, checks in everything if proves(ENTRIES[name], checks)} == PROVEN


def test_every_planted_entry_names_the_check_that_finds_it() -> None:
    assert [name for name, checks in planted().items() if not proves(ENTRIES[name], checks)] == []


def test_what_is_planted_beside_the_faults_is_an_entry() -> None:
    assert {name for one in PLANTED_ENTRIES for name in one.of} <= ENTRIES.keys()


def test_what_a_fault_stands_for_is_an_entry() -> None:
    assert {name for names in STANDS_FOR.values() for name in names} <= ENTRIES.keys()
    assert STANDS_FOR.keys() <= {fault.of for fault in FAULTS}


@pytest.mark.parametrize("row", OUTSIDE_ROWS, ids=lambda row: row.change)
def test_a_person_is_told_on_the_way_that_crosses_it(row: OutsideRow) -> None:
    before = [one for one in CLEAN if minor_order(one.version.rpartition(".")[0]) < minor_order(row.release)]
    clean = before[-1]
    report = judged(clean, objects(clean))
    (finding,) = [
        one
        for hop in report.target.path
        for one in at(report, hop.name)
        if one.id == TELLS[row.place] and row.search in one.summary
    ]
    assert finding.status == "manual"


@pytest.mark.parametrize(("entry", "on", "closed", "opened", "hop"), GONE_ROUND)
def test_the_path_starts_with_a_hop_that_keeps_the_rollback(
    entry: str, on: str, closed: str, opened: str, hop: str
) -> None:
    """From the release that runs, the hop would make a rollback impossible; from the path's first it does not."""
    ways = {}
    for version in (closed, opened):
        clean = replace(find(on), version=version)
        ways[version] = judged(clean, made(clean))
    before, first = parse(closed), ways[closed].target.path[0]
    landed = parse(first.release)
    assert before is not None
    assert landed is not None
    assert landed > before
    assert landed.minor == before.minor
    assert [one for one in first.notes if opened in one] != []
    for report in ways.values():
        (found,) = [one for one in at(report, hop) if one.id == "way_back_open"]
        assert found.status == "pass", entry
        (report_hop,) = [one for one in report.target.path if one.name == hop]
        assert before not in map(parse, report_hop.rollback_to)
    assert ways[opened].target.path[0].name == hop


def test_the_counts_are_whole() -> None:
    for entries in (CHANGES, KNOWN_PROBLEMS):
        counts = counted(entries)
        assert sum(one.entries for one in counts) == len(entries)
        assert all(one.proven <= one.entries for one in counts)
        assert [one.extent for one in counts] == ["judged", "partly", "person", "not_looked"]


def test_nearly_all_that_can_be_judged_is_proven() -> None:
    judged_ones = [entry for entry in ENTRIES.values() if entry.extent in ("judged", "partly")]
    assert len(judged_ones) >= 200
    assert 100 * sum(entry.id in PROVEN for entry in judged_ones) >= 95 * len(judged_ones)
