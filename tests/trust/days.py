"""Days of an installation in minutes: its own functions on a real database, with a clock that is moved.

Run as `python -m tests.trust.days clock|fleet COUNT SEED [CLUSTERS]` with an installation's settings; prints one answer
for each case, as JSON. Real are the timetable, the queue, leases and fences, publishing, failing, retention, tokens and
the audit log. Played are the time, what a scan sees, and how long it takes.
"""

import heapq
import json
import os
import random
import sys
import uuid
from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import django

from tests.trust.person import LONGEST_LIFE, Person

INTERVAL = 3600
NAME = "v1-10"
WAITED = 1800.0
"""Seconds that a scan may begin after it was due: all clusters are due at once in the first hour."""
JUMPS = (61, 3700, 90_000, 300_000)
"""Seconds, in both directions."""
STALLS = 0.2
SLOTS = {"probe": 4, "scan": 10}
HANGS, PASSES, BEAT, DEADLINE = 5.0, 0.3, 15.0, 600.0
"""Seconds: of a probe that gets no answer, of one that does, between two ticks, and of the longest scan."""


def prepared() -> Any:
    """The tables, the time under our hand, and what each scan sees: a report."""
    from django.core.management import call_command
    from django.db import connection

    from migrations_app.clients.bundle.bundle import open_bundle
    from migrations_app.collect.collect import collect
    from migrations_app.readiness.evaluate import evaluate
    from tests.acceptance.clusters import find, objects
    from tests.acceptance.judging import as_list

    call_command("migrate", interactive=False, verbosity=0)
    connection.cursor().execute("PRAGMA synchronous = OFF")
    return evaluate(collect(open_bundle(as_list(objects(find(NAME)), kubernetes="1.30")), cluster=NAME))


def publish(held: Any, scanned: Any, *, now: datetime, complete: bool = True) -> bool:
    """Whether the snapshot was stored: not where another worker has the scan."""
    import msgspec

    from migrations_app.errors import Conflict
    from migrations_app.use_cases.scans import store

    report = msgspec.structs.replace(scanned.report, scanned_at=now.strftime("%Y-%m-%dT%H:%M:%SZ"), complete=complete)
    try:
        store.publish(held.scan_id, fence=held.fence, scanned=msgspec.structs.replace(scanned, report=report))
    except Conflict:
        return False
    return True


@dataclass(slots=True)
class _Clocks:
    """The true time, what workers take for it, and whether the database's machine is wrong with them."""

    time: Any
    skew: timedelta = timedelta()
    both: bool = False

    def install(self) -> None:
        from django.utils import timezone

        from tests.interleavings import moments

        true = self.time
        true.install()
        own = true.__class__._in_sqlite

        def in_sqlite(form: str, *rest: Any) -> str:
            shifted = moments.FrozenTime()
            shifted.now = true.now + (self.skew if self.both else timedelta())
            return str(own(shifted, form, *rest))

        from django.db import connection

        connection.connection.create_function("strftime", -1, in_sqlite)
        timezone.now = lambda: true.now + self.skew  # this process does nothing else


