"""A year of hourly scans of 1,000 clusters: the size of the database, and the pages beside those of the first day.

`python -m tests.bench.bench_year [CLUSTERS [HOURS [sqlite|postgres]]]`. HOURS is how often a scan finds something else
than the one before (nodes that came and went are enough): each such content is stored by itself. What is filled in is
what retention leaves of a year, by its own rule, and contents of history as they are packed: one of each cluster by
the sweep itself, the others like it. Both sweeps run afterwards: one has nothing to delete, the other packs what the
first day left.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from karpdash.processes import datadir
from tests.bench.bench_pages import fastest
from tests.bench.measure import ROOT, FailedError
from tests.bench.signed_in import signed_in
from tests.installations.running import bare_environment
from tests.servers.postgres import Postgres

CLUSTERS, HOURS, KIND = 1000, 24, "postgres"
LEVEL = 6
DAY, YEAR = 24, 365 * 24
"""Hourly scans of the first day, and of a year."""
ROUNDS = 7
MAX_BYTES = 5_000_000_000
MAX_TIMES, SPARE_MS = 1.25, 5.0
"""What a page may take more than on the first day and still count as equally fast: the spread of two measurements."""
STORY = "beta_037"
PAGES = {
    "fleet": "/",
    "fleet, one list by blockers": "/?view=flat&sort=blockers&desc=1",
    "causes": "/fleet/causes",
    "progress": "/burndown",
    "a cluster": "/clusters/{pk}/",
    "its nodes": "/clusters/{pk}/nodes",
    "its history": "/clusters/{pk}/history",
    "API list": "/api/v1/clusters?limit=100",
    "API findings": "/api/v1/snapshots/{latest}/findings?limit=100",
    "API summary": "/api/v1/fleet/summary",
    "metrics": "/metrics",
}
FINDINGS = """
    INSERT INTO migrations_app_findingrow (content_id, {columns})
    SELECT c.digest, {named} FROM migrations_app_findingrow f, migrations_app_content c
    WHERE f.content_id = %s AND c.digest IN ({digests})
