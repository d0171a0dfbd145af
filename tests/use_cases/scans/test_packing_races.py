"""Contents are published and packed at the same time: the newest has its findings, and every snapshot can be read.

They are processes of their own, on a file of SQLite and, where `on_postgres` runs this, on PostgreSQL.
"""

import json
import os
import subprocess
import sys

import pytest
from django.db import connection

from tests.house.measures import ROOT
from tests.servers import schema

pytestmark = pytest.mark.own_processes
TIMES = 6
"""How often a content is packed before all end; there are three, so they are written and packed again."""
BEGIN = """
import django, json, random, sys, time
django.setup()
from datetime import timedelta
from django.db.models import Count
from django.utils import timezone
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Content, FindingRow, Snapshot
from migrations_app.readiness.report import ScanResult
from migrations_app.use_cases.scans import queue, store
from migrations_app.use_cases.scans.packing import pack_history
from tests.builders.rows import a_report
reports = {name: a_report(name) for name in ("one", "two", "three")}
found = [ScanResult(report=report, nodes=(), objects=()) for report in reports.values()]
def over():
    return Cluster.objects.get().name == "over"
"""
MAKE = """
Cluster.objects.create(name="shop", source="sample")
"""
PUBLISH = """
cluster, chance = Cluster.objects.get(), random.Random(14)
while not over():
    if Content.objects.filter(texts=None).count() > 2:  # of SQLite, who never rests starves other writers
        time.sleep(0.02)
        continue
    held = queue.claim(queue.request_scan(cluster.pk).scan_id)
    store.publish(held.scan_id, fence=held.fence, scanned=chance.choice(found))
print(len(found[0].report.checks))
"""
PACK = """
moment, packed = timezone.now() + timedelta(days=30), 0
while packed < int(sys.argv[1]):
    moment += timedelta(hours=2)
    packed += pack_history(within=60, now=moment)
Cluster.objects.update(name="over")
"""
READ = """
rows, wrong, times, last = set(), [], 0, False
while not last:
    last = over()
    newest = Cluster.objects.exclude(latest=None).annotate(rows=Count("latest__content__findings"))
    rows |= set(newest.values_list("rows", flat=True))
    for snapshot in Snapshot.objects.select_related("content__texts")[:9]:
        report = snapshot.report()
        wrong += [] if report.checks == reports[report.cluster.name].checks else [report.cluster.name]
        times += 1
print(json.dumps([sorted(rows), wrong, times]))
"""
LOOK = """
for days in (60, 61, 62):
    pack_history(within=60, now=timezone.now() + timedelta(days=days))
newest = Cluster.objects.get().latest.content_id
print(json.dumps([Content.objects.filter(texts=None).count(), FindingRow.objects.exclude(content=newest).count()]))
"""


@pytest.fixture
def house(tmp_path, request):
    """Starts a process of this installation with a piece of code."""
    settings = {"KARPDASH_DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "karpdash.settings"}
    if connection.vendor == "postgresql":
        request.getfixturevalue("transactional_db")
        told = connection.settings_dict
        login = f"{told['USER']}:{told['PASSWORD']}@" if told["USER"] else ""
        place = f"{told['HOST'].replace('/', '%2F')}:{told['PORT']}/{told['NAME']}"
        settings["KARPDASH_DATABASE_URL"] = f"postgres://{login}{place}"
    env = {name: value for name, value in os.environ.items() if not name.startswith("KARPDASH_")} | settings

    def python(*words):
        return subprocess.Popen([sys.executable, *words], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)

    file = tmp_path / "karpdash.sqlite3"
    if connection.vendor == "sqlite" and not schema.lay_down(file):
        python("manage.py", "migrate", "-v0", "--skip-checks").communicate()
        schema.keep(file)
    begun = []

    def begin(code):
        begun.append(python("-c", BEGIN + code, str(TIMES)))
        return begun[-1]

    yield begin
    for process in begun:
        if process.poll() is None:
            process.kill()
            process.communicate()


def said(process):
    out, _ = process.communicate()
    assert process.returncode == 0
    return json.loads(out or "null")


def test_what_is_newest_is_whole_while_the_rest_is_packed(house):
    said(house(MAKE))
    packer, reader, publisher = house(PACK), house(READ), house(PUBLISH)
    said(packer)
    findings, (rows, wrong, times) = said(publisher), said(reader)
    assert (rows, wrong, times > 0) == ([findings], [], True)
    # The newest is whole, and all else is packed in the end.
    assert said(house(LOOK)) == [1, 0]
