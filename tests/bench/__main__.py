"""`python -m tests.bench [--write FILE]`: fills a real API server and measures side by side, in one run.

KARPDASH_BENCH_SCALE makes it smaller: 0.01 is 20 nodes, 20 Machines and 400 pods. Targets count at full size only.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from karpdash.processes import datadir
from tests.bench import (
    bench_campaigns,
    bench_checks,
    bench_convert,
    bench_crowd,
    bench_fleet,
    bench_pages,
    bench_rehearsal,
    bench_sample_pages,
    bench_start,
    bench_up,
    bench_year,
    load,
    seed,
)
from tests.bench.load import Size
from tests.bench.measure import FailedError, Figures, fastest, ours, outside
from tests.bench.table import Results, table, verdicts
from tests.servers.apiserver import ApiServer

ROUNDS = 5
FEW_ROUNDS = 2
"""Of a size too small to tell how fast: each contender once before the other, and once after it."""
THIRD = 3
"""The memory of a scan is taken with a third of the pods, too."""


def main(arguments: list[str]) -> int:
    """0 when every target is reached, or when the size is too small to tell."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--write", type=Path, help="also write the result as a page of the docs")
    options = parser.parse_args(arguments)
    scale = float(os.environ.get("KARPDASH_BENCH_SCALE") or 1)
    try:
        results = run(Size.scaled(scale))
    except (pytest.skip.Exception, pytest.fail.Exception, FailedError) as reason:
        return _said(str(reason))
    walks = [bench_checks.walk_measured(scene.scaled(scale)) for scene in bench_checks.WALKED]
    page = table(results, judged=scale >= 1) + bench_checks.walk_page(walks)
    sys.stdout.write(page)
    if options.write:
        options.write.write_text(page + pages_of(options.write))
    if scale < 1:
        return 0
    beside = [bench_convert.main(), bench_start.main(), bench_up.main(), bench_checks.main(), bench_pages.main()]
    beside.append(bench_fleet.main([]))
    beside.append(bench_rehearsal.main([]))
    beside.append(bench_campaigns.main())
    beside.append(bench_sample_pages.main())
    beside.append(bench_crowd.main([]))
    # A tenth of the clusters: of all of them the rows of a year take half an hour and 30 GB.
    beside.append(bench_year.main(["100"]))
    return int(any(beside) or not all(reached for reached, _ in verdicts(results)))


def pages_of(written: Path) -> str:
    """The section about pages of the file as it is, which is not measured here; empty without one."""
    _, head, after = (written.read_text() if written.exists() else "").partition("\n## Pages\n")
    return head + after


def run(size: Size) -> Results:
    """Everything that is measured on the server; a third of the pods first, then all."""
    with tempfile.TemporaryDirectory(prefix="kb-") as name:
        folder = Path(name)
        server = ApiServer(audit=False, progress_seconds=1)
        try:
            return _measured(server, size, folder)
        finally:
            server.stop()


def _measured(server: ApiServer, size: Size, folder: Path) -> Results:
    environment = prepared(server, folder)
    few = replace(size, pods=size.pods // THIRD)
    started = time.monotonic()
    _fill(server, few, already=0)
    filled = time.monotonic() - started
    idle = ours("idle", str(folder), env=environment)
    third = ours("scan", str(folder), env=environment)
    started = time.monotonic()
    _fill(server, size, already=few.pods)
    filled += time.monotonic() - started
    rounds = ROUNDS if size == Size.scaled(1) else FEW_ROUNDS
    plain, scan = [], []
    for _ in range(rounds):  # they take turns, so that a busy moment of the machine slows both
        plain.append(ours("plain", str(folder)))
        scan.append(ours("scan", str(folder), env=environment))
    return Results(
        size=size,
        rounds=rounds,
        filled=filled,
        idle=idle,
        third=third,
        plain=fastest(plain),
        scan=fastest(scan),
        typed=ours("typed", str(folder)),
        kubectl=_kubectl(folder),
    )


def prepared(server: ApiServer, folder: Path) -> dict[str, str]:
    """Writes what the contenders read; the environment of a scan."""
    told = {"url": server.url, "ca_pem": server.ca_pem, "token": server.admin_token}
    (folder / "server.json").write_text(json.dumps(told))
    (folder / "ca.pem").write_text(server.ca_pem)
    (folder / "kubeconfig").write_text(server.kubeconfig(server.admin_token))
    environment = {
        "KARPDASH_DATA_DIR": str(datadir.prepare(folder / "d")),
        "KARPDASH_ALLOW_LOOPBACK": "1",
        "KARPDASH_LOG_LEVEL": "WARNING",
    }
    ours("prepare", str(folder), env=environment)
    return environment


def _fill(server: ApiServer, size: Size, *, already: int) -> None:
    instances = load.launched(size.nodes)
    if not already:
        seed.install(server, [*load.installation(), *load.workloads(), *load.machines(instances)])
    nodes = [load.node_name(one) for one in instances]
    made = seed.fill(server.admin, load.pods(range(already, size.pods), nodes))
    _said(f"{made} pods, {size.nodes} nodes and Machines are there")


def _kubectl(folder: Path) -> Figures | None:
    found = shutil.which("kubectl")
    if found is None:
        return None
    command = [found, f"--kubeconfig={folder / 'kubeconfig'}", "get", "pods", "-A", "-o", "json"]
    return outside(command)


def _said(message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
