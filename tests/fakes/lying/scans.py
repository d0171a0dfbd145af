"""Scans a server with one fault, and lists which expectations the scan broke."""

import random
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

from migrations_app.clients.kubernetes.limits import MIB, ClientLimits
from migrations_app.clients.kubernetes.reader import open_live
from migrations_app.collect import parts
from migrations_app.collect.collect import collect
from migrations_app.inventory.parts import Part, Seen, is_whole
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import CollectResult, Report
from tests.acceptance.judging import crashes
from tests.clients.kubernetes.rig import HERE, connection
from tests.fakes.evilk8s import EvilServer, Request, Wire
from tests.fakes.lying import answers, lists, places, wires
from tests.fakes.lying.honest import Turn, honest
from tests.fakes.lying.way import Fault, for_plurals
from tests.servers.waiting import AT_ONCE

LIMITS = ClientLimits(
    connect_seconds=1,
    read_seconds=0.5,
    call_seconds=1,
    scan_seconds=4,
    slow_start_seconds=0.2,
    first_pause_seconds=0.01,
    longest_pause_seconds=0.02,
    retry_after_seconds=0.5,
    page_bytes=4 * MIB,
    in_flight_bytes=8 * MIB,
    scan_bytes=40 * MIB,
    pages=30,
)
PATIENT = replace(LIMITS, connect_seconds=60, read_seconds=60, call_seconds=60, scan_seconds=240)
"""For the scan of an honest server, which has to see everything, however busy the cores are."""
Finding = tuple[str, str, str]
UNSURE = ("unknown", "fail", "manual")
"""What must not become a pass because something was not seen."""
MAX_GROWN = 100 * MIB
LATE = "timeout"
"""A machine whose cores are busy may make any answer late: told with a reason as well."""
FOLLOWS = frozenset({"not_asked"})
"""For parts whose place is told by a part that was forbidden."""
TOLD_BY_OTHERS = {name for job in (*parts.FIRST, *parts.SECOND) if job.needs for name in job.gives}
FAULTS: tuple[Fault, ...] = (
    *wires.FAULTS, *answers.STATUSES, *answers.FORMATS, *lists.FAULTS, *places.DISCOVERY, *places.OTHERS,
)  # fmt: skip
CLUSTERS = ("v1-10", "alpha-031", "beta-037")
SHORT = frozenset({"pods", "nodes", "customresourcedefinitions"})
"""Lists that are read in three ways, and are worth several pages in each cluster."""


def scan(
    name: str,
    act: Callable[[Turn, Wire], object],
    *,
    applies_to: Callable[[Request], bool],
    dice: random.Random,
    limits: ClientLimits = LIMITS,
) -> CollectResult:
    """Returns the scan of that clean cluster; requests for which `applies_to` is true are answered with the fault."""
    server, kept = honest(name), {}

    def script(request: Request, wire: Wire) -> None:
        if applies_to(request):
            act(Turn(request, server, dice, kept), wire)
        else:
            answer = server.answer(request)
            wire.answer(answer.body, status=answer.status)

    with EvilServer(script) as evil:
        api = open_live(connection(evil), reach=HERE, limits=limits)
        try:
            return collect(api, cluster=name, deadline=limits.scan_seconds)
        finally:
            api.close()


@cache
def honest_scan(name: str) -> CollectResult:
    """Returns the scan of the correct server; all its parts are whole."""
    found = scan(name, lambda turn, wire: None, applies_to=lambda _: False, dice=random.Random(0), limits=PATIENT)
    assert found.complete, [line for line in found.parts if not line.seen]
    return found


@cache
def _findings(name: str) -> frozenset[Finding]:
    """Returns the findings of the correct server at each upgrade; the list of upgrades depends on what is read."""
    return findings(evaluate(honest_scan(name)).report)


def findings(report: Report) -> frozenset[Finding]:
    """Returns (check, hop, status), without findings that depend on the work of an earlier upgrade."""
    return frozenset((one.id, one.hop, one.status) for one in report.checks if not one.asked_at)


def is_reported_whole(part: Part[object]) -> bool:
    return isinstance(part, Seen) and is_whole(part) and part.other_version is None


def complaints(fault: Fault, dice: random.Random, *, name: str, plurals: frozenset[str] = frozenset()) -> list[str]:
    """Returns which expectations one scan broke; empty if none. With `plurals` only these lists are answered badly."""
    right, grown, started = honest_scan(name), peak(), time.monotonic()
    found = scan(name, fault.act, applies_to=for_plurals(fault, plurals), dice=dice)
    took = time.monotonic() - started
    return [
        *([f"took {took:.1f} s"] if took > LIMITS.scan_seconds + AT_ONCE else []),
        *([f"grew by {(peak() - grown) // MIB} MiB"] if peak() - grown > MAX_GROWN else []),
        *([] if fault.lie else _untrue(fault, found, right=right)),
        *_judged(fault, found, name=name),
    ]


def _untrue(fault: Fault, found: CollectResult, *, right: CollectResult) -> Iterator[str]:
    for line in found.parts:
        if (line.name, fault.on) == ("discovery", "discovery"):
            continue
        part = found.inventory.part(line.name)
        if is_reported_whole(part) and _items(part) != _items(right.inventory.part(line.name)):
            yield f"{line.name} is told whole with {line.count} objects"
        if (
            not line.seen
            and line.why not in {*fault.why, LATE}
            and not (line.why in FOLLOWS and line.name in TOLD_BY_OTHERS)
        ):
            yield f"{line.name} is told as {line.why}: {line.detail}"
        if not line.seen and not line.detail:
            yield f"{line.name} is told without words"
    reasons = {line.why for line in found.parts if not line.seen} - {LATE}
    if not fault.why and reasons:
        yield f"harm where none was done: {sorted(reasons)}"


def _items(part: Part[object]) -> object:
    """Returns the objects; their number in other versions, which are not read, is not compared."""
    return sorted(map(repr, part.items))


def _judged(fault: Fault, found: CollectResult, *, name: str) -> list[str]:
    report = evaluate(found).report
    right = set() if fault.lie else {(check, hop) for check, hop, status in _findings(name) if status in UNSURE}
    more = right & {(check, hop) for check, hop, status in findings(report) if status == "pass"}
    return [*crashes(report), *(f"{check} passes at {hop}" for check, hop in sorted(more))]


def peak() -> int:
    """Returns the largest memory that this process has used, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