@dataclass(slots=True)
class _Jumping:
    """Some clusters, their workers, two that want to change one of them, and a person who signs in."""

    clocks: _Clocks
    scanned: Any
    dice: random.Random
    messages: deque[Any] = field(default_factory=deque)
    stalled: list[Any] = field(default_factory=list)
    person: Person = field(init=False)
    published: Counter[Any] = field(default_factory=Counter)
    leases: list[Any] = field(default_factory=list)
    stalls: float = 0.0
    """The share of workers that stand still with their scan. In the end none does: six in a row are two lost scans."""
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.person = Person(self.dice, wrong=self.wrong)

    def tick(self) -> None:
        from migrations_app.use_cases.scans import queue

        self.messages.extend(queue.due_scans())
        if self.dice.random() < 0.3:
            self.messages.clear()  # the broker forgot them

    def sweep(self) -> None:
        from migrations_app.use_cases.scans import queue

        self.messages.extend(queue.scans_to_enqueue())

    def work(self) -> None:
        from migrations_app.use_cases.scans import queue

        while self.messages:
            held = queue.claim(self.messages.popleft())
            if held is not None and self.dice.random() < self.stalls:
                self.stalled.append(held)
            elif held is not None:
                self._publish(held)

    def retain(self) -> None:
        from django.utils import timezone

        from migrations_app.use_cases.scans.retention import sweep_old

        sweep_old(within=60.0, now=timezone.now())

    def late(self) -> None:
        """Workers that stood still go on, after others perhaps have taken over."""
        while self.stalled:
            self._publish(self.stalled.pop())

    def _publish(self, held: Any) -> None:
        if publish(held, self.scanned, now=self.clocks.time.now + self.clocks.skew):
            self.published[held.scan_id] += 1
            if self.published[held.scan_id] > 1:
                self.wrong.append("a scan was published twice")

    def lease(self) -> None:
        from migrations_app.execution.interface import LeaseLost
        from migrations_app.models.cluster import Cluster
        from migrations_app.use_cases.rollouts import lease

        taken = lease.acquire(Cluster.objects.order_by("name")[0].pk, f"w-{self.dice.random()}")
        self.leases = [*self.leases[-3:], *([taken] if taken else [])]
        valid = 0
        for token in self.leases:
            try:
                lease.check_untaken(token)
                valid += 1
            except LeaseLost:
                continue
        if valid > 1:
            self.wrong.append("two workers hold one cluster")

    def jump(self) -> None:
        self.clocks.both = self.dice.random() < 0.5
        self.clocks.skew = timedelta(seconds=self.dice.choice((1, -1)) * self.dice.choice(JUMPS))

    def right(self) -> None:
        self.clocks.skew = timedelta()

    def case(self) -> str:
        """Forty events in any order, then the right time and what comes by itself: all is done, once."""
        from migrations_app.models.cluster import Cluster
        from migrations_app.models.scan import Scan, Snapshot
        from tests.installations.errands import chain

        self.wrong.clear()
        self.stalls = STALLS
        ended = [*Scan.objects.filter(state="done").values_list("pk", flat=True)]
        before = [*Snapshot.objects.values_list("pk", flat=True)]
        every = (self.tick, self.sweep, self.work, self.late, self.lease, self.jump, self.right, *self.person.events)
        for _ in range(40):
            self.clocks.time.pass_by(self.dice.choice((1, 30, 400, 2000)))
            self.dice.choice(every)()
        self.right()
        self.late()
        self.stalls = 0.0
        for _ in range(3 * INTERVAL // 300):
            self.clocks.time.pass_by(300)
            for event in (self.tick, self.sweep, self.work, self.retain):
                event()
        since = self.clocks.time.now - timedelta(seconds=2 * INTERVAL)
        if lost := Cluster.objects.exclude(last_success_at__gte=since).count():
            self.wrong.append(f"{lost} clusters were not scanned in two intervals")
        done = Scan.objects.filter(state="done")
        if done.filter(snapshot=None).exists() or len({*done.values_list("snapshot", flat=True)}) != len(done):
            self.wrong.append("a scan that is done has no snapshot of its own")
        # Of this case: older ones are deleted at different times.
        scans, snapshots = done.exclude(pk__in=ended).count(), Snapshot.objects.exclude(pk__in=before).count()
        if scans != snapshots:
            self.wrong.append(f"{scans} scans and {snapshots} snapshots")
        self._grow_old()
        if not chain():
            self.wrong.append("the audit log has a gap")
        return "; ".join(dict.fromkeys(self.wrong))

    def _grow_old(self) -> None:
        """What may no longer be taken: a session within a day, a token after its longest life and the farthest jump."""
        before = self.clocks.time.now
        self.person.locked()
        self.clocks.time.pass_by(86_400)
        self.person.signed_in()
        self.clocks.time.pass_by(LONGEST_LIFE.total_seconds() + JUMPS[-1] + 1)
        self.person.trusted()
        self.clocks.time.now = before


def clock(count: int, dice: random.Random, clusters: int = 6) -> list[str]:
    from migrations_app.models.cluster import Cluster
    from tests.interleavings.moments import FrozenTime

    scanned = prepared()
    clocks = _Clocks(FrozenTime())
    clocks.install()
    for number in range(clusters):
        key = uuid.UUID(int=dice.getrandbits(128), version=4)  # its place in the timetable goes by it
        Cluster.objects.create(pk=key, name=f"c-{number}", source="sample")
    jumping = _Jumping(clocks, scanned, dice)
    return [jumping.case() for _ in range(count)]


@dataclass(slots=True)
class _Fleet:
    """A hundredth of the clusters is hostile: it answers the probe, takes a scan's whole time, and shows half. A tenth
    hangs. `lanes` are the messages; `free` the slots of workers that do nothing."""

    time: Any
    scanned: Any
    dice: random.Random
    hanging: set[Any]
    hostile: set[Any]
    lanes: dict[str, deque[Any]] = field(default_factory=lambda: {"probe": deque(), "scan": deque()})
    free: dict[str, int] = field(default_factory=lambda: dict(SLOTS))
    ends: list[tuple[float, int, str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    number: int = 0

    def send(self, scan: Any) -> None:
        from migrations_app.use_cases.scans import queue

        self.lanes["probe" if queue.needs_probe(scan) else "scan"].append(scan)

    def hour(self) -> None:
        """Ticks of the timetable, and between them what ends in the lanes."""
        from migrations_app.use_cases.scans import queue
        from migrations_app.use_cases.scans.retention import sweep_old

        until = self.seconds + INTERVAL
        while self.seconds < until:
            tick = self.seconds + BEAT
            for scan in (*queue.due_scans(), *queue.scans_to_enqueue()):
                self.send(scan)
            self._begin()
            while self.ends and self.ends[0][0] <= tick:
                at, _, lane, held = heapq.heappop(self.ends)
                self._to(at)
                self.free[lane] += 1
                (self._probed if lane == "probe" else self._scanned)(held)
                self._begin()
            self._to(tick)
        sweep_old(within=600.0, now=self.time.now)

    def _to(self, at: float) -> None:
        self.time.pass_by(at - self.seconds)
        self.seconds = at

    def _begin(self) -> None:
        from migrations_app.use_cases.scans import queue

        for lane, claim in (("probe", queue.claim_probe), ("scan", queue.claim)):
            while self.free[lane] and self.lanes[lane]:
                held = claim(self.lanes[lane].popleft())
                if held is not None:
                    self.free[lane] -= 1
                    self.number += 1
                    heapq.heappush(self.ends, (self.seconds + self._lasts(lane, held), self.number, lane, held))

    def _lasts(self, lane: str, held: Any) -> float:
        if lane == "probe":
            return HANGS if held.cluster_id in self.hanging else PASSES
        return DEADLINE if held.cluster_id in self.hostile else self.dice.uniform(1, 20)

    def _probed(self, held: Any) -> None:
        from migrations_app.use_cases.scans import queue, store

        if held.cluster_id in self.hanging:
            store.fail(held.scan_id, fence=held.fence, code="timeout", detail="the server did not answer in time")
        elif queue.pass_to_scan_queue(held):
            self.lanes["scan"].append(held.scan_id)

    def _scanned(self, held: Any) -> None:
        from migrations_app.use_cases.scans import queue

        queue.renew(held)  # as the worker's heartbeat has done every second
        publish(held, self.scanned, now=self.time.now, complete=held.cluster_id not in self.hostile)


def fleet(count: int, dice: random.Random, clusters: int = 1000) -> list[str]:
    """That many hours; an answer for each."""
    from migrations_app.models.cluster import Cluster
    from tests.interleavings.moments import FrozenTime

    scanned, time = prepared(), FrozenTime()
    time.install()
    rows = Cluster.objects.bulk_create([Cluster(name=f"c-{n}", source="kubeconfig") for n in range(clusters)])
    keys = [row.pk for row in rows]
    dice.shuffle(keys)
    tenth, more = clusters // 10, max(1, clusters // 100)
    simulated = _Fleet(time, scanned, dice, {*keys[:tenth]}, {*keys[tenth : tenth + more]})
    healthy = keys[tenth + more :]
    _past(healthy, now=time.now)
    told = []
    for number in range(count):
        began = time.now
        simulated.hour()
        # The first scan of a cluster may come half an interval before its place in the timetable.
        gap = INTERVAL * (1.5 if number < 2 else 1) + WAITED
        told.append(_wrong(simulated, healthy, since=began, until=time.now, gap=gap))
        sys.stderr.write(f"hour {number + 1} of {count}: {told[-1] or 'held'}\n")
    return told


def _past(keys: list[Any], *, now: datetime) -> None:
    """Scans of the last ten days, so that some expire in every hour."""
    from migrations_app.models.scan import Scan

    rows = [
        Scan(cluster_id=key, state="done", finished_at=now - timedelta(hours=240 * number / len(keys)))
        for number, key in enumerate(keys)
    ]
    Scan.objects.bulk_create(rows)


def _wrong(simulated: _Fleet, healthy: list[Any], *, since: datetime, until: datetime, gap: float) -> str:
    from django.db.models import Count

    from migrations_app.models.cluster import Cluster
    from migrations_app.models.scan import Scan, Snapshot
    from migrations_app.use_cases.scans.retention import DONE_SCANS, FAILED_SCANS
    from tests.installations.errands import chain

    ended = Scan.objects.filter(finished_at__gt=since, finished_at__lte=until)
    late = Cluster.objects.filter(pk__in=healthy).exclude(last_success_at__gt=until - timedelta(seconds=gap)).count()
    twice = Scan.objects.exclude(due_at=None).values("cluster", "due_at").annotate(n=Count("pk")).filter(n__gt=1)
    scans = ended.filter(state="done", cluster__in=healthy).values("cluster").annotate(n=Count("pk")).filter(n__gt=2)
    old = Scan.objects.filter(state="done", finished_at__lt=until - DONE_SCANS)
    failed = Scan.objects.filter(state="failed", finished_at__lt=until - FAILED_SCANS)
    half = Snapshot.objects.filter(cluster__in=simulated.hostile, complete=True)
    lag = max(
        ((one.started_at - one.due_at).total_seconds() for one in ended.filter(state="done", cluster__in=healthy)
         if one.started_at and one.due_at), default=0.0,
    )  # fmt: skip
    return "; ".join(
        words
        for found, words in (
            (late, f"{late} of {len(healthy)} healthy clusters were not scanned in an interval"),
            (twice.exists(), "a due time was claimed twice"),
            (scans.exists(), "a healthy cluster was scanned three times in one interval"),
            (old.exists() or failed.exists(), "scans are kept longer than they should be"),
            (half.exists(), "a hostile cluster is told whole"),
            (lag > WAITED, f"a scan began {lag:.0f} s after it was due"),
            (not chain(), "the audit log has a gap"),
        )
        if found
    )


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "karpdash.settings"
    django.setup()
    what, cases, seed, *size = sys.argv[1:]
    answers = {"clock": clock, "fleet": fleet}[what](int(cases), random.Random(seed), *map(int, size))
    sys.stdout.write(json.dumps(answers) + "\n")
