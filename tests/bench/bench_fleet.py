"""1,000 clusters of which 100 hang, 16 slots: is every one that is well scanned in every interval, and how late.

`python -m tests.bench.bench_fleet [CLUSTERS [SECONDS]] [--workers N] [--hanging N] [--window SECONDS]`, on PostgreSQL.
First every cluster is scanned once, then two intervals are measured. The lag is from the moment a scan was due to its
start in the queue of the scans. With a window nothing is scanned first: each cluster has the due time that it has once
the fleet runs for long, and those that are due in that part of one interval are measured. So 5,000 clusters each hour
with four workers are `bench_fleet 5000 3600 --workers 4 --hanging 0 --window 600`.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from tests.bench.fleet_scene import DUE, ENDED, LATE, SCANNED, Scene, Size, scene, wait_until_all_were_scanned
from tests.servers.waiting import eventually

FULL = Size(clusters=1000, hanging=100, interval=600)
INTERVALS = 2
WANTED_LAG = 60.0
WARM = 60.0
"""Seconds from the due times being written to the first of them."""


@dataclass(frozen=True, slots=True)
class Figures:
    """`scanned` are the healthy clusters with a result in each measured interval; lags are in seconds. `due` are the
    healthy clusters of a window; all of them without one.
    """

    size: Size
    first: float
    scanned: tuple[int, ...]
    lags: tuple[float, ...]
    due: int | None = None
    window: int = 0

    @property
    def healthy(self) -> int:
        return self.size.clusters - self.size.hanging if self.due is None else self.due

    @property
    def lag(self) -> float:
        """The lag that 95 of 100 scans do not exceed."""
        return statistics.quantiles(self.lags, n=20)[-1] if len(self.lags) > 1 else float("inf")


def verdicts(found: Figures) -> Iterator[tuple[bool, str]]:
    """Each target: reached or not, and the sentence with the figure."""
    size = found.size
    slots = sum(size.slots.values()) + size.slots["scan"] * (size.workers - 1)
    beside = f"{size.hanging} of all {size.clusters} hang, {slots} slots, {size.workers} workers of scans"
    for number, scanned in enumerate(found.scanned, start=1):
        part = f"the {found.window} s measured of one" if found.window else f"interval {number}"
        said = f"{scanned} of {found.healthy} healthy clusters scanned in {part} of {size.interval} s"
        yield scanned == found.healthy, f"{said}; {beside}"
    half = statistics.median(found.lags) if found.lags else 0.0
    yield (
        found.lag <= WANTED_LAG,
        f"scans begin {half:.1f} s late in the median, {found.lag:.1f} s at 95 % (at most {WANTED_LAG:.0f})",
    )


def measured(size: Size) -> Figures:
    """The figures of one run."""
    with scene(size) as made:
        started = time.time()
        wait_until_all_were_scanned(made, times=1, seconds=4 * size.interval)
        first = time.time() - started
        # Their own clocks begin after the first scan: an interval and a half later each of them has struck.
        since = time.time() + size.interval / 2
        time.sleep(max(0.0, since + INTERVALS * size.interval + WANTED_LAG - time.time()))
        return Figures(size, first, _scanned(made, since), _lags(made, since))


def watched(size: Size, window: int) -> Figures:
    """The figures of a part of one interval of a fleet that runs for long."""
    with scene(size, started=False) as made:
        made.register()
        since = time.time() + WARM
        made.settle(since)  # before anybody looks: a cluster without a due time is due at once
        made.work()
        place = {"since": since, "until": since + window}
        due = int(made.one(DUE.format(**place)))
        time.sleep(max(0.0, place["until"] - time.time()))
        with suppress(TimeoutError):  # each of them is due once: when all have ended, no figure changes any more
            eventually(lambda: made.one(ENDED.format(**place)) >= due, what="those that were due", seconds=WANTED_LAG)
        lags = tuple(float(row[0]) for row in made.rows(LATE.format(**place)))
        return Figures(size, 0.0, (int(made.one(ENDED.format(**place))),), lags, due, window)


def _scanned(made: Scene, since: float) -> tuple[int, ...]:
    starts = [since + number * made.size.interval for number in range(INTERVALS)]
    # A scan that is due at the end of an interval belongs to it, with the lag that it may have.
    return tuple(
        int(made.one(SCANNED.format(since=start, until=start + made.size.interval + WANTED_LAG))) for start in starts
    )


def _lags(made: Scene, since: float) -> tuple[float, ...]:
    until = since + INTERVALS * made.size.interval
    return tuple(float(row[0]) for row in made.rows(LATE.format(since=since, until=until)))


def main(words: list[str]) -> int:
    """0 when every target is reached."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_fleet")
    parser.add_argument("clusters", type=int, nargs="?", default=FULL.clusters)
    parser.add_argument("interval", type=int, nargs="?", default=FULL.interval)
    parser.add_argument("--workers", type=int, default=FULL.workers)
    parser.add_argument("--hanging", type=int, help="a tenth of the clusters without it")
    parser.add_argument("--window", type=int, default=0)
    given = parser.parse_args(words)
    hanging = given.clusters // 10 if given.hanging is None else given.hanging
    size = Size(clusters=given.clusters, hanging=hanging, interval=given.interval, workers=given.workers)
    found = watched(size, given.window) if given.window else measured(size)
    if not given.window:
        sys.stdout.write(f"every one of {found.healthy} clusters scanned for the first time in {found.first:.0f} s\n")
    judged = list(verdicts(found))
    for reached, said in judged:
        sys.stdout.write(f"- {'reached' if reached else 'MISSED'}: {said}\n")
    return int(not all(reached for reached, _ in judged))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
