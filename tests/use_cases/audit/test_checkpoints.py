"""Signed checkpoints: when they are made, what they say, and how they come to the sinks outside."""

import base64
import os
import socket
import threading
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import time_machine
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from karpdash.celery import app
from migrations_app import tasks
from migrations_app.audit_verify import verify
from migrations_app.clients.secret import Secret
from migrations_app.errors import Conflict, InvalidSetting
from migrations_app.models.checkpoint import AuditSink, Checkpoint
from migrations_app.queries.audit.log import head
from migrations_app.use_cases.audit import checkpoint_delivery, delivery_lag
from migrations_app.use_cases.audit import checkpoints as checkpoint
from migrations_app.use_cases.audit.log import assert_writable
from tests.builders.rows import NOW
from tests.servers.waiting import AT_ONCE
from tests.use_cases.audit.signed_log import PUBLIC, checkpoints, log, with_sinks, write

pytestmark = pytest.mark.django_db
KEYS = [base64.b64encode(PUBLIC).decode()]


@pytest.fixture(autouse=True)
def signed(settings):
    with_sinks(settings)


@pytest.fixture
def noon():
    with time_machine.travel(NOW, tick=False) as clock:
        yield clock


def seen():
    return [(row.seq, row.why) for row in Checkpoint.objects.all()]


def proven(told=None):
    return verify(log(), checkpoints=checkpoints() if told is None else told, keys=KEYS, head=head())


def test_every_hundredth_event_is_signed_in_its_own_transaction():  # A53
    write(250)
    assert seen() == [(100, "count"), (200, "count")]
    assert (proven().ok, proven().covered, proven().signed) == (True, 200, True)


@pytest.mark.parametrize(
    ("verb", "why"), [("rollout.running", "start"), ("rollout.paused", "end"), ("rollout.succeeded", "end")]
)
def test_the_start_and_the_end_of_an_action_are_signed(verb, why):  # A53
    write(3)
    assert (write(verb=verb), seen()) == (4, [(4, why)])


def test_news_are_signed_after_a_minute_and_silence_is_not(noon):  # A53
    assert checkpoint_delivery.sign_if_due() is False
    write(2)
    assert checkpoint_delivery.sign_if_due() is True
    assert checkpoint_delivery.sign_if_due() is False
    write()
    noon.shift(timedelta(seconds=59))
    assert checkpoint_delivery.sign_if_due() is False
    noon.shift(timedelta(seconds=2))
    assert checkpoint_delivery.sign_if_due() is True
    assert seen() == [(2, "time"), (3, "time")]
    assert proven().ok


def test_without_a_key_nothing_is_signed_and_nothing_stops(settings):  # A57
    settings.ENV = replace(settings.ENV, audit_signing_key=b"")
    write(101)
    assert (seen(), checkpoint_delivery.sign_and_deliver()) == ([], 0)
    with pytest.raises(InvalidSetting):
        checkpoint.public_key()


def test_the_public_key_is_what_verify_takes():
    write(100)
    assert verify(log(), checkpoints=checkpoints(), keys=[checkpoint.public_key()]).signed is True