"""
COPIED = ("check_id", "hop", "phase", "status", "severity", "summary", "evidence_total", "evidence_exact")


@dataclass(frozen=True, slots=True)
class Year:
    """Bytes of the database, milliseconds by page, rows by table; `swept` is what retention deleted afterwards.

    `cold` is the first request of each page once the year is there: some keep what they read in the process.
    """

    database: str
    clusters: int
    hours: int
    size: int
    largest: dict[str, int]
    first_day: dict[str, float]
    year: dict[str, float]
    cold: dict[str, float]
    rows: dict[str, int]
    swept: int
    filled: float


def verdicts(found: Year) -> Iterator[tuple[bool, str]]:
    """Each target: reached or not, and the sentence with the figure. The limit of the size is by cluster."""
    limit = MAX_BYTES * found.clusters / CLUSTERS
    said = f"{found.database}: {found.size / 1e9:.2f} GB of {found.clusters} clusters (at most {limit / 1e9:.2f})"
    yield found.size <= limit, f"{said}, something new every {found.hours} hours"
    yield found.swept == 0, f"retention deleted {found.swept} rows of what was filled in"
    for page, took in found.year.items():
        before = found.first_day[page]
        said = f"{page} {took:.0f} ms after a year, {before:.0f} ms on the first day"
        yield took <= max(MAX_TIMES * before, before + SPARE_MS), said


def measured(clusters: int, *, hours: int = HOURS, kind: str = KIND, rounds: int = ROUNDS) -> Year:
    """The figures of a new installation on that kind of database."""
    server = Postgres() if kind == "postgres" else None
    try:
        with tempfile.TemporaryDirectory(prefix="kp-") as name:
            settings = {"data_dir": str(datadir.prepare(Path(name) / "d")), "log_level": "ERROR", "metrics_open": "1"}
            settings |= {"database_url": server.url} if server else {}
            words = ["measure", str(clusters), str(hours), str(rounds)]
            env = bare_environment(**settings) | {"PYTHONPATH": str(ROOT)}
            command = [sys.executable, "-m", "tests.bench.bench_year", *words]
            done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                raise FailedError(f"measuring on {kind} ended with {done.returncode}")
            return Year(**json.loads(done.stdout.splitlines()[-1]))
    finally:
        if server:
            server.stop()


def kept(now: datetime, hourly: int) -> list[datetime]:
    """What retention leaves of so many hourly scans up to now, newest first: its own rule decides."""
    from migrations_app.use_cases.scans.retention import snapshots_to_delete

    moments = {uuid.UUID(int=hour): now - timedelta(hours=hour) for hour in range(hourly)}
    gone = set(snapshots_to_delete(moments.items(), now=now))
    return [at for key, at in moments.items() if key not in gone]


def _measure(clusters: int, hours: int, rounds: int) -> Year:
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection
    from django.utils import timezone

    from migrations_app.models.cluster import Cluster
    from migrations_app.use_cases.scans.packing import MIN_UNUSED_TIME, pack_history
    from migrations_app.use_cases.scans.retention import sweep_old

    call_command("migrate", interactive=False, verbosity=0)
    client, _ = signed_in()
    now, began = timezone.now(), time.monotonic()
    moments = kept(now, YEAR)
    young = [at for at in moments if at > now - timedelta(hours=DAY)]
    scanned, made = _a_scan(), []
    for number in range(clusters):
        made.append(_cluster(number, scanned, moments=young, hours=hours))
        _days(made[-1][0], now=now, days=range(1))
    _analyzed(connection)
    first_day = _pages(client, made[-1][0].pk, rounds=rounds)
    _step_is_old(now)
    for cluster, first in made:
        like = _packed(first, now=now)
        _fill(cluster, first, nodes=scanned.nodes, moments=moments[len(young) :], hours=hours, like=like)
        _days(cluster, now=now, days=range(1, 365))
    filled = time.monotonic() - began
    swept = sweep_old(within=600.0, now=now)
    for moment in (now, now + MIN_UNUSED_TIME):
        pack_history(within=3600.0, now=moment)
    Cluster.objects.update(created_at=now - timedelta(days=365))
    _analyzed(connection)
    cold = _pages(client, made[-1][0].pk, rounds=1)
    year = _pages(client, made[-1][0].pk, rounds=rounds)
    size, largest = _size(connection)
    rows = _rows()
    return Year(connection.vendor, clusters, hours, size, largest, first_day, year, cold, rows, swept, filled)


def _analyzed(connection: Any) -> None:
    """Statistics for the planner, as autovacuum makes them."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def _a_scan() -> Any:
    """What a scan of a cluster of that story finds."""
    from migrations_app.models.cluster import Cluster
    from migrations_app.use_cases.scans.registered_cluster import evaluate_registered

    row = Cluster.objects.create(name=STORY, source=Cluster.Source.SAMPLE, context=STORY)
    try:
        return evaluate_registered(STORY)
    finally:
        row.delete()


def _named(scanned: Any, cluster: str) -> Any:
    """The same scan of the cluster of that name."""
    import msgspec

    facts = msgspec.structs.replace(scanned.report.cluster, name=cluster)
    return msgspec.structs.replace(scanned, report=msgspec.structs.replace(scanned.report, cluster=facts))


def _step_is_old(now: datetime) -> None:
    """The schema step of packing is as long ago as it has to be."""
    from django.db import connection
    from django.db.migrations.recorder import MigrationRecorder

    from migrations_app.use_cases.scans.packing import OURS, ROLLBACK_PERIOD, STEP

    steps = MigrationRecorder(connection).migration_qs.filter(app=OURS, name=STEP)
    if not steps.update(applied=now - ROLLBACK_PERIOD):
        raise FailedError(f"{STEP} is no schema step")


def _packed(first: Any, *, now: datetime) -> Any:
    """The cluster's content as the sweep packs it."""
    from migrations_app.models.scan import Content
    from migrations_app.use_cases.scans.packing import MIN_UNUSED_TIME, pack_history

    row = first.content
    same = {"report": row.report, "nodes": row.nodes, "iam": row.iam, "history_since": now - MIN_UNUSED_TIME}
    made = Content.objects.create(digest=hashlib.sha256(row.pk.encode()).hexdigest(), **same)
    if not pack_history(within=60.0, now=now):
        raise FailedError("nothing was packed")
    made.refresh_from_db()
    made.delete()
    return made


