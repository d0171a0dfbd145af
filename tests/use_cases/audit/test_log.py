"""Events: in the transaction of what they tell, numbered without a gap, without a secret, never changed again."""

import functools
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DatabaseError, connection, transaction

from migrations_app.audit_verify import Link, verify
from migrations_app.models.audit import AuditEvent, AuditHead
from migrations_app.queries.audit.log import head
from migrations_app.redaction import is_secret_name
from migrations_app.use_cases.audit import log as writer
from migrations_app.use_cases.audit.log import Actor, Event, record, record_alone, sealed, token_mark
from tests.house.measures import ROOT
from tests.servers import schema
from tests.use_cases.audit.signed_log import ADA, log, write

pytestmark = pytest.mark.django_db
CANARY = "c4n4ry-Zx81-never-shown"


def test_an_event_holds_all_that_is_asked_of_it():  # A50
    told = Event(
        verb="step.intent", actor=Actor(name="ada", method="token", address="10.0.0.1", token_id="t-1"),
        object="NodePool default", outcome="applied", cluster_id="c-1", cluster_identity="uid", plan_digest="d" * 64,
        step="s001", attempt=2, request_digest="e" * 64, correlation="r-1", detail={"b": 1, "a": None},
    )  # fmt: skip
    seq = record(told)
    row = AuditEvent.objects.get(pk=seq)
    found = {name: getattr(row, name) for name in writer.FIELDS}
    assert found == {
        "seq": 1, "at": row.at, "actor": "ada", "method": "token", "token_id": token_mark("t-1"),
        "address": "10.0.0.1", "verb": "step.intent", "object": "NodePool default", "cluster_id": "c-1",
        "cluster_identity": "uid", "plan_digest": "d" * 64, "step": "s001", "attempt": 2, "request_digest": "e" * 64,
        "outcome": "applied", "correlation": "r-1", "detail": '{"a":null,"b":1}', "prev": "",
    }  # fmt: skip
    assert (row.hash, len(row.at), row.at[-1]) == (writer.hash_of(found), 27, "Z")
    assert "t-1" not in row.token_id


def test_the_log_is_one_chain():  # A51
    write(25)
    assert verify(log(), head=head()).events == 25
    assert head() == Link(25, "", AuditEvent.objects.get(pk=25).hash)


@pytest.mark.django_db(transaction=True)
def test_outside_of_a_transaction_nothing_is_recorded():  # A51
    with pytest.raises(RuntimeError):
        record(Event(verb="test.done", actor=ADA))
    assert record_alone(Event(verb="test.done", actor=ADA)) == 1


def test_what_is_rolled_back_leaves_no_gap():  # A51
    write()
    with transaction.atomic():
        record(Event(verb="test.undone", actor=ADA))
        transaction.set_rollback(True)
    assert write() == 2
    assert verify(log(), head=head()).ok


def together(work, count):
    """Runs it in so many threads at once, each with a connection of its own."""
    gate = threading.Barrier(count)

    def run(number):
        gate.wait()
        try:
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


@pytest.mark.django_db(transaction=True)
def test_many_threads_leave_no_gap_and_no_fork():  # A51, R08
    if connection.vendor == "sqlite":
        pytest.skip("an SQLite in memory lets no writer wait; processes on a file do, below")

    def some(number):
        return [record_alone(Event(verb="test.done", actor=Actor(name=f"w{number}"))) for _ in range(8)]

    found = sorted(seq for seqs in together(some, 6) for seq in seqs)
    assert found == list(range(1, 49))
    assert verify(log(), head=head()).events == 48


WRITER = """
import django, sys
django.setup()
from migrations_app.use_cases.audit.log import Actor, Event, record_alone
for _ in range(10):
    record_alone(Event(verb="test.done", actor=Actor(name=sys.argv[1])))
"""
READER = """
import django, sys
django.setup()
from migrations_app.queries.audit.log import export_lines
sys.stdout.buffer.writelines(export_lines())
"""


