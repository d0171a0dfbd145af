"""Log lines are JSON, say which request, scan and rollout they belong to, and hold no secret (T23)."""

import dataclasses
import json
import logging
import sys

import pytest
from structlog.contextvars import bound_contextvars

from karpdash.configuration.env import current
from karpdash.monitoring import logs
from migrations_app.errors import InvalidInput, TaskFailed
from migrations_app.tasks import scan_cluster
from tests.builders.log_text import captured_log

CANARY = "c4n4ry-0123456789abcdef"


@pytest.fixture
def lines():
    """Everything that is logged at DEBUG, as the lines of a worker."""
    with captured_log() as stream:
        yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_has_its_fields(lines):
    logging.getLogger("a.b").warning("lost %s", "it", extra={"scan": "s1", "request": object(), "colour": "red"})
    line = lines()[0]
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "lost it", "level": "warning", "logger": "a.b", "scan": "s1"}


def test_what_is_bound_stands_on_every_line(lines):
    with bound_contextvars(rollout="r1"):
        logging.getLogger("x").info("one")
    logging.getLogger("x").info("two")
    assert [line.get("rollout") for line in lines()] == ["r1", None]


@pytest.mark.django_db
def test_a_request_has_an_id_that_is_logged_and_answered(client, lines):
    answer = client.get("/login?next=/secret", headers={"X-Request-ID": "abc-1"})
    line = next(line for line in lines() if line["event"] == "request")
    told = {name: line[name] for name in ("request_id", "method", "path", "status", "level")}
    assert told == {"request_id": "abc-1", "method": "GET", "path": "/login", "status": 200, "level": "info"}
    assert answer.headers["X-Request-ID"] == "abc-1"


@pytest.mark.django_db
def test_who_tried_what_they_may_not_stands_beside_the_request(client, lines, django_user_model):
    ben = django_user_model.objects.create_user("ben")
    client.get("/api/v1/clusters")
    client.force_login(ben, backend="django.contrib.auth.backends.ModelBackend")
    client.get("/audit")
    told = [line for line in lines() if line["event"] == "request"]
    assert [(line["status"], line["level"], line["account"], line["address"]) for line in told] == [
        (401, "warning", None, "127.0.0.1"),
        (403, "warning", ben.pk, "127.0.0.1"),
    ]


@pytest.mark.parametrize("given", ["a b", "x" * 65, "a\n", "é"])
def test_an_id_that_is_none_is_made_anew(client, given):
    told = client.get("/healthz", headers={"X-Request-ID": given}).headers["X-Request-ID"]
    assert (told != given, len(told)) == (True, 32)


@pytest.mark.django_db
def test_a_crash_in_a_scan_is_told_with_its_id_and_without_its_text(lines, monkeypatch):
    def broken(_claim):
        raise RuntimeError(CANARY)

    monkeypatch.setattr("migrations_app.tasks.scan_claimed", broken)
    monkeypatch.setattr("migrations_app.tasks.queue.claim", lambda _scan: object())
    monkeypatch.setattr("migrations_app.tasks.queue.crashed", lambda *_: None)
    scan_cluster("5e2f3c8a-0000-4000-8000-000000000000")
    line = next(line for line in lines() if line["event"] == "scan crashed")
    assert line["scan"] == "5e2f3c8a-0000-4000-8000-000000000000"
    assert line["exception"].startswith("builtins.RuntimeError\n")
    assert "in broken" in line["exception"]
    assert CANARY not in json.dumps(lines())


SECRETS = [
    "kd_" + CANARY,
    "k8s-aws-v1." + CANARY,
    "eyJhbGciOiJI.eyJzdWIiOiJ" + CANARY + ".c2ln",
    "AKIAABCDEFGHIJKLMNOP",
    "-----BEGIN EC PRIVATE KEY-----\n" + CANARY + "\n-----END EC PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n" + CANARY,
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("way", ["message", "argument", "nested", "extra", "our error"])
def test_what_looks_like_a_secret_is_hidden(lines, secret, way):
    log = logging.getLogger("x")
    if way == "message":
        log.debug(f"sent {secret}")
    elif way == "argument":
        log.debug("sent %s", secret)
    elif way == "nested":
        log.debug({"headers": [("Authorization", secret)]})
    elif way == "extra":
        log.debug("sent", extra={"reason": secret})
    else:
        log.debug("failed", exc_info=InvalidInput(f"refused {secret}"))
    text = json.dumps(lines())
    assert (secret.split("\n")[0] in text, CANARY in text, "[secret]" in text) == (False, False, True)


@pytest.mark.parametrize(
    "text",
    [f"Authorization: Bearer {CANARY}", f"authorization: basic {CANARY}", f"postgres://me:{CANARY}@host/db",
     f"password={CANARY} host=x", f'"token={CANARY}"'],
)  # fmt: skip
def test_what_stands_where_secrets_stand_is_hidden(lines, text):
    logging.getLogger("x").error(text)
    assert CANARY not in json.dumps(lines())


def test_the_secrets_of_this_installation_are_hidden_wherever_they_stand():
    scrub = logs.scrubber(dataclasses.replace(current(), secret_key=CANARY, database={"PASSWORD": "hunter2hunter2"}))
    event = scrub(None, "", {"event": f"a {CANARY} b", "more": ["x", {"hunter2hunter2": 1}], "n": 3})
    assert event == {"event": "a [secret] b", "more": ["x", {"[secret]": 1}], "n": 3}


def test_errors_of_errors_are_told_in_a_row():
    try:
        try:
            raise KeyError(CANARY)
        except KeyError as first:
            raise InvalidInput("it is not there") from first
    except InvalidInput:
        event = logs.exception_as_text(None, "", {"exc_info": sys.exc_info()})
    told = event["exception"].splitlines()
    kinds = [line for line in told if not line.startswith("  ")]
    assert kinds == ["migrations_app.errors.InvalidInput: it is not there", "because of builtins.KeyError"]


def test_an_error_that_is_its_own_reason_ends():
    wrong = ValueError("x")
    wrong.__cause__ = wrong
    assert logs.exception_as_text(None, "", {"exc_info": wrong}) == {"exception": "builtins.ValueError"}


def test_a_task_that_celery_tells_about_is_told_carefully(lines):
    try:
        raise ValueError(CANARY)
    except ValueError as wrong:
        shown = {"name": "sweep", "exc": repr(wrong), "traceback": f"Traceback {CANARY}"}
        logging.getLogger("celery.app.trace").error(
            "%(exc)s %(traceback)s", shown, exc_info=True, extra={"data": shown}
        )
    line = lines()[0]
    assert (line["event"], line["task"], CANARY in json.dumps(line)) == ("task failed", "sweep", False)


def test_a_failure_that_its_task_has_logged_is_told_once(lines):
    try:
        raise TaskFailed("ValueError")
    except TaskFailed:
        logging.getLogger("celery.app.trace").error("%s", "x", exc_info=True)
    assert lines() == []


@pytest.mark.parametrize("name", logs.SILENCED)
def test_libraries_that_print_bodies_are_quiet_at_debug(lines, name):
    logging.getLogger(f"{name}.connection").debug(CANARY)
    assert lines() == []
