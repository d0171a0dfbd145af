"""`karpdash audit`: proving files without Django, and the log of the database."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.db import connection

from migrations_app.models.audit import AuditEvent
from migrations_app.queries.audit.log import newest
from tests.session import guards
from tests.use_cases.audit.signed_log import with_sinks, write

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def signed(settings):
    with_sinks(settings)


def test_the_live_log_is_proven(karpdash):  # A54
    write(205)
    said = karpdash("audit", "verify")
    assert (said.code, said.out.splitlines()[0]) == (
        0, "whole: 205 events, the last is 205; 2 checkpoints agree, the last at event 200",
    )  # fmt: skip


@pytest.mark.parametrize("seq", [1, 57, 205])
def test_a_change_in_the_database_is_named(karpdash, seq):  # T26
    write(205)
    with guards.triggers_off():
        AuditEvent.objects.filter(pk=seq).update(outcome="approved")
    said = karpdash("audit", "verify", "-o", "json")
    assert (said.code, said.json["bad_seq"]) == (1, seq)


def test_dropped_triggers_are_named_though_the_chain_is_whole(karpdash):  # A52
    write(20)
    with connection.cursor() as cursor:
        on = " ON migrations_app_auditevent" if connection.vendor == "postgresql" else ""
        cursor.execute(f"DROP TRIGGER audit_never_changes{on}")
    said = karpdash("audit", "verify")
    assert (said.code, said.out[:5]) == (1, "whole")
    assert "these triggers of the database are gone" in said.err
    assert "audit_never_changes" in said.err
    said = karpdash("audit", "verify", "-o", "json")
    assert (said.code, said.json["ok"], "audit_never_changes" in said.json["notes"][-1]) == (1, True, True)


def test_an_end_that_was_cut_off_in_the_database_is_named(karpdash):  # T26
    write(205)
    with guards.triggers_off():
        AuditEvent.objects.filter(pk__gt=203).delete()
    said = karpdash("audit", "verify")
    assert (said.code, said.out[:23]) == (1, "broken at event 204: th")


def test_an_export_is_proven_offline_with_checkpoints_and_key(karpdash, tmp_path):  # A54
    write(120)
    log, kept = tmp_path / "log.jsonl", tmp_path / "kept.jsonl"
    assert karpdash("audit", "export", "-o", log).code == 0
    assert karpdash("audit", "checkpoints", "-o", kept).code == 0
    key = karpdash("audit", "key").out.strip()
    command = [sys.executable, "-m", "migrations_app.audit_verify", log, "--checkpoints", kept, "--key", key]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        0, "whole: 120 events, the last is 120; 1 checkpoints agree, the last at event 100",
    )  # fmt: skip
    assert karpdash("audit", "verify", log, "--checkpoints", kept, "--key", key).out == done.stdout
    log.write_bytes(log.read_bytes().replace(b'"seq":33,', b'"seq":34,'))
    assert karpdash("audit", "verify", log).out.startswith("broken at event 33:")


def test_checkpoints_from_outside_prove_the_live_log(karpdash, tmp_path):
    write(120)
    kept = tmp_path / "kept.jsonl"
    karpdash("audit", "checkpoints", "-o", kept)
    assert karpdash("audit", "verify", "--checkpoints", kept).code == 0
    kept.write_bytes(kept.read_bytes().replace(b'"seq":100', b'"seq":101'))
    assert karpdash("audit", "verify", "--checkpoints", kept).code == 1


def test_a_part_of_the_log(karpdash, tmp_path):
    write(20)
    said = karpdash("audit", "export", "--from", 5, "--to", 9)
    assert [line[:8] for line in said.out.splitlines()] == [f'{{"seq":{seq}' for seq in range(5, 10)]
    (tmp_path / "part").write_text(said.out)
    assert karpdash("audit", "verify", tmp_path / "part", "--from", 5, "--to", 9).code == 0


def test_a_segment_is_sealed_proven_and_recorded_and_nothing_is_deleted(karpdash, tmp_path):  # A56
    write(150)
    first = Path(karpdash("audit", "seal", tmp_path).out.strip())
    write(10)
    second = Path(karpdash("audit", "seal", tmp_path).out.strip())
    names = ("audit-0000000001-0000000150.jsonl", "audit-0000000151-0000000161.jsonl")
    assert (first.name, second.name) == names
    assert AuditEvent.objects.count() == 162
    assert (newest("audit.sealed").object, newest("audit.sealed").method) == (second.name, "cli")
    key = karpdash("audit", "key").out.strip()
    kept = second.with_suffix("").with_suffix(".checkpoints.jsonl")
    said = karpdash("audit", "verify", second, "--from", 151, "--to", 161, "--checkpoints", kept, "--key", key)
    assert (said.code, said.out.splitlines()) == (
        0, ["whole: 11 events, the last is 161; 1 checkpoints agree, the last at event 161"],
    )  # fmt: skip
    assert karpdash("audit", "verify", first, second).code == 0
    assert first.stat().st_mode & 0o222 == 0


def test_a_broken_log_is_not_sealed(karpdash, tmp_path):  # A56
    write(20)
    with guards.triggers_off():
        AuditEvent.objects.filter(pk=7).update(actor="mallory")
    said = karpdash("audit", "seal", tmp_path)
    assert (said.code, "event 7 does not match its hash" in said.err) == (2, True)
    assert newest("audit.sealed") is None


def test_what_can_not_be_done_is_said(karpdash, tmp_path, settings):
    said = karpdash("audit", "seal", tmp_path)
    assert (said.code, "no signing key" in said.err) == (2, True)  # an empty log has nothing to sign either
    write(3)
    assert karpdash("audit", "seal", tmp_path / "none").code == 2
    assert karpdash("audit", "verify", "--from", 2).code == 2
    assert karpdash("audit", "export", "--from", 0).code == 2
    assert karpdash("audit", "verify", tmp_path / "none").code == 2
    assert karpdash("audit", "export", "-o", tmp_path).code == 2
    assert karpdash("audit", "grants", "--role", "x; DROP TABLE y").code == 2
    settings.ENV = replace(django_settings.ENV, audit_signing_key=b"")
    assert "no signing key" in karpdash("audit", "key").err


def test_the_least_rights_are_printed(karpdash):  # A52
    said = karpdash("audit", "grants", "--role", "watcher")
    assert said.code == 0
    assert "GRANT SELECT, INSERT ON migrations_app_auditevent, migrations_app_checkpoint TO watcher;" in said.out