def test_many_processes_on_one_file_leave_no_gap_and_no_fork(tmp_path):  # A51, R34
    settings = {"KARPDASH_DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "karpdash.settings"}
    env = {name: value for name, value in os.environ.items() if not name.startswith("KARPDASH_")} | settings
    python = functools.partial(subprocess.Popen, cwd=ROOT, env=env, stdout=subprocess.PIPE)
    file = tmp_path / "karpdash.sqlite3"
    if not schema.lay_down(file):
        python([sys.executable, "manage.py", "migrate", "-v0", "--skip-checks"]).communicate()
        schema.keep(file)
    writers = [python([sys.executable, "-c", WRITER, f"w{number}"]) for number in range(4)]
    assert [one.communicate()[0] for one in writers] == [b""] * 4
    told, _ = python([sys.executable, "-c", READER]).communicate()
    assert verify(told.splitlines(keepends=True)).events == 40


@pytest.mark.parametrize(
    "detail",
    [
        {"password": CANARY},
        {"new": {"Token": CANARY}},
        {"access": [{"external_id": CANARY}]},
        {"clientSecret": CANARY, "secret": [CANARY, {"x": 1}]},
        {"AWS_SECRET_ACCESS_KEY": CANARY, "awsSessionToken": CANARY},
        {"private_key": CANARY, "kubeconfig": CANARY, "Authorization": CANARY},
        {"why": f"the server said: Bearer {CANARY} is no good"},
        {"why": f"kd_{CANARY}-and-twenty-more-signs"},
        {"why": f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----"},
    ],
)
def test_a_secret_stands_only_as_hmac(detail):  # A50, T23
    write(detail=detail, object=f"Bearer {CANARY}", outcome=f"Bearer {CANARY}")
    text = b"".join(log()).decode()
    assert CANARY not in text
    assert text.count("hmac:") >= 3


def test_the_hmac_is_the_installations_own(settings):
    first = sealed(CANARY)
    assert sealed(CANARY) == first != sealed(CANARY + "x")
    settings.SECRET_KEY = "another"
    assert sealed(CANARY) != first


def test_what_only_names_a_secret_is_no_secret():
    plain = ("token_id", "secret_name", "tokens", "external", "key", "accessible", "credential_version", "name", "")
    assert [key for key in plain if is_secret_name(key)] == []
    assert is_secret_name("token")
    assert is_secret_name("externalId")


def test_the_detail_is_canonical_and_can_be_read_back():
    detail = {"b": [1, 2.5, True], "a": {"z": "x\u202ey\n\U000e0041", "n": float("nan")}, "u": "größer", "s": {3}}
    write(detail=detail)
    text = AuditEvent.objects.get().detail
    assert text.isprintable()
    assert json.loads(text) == detail | {"a": {"z": "x\u202ey\n\U000e0041", "n": "nan"}, "s": [3]}
    assert text.startswith('{"a":{"n":"nan","z":')


@pytest.mark.parametrize("hostile", ["a\nb", "\x1b[2J", "x\u202ey", "\x00", "\ud800"])
def test_control_characters_are_escapes_in_every_column(hostile):  # A50, T08
    texts = dict.fromkeys(("object", "outcome", "step", "correlation"), hostile)
    write(actor=Actor(name=hostile), detail={"a": hostile}, **texts)
    assert log()[0].rstrip(b"\n").decode().isprintable()
    row = AuditEvent.objects.get()
    assert all(str(getattr(row, name)).isprintable() for name in writer.FIELDS)
    assert verify(log()).ok


def test_what_is_too_long_is_cut_and_told():
    deep: dict = {}
    for _ in range(20):
        deep = {"d": deep}
    write(object="o" * 5000, verb="v" * 100, cluster_id="c" * 99, detail={"t": "x" * 9000, "deep": deep})
    row = AuditEvent.objects.get()
    assert (len(row.object), len(row.verb), len(row.cluster_id)) == (1000, 60, 36)
    assert "(cut, 9000 characters)" in row.detail
    assert "(deeper than is kept)" in row.detail


CHANGES = (
    "UPDATE migrations_app_auditevent SET actor = 'mallory'",
    "DELETE FROM migrations_app_auditevent",
    "DELETE FROM migrations_app_audithead",
    "UPDATE migrations_app_audithead SET seq = 0",
    "UPDATE migrations_app_audithead SET seq = seq + 2",
)
TRUNCATIONS = tuple(f"TRUNCATE migrations_app_{name}" for name in ("auditevent", "audithead", "checkpoint"))


@pytest.mark.parametrize("statement", CHANGES + TRUNCATIONS)
def test_the_database_itself_refuses_any_change(statement):  # A52
    if statement.startswith("TRUNCATE") and connection.vendor == "sqlite":
        pytest.skip("SQLite knows no TRUNCATE; the same is done by DELETE there")
    write(3)
    with pytest.raises(DatabaseError, match="only grows"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert verify(log(), head=head()).events == 3


def test_every_guard_is_there_at_the_newest_schema():  # A08, A52
    # SQLite loses the triggers of a table that a later step of the schema makes anew.
    names = {
        "audit_never_changes", "audit_head_stays", "audit_head_steps", "checkpoint_never_changes", "rollout_states",
    }  # fmt: skip
    if connection.vendor == "sqlite":
        names |= {"audit_never_shrinks", "checkpoint_never_shrinks", "rollout_plan_frozen"}
        query = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    else:
        names |= {"audit_never_emptied", "audit_head_never_emptied", "checkpoint_never_emptied"}
        query = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
    with connection.cursor() as cursor:
        cursor.execute(query)
        assert names <= {row[0] for row in cursor.fetchall()}


def test_a_head_that_was_set_back_stops_everything():  # T26, A55
    write(2)
    row = AuditEvent.objects.get(pk=2)
    where = "" if connection.vendor == "sqlite" else " ON migrations_app_audithead"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER audit_head_steps{where}")
    AuditHead.objects.update(seq=1, hash=row.prev)
    with pytest.raises(DatabaseError), transaction.atomic():
        write()
