"""Verifies an exported audit log without the rest of karpdash: the hash, number and predecessor of every event.

This file stands alone: `python audit_verify.py EXPORT --checkpoints FILE --key KEY` needs the standard library, and the
package `cryptography` only for `--key`. It reads as a stream, so a log may be larger than the memory (A54).
"""

import argparse
import base64
import binascii
import hashlib
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

FIELDS = (
    "seq", "at", "actor", "method", "token_id", "address", "verb", "object", "cluster_id", "cluster_identity",
    "plan_digest", "step", "attempt", "request_digest", "outcome", "correlation", "detail", "prev",
)  # fmt: skip
"""The columns that the hash of an event covers, in this order."""
SIGNED = ("checkpoint", "seq", "hash", "at", "why", "key", "previous")
"""The fields that the signature of a checkpoint covers, in this order; `checkpoint` is the version of the form."""
FORM = 1
_HASH, _SIGNATURE = b',"hash":"', b',"signature":"'
_HASH_TAIL = len(_HASH) + 64 + 3
_SIGNATURE_TAIL = len(_SIGNATURE) + 88 + 2
WHOLE, BROKEN, UNUSABLE = 0, 1, 2


class UnusableInput(Exception):
    """The input cannot be read; this says nothing about the log."""


class Link(NamedTuple):
    """The columns of an event that form the chain."""

    seq: int
    prev: str
    hash: str


class CheckpointLine(NamedTuple):
    """A checkpoint: event `seq` has the hash `hash`. `digest` is that of the whole line."""

    seq: int
    hash: str
    key: str
    previous: str
    digest: str
    signed: bytes
    signature: bytes


@dataclass(frozen=True, kw_only=True)
class ChainVerdict:
    """`bad_seq` is the first event that was changed; if only a range is known, `until` is its end.

    `covered` is the last event that a checkpoint confirms; `signed` is None if no key was given.
    """

    ok: bool
    events: int
    last: int
    hash: str
    bad_seq: int | None = None
    until: int | None = None
    why: str = ""
    checkpoints: int = 0
    covered: int = 0
    signed: bool | None = None
    notes: tuple[str, ...] = ()


class _Break(Exception):
    def __init__(self, seq: int, why: str, *, until: int | None = None) -> None:
        super().__init__(why)
        self.seq, self.why, self.until = seq, why, until


def canonical(columns: Mapping[str, Any]) -> bytes:
    """An event without its hash: ASCII JSON, columns in the order of FIELDS, no spaces."""
    return _ascii({name: columns[name] for name in FIELDS})


def hash_of(columns: Mapping[str, Any]) -> str:
    """The hash of an event: SHA-256 of its canonical form, which contains the hash of the previous event."""
    return hashlib.sha256(canonical(columns)).hexdigest()


def line_of(columns: Mapping[str, Any]) -> bytes:
    """The event as a line of an export, with its newline."""
    return canonical(columns)[:-1] + _HASH + str(columns["hash"]).encode() + b'"}\n'


def to_sign(columns: Mapping[str, Any]) -> bytes:
    """The bytes that a checkpoint's signature covers."""
    return _ascii({"checkpoint": FORM} | {name: columns[name] for name in SIGNED[1:]})


def checkpoint_line(columns: Mapping[str, Any]) -> bytes:
    """The checkpoint as a line, without newline."""
    return to_sign(columns)[:-1] + _SIGNATURE + str(columns["signature"]).encode() + b'"}'


def key_id(public: bytes) -> str:
    """The id by which checkpoints name the key that signed them."""
    return hashlib.sha256(public).hexdigest()[:16]


