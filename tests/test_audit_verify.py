"""An exported log is proven without the rest of karpdash: whatever was changed is found, by its number (A54, T26)."""

import base64
import hashlib
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from migrations_app import audit_verify
from migrations_app.audit_verify import Link, checkpoint_line, hash_of, key_id, line_of, main, to_sign, verify
from tests.growth import LINEAR, growth

SCRIPT = Path(audit_verify.__file__)
SIGNER = Ed25519PrivateKey.from_private_bytes(b"s" * 32)
KEY = base64.b64encode(SIGNER.public_key().public_bytes_raw()).decode()
OTHER = Ed25519PrivateKey.from_private_bytes(b"o" * 32)


def columns(seq: int, prev: str, **more):
    told = {
        "seq": seq, "at": f"2026-01-02T03:04:{seq % 60:02}.000000Z", "actor": "ada", "method": "session",
        "token_id": "", "address": "127.0.0.1", "verb": "rollout.approved",
        "object": f"Taint größer {seq}", "cluster_id": "c",
        "cluster_identity": "", "plan_digest": "", "step": "", "attempt": 0, "request_digest": "",
        "outcome": "approved", "correlation": "", "detail": '{"why":"\\u202e"}', "prev": prev,
    } | more  # fmt: skip
    return told | {"hash": hash_of(told)}


def chain(count: int, *, start: int = 1, prev: str = "", **more) -> list[dict]:
    rows: list[dict] = []
    for seq in range(start, start + count):
        rows.append(columns(seq, rows[-1]["hash"] if rows else prev, **more))
    return rows


def lines(rows) -> list[bytes]:
    return [line_of(row) for row in rows]


def sealed(rows, every: int = 10, signer=SIGNER) -> list[bytes]:
    """Checkpoints of every tenth row, each sealed to the one before."""
    made: list[bytes] = []
    for row in rows[every - 1 :: every]:
        told = {
            "seq": row["seq"], "hash": row["hash"], "at": row["at"], "why": "count",
            "key": key_id(signer.public_key().public_bytes_raw()),
            "previous": hashlib.sha256(made[-1].strip()).hexdigest() if made else "",
        }  # fmt: skip
        signature = base64.b64encode(signer.sign(to_sign(told))).decode()
        made.append(checkpoint_line(told | {"signature": signature}) + b"\n")
    return made


ROWS = chain(40)
LINES = lines(ROWS)
SEALED = sealed(ROWS)


def place(verdict):
    return verdict.ok, verdict.bad_seq


def test_a_whole_log_is_whole():
    verdict = verify(LINES, checkpoints=SEALED, keys=[KEY])
    assert verdict == audit_verify.ChainVerdict(
        ok=True, events=40, last=40, hash=ROWS[-1]["hash"], checkpoints=4, covered=40, signed=True
    )


def test_an_empty_log_is_whole_and_an_empty_file_in_place_of_one_is_not():
    assert place(verify([])) == (True, None)
    assert place(verify([], checkpoints=SEALED)) == (False, 1)


def mutated(rng: random.Random) -> tuple[list[bytes], int]:
    """A log with one change, and the number of the event that is hit."""
    at = rng.randrange(len(LINES))
    changed = list(LINES)
    kind = rng.choice(["byte", "cut", "drop", "twice", "swap", "insert", "field", "tail", "bit", "join"])
    if kind in ("byte", "bit", "cut", "insert"):
        changed[at] = changed_bytes(LINES[at], kind, rng)
    elif kind == "drop":
        del changed[at]
    elif kind == "tail":
        del changed[at:]
    elif kind == "twice":
        changed.insert(at + 1, LINES[at])
    elif kind == "join":
        changed[at] = changed[at].rstrip(b"\n")
    elif kind == "swap":
        at = rng.randrange(len(LINES) - 1)
        changed[at], changed[at + 1] = changed[at + 1], changed[at]
    else:  # one column, with a fresh hash, as somebody would who knows how
        name = rng.choice(["actor", "verb", "object", "outcome", "at", "detail", "attempt"])
        told = {column: ROWS[at][column] for column in audit_verify.FIELDS}
        told[name] = 7 if name == "attempt" else "mallory"
        changed[at] = line_of(told | {"hash": hash_of(told)})
    return changed, at + 1


