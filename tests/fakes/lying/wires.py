"""Faults below HTTP and in its framing: cuts, delays, lengths, chunks, compression, heads."""

import gzip
import zlib
from collections.abc import Callable

from tests.fakes.evilk8s import Wire, head
from tests.fakes.lying.honest import Turn
from tests.fakes.lying.way import CUT, GARBLED, LARGE, LATE, NOTHING, Act, Fault, body, status

JSON = {"Content-Type": "application/json"}
BOMB = gzip.compress(b'{"kind": "PodList", "items": [' + b" " * (64 << 20), 6)
TALK = b"HTTP/1.1 100 Continue\r\n\r\n"


def whole(turn: Turn) -> bytes:
    return head(turn.status, JSON | {"Content-Length": str(len(turn.body))}) + turn.body


def cut_after(share: Callable[[Turn], int]) -> Act:
    """Sends that share of the correct answer, then closes the connection."""

    def act(turn: Turn, wire: Wire) -> None:
        wire.raw(whole(turn)[: share(turn)])
        wire.cut()

    return act


def _head_length(turn: Turn) -> int:
    return len(whole(turn)) - len(turn.body)


def framed(make: Callable[[Turn], bytes], **headers: str) -> Act:
    """Sends a head with these headers and these bytes; then closes the connection properly."""

    def act(turn: Turn, wire: Wire) -> None:
        given = JSON | {name.replace("_", "-"): value for name, value in headers.items()}
        wire.raw(head(turn.status, given) + make(turn))
        wire.keep = False

    return act


def chunks(make: Callable[[Turn], bytes], *, then_cut: bool = True) -> Act:
    """Sends a chunked answer of exactly these bytes."""

    def act(turn: Turn, wire: Wire) -> None:
        wire.begin(turn.status)
        wire.raw(make(turn))
        if then_cut:
            wire.cut()

    return act


def _chunk(data: bytes, length: int | None = None) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data) if length is None else length, data)


def _halves(turn: Turn) -> tuple[bytes, bytes]:
    at = turn.dice.randrange(1, len(turn.body))
    return turn.body[:at], turn.body[at:]


def huge(_: Turn, wire: Wire) -> None:
    wire.begin()
    while not wire.stop.is_set():
        wire.chunk(b" " * 65536)


def silent_end(turn: Turn, wire: Wire) -> None:
    """Sends one byte less than announced, and then nothing."""
    wire.raw(whole(turn)[:-1])
    wire.hang()


def hints(turn: Turn, wire: Wire) -> None:
    """Sends an early hint before the answer, as a proxy may do."""
    wire.raw(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + whole(turn))


def chatter(_: Turn, wire: Wire) -> None:
    """Repeats that the answer will come."""
    while not wire.stop.is_set():
        wire.raw(TALK * 500)


def twice(turn: Turn, wire: Wire) -> None:
    """Sends a second answer without a request, which the next request on this connection may take for its own."""
    wire.raw(whole(turn) * 2)


def one_late(turn: Turn, wire: Wire) -> None:
    """Answers each request with the stored answer to an earlier request for another kind: of the same kind it would be
    a valid list.
    """
    plural = turn.request.path.rpartition("/")[2]
    known = [answer for kind, answer in turn.kept.items() if kind != plural]
    turn.kept.pop(plural, None)
    turn.kept[plural] = turn.body
    wire.answer(known[-1] if known else b'{"kind": "LeaseList", "apiVersion": "v1", "items": []}')


def packed(make: Callable[[bytes, Turn], bytes], encoding: str = "gzip") -> Act:
    return body(lambda turn: make(gzip.compress(turn.body, mtime=0), turn), Content_Encoding=encoding)


def _flipped(raw: bytes, turn: Turn) -> bytes:
    """Changes one byte of the checksum."""
    changed = bytearray(raw)
    changed[-turn.dice.randrange(5, 9)] ^= 0xFF
    return bytes(changed)


def _injected(turn: Turn, wire: Wire) -> None:
    odd = turn.dice.choice(
        ["X: a\r\n  Content-Length: 1", "X: a\rContent-Length: 1", "X: a\x00b", "Content-Length : 1", "no colon", ": x"]
    )
    raw = whole(turn)
    at = raw.index(b"\r\n") + 2
    wire.raw(raw[:at] + odd.encode() + b"\r\n" + raw[at:])
    wire.keep = False


def _closes(turn: Turn, wire: Wire) -> None:
    """Sends a whole answer that promises to keep the connection, and then closes it."""
    wire.raw(whole(turn))
    wire.cut()


