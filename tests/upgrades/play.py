"""Replaces one release by another under load, and reports what was lost, doubled or refused meanwhile."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.installations.slow_cluster import SlowCluster
from tests.servers.apiserver import ApiServer
from tests.servers.fault_proxy import Fault, FaultProxy
from tests.servers.waiting import eventually
from tests.upgrades.load import Load
from tests.upgrades.releases import Release
from tests.upgrades.site import PATIENCE, Running, Site
from tests.use_cases.rollouts.building import config_map, painting
from tests.use_cases.rollouts.killing import effects
from tests.use_cases.rollouts.workers import WorkerProcesses

STEPS = ["s001", "s002", "s003"]
ANSWERS = 8
"""How many answers each web process gives beside the other before one of them goes."""
CAME_TO = "SELECT state, count(*) FROM migrations_app_scan GROUP BY state"
UNDER_WAY = "SELECT count(*) FROM migrations_app_scan WHERE state IN ('queued', 'running')"
SLOW_UNDER_WAY = """
    SELECT count(*) FROM migrations_app_scan s JOIN migrations_app_cluster c ON c.id = s.cluster_id
    WHERE c.name = 'slow' AND s.state IN ('queued', 'running')
"""
FAILED = "SELECT id, error_code, error_detail, attempts FROM migrations_app_scan WHERE state <> 'done'"
DOUBLED = (
    "SELECT count(*), count(DISTINCT snapshot_id) FROM migrations_app_scan WHERE state = 'done'",
    "SELECT count(*), count(DISTINCT id) FROM migrations_app_snapshot",
)


@dataclass(slots=True)
class Play:
    """`now` are the processes that serve; each change replaces them by those of the other release."""

    site: Site
    workers: WorkerProcesses
    proxy: FaultProxy
    slow: SlowCluster
    slow_id: str
    load: Load
    now: Running
    rollouts: list[str] = field(default_factory=list)

    def change(self, to: Release, *, beside: bool) -> None:
        """Replaces web and workers by those of that release, while a rollout waits for an answer and a scan for
        a list.

        `beside`: the new worker starts before the old one is stopped, as in Kubernetes; else after, as with compose.
        """
        old, self.now = self.now, self.site.start(to, worker=beside)
        self._both_answer(old)
        held = self._rollout()
        # Whoever asks for a scan while one is under way gets that one, and it may have listed the pods already.
        self.until(lambda: self.site.rows(SLOW_UNDER_WAY) == [(0,)], what="the scan of the change before to end")
        self.slow.go_on.clear()
        asked = self.slow.times_pods_were_listed
        self.load.scan(self.slow_id)
        self.until(held.reached.is_set, what="a worker that advances the rollout")
        self.until(lambda: self.slow.times_pods_were_listed > asked, what="a worker that scans")
        self.site.ask_to_stop(old)
        held.let_go.set()
        assert self.site.ended(old) == [0, 0, 0], self.site.recent_output()
        if not beside:
            self.site.start_worker(self.now)
        self.slow.go_on.set()
        row = self.rollouts[-1]
        self.until(lambda: not self.workers.state(row).startswith("running"), what="the rollout to end")

    def complaints(self) -> list[str]:
        """Stops the load and returns what was lost, doubled or not answered, as texts."""
        self.load.stop()
        self.until(lambda: self.site.rows(UNDER_WAY) == [(0,)], what="every scan to end")
        done = {str(uuid.UUID(str(row[0]))) for row in self.site.rows("SELECT id FROM migrations_app_scan")}
        told = [*self.load.wrong, *(f"scan {scan} is lost" for scan in self.load.scans - done)]
        told += [f"scans ended as {state}: {count}" for state, count in self.site.rows(CAME_TO) if state != "done"]
        told += [f"{row}: {self.workers.state(row)}" for row in self.rollouts if self.workers.state(row) != "succeeded"]
        for row in self.rollouts:
            told += [str(complaint) for complaint in self.workers.complaints(row)]
            if (found := effects(self.workers.server, row, self.workers)) != STEPS:
                told.append(f"{row}: took effect: {', '.join(found)}")
        scans, snapshots = (self.site.rows(question)[0] for question in DOUBLED)
        if scans != snapshots:
            told.append(f"(scans, their snapshots): {scans}, snapshots: {snapshots}")
        return told if self.workers.ask("chain") is True else [*told, "the audit log has a gap"]

    def _rollout(self) -> Fault:
        """Starts a rollout of three steps whose first request is held until it is released."""
        server, mark = self.workers.server, uuid.uuid4().hex[:8]
        names = [f"map-{mark}-{number}" for number in range(len(STEPS))]
        held = self.proxy.add("hold", "PATCH", f"/configmaps/{names[0]}")
        steps = [painting(*config_map(server, name)) for name in names]
        kubeconfig = self.proxy.kubeconfig(server.admin_token)
        self.rollouts.append(self.workers.rollout(*steps, kubeconfig=kubeconfig))
        assert self.workers.ask("enqueue_rollout", self.rollouts[-1]) is True
        return held

    def _both_answer(self, old: Running) -> None:
        wanted = {port: self.load.answered[port] + ANSWERS for port in (old.port, self.now.port)}
        self.until(
            lambda: all(self.load.answered[port] >= count for port, count in wanted.items()), what="answers of both"
        )

    def until(self, is_so: Callable[[], bool], *, what: str) -> None:
        """Returns once `is_so` returns true; fails with the output of every process."""
        try:
            eventually(is_so, what=what, seconds=PATIENCE)
        except TimeoutError as late:
            scans = self.site.rows(FAILED)
            raise AssertionError(
                f"{late}: {self.load.wrong[:3]}; scans: {scans}\n{self.site.recent_output()}"
            ) from None


@contextmanager
def playing(site: Site, release: Release, server: ApiServer) -> Iterator[Play]:
    """Runs that release with a fleet of samples, a slow cluster and a real API server behind a proxy."""
    site.schema(release)
    workers, proxy = WorkerProcesses(site.errands(release), server), FaultProxy(server)
    workers.mark = server.audit_mark()
    load = None
    try:
        with SlowCluster() as slow:
            who, samples = workers.ask("visitor"), workers.ask("sample")[:2]
            slow_id = workers.ask("register", slow.kubeconfig, "slow")
            now = site.start(release)
            load = Load(site.front, who, clusters=samples)
            yield Play(site, workers, proxy, slow, slow_id, load, now)
    finally:
        if load is not None:
            load.stop()
        site.stop()
        workers.stop()
        proxy.stop()