def _changed(first: Any, nodes: Sequence[Any], number: int, *, like: Any) -> Any:
    """The content after so many changes: one node has another name, as when it is replaced, and all else is alike."""
    import msgspec

    from migrations_app.models.scan import Content

    digest = hashlib.sha256(f"{first.digest} {number}".encode()).hexdigest()
    other = [msgspec.structs.replace(node, name=f"{node.name}-{digest[:5]}") for node in nodes[:1]]
    packed = zlib.compress(msgspec.json.encode([*other, *nodes[1:]]), LEVEL)
    if like is None:
        return Content(digest=digest, report=first.report, nodes=packed, iam=first.iam)
    return Content(
        digest=digest, report=like.report, nodes=packed, texts_id=like.texts_id, statuses_id=like.statuses_id,
        sheet_id=like.sheet_id, history_since=like.history_since,
    )  # fmt: skip


def _cluster(number: int, scanned: Any, *, moments: Sequence[datetime], hours: int) -> tuple[Any, Any]:
    """A registered cluster with the snapshots of its first day, and the newest of them."""
    from migrations_app.models.cluster import Cluster
    from migrations_app.models.monitoring import Gauges, Tally
    from migrations_app.models.scan import Snapshot
    from migrations_app.use_cases.scans import store

    name = f"cluster-{number:04}"
    cluster = Cluster.objects.create(
        name=name, source="kubeconfig", environment=("prod", "stage", "dev")[number % 3],
        server=f"https://c{number}.example", last_success_at=moments[0], next_due_at=moments[0] + timedelta(days=1),
    )  # fmt: skip
    store.publish_past(cluster, _named(scanned, name), moments=moments[:1])
    latest = Snapshot.objects.get(cluster=cluster)
    Cluster.objects.filter(pk=cluster.pk).update(latest=latest)
    Gauges.objects.create(cluster=cluster, body=store.gauges(scanned.report, {("NodePool", "karpenter.sh/v1"): 3}))
    Tally.objects.bulk_create(
        Tally(subject=str(cluster.pk), what="request", first="list", second=code, count=9) for code in ("200", "404")
    )
    _fill(cluster, latest, nodes=scanned.nodes, moments=moments[1:], hours=hours)
    return cluster, latest


