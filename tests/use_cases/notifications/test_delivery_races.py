"""Workers that die or meet while they send: nothing is lost, and what comes twice has the same id (R02, R07).

They are processes of their own, on a file of SQLite and, where `on_postgres` runs this, on PostgreSQL.
"""

import functools
import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from django.db import connection

from tests.house.measures import ROOT
from tests.servers import schema
from tests.servers.receiver import Receiver

pytestmark = pytest.mark.own_processes
WORKERS = 3
BEGIN = """
import django, json, sys, uuid
django.setup()
from django.utils import timezone
from migrations_app.use_cases.notifications import channels, delivery
from migrations_app.use_cases.notifications.publish import publish_event
from migrations_app.use_cases.notifications.routing import route_events
from migrations_app.models.notification import Channel, Delivery
from migrations_app.models.rollout import Outbox
"""
MAKE = """
# What the test before left on a server that both share.
Channel.objects.all().delete()
Outbox.objects.all().delete()
wanted = channels.ChannelSettings(name="ops", kind="webhook", target=sys.argv[1], events=("rollout.paused",))
channels.create_channel(wanted, by="ada", now=timezone.now())
for number in range(int(sys.argv[2])):
    publish_event("rollout.paused", f"shop-{number}")
"""
WORK = """
route_events(timezone.now())
print(sum(delivery.deliver(key) for key in delivery.due(timezone.now())))
"""
LOOK = """
rows = Delivery.objects.all()
print(json.dumps([[row.body["subject"], row.state, row.attempts, [one["code"] for one in row.log]] for row in rows]))
"""
FREE = "Channel.objects.update(busy_until=timezone.now())"


@pytest.fixture
def receiver(tmp_path):
    server = Receiver(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def house(tmp_path, receiver, request):
    """Starts a process of this installation with a piece of code."""
    settings = {
        "KARPDASH_DATA_DIR": str(tmp_path),
        "KARPDASH_ENCRYPTION_KEYS": "k1:" + "MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA=",
        "KARPDASH_ALLOW_LOOPBACK": "1",
        "DJANGO_SETTINGS_MODULE": "karpdash.settings",
        "SSL_CERT_FILE": receiver.trust,
    }
    if connection.vendor == "postgresql":
        request.getfixturevalue("transactional_db")
        told = connection.settings_dict
        login = f"{told['USER']}:{told['PASSWORD']}@" if told["USER"] else ""
        settings["KARPDASH_DATABASE_URL"] = (
            f"postgres://{login}{told['HOST'].replace('/', '%2F')}:{told['PORT']}/{told['NAME']}"
        )
    env = {name: value for name, value in os.environ.items() if not name.startswith("KARPDASH_")} | settings
    python = functools.partial(subprocess.Popen, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
    file = tmp_path / "karpdash.sqlite3"
    if connection.vendor == "sqlite" and not schema.lay_down(file):
        python([sys.executable, "manage.py", "migrate", "-v0", "--skip-checks"]).communicate()
        schema.keep(file)
    return lambda code, *words: python([sys.executable, "-c", BEGIN + code, *words])


def said(process):
    out, _ = process.communicate()
    assert process.returncode == 0
    return json.loads(out or "null")


def ids(receiver):
    """The event ids of each message."""
    return [[event["id"] for event in json.loads(body)] for _, body in receiver.got]


def test_workers_at_once_sort_and_send_each_event_once(house, receiver):
    said(house(MAKE, receiver.url, "60"))
    workers = [house(WORK) for _ in range(WORKERS)]
    assert sum(said(worker) for worker in workers) == 60
    rows = said(house(LOOK))
    assert sorted(rows) == sorted([f"shop-{number}", "sent", 1, [""]] for number in range(60))
    sent = [key for message in ids(receiver) for key in message]
    assert (len(sent), len(set(sent))) == (60, 60)


def test_a_worker_that_is_killed_between_sending_and_noting_loses_nothing(house, receiver):
    said(house(MAKE, receiver.url, "2"))
    arrived, is_dead = threading.Event(), threading.Event()
    receiver.answer = lambda _: (arrived.set(), is_dead.wait(60))
    worker = house(WORK)
    assert arrived.wait(60)
    os.kill(worker.pid, signal.SIGKILL)
    worker.communicate()
    is_dead.set()
    assert sorted(said(house(LOOK))) == [[f"shop-{number}", "waiting", 1, ["no_outcome"]] for number in (0, 1)]
    receiver.answer = 200
    assert said(house(WORK)) == 0  # the dead one still holds the channel
    assert said(house(FREE + WORK)) == 2
    first, second = ids(receiver)
    assert (len(first), second, {tuple(row[3]) for row in said(house(LOOK))}) == (2, first, {("no_outcome", "")})


def test_a_worker_that_is_killed_while_it_sorts_loses_and_doubles_nothing(house, receiver):
    """The outbox and the deliveries are one transaction."""
    said(house(MAKE, receiver.url, "30"))
    dies = """
import os, signal
from migrations_app.use_cases.notifications import routing
queue, seen = routing._queue, []
def dying(*given, **more):
    seen.append(queue(*given, **more))
    if len(seen) == 15:
        os.kill(os.getpid(), signal.SIGKILL)
routing._queue = dying
route_events(timezone.now())
"""
    worker = house(dies)
    worker.communicate()
    assert (worker.returncode, said(house(LOOK))) == (-signal.SIGKILL, [])
    assert said(house(WORK)) == 30
    assert len({key for message in ids(receiver) for key in message}) == 30
