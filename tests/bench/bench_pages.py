"""The fleet page and the list of the API with 1,000 clusters and 90 days of snapshots, against an empty page.

`python -m tests.bench.bench_pages` measures on SQLite and on PostgreSQL; each runs in a process of its own. The time is
the server's own: the request goes through every layer of the product, and over no network.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import urllib3

from karpdash.processes import datadir
from tests.bench.measure import ROOT, FailedError
from tests.bench.signed_in import signed_in
from tests.installations.running import bare_environment
from tests.servers.postgres import Postgres
from tests.servers.processes import Child, free_port

CLUSTERS = 1000
ROUNDS = 25
CROWD = 100
WANTED_MS = 100.0
WANTED_TIMES = 6.0
PAGES = {
    "fleet page": "/",
    "fleet page, one list by blockers": "/?view=flat&sort=blockers&desc=1",
    "line of progress that it loads": "/burndown/line",
    "API list": "/api/v1/clusters?limit=100",
    "API summary": "/api/v1/fleet/summary",
    "metrics": "/metrics",
}
JUDGED = ("fleet page", "fleet page, one list by blockers", "API list")
EMPTY = "an empty page of the same site"


@dataclass(frozen=True, slots=True)
class Figures:
    """Milliseconds and the number of queries by page; `queries_of_few` with a fiftieth of the fleet.

    The fastest round counts: what else the machine does only ever adds. `cookie` opens the installation to a crowd,
    whose answers are counted by their status.
    """

    database: str
    snapshots: int
    milliseconds: dict[str, float]
    queries: dict[str, int]
    queries_of_few: dict[str, int]
    cookie: str = ""
    crowd: dict[str, int] = field(default_factory=dict)


def verdicts(found: Figures) -> Iterator[tuple[bool, str]]:
    """Each target: reached or not, and the sentence with the figure."""
    empty = found.milliseconds[EMPTY]
    for name in JUDGED:
        took = found.milliseconds[name]
        limit = min(WANTED_MS, WANTED_TIMES * empty)
        said = f"{found.database}: {name} {took:.0f} ms, {took / empty:.1f} times an empty page ({empty:.0f} ms)"
        yield took <= limit, f"{said}, {found.queries[name]} queries"
    said = f"{found.database}: {CROWD} requests at once, answers by status {found.crowd}"
    yield sum(found.crowd.values()) == found.crowd.get("200") == CROWD, said
    same = found.queries == found.queries_of_few
    yield same, f"{found.database}: as many queries for {CLUSTERS} clusters as for {CLUSTERS // 50}"


def main() -> int:
    """0 when every target is reached on both databases."""
    judged = [one for kind in ("sqlite", "postgres") for one in verdicts(measured(kind, CLUSTERS))]
    for reached, said in judged:
        sys.stdout.write(f"- {'reached' if reached else 'MISSED'}: {said}\n")
    return int(not all(reached for reached, _ in judged))


def measured(kind: str, clusters: int, *, rounds: int = ROUNDS) -> Figures:
    """The figures of a new installation on that kind of database."""
    server = Postgres() if kind == "postgres" else None
    try:
        with tempfile.TemporaryDirectory(prefix="kp-") as name:
            settings = {"data_dir": str(datadir.prepare(Path(name) / "d")), "log_level": "ERROR", "metrics_open": "1"}
            settings |= {"database_url": server.url} if server else {}
            command = [sys.executable, "-m", "tests.bench.bench_pages", "measure", str(clusters), str(rounds)]
            env = bare_environment(**settings) | {"PYTHONPATH": str(ROOT)}
            done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                raise FailedError(f"measuring on {kind} ended with {done.returncode}")
            found = Figures(**json.loads(done.stdout.splitlines()[-1]))
            return replace(found, crowd=crowd(Path(name), env, cookie=found.cookie))
    finally:
        if server:
            server.stop()


def crowd(folder: Path, env: dict[str, str], *, cookie: str) -> dict[str, int]:
    """How many of a hundred requests at once got which status from a real web server."""
    port = free_port()
    words = ["-m", "gunicorn", "karpdash.wsgi", "--bind", f"127.0.0.1:{port}", "--worker-class", "gthread"]
    more = ["--threads", "8", "--workers", "2", "--no-control-socket", "--log-level", "warning"]
    web = Child([sys.executable, *words, *more], log=folder / "web.log", env=env | {"KARPDASH_HTTPS": "0"})
    pool = urllib3.HTTPConnectionPool("127.0.0.1", port, maxsize=CROWD, headers={"Cookie": f"sessionid={cookie}"})
    paths = [PAGES[JUDGED[number % len(JUDGED)]] for number in range(CROWD)]
    try:
        web.wait_until(lambda: _serves(pool), what="the web server")
        with ThreadPoolExecutor(CROWD) as people:
            told = people.map(lambda path: pool.request("GET", path, retries=False, timeout=120).status, paths)
            return {str(status): count for status, count in Counter(told).items()}
    finally:
        pool.close()
        web.stop(signal.SIGTERM)


def _serves(pool: urllib3.HTTPConnectionPool) -> bool:
    try:
        return pool.request("GET", "/healthz", retries=False, timeout=5).status == 200
    except urllib3.exceptions.HTTPError:
        return False


def _measure(clusters: int, rounds: int) -> Figures:
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", interactive=False, verbosity=0)
    client, _ = signed_in()
    times = {EMPTY: fastest(client, "/", rounds=rounds)}
    _fill(clusters // 50, first=0)
    few = {name: _queries(client, path) for name, path in PAGES.items()}
    snapshots = _fill(clusters, first=clusters // 50)
    connection.cursor().execute("ANALYZE")
    queries = {name: _queries(client, path) for name, path in PAGES.items()}
    times |= {name: fastest(client, path, rounds=rounds) for name, path in PAGES.items()}
    return Figures(connection.vendor, snapshots, times, queries, few, client.cookies["sessionid"].value)


def fastest(client: Any, path: str, *, rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        answer = client.get(path)
        taken.append(1000 * (time.perf_counter() - started))
        if answer.status_code != 200:
            raise FailedError(f"{path} answered {answer.status_code}")
    return min(taken)


def _queries(client: Any, path: str) -> int:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client.get(path)
    with CaptureQueriesContext(connection) as captured:
        client.get(path)
    return len(captured)


VERDICTS = ("blocked", "needs_facts", "ready_with_warnings", "ready", "in_progress", "done")
STAGES = ("alpha", "mixed", "beta", "beta_v1", "v1")


def ages() -> list[timedelta]:
    """What retention leaves of hourly scans of ninety days: all of a week, one a day before."""
    return [timedelta(hours=hour) for hour in range(24 * 7)] + [timedelta(days=day, hours=1) for day in range(7, 90)]


def _fill(until: int, *, first: int) -> int:
    """Clusters `first` to `until`, each with its snapshots; how many snapshots there are then."""
    from django.utils import timezone

    from migrations_app.models.cluster import Cluster
    from migrations_app.models.monitoring import Gauges, Tally
    from migrations_app.models.scan import LegacyDay, Snapshot
    from migrations_app.use_cases.scans.store import gauges
    from tests.builders.rows import a_report, a_snapshot

    now = timezone.now()
    body = gauges(a_report(), {("NodePool", "karpenter.sh/v1"): 3})
    for number in range(first, until):
        report = a_report(f"cluster-{number:04}")
        cluster = Cluster.objects.create(
            name=f"cluster-{number:04}", source="kubeconfig", environment=("prod", "stage", "dev")[number % 3],
            server=f"https://c{number}.example", last_success_at=now,
        )  # fmt: skip
        columns = {"verdict": VERDICTS[number % 6], "stage": STAGES[number % 5], "blockers": number % 7}
        latest = a_snapshot(cluster, report, at=now, **columns)
        Snapshot.objects.bulk_create(_older(latest, now), batch_size=500)
        LegacyDay.objects.bulk_create(_days(cluster.pk, now, number=number), batch_size=500)
        Gauges.objects.create(cluster=cluster, body=body)
        Tally.objects.bulk_create(
            Tally(subject=str(cluster.pk), what="request", first="list", second=code, count=9)
            for code in ("200", "404")
        )
    return Snapshot.objects.count()


def _older(latest: Any, now: datetime) -> Iterator[Any]:
    from migrations_app.models.scan import Snapshot

    columns = ("cluster_id", "content_id", "complete", "stage", "karpenter_version", "kubernetes_version", "next_hop")
    more = ("verdict", "blockers", "warnings", "unknowns", "legacy_left", "nodes_total", "parts")
    same = {name: getattr(latest, name) for name in columns + more}
    return (Snapshot(scanned_at=now - age, **same) for age in ages()[1:])


def _days(cluster: Any, now: datetime, *, number: int) -> Iterator[Any]:
    """Ninety days of progress; the fewer objects are left, the nearer the day is."""
    from migrations_app.models.scan import LegacyDay

    for back in range(90):
        left = min(20, back // 4 + number % 3)
        counts = {"provisioners": left, "templates": left, "machines": 2 * left, "nodes": left, "claims": left}
        totals = {"objects_total": 100, "nodes_total": 40, "stored_versions_total": 3, "claims_total": 40}
        day = (now - timedelta(days=back)).date()
        yield LegacyDay(cluster_id=cluster, day=day, stored_versions=3 if left else 0, **counts, **totals)


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "karpdash.settings"
    if sys.argv[1:2] == ["measure"]:
        sys.stdout.write(json.dumps(asdict(_measure(int(sys.argv[2]), int(sys.argv[3])))) + "\n")
    else:
        sys.exit(main())
