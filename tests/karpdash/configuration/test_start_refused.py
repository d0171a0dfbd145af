"""A bad setting ends the start with its reason: of the web server, of workers, and of the timetable (T30)."""

import base64
import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from karpdash.configuration import system_checks
from migrations_app.clients.audit_sink import Sinks
from tests.house.measures import ROOT
from tests.servers.processes import environment

RANDOM = base64.b64encode(bytes(range(32))).decode()
SIGNING = "Zr4u7x!A%D*G-KaPdSgVkYp3s6v9y$B&E)H@McQf"
GOOD = {"SECRET_KEY": SIGNING, "ENCRYPTION_KEYS": f"k1:{RANDOM}", "ALLOWED_HOSTS": "karpdash.example.org", "HTTPS": "1"}

BAD: list[tuple[dict[str, str], str]] = [
    ({"SECRET_KEY": ""}, "KARPDASH_SECRET_KEY is not set"),
    ({"SECRET_KEY": "short"}, "KARPDASH_SECRET_KEY must be 32 random characters"),
    ({"SECRET_KEY": "django-insecure-8x!A%D*G-KaPdSgVkYp3s6v9y"}, "KARPDASH_SECRET_KEY must be 32 random characters"),
    ({"SECRET_KEY": "a" * 64}, "KARPDASH_SECRET_KEY must be 32 random characters"),
    ({"SECRET_KEY": bytes(range(32)).hex()}, "the signing key must not be the encryption key"),
    ({"ENCRYPTION_KEYS": ""}, "KARPDASH_ENCRYPTION_KEYS is not set"),
    ({"ENCRYPTION_KEYS": "k1:c2hvcnQ="}, "KARPDASH_ENCRYPTION_KEYS: key 'k1' must be id:base64 of 32 bytes"),
    ({"ENCRYPTION_KEYS": f"k1:{base64.b64encode(bytes(32)).decode()}"}, "holds a key that is not random"),
    ({"ENCRYPTION_KEYS": f"k1:{RANDOM},k1:{RANDOM}"}, "gives two keys the same id"),
    ({"ALLOWED_HOSTS": "*"}, "KARPDASH_ALLOWED_HOSTS must name hosts"),
    ({"ALLOWED_HOSTS": " , "}, "KARPDASH_ALLOWED_HOSTS names no host"),
    ({"ALLOWED_HOSTS": "https://karpdash.example.org"}, "KARPDASH_ALLOWED_HOSTS: 'https://karpdash.example.org' is no"),
    ({"ALLOWED_HOSTS": "karpdash.example.org:8443"}, "KARPDASH_ALLOWED_HOSTS: 'karpdash.example.org:8443' is no"),
    ({"HTTPS": "0"}, "plain HTTP for karpdash.example.org"),
    ({"HTTPS": "yes"}, "KARPDASH_HTTPS: 'yes' is none of 0, 1"),
    ({"TRUSTED_ORIGINS": "http://karpdash.example.org"}, "KARPDASH_TRUSTED_ORIGINS"),
    ({"DATABASE_URL": "mysql://a/b"}, "KARPDASH_DATABASE_URL: scheme 'mysql'"),
    ({"DATABASE_URL": "postgres://karpdash:postgres@database/karpdash"}, "KARPDASH_DATABASE_URL has no password, or"),
    ({"DATABASE_URL": "postgres://karpdash@database/karpdash"}, "KARPDASH_DATABASE_URL has no password, or"),
    ({"DATABASE_URL": "postgres://karpdash:velum9quay@db.example.org/karpdash"}, "must end with ?sslmode=verify-full"),
    (
        {"DATABASE_URL": "postgres://karpdash:velum9quay@db.example.org/k?sslmode=prefer"},
        "must end with ?sslmode=verify",
    ),
    ({"BROKER_URL": "amqp://queue"}, "KARPDASH_BROKER_URL: scheme 'amqp'"),
    ({"BROKER_URL": "memory://"}, "KARPDASH_BROKER_URL: a broker in memory"),
    ({"ALLOWED_NETWORKS": "10.0.0.0/8,0.0.0.0/0"}, "KARPDASH_ALLOWED_NETWORKS: '0.0.0.0/0' opens nearly every"),
    ({"ALLOWED_NETWORKS": "the office"}, "KARPDASH_ALLOWED_NETWORKS: 'the office' is no network"),
    ({"SCAN_INTERVAL": "1h"}, "KARPDASH_SCAN_INTERVAL: '1h' is not a whole number"),
    ({"LOG_LEVEL": "LOUD"}, "KARPDASH_LOG_LEVEL: 'LOUD' is none of"),
    ({"AUDIT_FILE": "outside.jsonl"}, "KARPDASH_AUDIT_FILE: must be an absolute path"),
    ({"AUDIT_FILE": "/var/log/outside.jsonl"}, "KARPDASH_AUDIT_SIGNING_KEY is not set"),
    ({"AUDIT_URL": "http://audit.example.org/in"}, "KARPDASH_AUDIT_URL: plain http"),
    ({"AWS_ACCESS_KEY_ID": "AKIA"}, "KARPDASH_AWS_SECRET_ACCESS_KEY: is missing"),
]