def _change(at: datetime, hours: int) -> int:
    """The number of the content that a scan of that moment finds."""
    return int(at.timestamp() // (3600 * hours))


def _fill(
    cluster: Any, latest: Any, *, nodes: Sequence[Any], moments: Sequence[datetime], hours: int, like: Any = None
) -> None:
    """Snapshots of these moments with their contents, the scans of a week and their ends. Contents have their findings
    as rows, or are packed as `like` is.
    """
    from django.db import transaction

    from migrations_app.models.scan import Content, Snapshot

    first = latest.content
    numbers = {at: _change(latest.scanned_at, hours) - _change(at, hours) for at in moments}
    contents = {
        number: _changed(first, nodes, number, like=like) if number else first for number in set(numbers.values())
    }
    with transaction.atomic():
        there = set(Content.objects.filter(pk__in=[one.pk for one in contents.values()]).values_list("pk", flat=True))
        fresh = [one for one in contents.values() if one.pk not in there]
        Content.objects.bulk_create(fresh, batch_size=200)
        _findings(first.pk, [one.pk for one in fresh if like is None])
        same = _columns(latest)
        rows = [Snapshot(scanned_at=at, content=contents[number], **same) for at, number in numbers.items()]
        Snapshot.objects.bulk_create(rows, batch_size=500)
        _scans(cluster, rows)


def _columns(latest: Any) -> dict[str, Any]:
    names = ("cluster_id", "complete", "stage", "karpenter_version", "kubernetes_version", "next_hop", "verdict")
    more = ("blockers", "warnings", "unknowns", "legacy_left", "nodes_total", "parts", "waived", "unchanged")
    return {name: getattr(latest, name) for name in names + more}


def _findings(first: str, digests: Sequence[str]) -> None:
    """The findings of each of these contents: copies of those of the first one, made in the database."""
    from django.db import connection

    columns, named = ", ".join(COPIED), ", ".join(f"f.{name}" for name in COPIED)
    with connection.cursor() as cursor:
        for start in range(0, len(digests), 200):
            some = digests[start : start + 200]
            holes = ", ".join(["%s"] * len(some))
            cursor.execute(FINDINGS.format(columns=columns, named=named, digests=holes), [first, *some])


def _scans(cluster: Any, snapshots: Sequence[Any]) -> None:
    """The scans behind them that are kept, and their numbered ends."""
    from django.utils import timezone

    from migrations_app.models.scan import Scan
    from migrations_app.models.scan_event import ScanEvent
    from migrations_app.use_cases.scans.retention import DONE_SCANS

    calls = {"list 200": 24, "get 200": 9, "get 404": 2}
    scans = [
        Scan(
            cluster=cluster, state="done", requested_by="schedule", started_at=one.scanned_at, due_at=one.scanned_at,
            finished_at=one.scanned_at, probed_at=one.scanned_at, fence=2, attempts=1, calls=calls, snapshot=one,
        )
        for one in snapshots
        if one.scanned_at > timezone.now() - DONE_SCANS + timedelta(hours=1)
    ]  # fmt: skip
    Scan.objects.bulk_create(scans, batch_size=500)
    last = ScanEvent.objects.order_by("-seq").values_list("seq", flat=True).first() or 0
    ScanEvent.objects.bulk_create(
        (
            ScanEvent(seq=seq, at=one.finished_at, cluster=cluster, scan_id=one.pk, state="done")
            for seq, one in enumerate(scans, last + 1)
        ),
        batch_size=500,
    )


def _days(cluster: Any, *, now: datetime, days: range) -> None:
    """What was left to do at the end of each day so many days ago, a little less on each."""
    from migrations_app.models.scan import LegacyDay

    same = {"templates": 0, "machines": 0, "nodes": 0, "stored_versions": 3, "objects_total": 400, "nodes_total": 14}
    same |= {"stored_versions_total": 3, "claims_total": 14, "claims": 14}
    rows = [
        LegacyDay(cluster=cluster, day=now.date() - timedelta(days=ago), provisioners=10 + ago, **same) for ago in days
    ]
    LegacyDay.objects.bulk_create(rows, batch_size=500)


def _pages(client: Any, cluster: uuid.UUID, *, rounds: int) -> dict[str, float]:
    from migrations_app.models.cluster import Cluster

    named = {"pk": cluster, "latest": Cluster.objects.get(pk=cluster).latest_id}
    return {name: fastest(client, path.format(**named), rounds=rounds) for name, path in PAGES.items()}


def _rows() -> dict[str, int]:
    from migrations_app.models.scan import Content, FindingRow, LegacyDay, Scan, Snapshot

    found = {model.__name__: model.objects.count() for model in (Snapshot, Content, FindingRow, Scan, LegacyDay)}
    return found | {"packed": Content.objects.exclude(texts=None).count()}


def _size(connection: Any) -> tuple[int, dict[str, int]]:
    """Bytes of the whole database, and of its largest tables with their indexes."""
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            return Path(connection.settings_dict["NAME"]).stat().st_size, {}
        cursor.execute("SELECT pg_database_size(current_database())")
        whole = cursor.fetchone()[0]
        cursor.execute("SELECT relname, pg_total_relation_size(relid) FROM pg_stat_user_tables ORDER BY 2 DESC LIMIT 5")
        return whole, dict(cursor.fetchall())


def main(words: list[str]) -> int:
    """0 when every target is reached."""
    clusters = int(words[0]) if words else CLUSTERS
    hours = int(words[1]) if len(words) > 1 else HOURS
    found = measured(clusters, hours=hours, kind=words[2] if len(words) > 2 else KIND)
    sys.stdout.write(f"filled in {found.filled:.0f} s; rows: {found.rows}; largest tables: {found.largest}\n")
    cold = ", ".join(f"{page} {took:.0f} ms" for page, took in found.cold.items())
    sys.stdout.write(f"the first request after a year: {cold}\n")
    judged = list(verdicts(found))
    for reached, said in judged:
        sys.stdout.write(f"- {'reached' if reached else 'MISSED'}: {said}\n")
    return int(not all(reached for reached, _ in judged))


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "karpdash.settings"
    if sys.argv[1:2] == ["measure"]:
        sys.stdout.write(json.dumps(asdict(_measure(*(int(word) for word in sys.argv[2:5])))) + "\n")
    else:
        sys.exit(main(sys.argv[1:]))
