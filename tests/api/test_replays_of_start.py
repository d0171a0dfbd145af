"""A start that comes a hundred times at once runs once, on both databases (T15, R08, R33)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.servers import schema

ROOT = Path(__file__).resolve().parents[2]
REPLAYS = 100
SCRIPT = """
import collections, json, sys, threading
from concurrent.futures import ThreadPoolExecutor
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from migrations_app.api import rollouts
from migrations_app.use_cases.accounts import tokens
from migrations_app.models.audit import AuditEvent
from migrations_app.models.rollout import Rollout
from tests.builders.rollouts import a_rollout, an_approval, entitled
from tests.builders.rows import a_cluster

call_command("migrate", interactive=False, verbosity=0)
count, same_key = int(sys.argv[1]), sys.argv[2] == "same"
woken = []
rollouts.enqueue_rollout = lambda found, task: woken.append(str(found))
ada = entitled(User.objects.create_user("ada"), "operate_rollout")
cleo = entitled(User.objects.create_user("cleo"), "approve_rollout")
row = a_rollout(a_cluster("shop"), state="approved", author=ada)
an_approval(row, cleo)
secret = tokens.issue(ada, name="ci", scopes=["act"], days=1).secret
gate = threading.Barrier(10)

def start(number):
    if number < 10:
        gate.wait()
    headers = {"Authorization": f"Bearer {secret}", "If-Match": '"v1"'}
    headers["Idempotency-Key"] = "k" if same_key else f"k{number}"
    try:
        answer = Client(SERVER_NAME="127.0.0.1").post(
            f"/api/v1/rollouts/{row.pk}/start", json.dumps({"digest": row.digest}), "application/json", headers=headers
        )
        said = json.loads(answer.content)
        return f"{answer.status_code} {said.get('code', said.get('state'))}"
    finally:
        connection.close()

with ThreadPoolExecutor(10) as pool:
    told = collections.Counter(pool.map(start, range(count)))
row.refresh_from_db()
runs = AuditEvent.objects.filter(verb="rollout.running").count()
print(json.dumps({"told": told, "state": row.state, "version": row.version, "runs": runs, "woken": len(woken)}))
"""


def replayed(tmp_path: Path, *, key: str, database: str = "") -> dict[str, object]:
    """What became of a hundred starts in a process of its own."""
    settings = {
        "KARPDASH_DATA_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "karpdash.settings",
        "KARPDASH_SECRET_KEY": "for-this-test-only-" + "x" * 40,
        "KARPDASH_ENCRYPTION_KEYS": "k1:" + "MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA=",
        "KARPDASH_ALLOWED_HOSTS": "127.0.0.1",
        "PYTHONPATH": str(ROOT),
    } | ({"KARPDASH_DATABASE_URL": database} if database else {})
    env = {name: value for name, value in os.environ.items() if not name.startswith("KARPDASH_")} | settings
    if not database:
        schema.lay_down(tmp_path / "karpdash.sqlite3")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(REPLAYS), key], cwd=ROOT, env=env, capture_output=True, timeout=250
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def judged(found: dict[str, object]) -> None:
    assert {name: found[name] for name in ("state", "version", "runs", "woken")} == {
        "state": "running", "version": 2, "runs": 1, "woken": 1,
    }  # fmt: skip


def test_one_key_gives_one_answer_a_hundred_times(tmp_path: Path) -> None:
    found = replayed(tmp_path, key="same")
    judged(found)
    told = found["told"]
    assert isinstance(told, dict)
    assert set(told) <= {"202 running", "409 in_progress"}
    assert (sum(told.values()), told["202 running"] >= REPLAYS // 2) == (REPLAYS, True)


def test_a_hundred_keys_start_it_once(tmp_path: Path) -> None:
    found = replayed(tmp_path, key="other")
    judged(found)
    told = found["told"]
    assert isinstance(told, dict)
    assert (told.pop("202 running"), sum(told.values()), set(told) <= {"409 moved", "412 stale"}) == (1, 99, True)


@pytest.mark.parametrize("key", ["same", "other"])
def test_the_same_on_postgresql(tmp_path: Path, postgres_url: str, key: str) -> None:
    found = replayed(tmp_path, key=key, database=_own_database(postgres_url, f"replays_{key}"))
    judged(found)


def _own_database(url: str, name: str) -> str:
    """A fresh database on that server."""
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {name}")
        server.execute(f"CREATE DATABASE {name}")
    head, _, tail = url.rpartition("/")
    return f"{head}/{name}" + (f"?{tail.partition('?')[2]}" if "?" in tail else "")
