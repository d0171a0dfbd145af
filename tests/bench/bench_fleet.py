"""1,000 clusters of which 100 hang, 16 slots: is every one that is well scanned in every interval, and how late.

`python -m tests.bench.bench_fleet [CLUSTERS [SECONDS]]`. First every cluster is scanned once, then two intervals are
measured. The lag is from the moment a scan was due to its start in the lane of the scans.
"""

import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from tests.bench.fleet_scene import LATE, SCANNED, SLOTS, Scene, Size, scene, wait_until_all_were_scanned

FULL = Size(clusters=1000, hanging=100, interval=600)
INTERVALS = 2
WANTED_LAG = 60.0


@dataclass(frozen=True, slots=True)
class Figures:
    """`scanned` are the healthy clusters with a result in each measured interval; lags are in seconds."""

    size: Size
    first: float
    scanned: tuple[int, ...]
    lags: tuple[float, ...]

    @property
    def healthy(self) -> int:
        return self.size.clusters - self.size.hanging

    @property
    def lag(self) -> float:
        """The lag that 95 of 100 scans do not exceed."""
        return statistics.quantiles(self.lags, n=20)[-1] if len(self.lags) > 1 else float("inf")


def verdicts(found: Figures) -> Iterator[tuple[bool, str]]:
    """Each target: reached or not, and the sentence with the figure."""
    size = found.size
    for number, scanned in enumerate(found.scanned, start=1):
        said = f"{scanned} of {found.healthy} healthy clusters scanned in interval {number} of {size.interval} s"
        yield scanned == found.healthy, f"{said}, {size.hanging} more hang, {sum(SLOTS.values())} slots"
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
    clusters = int(words[0]) if words else FULL.clusters
    interval = int(words[1]) if len(words) > 1 else FULL.interval
    found = measured(Size(clusters=clusters, hanging=clusters // 10, interval=interval))
    sys.stdout.write(f"every one of {found.healthy} clusters scanned for the first time in {found.first:.0f} s\n")
    judged = list(verdicts(found))
    for reached, said in judged:
        sys.stdout.write(f"- {'reached' if reached else 'MISSED'}: {said}\n")
    return int(not all(reached for reached, _ in judged))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
