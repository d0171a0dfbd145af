"""T06, R11: whatever a server does, a scan ends in time, in bounded memory, with a reason for every part that it did
not see whole."""

import random
import time

import pytest

from tests.fakes.lying.scans import (
    FAULTS,
    LATE,
    LIMITS,
    MAX_GROWN,
    SHORT,
    TOLD_BY_OTHERS,
    complaints,
    honest_scan,
    is_reported_whole,
    peak,
    scan,
)
from tests.fakes.lying.way import Fault, for_plurals, listed
from tests.servers.waiting import AT_ONCE

NAME = "v1-10"
LISTS = [fault for fault in FAULTS if fault.on == "lists"]
EVERYWHERE = (
    "silence", "body byte by byte", "head byte by byte", "cut before the first byte", "cut in the body", "endless",
    "packed bomb", "another protocol", "redirects", "not who it knows", "forbidden", "not found",
    "throttles for hours", "fails for ever", "nothing", "null", "brackets", "NUL bytes", "list of another kind",
    "the same token for ever", "new tokens for ever", "gone before it begins",
)  # fmt: skip


def named(fault: Fault) -> str:
    return fault.name


def test_there_are_sixty_ways_and_more() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) > 150


@pytest.mark.parametrize("fault", FAULTS, ids=named)
def test_nothing_that_was_cut_forged_or_replayed_is_told_whole(fault: Fault) -> None:
    plurals = SHORT if fault.on == "lists" else frozenset()
    assert complaints(fault, random.Random(fault.name), name=NAME, plurals=plurals) == []


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.why and not fault.lie and not fault.harmless], ids=named
)
def test_every_harm_is_told(fault: Fault) -> None:
    """The positive control: each of them is felt where it is about one list, and only there."""
    plurals = frozenset({"nodes"}) if fault.on == "lists" else frozenset()
    found = scan(NAME, fault.act, applies_to=for_plurals(fault, plurals), dice=random.Random(fault.name))
    parts = {line.name for line in found.parts if not is_reported_whole(found.inventory.part(line.name))}
    assert parts
    assert fault.on != "lists" or "nodes" in parts


@pytest.mark.parametrize("name", EVERYWHERE)
def test_where_every_answer_is_bad_nothing_but_the_version_is_seen(name: str) -> None:
    (fault,) = (fault for fault in LISTS if fault.name == name)
    honest_scan(NAME)  # what is read once is no growth
    grown, started = peak(), time.monotonic()
    found = scan(NAME, fault.act, applies_to=lambda request: request.path != "/version", dice=random.Random(name))
    assert time.monotonic() - started < LIMITS.scan_seconds + AT_ONCE
    assert peak() - grown < MAX_GROWN
    reasons = {line.why for line in found.parts if not line.seen}
    assert reasons <= {*fault.why, LATE, "not_asked"}
    assert reasons
    assert {line.name for line in found.parts if line.why == "not_asked"} <= TOLD_BY_OTHERS
    assert not found.complete
    assert [line.name for line in found.parts if line.seen and line.count] == ["version"]


def test_a_list_that_lost_an_object_is_found() -> None:
    """The other control: told whole by a server that says no more than that, it is not what is there."""
    fault = Fault(name="one is missing", act=listed(lambda found, _: found["items"].pop()))
    told = complaints(fault, random.Random(0), name=NAME, plurals=frozenset({"nodes"}))
    assert [line for line in told if "told whole" in line] == ["nodes is told whole with 4 objects"]


def test_odd_headers_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:  # K17
    for name in ("odd header lines", "length and chunks", "cut in the head"):
        (fault,) = (fault for fault in LISTS if fault.name == name)
        for seed in range(4):
            scan(NAME, fault.act, applies_to=for_plurals(fault, frozenset({"nodes"})), dice=random.Random(seed))
    assert [record.name for record in caplog.records if record.name.startswith("urllib3")] == []
