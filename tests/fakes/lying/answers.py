"""Answers that are complete as HTTP, but have a status, format or JSON that no API server sends."""

import json

from tests.fakes.evilk8s import Wire
from tests.fakes.lying.honest import OK, Document, Turn
from tests.fakes.lying.way import CUT, GARBLED, LARGE, LATE, NOTHING, Act, Fault, body, status

ABSURD = ("21600", "-1", "99999999999999999999", "nan", "1e9", "Wed, 01 Jan 2099 00:00:00 GMT", "0", "", "\xb2")
FAILED = b'{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "code": 500}'
MOVED = ("301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect")
ELSEWHERE = ("https://127.0.0.1:1/", "http://169.254.169.254/latest/", "//127.0.0.1:1/x", "/version", "file:///etc/x")
DEEP = 100_000


def redirect(turn: Turn, wire: Wire) -> None:
    wire.answer(b"", status=turn.dice.choice(MOVED), Location=turn.dice.choice(ELSEWHERE))


def throttle(turn: Turn, wire: Wire) -> None:
    wire.answer(b"", status="429 Slow", Retry_After=turn.dice.choice(ABSURD))


def storm(turn: Turn, wire: Wire) -> None:
    line = turn.dice.choice(("500 Oops", "502 Bad Gateway", "503 Unavailable", "599 Else"))
    wire.answer(FAILED, status=line, Retry_After=turn.dice.choice(ABSURD))


def fails_once(turn: Turn, wire: Wire) -> None:
    """A server whose first answer to each request fails; the second one is correct."""
    known = turn.kept.setdefault("failed", set())
    place = (turn.request.path, tuple(sorted(turn.request.query.items())))
    if place in known:
        answer = turn.server.answer(turn.request)
        wire.answer(answer.body, status=answer.status)
    else:
        known.add(place)
        wire.answer(b"", status="503 Unavailable", Retry_After="0")


def put_in(piece: bytes) -> Act:
    """Puts the piece into the list's metadata as a field."""
    return body(lambda turn: turn.body.replace(b'"metadata": {', b'"metadata": {"x": ' + piece + b", ", 1))


def in_object(piece: bytes) -> Act:
    """Puts the piece into one object as a field, so that other objects can still be read."""

    def made(turn: Turn) -> bytes:
        items = turn.document.get("items") or []
        if not items:
            return turn.body
        found: Document = turn.document | {"items": [items[0] | {"evil": "@@"}, *items[1:]]}
        return json.dumps(found).encode().replace(b'"@@"', piece, 1)

    return body(made)


def answered_as(line: str) -> Act:
    """Sends the honest answer under another status of success."""
    return lambda turn, wire: wire.answer(turn.body, status=line if turn.status == OK else turn.status)


def said(text: bytes) -> Act:
    return body(lambda _: text)


