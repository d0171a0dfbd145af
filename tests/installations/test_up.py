"""`karpdash up` from its first start to its second, with real processes; what it refuses; what a kill leaves."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installations.running import ROOT, Up, bare_environment, commands, kill, live, session
from tests.servers.processes import free_port
from tests.servers.waiting import eventually

SCANNED = "SELECT count(*) FROM migrations_app_snapshot"
LANES = ("karpdash:probe", "karpdash:scan", "karpdash:action")
ALIVE = "SELECT count(*) FROM migrations_app_pulse WHERE lanes <> ''"
PARTS = ("karpdash:web", *LANES, "broker.sock")
"""Beat is a thread of the worker that probes."""


def scanned(up: Up) -> int:
    return int(up.rows(SCANNED)[0][0])


def wait_for_snapshots(up: Up) -> None:
    eventually(lambda: scanned(up) > 0, what="the worker to publish a snapshot", seconds=120)


def test_the_first_start_serves_scans_and_stops_and_the_second_finds_its_data(up: Up) -> None:
    up.start().serving()
    assert len(up.password) >= 12
    assert f"http://127.0.0.1:{up.port}/" in up.out
    assert up.get("/healthz") == "ok\n"
    wait_for_snapshots(up)
    family, clusters = up.family(), up.rows("SELECT id, name FROM migrations_app_cluster ORDER BY name")
    assert [part for part in PARTS if part not in commands(family)] == []
    assert (up.end(), live(family), up.family(), up.err) == (0, set(), set(), "")
    before = scanned(up)
    up.start().serving()
    assert (up.password, "one-time" in up.out) == ("", False)
    assert up.rows("SELECT id, name FROM migrations_app_cluster ORDER BY name") == clusters
    assert scanned(up) >= before
    assert up.end() == 0


def test_what_a_stop_leaves_is_whole(up: Up) -> None:
    up.start().serving()
    up.end(signal.SIGTERM)
    assert up.rows("PRAGMA integrity_check") == [("ok",)]
    keys = [(name, (up.data / name).stat().st_mode & 0o777) for name in ("secret.key", "encryption.keys")]
    assert keys == [("secret.key", 0o600), ("encryption.keys", 0o600)]
    assert list(up.data.glob(".*")) == []


def test_a_killed_supervisor_takes_its_children_along(up: Up) -> None:
    up.start().serving()
    eventually(lambda: int(up.rows(ALIVE)[0][0]) == len(LANES), what="each worker to write a heartbeat", seconds=60)
    family = up.family()
    assert len(live(family)) >= len(PARTS)
    assert up.end(signal.SIGKILL) == -signal.SIGKILL
    eventually(lambda: not live(family | up.family()), what="the children to end", seconds=120)


def test_a_killed_worker_is_started_again(up: Up) -> None:
    up.start().serving()
    family = up.family()
    leader = next(pid for pid in family if session(pid) == pid and "karpdash:scan" in commands({pid}))
    kin = {pid for pid in family if session(pid) == leader}
    kill({leader})
    eventually(
        lambda: "worker-scan ended with -9, starts again" in up.err, what="the supervisor to notice", seconds=120
    )
    eventually(lambda: not live(kin), what="its own children to end", seconds=120)
    eventually(lambda: "karpdash:scan" in commands(up.family()), what="a new worker", seconds=120)
    assert up.get("/healthz") == "ok\n"


def test_two_do_not_share_a_folder(up: Up) -> None:
    up.start().serving()
    second = refused(up.data)
    assert second == f"karpdash up: KARPDASH_DATA_DIR: another karpdash up is using {up.data}\n"
    assert up.get("/healthz") == "ok\n"


def refused(data: Path, *settings: tuple[str, str], port: int = 0) -> str:
    """The standard error of a start that must end with 2 and print nothing else."""
    command = [sys.executable, "-m", "karpdash.command", "up"]
    command += ["--port", str(port or free_port()), "--data-dir", str(data)]
    env = bare_environment(**dict(settings))
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def test_a_port_in_use_is_said_in_one_line(place: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = refused(place / "d", port=port)
    assert told == f"karpdash up: --port: cannot serve on 127.0.0.1 port {port}: Address already in use\n"
    assert not (place / "d").exists()


def test_a_file_where_the_folder_should_be_is_said_in_one_line(place: Path) -> None:
    (place / "d").write_text("")
    told = refused(place / "d")
    assert told == f"karpdash up: KARPDASH_DATA_DIR: cannot use the data folder: File exists: {place}/d\n"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("scan_deadline", "soon", "'soon' is not a whole number from 10 to 3600"),
        ("https", "yes", "'yes' is none of 0, 1"),
        ("broker_url", "amqp://localhost", "scheme 'amqp' is none of redis, rediss, redis+socket"),
        ("database_url", "mysql://localhost/x", "scheme 'mysql' is neither sqlite nor postgres"),
        (
            "database_url",
            "sqlite:////nowhere/at/all/x.sqlite3",
            "the database cannot be used: unable to open database file",
        ),
        ("encryption_keys", "k1:AAAA", "key 'k1' must be id:base64 of 32 bytes"),
    ],
)
def test_a_broken_setting_is_said_in_one_line(place: Path, name: str, value: str, reason: str) -> None:
    told = refused(place / "d", (name, value))
    assert told == f"karpdash up: KARPDASH_{name.upper()}: {reason}\n"


def test_an_open_door_is_said_in_one_line(place: Path) -> None:
    told = refused(place / "d", ("allowed_hosts", "*"))
    assert told == "karpdash up: KARPDASH_ALLOWED_HOSTS must name hosts, not *\n"


def test_a_file_that_is_no_database_is_said_in_one_line(place: Path) -> None:
    (place / "d").mkdir()
    (place / "d" / "karpdash.sqlite3").write_text("not a database" * 100)
    assert (
        refused(place / "d")
        == "karpdash up: KARPDASH_DATABASE_URL: the database cannot be used: file is not a database\n"
    )