FAULTS: tuple[Fault, ...] = (
    Fault(name="silence", act=lambda _, wire: wire.hang(), why=LATE),
    Fault(name="body byte by byte", act=lambda _, w: (w.begin(), w.drip(b"1\r\nx\r\n", every=0.02)), why=LATE),
    Fault(name="head byte by byte", act=lambda _, w: w.drip(b"HTTP/1.1 200 OK\r\nX: y\r\n", every=0.02), why=LATE),
    Fault(name="a byte is missing, and silence", act=silent_end, why=LATE),
    Fault(name="cut before the first byte", act=lambda _, wire: wire.cut(), why=CUT),
    Fault(name="cut in the first line", act=cut_after(lambda turn: turn.dice.randrange(1, 15)), why=CUT),
    Fault(name="cut in the head", act=cut_after(lambda turn: turn.dice.randrange(17, _head_length(turn))), why=CUT),
    Fault(name="cut after the head", act=cut_after(_head_length), why=CUT),
    Fault(name="cut in the body", act=cut_after(lambda t: t.dice.randrange(_head_length(t), len(whole(t)))), why=CUT),
    Fault(name="cut before the last byte", act=cut_after(lambda turn: len(whole(turn)) - 1), why=CUT),
    Fault(name="no length, cut in order", act=framed(lambda t: _halves(t)[0], Connection="close"), why=CUT),
    Fault(name="no length, whole", act=framed(lambda turn: turn.body, Connection="close"), why=NOTHING),
    Fault(name="length too small", act=framed(lambda t: t.body, Content_Length="10")),
    Fault(name="length too large", act=framed(lambda t: t.body, Content_Length="99999"), why=CUT),
    Fault(name="negative length", act=framed(lambda turn: turn.body, Content_Length="-5")),
    Fault(name="length of letters", act=framed(lambda turn: turn.body, Content_Length="all")),
    Fault(name="length of another alphabet", act=framed(lambda turn: turn.body, Content_Length="\xb2")),
    Fault(name="two lengths", act=framed(lambda t: t.body, Content_Length="7, 99999"), why=CUT),
    Fault(
        name="length and chunks",
        why=CUT,
        act=framed(lambda t: t.body[:9], Content_Length="9", Transfer_Encoding="chunked"),
    ),
    Fault(name="unknown transfer coding", act=framed(lambda t: t.body[:9], Transfer_Encoding="gzip"), why=CUT),
    Fault(name="chunks without an end", act=chunks(lambda turn: _chunk(turn.body)), why=CUT),
    Fault(name="cut between chunks", act=chunks(lambda turn: _chunk(_halves(turn)[0])), why=CUT),
    Fault(name="ended between chunks", act=chunks(lambda t: _chunk(_halves(t)[0]) + b"0\r\n\r\n", then_cut=False)),
    Fault(name="chunk of no number", act=chunks(lambda turn: b"zz\r\n" + turn.body), why=CUT),
    Fault(name="chunk of a negative number", act=chunks(lambda turn: b"-5\r\n" + turn.body), why=CUT),
    Fault(name="chunk larger than it is", act=chunks(lambda t: _chunk(t.body, 1 << 60)), why=CUT),
    Fault(name="chunk smaller than it is", act=chunks(lambda t: _chunk(t.body, 9) + b"0\r\n\r\n"), why=CUT),
    Fault(name="endless", act=huge, why=LARGE),
    Fault(name="packed and cut", act=packed(lambda raw, turn: raw[: turn.dice.randrange(1, len(raw))])),
    Fault(name="packed, something behind it", act=packed(lambda raw, _: raw + b"more")),
    Fault(name="packed twice in a row", act=packed(lambda raw, _: raw * 2)),
    Fault(name="packed, wrong checksum", act=packed(_flipped)),
    Fault(name="packed bomb", act=body(lambda _: BOMB, Content_Encoding="gzip"), why=LARGE),
    Fault(name="packed bomb in a bomb", act=body(lambda _: gzip.compress(BOMB), Content_Encoding="gzip, gzip")),
    Fault(name="says packed, is plain", act=body(lambda turn: turn.body, Content_Encoding="gzip")),
    Fault(name="packed otherwise", act=body(lambda t: zlib.compress(t.body), Content_Encoding="deflate")),
    Fault(name="packing nobody knows", act=body(lambda turn: turn.body, Content_Encoding="br")),
    Fault(name="another protocol", act=lambda _, wire: (wire.raw(b"220 smtp\r\n"), wire.cut()), why=CUT),
    Fault(name="version of HTTP", act=lambda t, wire: (wire.raw(b"HTTP/9.9" + whole(t)[8:]), wire.cut()), why=CUT),
    Fault(name="status of letters", act=lambda _, wire: (wire.raw(b"HTTP/1.1 OK OK\r\n\r\n"), wire.cut()), why=CUT),
    Fault(name="status out of range", act=lambda _, w: (w.raw(b"HTTP/1.1 9999 OK\r\n\r\n"), w.cut()), why=CUT),
    Fault(name="thousand headers", act=status("200 OK", **{f"X-{n}": "x" for n in range(1000)}), why=GARBLED),
    Fault(name="header of a megabyte", act=status("200 OK", X="x" * (1 << 20)), why=GARBLED),
    Fault(name="odd header lines", harmless=True, act=_injected, why=CUT),
    Fault(name="says continue for ever", act=chatter, why=LARGE | CUT),
    Fault(name="hints first", act=hints, why=CUT | {"refused"}),
    Fault(name="each answer twice", harmless=True, act=twice, why=CUT | {"refused"}),
    Fault(name="the answer to the request before", act=one_late, why=CUT | {"expired", "listed_twice", "endless_list"}),
    Fault(name="cut after a whole answer", harmless=True, act=_closes, why=CUT),
)