def changed_bytes(line: bytes, kind: str, rng: random.Random) -> bytes:
    where = rng.randrange(len(line))
    if kind == "cut":
        return line[:where] + line[where + 1 :]
    if kind == "insert":
        return line[:where] + bytes([rng.randrange(256)]) + line[where:]
    other = line[where] ^ (1 << rng.randrange(8)) if kind == "bit" else (line[where] + rng.randrange(1, 256)) % 256
    return line[:where] + bytes([other]) + line[where + 1 :]


def split(text: bytes) -> list[bytes]:
    pieces = text.split(b"\n")
    return [piece + b"\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_changes_are_found_each_at_its_number(seed):  # T26, A54
    rng = random.Random(seed)
    for _ in range(100):
        changed, seq = mutated(rng)
        if b"".join(changed) == b"".join(LINES):
            continue
        verdict = verify(split(b"".join(changed)), checkpoints=SEALED)
        # What only its checkpoint tells is told as a span.
        assert verdict.ok is False
        assert verdict.bad_seq <= seq <= (verdict.until or verdict.bad_seq), (seed, seq, verdict)


@pytest.mark.parametrize("seed", range(3))
def test_without_checkpoints_everything_but_the_end_is_found(seed):
    rng = random.Random(1000 + seed)
    for _ in range(100):
        changed, seq = mutated(rng)
        verdict = verify(split(b"".join(changed)))
        same = [line for line in changed if line in LINES]
        if changed == same == LINES[: len(changed)] or seq == len(LINES):
            continue  # a shorter log, or another last event: nothing inside of the log speaks against it
        assert place(verdict) == (False, seq)


@given(st.integers(2, 39), st.sampled_from(["actor", "object", "prev"]))
def test_a_row_written_anew_with_its_hash_is_named(seq, name):
    told = {column: ROWS[seq - 1][column] for column in audit_verify.FIELDS} | {name: "f" * 64}
    changed = [*LINES[: seq - 1], line_of(told | {"hash": hash_of(told)}), *LINES[seq:]]
    assert place(verify(changed)) == (False, seq)


@given(st.integers(1, 39))
def test_a_chain_written_anew_from_somewhere_is_told_by_the_checkpoints(seq):
    prev = ROWS[seq - 2]["hash"] if seq > 1 else ""
    forged = LINES[: seq - 1] + lines(chain(41 - seq, start=seq, prev=prev, actor="mallory"))
    assert verify(forged).ok is True  # A57: nothing but what is outside speaks against it
    verdict = verify(forged, checkpoints=SEALED, keys=[KEY])
    span = (seq - 1) // 10 * 10
    assert (verdict.ok, verdict.bad_seq, verdict.until) == (False, span + 1, span + 10)


def test_the_end_is_held_against_the_head():
    head = Link(40, "", ROWS[-1]["hash"])
    assert verify(LINES, head=head).ok
    assert place(verify(LINES[:-3], head=head)) == (False, 38)
    assert place(verify(LINES, head=head._replace(hash="0" * 64))) == (False, 40)
    assert place(verify(LINES, head=head._replace(seq=39))) == (False, 40)


def test_a_part_is_held_against_the_checkpoint_before_it():
    assert verify(LINES[20:], first=21, checkpoints=SEALED).ok
    assert place(verify(LINES[20:])) == (False, 1)
    other = lines(chain(20, start=21, prev="f" * 64))
    assert place(verify(other, first=21, checkpoints=SEALED)) == (False, 21)
    assert verify(LINES, to=15, checkpoints=SEALED).last == 15
    assert place(verify(LINES[:12], to=15)) == (False, 13)


@pytest.mark.parametrize(
    ("told", "seq", "why"),
    [
        (SEALED[:1] + SEALED[2:], 30, "a checkpoint before that of event 30 is missing"),
        (sealed(ROWS, signer=OTHER), 10, "another key"),
        ([SEALED[0], SEALED[1].replace(b'"why":"count"', b'"why":"timed"'), *SEALED[2:]], 20, "signature"),
        ([*SEALED, *sealed(chain(40, actor="eve"))], 10, "two different checkpoints of event 10"),
    ],
)
def test_checkpoints_that_contradict_each_other_or_the_key_are_named(told, seq, why):
    verdict = verify(LINES, checkpoints=told, keys=[KEY])
    assert place(verdict) == (False, seq)
    assert why in verdict.why


def test_a_torn_line_among_the_checkpoints_is_noted_and_a_repeated_one_is_not():
    told = [*SEALED[:2], SEALED[2][:40] + b"\n", b"\n", SEALED[1], *SEALED[2:]]
    verdict = verify(LINES, checkpoints=told, keys=[KEY])
    assert (verdict.ok, verdict.checkpoints) == (True, 4)
    assert verdict.notes == ("line 3 of the checkpoints can not be read",)


def test_the_command_tells_by_its_exit_code(tmp_path, capsys):
    export, outside, key = tmp_path / "log.jsonl", tmp_path / "outside.jsonl", tmp_path / "key"
    export.write_bytes(b"".join(LINES))
    outside.write_bytes(b"".join(SEALED[:3]))
    key.write_text(f"ed25519:{KEY}\n")
    words = [str(export), "--checkpoints", str(outside), "--key", str(key)]
    assert main(words) == 0
    assert "whole: 40 events" in (told := capsys.readouterr().out)
    assert "no checkpoint vouches for events 31 to 40" in told
    export.write_bytes(b"".join(LINES).replace(b"gr\\u00f6\\u00dfer 17", b"kleiner 17"))
    assert main([*words, "-o", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["bad_seq"] == 17
    assert main([str(tmp_path / "none")]) == 2
    assert main([str(export), "--key", "nonsense"]) == 2


@pytest.mark.parametrize("empty", ["log", "outside"])
def test_a_transfer_that_brought_nothing_proves_nothing(empty, tmp_path, capsys):
    export, outside = tmp_path / "log", tmp_path / "outside"
    export.write_bytes(b"".join(LINES))
    outside.write_bytes(b"".join(SEALED))
    (tmp_path / empty).write_bytes(b"")
    words = [str(export), "--checkpoints", str(outside)] if empty == "outside" else [str(export)]
    assert main(words) == 2
    wanted = "audit_verify: the files hold no event, or no checkpoint: nothing is proven\n"
    assert capsys.readouterr() == ("", wanted)


def test_an_empty_file_of_checkpoints_hides_no_broken_event(tmp_path, capsys):
    export, outside = tmp_path / "log", tmp_path / "outside"
    export.write_bytes(b"".join([*LINES[:5], *LINES[6:]]))
    outside.write_bytes(b"")
    assert main([str(export), "--checkpoints", str(outside), "-o", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False


def test_what_no_checkpoint_confirms_begins_with_the_first_event_that_was_read(tmp_path, capsys):
    export = tmp_path / "log"
    export.write_bytes(b"".join(LINES[9:]))
    assert main([str(export), "--from", "10"]) == 0
    assert "no checkpoint vouches for events 10 to 40" in capsys.readouterr().out


def test_it_runs_alone_from_one_file_and_several_parts(tmp_path):
    first, second, script = tmp_path / "1.jsonl", tmp_path / "2.jsonl", tmp_path / "proof.py"
    first.write_bytes(b"".join(LINES[:20]))
    second.write_bytes(b"".join(LINES[20:]))
    script.write_text(SCRIPT.read_text())
    done = subprocess.run([sys.executable, "-I", script, first, second], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[0][:16]) == (0, "whole: 40 events")


ALONE = "import sys, runpy; runpy.run_path(sys.argv[1]); print(*sorted(set(m.partition('.')[0] for m in sys.modules)))"


def test_it_needs_nothing_but_the_standard_library():
    done = subprocess.run([sys.executable, "-I", "-S", "-c", ALONE, SCRIPT], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= set(sys.stdlib_module_names) | {"__main__"}


def test_the_cost_of_a_log_grows_with_its_length():
    told = lines(chain(10_000))
    assert verify(iter(told)).events == 10_000
    assert growth(lambda size: verify(iter(told[:size])), small=500, large=10_000) < LINEAR


def test_what_no_writer_wrote_is_refused():
    for body in (b"[" * 5000, b'{"seq":1}', b'{"seq":true,"prev":""}', b"\xff\xfe"):
        line = body + audit_verify._HASH + hashlib.sha256(body + b"}").hexdigest().encode() + b'"}\n'
        assert place(verify([line])) == (False, 1)
