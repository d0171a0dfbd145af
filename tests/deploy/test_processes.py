"""What compose and the chart start, started: a scheduled scan of the fleet, a lost queue, and an end in order."""

import json
import os
import signal
import time

import pytest

from tests.actions.on_server import installed
from tests.deploy import compose
from tests.deploy.installation import PATIENCE, installation, missing_is
from tests.deploy.roles import bound
from tests.servers.waiting import eventually

pytestmark = [pytest.mark.postgres, pytest.mark.redis, pytest.mark.timeout(900)]
QUICK = {"scan_interval": "6", "sweep_interval": "1", "allow_loopback": "1"}
WORKERS = ("worker-probe", "worker-scan", "worker-action")
DONE = (
    "SELECT c.name, count(*) FROM migrations_app_scan s JOIN migrations_app_cluster c ON c.id = s.cluster_id "
    "WHERE s.state = 'done' AND s.requested_by = 'schedule' GROUP BY c.name ORDER BY c.name"
)
FAILED = "SELECT error_code, error_detail FROM migrations_app_scan WHERE state = 'failed'"


@pytest.fixture
def server(clean_apiserver):
    clean_apiserver.load_crds("beta")
    installed(clean_apiserver, "0.37.8")
    return clean_apiserver


def scans(made):
    """Scheduled scans that ended well, by cluster."""
    return dict(made.rows(DONE))


def wait_for_scans(made, names, *, more_than):
    def enough():
        done = scans(made)
        return all(done.get(name, 0) > more_than.get(name, 0) for name in names)

    try:
        eventually(enough, what=f"scheduled scans of {names}", seconds=PATIENCE)
    except TimeoutError as late:
        raise AssertionError(f"{late}: {scans(made)} {made.rows(FAILED)}\n{made.recent_output()}") from None


def add(made, name, kubeconfig):
    access = made.folder / f"{name}.yaml"
    access.write_text(kubeconfig)
    passed = {**made.services["web"], "volumes": []}
    data = made.folder / "add-data"
    data.mkdir(exist_ok=True)
    (data / f"{name}.yaml").write_text(kubeconfig)
    words = ["karpdash", "cluster", "add", name, "--kubeconfig", f"{compose.DATA}/{name}.yaml"]
    child = compose.process(passed | {"command": words}, "add", at=made.place, more=made.settings)
    assert child.process.wait(PATIENCE) == 0, child.log.read_text()


def a_hang_is_noticed(made):
    """Every process is stopped in its tracks once; its health check says so, and takes it back afterwards."""
    probed = (*WORKERS, "beat")
    for name in probed:
        untouched(made, name)
        eventually(lambda name=name: made.works(name), what=f"{name} to touch its file", seconds=PATIENCE)
    made.signal_all((*probed, "web"), signal.SIGSTOP)
    for name in probed:
        untouched(made, name)
        assert not made.works(name), name
    assert not made.healthy("web")
    # Without the queue they would wait, which is no reason to end them.
    made.signal_all(["queue"], signal.SIGSTOP)
    assert not made.healthy("queue", within=5)
    assert made.works("worker-scan")
    made.signal_all((*probed, "web", "queue"), signal.SIGCONT)
    for name in probed:
        eventually(lambda name=name: made.works(name), what=f"{name} to go on", seconds=PATIENCE)
    missing_is(made, {"/readyz": []})
    assert made.healthy("web")


def untouched(made, name):
    """As if a minute had gone by since the process touched its file."""
    before = time.time() - 61
    os.utime(made.alive_file(name), (before, before))


def test_a_whole_scheduled_scan_of_the_fleet(server, tmp_path):  # R01, R05, R20, R28, T30
    with installation(tmp_path, **QUICK) as made:
        made.run("schema", made.services["schema"]["command"])  # a second time does no harm
        made.start("web")
        missing_is(made, {"/readyz": ["beat", "worker:action", "worker:probe", "worker:scan", "worker:upkeep"]})
        assert made.healthy("web")
        for name in (*WORKERS, "beat"):
            made.start(name)
        made.start("worker-scan", name="worker-scan-2")
        missing_is(made, {"/readyz": []})
        a_hang_is_noticed(made)  # before there is a cluster: a scan that is held until its deadline fails, rightly
        for name in ("blue", "green"):
            add(made, name, bound(server))
        wait_for_scans(made, ["blue", "green"], more_than={"blue": 1, "green": 1})
        assert made.rows(FAILED) == [], made.recent_output()
        assert made.rows("SELECT DISTINCT complete FROM migrations_app_snapshot") == [(True,)]
        assert made.rows("SELECT count(*) FROM migrations_app_scan WHERE state = 'done' AND probed_at IS NULL") == [
            (0,)
        ]

        assert made.end("queue") == 0
        missing_is(made, {"/readyz": ["broker"], "/readyz?for=web": ["broker"]})
        assert (made.answer("/readyz?for=web")[0], made.answer("/healthz")) == (200, (200, "ok\n"))
        made.start("queue")
        missing_is(made, {"/readyz": []})
        before = scans(made)
        wait_for_scans(made, ["blue", "green"], more_than=before)

        carried = made.folder / "worker-action-data" / "audit" / "checkpoints.jsonl"
        signed = made.rows("SELECT seq FROM migrations_app_checkpoint ORDER BY seq")
        lines = [json.loads(line) for line in carried.read_text().splitlines()]
        assert [(one["seq"],) for one in lines] == signed[: len(lines)]
        assert lines  # A53: outside of the database, without a setting of anybody

        victim = made.running.pop("worker-scan-2")
        os.killpg(victim.process.pid, signal.SIGKILL)
        victim.process.wait()
        before = scans(made)
        wait_for_scans(made, ["blue", "green"], more_than=before)
        assert {name: made.end(name) for name in (*WORKERS, "beat", "web")} == dict.fromkeys(
            (*WORKERS, "beat", "web"), 0
        )


@pytest.mark.skipif(not compose.may_close(), reason="mounts of our own need root")
def test_the_disk_of_a_service_is_closed(tmp_path):  # T30
    place = compose.Place(tmp_path, {}, tmp_path)
    places = "for place in / /app /etc /var /usr $PWD; do touch $place/x 2>/dev/null && echo $place; done"
    tries = f"{places}; touch ${{TMPDIR:-/tmp}}/x $D/x; id -u; ls $D"
    service = {"command": ["sh", "-c", tries], "environment": {"D": compose.DATA}}
    child = compose.process(service, "one", at=place)
    assert (child.process.wait(60), child.log.read_text().split()) == (0, ["0", "x"])