def _ascii(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()


def read_link(line: bytes) -> Link:
    """The event of the line. Raises ValueError with the reason if the line was changed."""
    body, tail = line[:-_HASH_TAIL] + b"}", line[-_HASH_TAIL:]
    if not tail.startswith(_HASH) or not tail.endswith(b'"}\n'):
        raise ValueError("is not a line as it was exported")
    stated_hash = tail[len(_HASH) : -3].decode("ascii", "replace")
    if hashlib.sha256(body).hexdigest() != stated_hash:
        raise ValueError("does not match its hash")
    columns = _object(body)
    if tuple(columns) != FIELDS or type(columns["seq"]) is not int or not isinstance(columns["prev"], str):
        raise ValueError("has other columns than an event")
    return Link(columns["seq"], columns["prev"], stated_hash)


def read_checkpoint(line: bytes) -> CheckpointLine:
    """The checkpoint of the line, which has no newline. Raises ValueError if the line is no checkpoint."""
    body, tail = line[:-_SIGNATURE_TAIL] + b"}", line[-_SIGNATURE_TAIL:]
    if not tail.startswith(_SIGNATURE) or not tail.endswith(b'"}'):
        raise ValueError("no checkpoint")
    columns = _object(body)
    if tuple(columns) != SIGNED or columns["checkpoint"] != FORM or type(columns["seq"]) is not int:
        raise ValueError("no checkpoint of a known form")
    signature = base64.b64decode(tail[len(_SIGNATURE) : -2], validate=True)
    digest = hashlib.sha256(line).hexdigest()
    return CheckpointLine(
        columns["seq"], str(columns["hash"]), str(columns["key"]), str(columns["previous"]), digest, body, signature
    )


def _object(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text.decode("ascii"))
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    if not isinstance(found, dict):
        raise ValueError("is not an object")
    return found


@dataclass
class SealedArchive:
    """The checkpoints to compare a log with, by event."""

    by_seq: dict[int, CheckpointLine] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    signed: bool | None = None


def read_checkpoints(lines: Iterable[bytes], keys: Collection[str] = ()) -> SealedArchive:
    """The checkpoints of the lines; unreadable lines are noted. Raises _Break for one that contradicts the others."""
    verifiers = {key_id(raw): raw for raw in map(read_key, keys)}
    sealed = SealedArchive(signed=True if verifiers else None)
    digests: set[str] = set()
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text:
            continue
        try:
            found = read_checkpoint(text)
        except (ValueError, binascii.Error):
            sealed.notes.append(f"line {number} of the checkpoints can not be read")
            continue
        if found.digest not in digests:
            _add(sealed, found, digests=digests, verifiers=verifiers)
            digests.add(found.digest)
    return sealed


def _add(sealed: SealedArchive, line: CheckpointLine, *, digests: set[str], verifiers: Mapping[str, bytes]) -> None:
    other = sealed.by_seq.get(line.seq)
    if other is not None:
        raise _Break(line.seq, f"there are two different checkpoints of event {line.seq}")
    if verifiers:
        _check_signature(line, verifiers)
    if digests and line.previous not in digests:
        raise _Break(line.seq, f"a checkpoint before that of event {line.seq} is missing")
    sealed.by_seq[line.seq] = line


def _check_signature(line: CheckpointLine, verifiers: Mapping[str, bytes]) -> None:
    from cryptography.exceptions import InvalidSignature  # only here, so that chains are checked without the package
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    raw = verifiers.get(line.key)
    if raw is None:
        raise _Break(line.seq, f"the checkpoint of event {line.seq} was signed by another key, {line.key}")
    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(line.signature, line.signed)
    except InvalidSignature:
        raise _Break(line.seq, f"the signature of the checkpoint of event {line.seq} is wrong") from None


def read_key(text: str) -> bytes:
    """A public key: base64 of 32 bytes, with or without `ed25519:`, or a file with it. Raises UnusableInput."""
    with suppress(OSError, ValueError):
        if len(text) < 1000 and Path(text).is_file():
            text = Path(text).read_text(encoding="ascii")
        raw = base64.b64decode(text.strip().removeprefix("ed25519:"), validate=True)
        if len(raw) == 32:
            return raw
    raise UnusableInput("--key: neither a public key as `karpdash audit key` prints it, nor a file that holds one")


@dataclass
class _Walk:
    """The state of the verification along the chain."""

    lines: Iterator[bytes]
    sealed: Mapping[int, CheckpointLine]
    first: int
    to: int | None
    last: int = 0
    hash: str = ""
    events: int = 0
    covered: int = 0

    def follow(self) -> None:
        """Raises _Break at the first event that was changed."""
        self.last = self.first - 1
        for line in self.lines:
            self._step(line)
            if self.last == self.to:
                return

    def _step(self, line: bytes) -> None:
        wanted = self.last + 1
        try:
            link = read_link(line)
        except ValueError as wrong:
            raise _Break(wanted, f"event {wanted} {wrong}") from None
        if link.seq > wanted:
            raise _Break(wanted, f"event {wanted} is missing; event {link.seq} stands in its place")
        if link.seq < wanted:
            raise _Break(link.seq, f"event {link.seq} stands at the place of event {wanted}")
        self._check_prev(link)
        self._check_sealed(link)
        self.last, self.hash = link.seq, link.hash
        self.events += 1

    def _check_prev(self, link: Link) -> None:
        if self.events:
            if link.prev != self.hash:
                raise self._torn_apart(link)
            return
        before = self.sealed.get(link.seq - 1)
        if (link.seq == 1 and link.prev != "") or (before is not None and before.hash != link.prev):
            raise _Break(link.seq, f"event {link.seq} was not sealed to what came before it")

    def _torn_apart(self, link: Link) -> _Break:
        """The break at two neighbours that do not fit: the event after them shows which of the two was changed."""
        here, there = self.sealed.get(link.seq - 1), self.sealed.get(link.seq)
        own_fault = (here is not None and here.hash == self.hash) or (there is not None and there.hash != link.hash)
        with suppress(ValueError):  # without a next event, the earlier of the two is named
            own_fault = own_fault or read_link(next(self.lines, b"")).prev != link.hash
        seq = link.seq if own_fault else link.seq - 1
        return _Break(seq, f"event {seq} was written anew: events {link.seq - 1} and {link.seq} do not fit together")

    def _check_sealed(self, link: Link) -> None:
        wanted = self.sealed.get(link.seq)
        if wanted is None:
            return
        if wanted.hash != link.hash:
            since = max(self.covered, self.first - 1) + 1
            why = f"the log was written anew between events {since} and {link.seq}: its checkpoint says otherwise"
            raise _Break(since, why, until=link.seq)
        self.covered = link.seq

    def check_end(self, head: Link | None) -> None:
        """Raises _Break unless the log reaches its known end: the head, the last checkpoint, or the requested event."""
        known = [seq for seq in self.sealed if self.to is None or seq <= self.to]
        wanted = max([*known, head.seq if head else 0, self.to or 0], default=0)
        if wanted > self.last:
            raise _Break(self.last + 1, f"the log ends before event {self.last + 1}, but there were {wanted}")
        if head and self.to is None and (head.seq, head.hash) != (self.last, self.hash):
            raise _Break(self.last, f"event {self.last} is not the one that the head of the log names")


def verify(
    lines: Iterable[bytes],
    *,
    checkpoints: Iterable[bytes] = (),
    keys: Collection[str] = (),
    first: int = 1,
    to: int | None = None,
    head: Link | None = None,
) -> ChainVerdict:
    """Verifies the lines, which must begin with event `first`; events after `to` are not checked.

    Raises UnusableInput for an invalid key.
    """
    try:
        sealed = read_checkpoints(checkpoints, keys)
    except _Break as broken:
        return ChainVerdict(ok=False, events=0, last=0, hash="", bad_seq=broken.seq, why=broken.why, signed=False)
    walk = _Walk(iter(lines), sealed.by_seq, first, to)
    broken_at: _Break | None = None
    try:
        walk.follow()
        walk.check_end(head)
    except _Break as found:
        broken_at = found
    return ChainVerdict(
        ok=broken_at is None,
        events=walk.events,
        last=walk.last,
        hash=walk.hash,
        bad_seq=broken_at.seq if broken_at else None,
        until=broken_at.until if broken_at else None,
        why=broken_at.why if broken_at else "",
        checkpoints=sum(1 for seq in sealed.by_seq if first <= seq <= walk.last),
        covered=walk.covered,
        signed=sealed.signed,
        notes=tuple(sealed.notes),
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("files", metavar="FILE", nargs="*", help="exports, one after the other; - reads standard input")
    parser.add_argument("--checkpoints", metavar="FILE", action="append", default=[], help="checkpoints from outside")
    parser.add_argument("--key", metavar="KEY", action="append", default=[], help="public key, or a file with it")
    parser.add_argument("--from", dest="first", metavar="SEQ", type=int, default=1, help="first event, 1 by default")
    parser.add_argument("--to", metavar="SEQ", type=int, default=None, help="last event to look at")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")


def verify_files(options: argparse.Namespace) -> ChainVerdict:
    """The verdict on the named files. Raises UnusableInput for an unreadable file, and where nothing was read."""
    lines, sealed = lines_of(options.files or ["-"]), list(lines_of(options.checkpoints))
    try:
        verdict = verify(lines, checkpoints=sealed, keys=options.key, first=options.first, to=options.to)
    except ImportError:
        raise UnusableInput("--key needs the package cryptography") from None
    if verdict.ok and (not verdict.events or (options.checkpoints and not sealed)):
        raise UnusableInput("the files hold no event, or no checkpoint: nothing is proven")
    return verdict


def lines_of(names: Iterable[str]) -> Iterator[bytes]:
    """The lines of the files, one file after the other. Raises UnusableInput."""
    for name in names:
        try:
            with nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb") as file:
                yield from file
        except OSError as wrong:
            raise UnusableInput(f"{name}: can not be read: {wrong.strerror}") from None


def verdict_text(verdict: ChainVerdict, *, output: str = "text") -> str:
    """The verdict as text or JSON."""
    if output == "json":
        return json.dumps(asdict(verdict), indent=2) + "\n"
    lines = [_sentence(verdict), *(f"note: {note}" for note in verdict.notes)]
    if verdict.ok and verdict.covered < verdict.last:
        since = max(verdict.covered, verdict.last - verdict.events) + 1
        lines.append(f"note: no checkpoint vouches for events {since} to {verdict.last}: whoever holds the database")
        lines.append("      could have written them anew")
    if verdict.checkpoints and verdict.signed is None:
        lines.append("note: the signatures were not checked; give --key")
    return "".join(f"{line}\n" for line in lines)


def _sentence(verdict: ChainVerdict) -> str:
    if not verdict.ok:
        return f"broken at event {verdict.bad_seq}: {verdict.why}"
    sealed = f"{verdict.checkpoints} checkpoints agree, the last at event {verdict.covered}"
    return f"whole: {verdict.events} events, the last is {verdict.last}; {sealed}"


def main(argv: list[str] | None = None) -> int:
    """Returns 0 if the log is whole, 1 if it is broken, 2 if the input is unusable."""
    parser = argparse.ArgumentParser(prog="audit_verify", description="Proves an exported audit log, offline.")
    add_options(parser)
    try:
        verdict = verify_files(options := parser.parse_args(argv))
    except UnusableInput as wrong:
        sys.stderr.write(f"audit_verify: {wrong}\n")
        return UNUSABLE
    sys.stdout.write(verdict_text(verdict, output=options.output))
    return WHOLE if verdict.ok else BROKEN


if __name__ == "__main__":
    sys.exit(main())
