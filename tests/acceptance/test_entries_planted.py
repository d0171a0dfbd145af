"""Each entry of the coverage that no fault stands for: planted alone into a clean cluster, and found at its place."""

import pytest

from migrations_app.checks.base import Finding
from tests.acceptance.entries_planted import PLANTED_ENTRIES
from tests.acceptance.judged_faults import ONE_WORKER
from tests.acceptance.judging import at, crashes, loud
from tests.acceptance.planted_entries import PlantedEntry, before_and_after

pytestmark = ONE_WORKER


def names_it(found: Finding, entry: PlantedEntry) -> bool:
    """Whether the finding says of that place what the entry is about."""
    if found.status != entry.status:
        return False
    if entry.status == "manual":
        return entry.says in found.summary and entry.object in found.summary
    return any(
        (row.kind, row.namespace, row.name, row.path) == entry.place and entry.says in row.seen
        for row in found.evidence
    )


@pytest.mark.parametrize("entry", PLANTED_ENTRIES, ids=lambda entry: entry.name)
def test_it_is_found_where_it_is_planted_and_not_before(entry: PlantedEntry) -> None:
    before, after = before_and_after(entry)
    assert crashes(before) == crashes(after) == []
    asked = [one for one in at(before, entry.at) if one.id == entry.check]
    (finding,) = [one for one in at(after, entry.at) if one.id == entry.check]
    assert [one for one in asked if names_it(one, entry)] == []
    assert names_it(finding, entry), (finding.status, finding.summary, finding.evidence)
    assert loud(at(after, entry.at)) - loud(at(before, entry.at)) - {entry.check} == entry.beside


def test_each_is_planted_once() -> None:
    assert len({entry.name for entry in PLANTED_ENTRIES}) == len(PLANTED_ENTRIES)