@pytest.mark.parametrize(
    "statement",
    ["UPDATE migrations_app_checkpoint SET hash = ''", "DELETE FROM migrations_app_checkpoint"],
)
def test_checkpoints_only_grow(statement):  # A52
    write(100)
    with pytest.raises(DatabaseError, match="only grows"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def test_what_is_rolled_back_takes_its_checkpoint_with_it():  # A51, A53
    write(99)
    with transaction.atomic():
        write()
        transaction.set_rollback(True)
    write()
    assert (seen(), proven().ok) == ([(100, "count")], True)


# The file outside.


def outside(path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_a_file_outside_gets_every_checkpoint_once_in_order(settings, tmp_path):  # A53
    path = tmp_path / "audit.jsonl"
    with_sinks(settings, file=str(path))
    write(300)
    assert [checkpoint_delivery.sign_and_deliver(), checkpoint_delivery.sign_and_deliver()] == [3, 0]
    assert outside(path) == checkpoints()
    assert path.stat().st_mode & 0o777 == 0o640
    (lag,) = delivery_lag.delivery_lags()
    assert (lag.seq, lag.behind, lag.since, lag.error) == (300, 0, None, "")


def test_a_full_disk_is_told_and_it_recovers_alone(settings, tmp_path):  # R25, R30
    path = tmp_path / "audit.jsonl"
    path.symlink_to("/dev/full")
    with_sinks(settings, file=str(path))
    write(100)
    assert checkpoint_delivery.sign_and_deliver() == 0
    (lag,) = delivery_lag.delivery_lags()
    assert (lag.error, lag.detail) == ("sink_unwritable", "the file cannot be written: No space left on device")
    assert lag.failing_since is not None
    path.unlink()
    path.write_bytes(b'{"checkpoint":1,"se')  # what a full disk took of an earlier line
    assert checkpoint_delivery.sign_and_deliver() == 1
    assert delivery_lag.delivery_lags()[0].failing_since is None
    assert (proven(outside(path)).ok, proven(outside(path)).covered) == (True, 100)


def test_a_pipe_that_nobody_reads_does_not_hang(settings, tmp_path):  # R30
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with_sinks(settings, file=str(path))
    write(100)
    started = timezone.now()
    assert checkpoint_delivery.sign_and_deliver() == 0
    assert timezone.now() - started < timedelta(seconds=AT_ONCE)


def test_the_timetable_keeps_the_checkpoints_going(settings, tmp_path):  # A53
    with_sinks(settings, file=str(tmp_path / "audit.jsonl"))
    write()
    tasks.checkpoint()
    assert outside(tmp_path / "audit.jsonl") == checkpoints() != []
    ticks = [entry["schedule"] for entry in app.conf.beat_schedule.values() if entry["task"] == "checkpoint"]
    assert ticks == [5.0]


def test_a_second_worker_leaves_a_busy_sink_alone(settings, tmp_path):
    with_sinks(settings, file=str(tmp_path / "audit.jsonl"))
    write(100)
    (target,) = settings.ENV.audit_sinks.targets
    AuditSink.objects.create(target=target, busy_until=timezone.now() + timedelta(seconds=9))
    assert checkpoint_delivery.sign_and_deliver() == 0
    AuditSink.objects.update(busy_until=timezone.now() - timedelta(seconds=1))
    assert checkpoint_delivery.sign_and_deliver() == 1


def test_what_was_rewritten_with_the_database_and_the_key_in_hand_differs_outside(settings, tmp_path):  # T26, A57
    path = tmp_path / "audit.jsonl"
    with_sinks(settings, file=str(path))
    write(100)
    checkpoint_delivery.sign_and_deliver()
    kept = outside(path)
    forged = log()[:49] + [line.replace(b'"ada"', b'"eve"') for line in log()[49:]]
    assert verify(forged, checkpoints=kept, keys=KEYS).bad_seq == 50
    assert verify(log(), checkpoints=[kept[0].replace(b'"why":"count"', b'"why":"timed"')], keys=KEYS).bad_seq == 100


# The address outside.


class Sink(HTTPServer):
    """Keeps what it is sent; `answer` is its status."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Receiver)
        self.got: list[bytes] = []
        self.received: list[str] = []
        self.answer = 204
        self.url = f"http://127.0.0.1:{self.server_port}/audit?x=1"


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.received.append(f"{self.path} {self.headers['Authorization']} {self.headers['Content-Type']}")
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.answer < 300:
            self.server.got += body.splitlines(keepends=True)
        self.send_response(self.server.answer)
        self.send_header("Location", self.server.url)
        self.end_headers()

    def log_message(self, *_words):
        """Says nothing."""


@pytest.fixture
def sink():
    with Sink() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_an_address_outside_gets_every_checkpoint(settings, sink):  # A53
    with_sinks(settings, url=sink.url, token=Secret("t0ken"))
    write(200)
    assert checkpoint_delivery.sign_and_deliver() == 2
    assert sink.got == checkpoints()
    assert sink.received == ["/audit?x=1 Bearer t0ken application/x-ndjson"]


@pytest.mark.parametrize("status", [500, 302, 401, 413])
def test_a_refusal_is_told_and_nothing_is_lost(settings, sink, status):  # R30, K04
    with_sinks(settings, url=sink.url)
    write(100)
    sink.answer = status
    assert checkpoint_delivery.sign_and_deliver() == 0
    assert (delivery_lag.delivery_lags()[0].error, len(sink.received)) == (f"sink_{status}", 1)
    sink.answer = 200
    assert checkpoint_delivery.sign_and_deliver() == 1
    assert [line for line in sink.got if line.strip()] == checkpoints()


def plain(behave):
    """The address of a listener that does that with each caller."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        try:
            while True:
                caller, _ = listener.accept()
                with caller:
                    caller.recv(65_536)
                    behave(caller)
        except OSError:
            return

    threading.Thread(target=serve, daemon=True).start()
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}/"


def drip(caller):
    for sign in b"HTTP/1.1 200 OK and so on" * 10:
        caller.sendall(bytes([sign]))
        if stopped.wait(0.4):
            return


stopped = threading.Event()


@pytest.mark.parametrize(
    ("behave", "error"),
    [
        (lambda caller: stopped.wait(60), "timeout"),
        (drip, "timeout"),
        (lambda caller: caller.sendall(b"\x00\x01 nonsense\r\n"), "garbled"),
        (lambda caller: caller.close(), "unreachable"),
    ],
)
def test_a_sink_that_hangs_drips_or_corrupts_costs_two_seconds(settings, behave, error):  # R30
    listener, url = plain(behave)
    with_sinks(settings, url=url)
    write(100)
    started = timezone.now()
    try:
        assert checkpoint_delivery.sign_and_deliver() == 0
    finally:
        stopped.set()
        listener.close()
        stopped.clear()
    assert timezone.now() - started < timedelta(seconds=AT_ONCE)
    assert delivery_lag.delivery_lags()[0].error == error


def test_no_address_that_is_not_allowed_is_called(settings):  # T03, K05
    write(100)
    for url in ("https://169.254.169.254/latest", "https://[fd00:ec2::254]/", "https://224.0.0.1/"):
        with_sinks(settings, url=url)
        assert checkpoint_delivery.sign_and_deliver() == 0
        assert delivery_lag.delivery_lags()[0].error == "address_refused"


def test_a_certificate_that_nobody_trusts_is_refused(settings):  # K02
    listener, url = plain(lambda caller: caller.sendall(b"HTTP/1.1 200 OK\r\n\r\n"))
    with_sinks(settings, url=url.replace("http:", "https:"))
    write(100)
    assert checkpoint_delivery.sign_and_deliver() == 0
    listener.close()
    assert delivery_lag.delivery_lags()[0].error == "tls_refused"


# What lagging stops.


def test_a_sink_that_lags_by_events_stops_what_changes_clusters(settings, tmp_path):  # A55, R30
    with_sinks(settings, file=str(tmp_path / "none" / "audit.jsonl"))
    write(1000)
    assert_writable()
    write()
    with pytest.raises(Conflict, match="1001 events behind") as refusal:
        assert_writable()
    assert refusal.value.code == "audit_blocked"
    (tmp_path / "none").mkdir()
    checkpoint_delivery.sign_and_deliver()
    assert_writable()


def test_a_sink_that_lags_by_time_stops_what_changes_clusters(settings, tmp_path, noon):  # A55, R30
    with_sinks(settings, file=str(tmp_path / "none" / "audit.jsonl"))
    write()
    noon.shift(timedelta(seconds=300))
    assert_writable()
    noon.shift(timedelta(seconds=1))
    checkpoint_delivery.sign_and_deliver()
    with pytest.raises(Conflict, match="No such file or directory"):
        assert_writable()


def test_without_a_sink_nothing_lags(noon):  # A57
    write(1500)
    noon.shift(timedelta(days=1))
    assert delivery_lag.delivery_lags() == ()
    assert_writable()
