"""Every page of the sample fleet: CPU time of the server, size plain and compressed, queries, on both databases.

`python -m tests.bench.bench_sample_pages`. A request goes through every layer, in one process and over no
network; the median of the rounds counts. CPU time, because others may work on the machine.
"""

import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from karpdash.processes import datadir
from tests.bench.measure import ROOT, FailedError
from tests.bench.signed_in import signed_in
from tests.installations.running import bare_environment
from tests.servers.postgres import Postgres

ROUNDS = 11
WANTED_MS = 100.0
WANTED_BYTES = 40_000
SCHEMA = "/api/v1/schema/"
WANTED_SCHEMA_MS = 50.0
FLEET_PAGES = (
    "/",
    "/?view=flat",
    "/fleet/causes",
    "/burndown",
    "/groups/",
    "/rollouts/",
    "/audit",
    "/catalogue/",
    "/convert",
    SCHEMA,
)
CLUSTER_PAGES = ("", "plan", "nodes", "parts", "iam", "convert", "history")


@dataclass(frozen=True, slots=True)
class PageCost:
    """What one page cost: milliseconds of CPU, bytes, bytes with gzip, queries."""

    page: str
    milliseconds: float
    size: int
    compressed: int
    queries: int


def main() -> int:
    """0 when every page is within the limits on both databases."""
    missed = 0
    for kind in ("sqlite", "postgres"):
        found = measured(kind)
        sys.stdout.write(table(kind, found))
        for reached, said in verdicts(kind, found):
            missed += not reached
            sys.stdout.write(f"- {'reached' if reached else 'MISSED'}: {said}\n")
    return int(missed > 0)


def table(kind: str, found: list[PageCost]) -> str:
    """The pages as a table, the dearest first; of each tab the cluster for which it is dearest."""
    lines = [f"\n| page, {kind} | CPU ms | kB | kB gzip | queries |", "| --- | ---: | ---: | ---: | ---: |"]
    for cost in sorted(found, key=lambda cost: -cost.milliseconds):
        sizes = f"{cost.size / 1000:.0f} | {cost.compressed / 1000:.0f}"
        lines.append(f"| `{cost.page}` | {cost.milliseconds:.0f} | {sizes} | {cost.queries} |")
    return "\n".join(lines) + "\n\n"


def verdicts(kind: str, found: list[PageCost]) -> Iterator[tuple[bool, str]]:
    """Each target: reached or not, and the sentence with the figure."""
    slowest = max(found, key=lambda cost: cost.milliseconds)
    said = f"{kind}: the slowest page is {slowest.page}, {slowest.milliseconds:.0f} ms (at most {WANTED_MS:.0f})"
    yield slowest.milliseconds <= WANTED_MS, said
    first = next(cost for cost in found if cost.page.startswith("readiness of"))
    said = f"{kind}: {first.page} {first.compressed / 1000:.0f} kB over the wire (at most {WANTED_BYTES // 1000})"
    yield first.compressed <= WANTED_BYTES, said
    for cost in found:
        if cost.page == SCHEMA:
            said = f"{kind}: the schema takes {cost.milliseconds:.0f} ms (at most {WANTED_SCHEMA_MS:.0f})"
            yield cost.milliseconds <= WANTED_SCHEMA_MS, said


def measured(kind: str, *, rounds: int = ROUNDS) -> list[PageCost]:
    """The pages of a new installation with the sample fleet on that kind of database; of each tab the dearest."""
    server = Postgres() if kind == "postgres" else None
    try:
        with tempfile.TemporaryDirectory(prefix="kp-") as name:
            settings = {"data_dir": str(datadir.prepare(Path(name) / "d")), "log_level": "ERROR"}
            settings |= {"database_url": server.url} if server else {}
            command = [sys.executable, "-m", "tests.bench.bench_sample_pages", "measure", str(rounds)]
            env = bare_environment(**settings) | {"PYTHONPATH": str(ROOT)}
            done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                raise FailedError(f"measuring on {kind} ended with {done.returncode}")
            return [PageCost(**one) for one in json.loads(done.stdout.splitlines()[-1])]
    finally:
        if server:
            server.stop()


def _measure(rounds: int) -> list[PageCost]:
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", interactive=False, verbosity=0)
    client, _ = signed_in()
    clusters = _scanned_samples()
    connection.cursor().execute("ANALYZE")
    found = [_cost(client, page, path=page, rounds=rounds) for page in FLEET_PAGES]
    for tab in CLUSTER_PAGES:
        costs = [
            _cost(client, f"{tab or 'readiness'} of {name}", path=f"/clusters/{pk}/{tab}", rounds=rounds)
            for name, pk in clusters.items()
        ]
        found.append(max(costs, key=lambda cost: cost.milliseconds))
    return found


def _scanned_samples() -> dict[str, str]:
    """The sample clusters by name, each scanned once."""
    from migrations_app import tasks
    from migrations_app.models.cluster import Cluster
    from migrations_app.models.scan import Scan
    from migrations_app.use_cases.samples.load import load_samples
    from migrations_app.use_cases.scans import queue

    load_samples()
    for cluster in Cluster.objects.all():
        tasks.scan_cluster(str(queue.request_scan(cluster.pk).scan_id))
    if Scan.objects.exclude(state=Scan.State.DONE).exists():
        raise FailedError("a sample cluster was not scanned")
    return {cluster.name: str(cluster.pk) for cluster in Cluster.objects.all()}


def _cost(client: Any, page: str, *, path: str, rounds: int) -> PageCost:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client.get(path)
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(path)
    queries = len(captured)  # each later request empties the log
    if answer.status_code != 200:
        raise FailedError(f"{path} answered {answer.status_code}")
    taken = []
    for _ in range(rounds):
        started = time.process_time()
        client.get(path)
        taken.append(1000 * (time.process_time() - started))
    body = answer.content
    return PageCost(page, statistics.median(taken), len(body), len(gzip.compress(body, 6)), queries)


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "karpdash.settings"
    if sys.argv[1:2] == ["measure"]:
        sys.stdout.write(json.dumps([asdict(cost) for cost in _measure(int(sys.argv[2]))]) + "\n")
    else:
        sys.exit(main())