def starts(folder: Path, rows: list[dict[str, str]], *, module: str, words: list[str]) -> list[list[Any]]:
    """Exit code and what was said of each start with the good settings and these."""
    lines = [
        {"module": module, "words": words, "settings": {f"KARPDASH_{name}": value for name, value in given.items()}}
        for given in (GOOD | {"DATA_DIR": str(folder)} | row for row in rows)
    ]
    plain = {name: value for name, value in environment().items() if not name.startswith(("KARPDASH_", "DJANGO_"))}
    done = subprocess.run(
        [sys.executable, "-m", "tests.karpdash.starting"],
        input="\n".join(map(json.dumps, lines)), env=plain, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_bad_setting_ends_the_web_server_with_its_reason(tmp_path):  # T30
    rows = [{}, *(given for given, _ in BAD)]
    good, *ends = starts(tmp_path, rows, module="gunicorn", words=["--check-config", "karpdash.wsgi"])
    assert (good, len(BAD) >= 20) == ([0, ""], True)
    for (given, reason), (code, said) in zip(BAD, ends, strict=True):
        assert (code != 0, reason in said, "Traceback" in said) == (True, True, False), (given, said)


@pytest.mark.parametrize("lane", ["scan", "beat"])
def test_workers_are_no_back_door(tmp_path, lane):  # T30
    rows = [BAD[1], BAD[14]]
    ends = starts(tmp_path, [given for given, _ in rows], module="karpdash.command", words=["worker", lane])
    for (_, reason), (code, said) in zip(rows, ends, strict=True):
        assert (code, said.startswith("karpdash worker: "), reason in said) == (2, True, True)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, []),
        ({"secret_key": ""}, ["karpdash.E001"]),
        ({"encryption_keys": ()}, ["karpdash.E002"]),
        ({"allowed_hosts": ("*",)}, ["karpdash.E003", "karpdash.E012"]),
        ({"allowed_hosts": ("localhost", "127.0.0.1", "[::1]", "0.0.0.0", "k.localhost")}, []),
        ({"allowed_hosts": ("10.0.0.5",)}, ["karpdash.E012"]),
        ({"allowed_hosts": ("10.0.0.5",), "plain_http": True}, []),
        ({"allowed_hosts": ("10.0.0.5",), "https": True, "trusted_origins": ("https://10.0.0.5",)}, []),
        ({"trusted_origins": ("http://localhost",)}, []),
        ({"trusted_origins": ("localhost",)}, ["karpdash.E013"]),
        ({"audit_sinks": Sinks(file="/outside.jsonl"), "audit_signing_key": b""}, ["karpdash.E006"]),
        ({"audit_sinks": Sinks(file="/outside.jsonl"), "audit_signing_key": bytes(32)}, []),
        ({"database": {"HOST": "/run/postgresql", "PASSWORD": ""}}, []),
        ({"database": {"HOST": "127.0.0.1", "PASSWORD": "velum9quay"}}, []),
        ({"database": {"HOST": "db", "PASSWORD": "Karpdash", "OPTIONS": {"sslmode": "disable"}}}, ["karpdash.E014"]),
        ({"database": {"HOST": "db", "PASSWORD": "velum9quay", "OPTIONS": {}}}, ["karpdash.E018"]),
        ({"database": {"HOST": "db", "PASSWORD": "velum9quay", "OPTIONS": {"sslmode": "verify-full"}}}, []),
        ({"allowed_networks": ("10.0.0.0/8", "fd00::/8")}, []),
        ({"allowed_networks": ("::/0",)}, ["karpdash.E016"]),
    ],
)
def test_an_unsafe_configuration_does_not_start(settings, changes, wrong):  # T30
    good = {"secret_key": SIGNING, "encryption_keys": (("k", bytes(range(32))),), "allowed_hosts": ("localhost",)}
    there = {"broker_url": "redis://queue", "database": {}}
    settings.ENV = dataclasses.replace(settings.ENV, **(good | there | changes))
    settings.DEBUG = False
    assert [error.id for error in system_checks.configuration()] == wrong


def test_debug_does_not_start(settings):  # T30
    settings.DEBUG = True
    assert "karpdash.E004" in [error.id for error in system_checks.configuration()]