STATUSES: tuple[Fault, ...] = (
    Fault(name="redirects", act=redirect, why=frozenset({"redirected"})),
    Fault(name="not who it knows", act=status("401 No"), why=frozenset({"unauthorized"})),
    Fault(name="forbidden", act=status("403 No"), why=frozenset({"forbidden"})),
    Fault(name="not found", act=status("404 No"), why=frozenset({"not_served", "server_failed"})),
    Fault(
        name="an object that is not there", why=frozenset({"not_served", "absent", "server_failed"}),
        act=status("404 No", text=b'{"kind": "Status", "reason": "NotFound", "details": {"name": "x"}}'),
    ),
    Fault(name="conflict", act=status("409 Conflict"), why=frozenset({"refused"})),
    Fault(name="teapot", act=status("418 Teapot", Retry_After="99999"), why=frozenset({"refused"})),
    Fault(name="throttles for hours", act=throttle, why=frozenset({"throttled", "timeout"})),
    Fault(name="fails for ever", act=storm, why=frozenset({"server_failed", "timeout"})),
    Fault(name="fails once each", harmless=True, act=fails_once, why=LATE),
    Fault(name="not finished", act=status("504 Late"), why=LATE),
    Fault(
        name="conversion fails", why=frozenset({"conversion_failed"}),
        act=status("500 Oops", text=b'{"kind": "Status", "message": "conversion webhook for x failed"}'),
    ),
    Fault(name="a part of it", harmless=True, act=answered_as("206 Partial"), why=frozenset({"refused"})),
    Fault(name="no content", act=lambda _, w: w.raw(b"HTTP/1.1 204 None\r\n\r\n"), why=CUT | {"refused"}),
    Fault(name="accepted", harmless=True, act=answered_as("202 Yes"), why=frozenset({"refused"})),
    Fault(name="success that says failure", act=said(FAILED)),
    Fault(name="forbidden without a word", act=status("403 No", text=b"\xff" * 5000), why=frozenset({"forbidden"})),
    Fault(name="failure of a megabyte", act=status("409 No", text=b'{"message": "' + b"x" * (1 << 20)),
        why=frozenset({"refused", "timeout", "cut"})),
)  # fmt: skip
FORMATS: tuple[Fault, ...] = (
    Fault(name="nothing", act=said(b"")),
    Fault(name="null", act=said(b"null")),
    Fault(name="a number", act=said(b"1")),
    Fault(name="a text", act=said(b'"PodList"')),
    Fault(name="an array", act=said(b"[]")),
    Fault(name="an empty object", act=said(b"{}")),
    Fault(name="brackets", act=said(b"[" * 200_000)),
    Fault(name="braces", act=said(b'{"metadata":' * 100_000)),
    Fault(name="NUL bytes", act=said(b"\0" * 1000)),
    Fault(name="protobuf", act=said(b"k8s\0\n\x0b\n\x02v1\x12\x07PodList")),
    Fault(name="a page for people", act=body(lambda _: b"<!doctype html><p>Sign in", Content_Type="text/html")),
    Fault(name="says text, is a list", act=body(lambda turn: turn.body, Content_Type="text/html"), why=NOTHING),
    Fault(name="YAML", act=said(b"kind: PodList\nitems: []\n")),
    Fault(name="UTF-16", act=body(lambda turn: turn.body.decode().encode("utf-16"))),
    Fault(name="byte order mark", act=body(lambda turn: b"\xef\xbb\xbf" + turn.body)),
    Fault(name="twice in one answer", act=body(lambda turn: turn.body * 2)),
    Fault(name="lines of JSON", act=body(lambda turn: turn.body + b"\n" + turn.body)),
    Fault(name="something behind it", act=body(lambda turn: turn.body + b"x")),
    Fault(name="a comment", act=body(lambda turn: b"/* */" + turn.body)),
    Fault(name="a comma too many", act=body(lambda turn: turn.body[:-1] + b",}")),
    Fault(name="NaN", act=put_in(b"NaN")),
    Fault(name="infinite", act=put_in(b"-Infinity")),
    Fault(name="a huge number", harmless=True, act=put_in(b"9" * 100_000), why=GARBLED),
    Fault(name="a huge exponent", harmless=True, act=put_in(b"1e999999999")),
    Fault(name="nested too deep", act=put_in(b"[" * DEEP + b"]" * DEEP)),
    Fault(name="half a surrogate", act=put_in(b'"\\ud800"')),
    Fault(name="an object nested too deep", act=in_object(b"[" * DEEP + b"]" * DEEP)),
    Fault(name="an object with half a surrogate", harmless=True, act=in_object(b'"\\ud800"')),
    Fault(name="an object with NaN", act=in_object(b"NaN")),
    Fault(name="an object that is no UTF-8", harmless=True, act=in_object(b'"\xff\xfe"')),
    Fault(name="an object of three megabytes", act=in_object(b'"' + b"x" * (3 << 20) + b'"'), why=LARGE),
    Fault(name="the same key twice", act=body(lambda t: t.body[:-1] + b', "items": []}'), lie=True),
)
