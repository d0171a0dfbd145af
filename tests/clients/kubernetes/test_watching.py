"""What a watch has to say before a list counts as unchanged, and everything that is no proof."""

import json

import pytest

from migrations_app.clients.kubernetes.api import Resource
from migrations_app.clients.kubernetes.watching import NO_OBJECT, is_unchanged
from migrations_app.errors import ReadError
from tests.clients.kubernetes.rig import speaking

PODS = Resource("", "v1", "pods")


def event(kind, version="150", **more):
    return json.dumps({"type": kind, "object": {"metadata": {"resourceVersion": version}, **more}}).encode() + b"\n"


def server(*pieces, now="120", rest=2, how="whole"):
    """Answers the list with its version and count, and a watch with these pieces."""

    def script(request, wire):
        if "watch" not in request.query:
            metadata = {"resourceVersion": now, "continue": "c"}
            if rest is not None:
                metadata["remainingItemCount"] = rest
            wire.answer(json.dumps({"kind": "PodList", "metadata": metadata, "items": [{}]}).encode())
            return
        wire.begin()
        for piece in pieces:
            wire.chunk(piece)
        if how == "whole":
            wire.end()
        elif how == "cut":
            wire.cut()
        else:
            wire.hang()

    return script


def proven(script, *, since="100", count=3, seconds=3):
    with speaking(script) as (transport, evil):
        try:
            return is_unchanged(transport, PODS, since=since, count=count, seconds=seconds), evil.requests
        except ReadError as reason:
            return reason.code, evil.requests


@pytest.mark.parametrize(
    "pieces",
    [
        [event("BOOKMARK")],
        [event("BOOKMARK", "120")],
        [event("BOOKMARK", "110"), event("BOOKMARK", "120")],
        [event("BOOKMARK")[:9], event("BOOKMARK")[9:]],
        [event("BOOKMARK") + event("ADDED")],
    ],
)
@pytest.mark.parametrize("how", ["whole", "open"])
def test_a_bookmark_that_has_come_to_the_present_is_the_proof(pieces, how):
    assert proven(server(*pieces, how=how))[0] is True


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        [event("BOOKMARK", "119")],
        [event("BOOKMARK").rstrip(b"\n")],
        [event("ADDED")],
        [event("BOOKMARK", "110"), event("MODIFIED", "115"), event("BOOKMARK")],
        [event("DELETED"), event("BOOKMARK")],
        [event("ERROR", code=410), event("BOOKMARK")],
        [event("bookmark"), event("BOOKMARK")],
        [event("BOOKMARK", "0150")],
        [event("BOOKMARK", "-150")],
        [event("BOOKMARK", "1e9")],
        [event("BOOKMARK", "\uff19" * 4)],
        [event("BOOKMARK", "9" * 40)],
        [event("BOOKMARK", "")],
        [b"{}\n", event("BOOKMARK")],
        [b"\xff\n", event("BOOKMARK")],
        [b'{"type":"BOOKMARK","object":[]}\n', event("BOOKMARK")],
    ],
)
def test_everything_else_is_none(pieces):
    assert proven(server(*pieces))[0] is False


def test_a_watch_that_is_cut_or_refused_or_endless_is_none():
    assert proven(server(event("BOOKMARK", "119"), how="cut"))[0] not in (True, False)
    assert proven(server(b"x" * (3 << 20)))[0] == "too_large"

    def refuses(request, wire):
        wire.answer(b"{}", status="410 Gone") if "watch" in request.query else server()(request, wire)

    assert proven(refuses)[0] == "expired"


@pytest.mark.parametrize(("now", "rest"), [("99", 2), ("120", 3), ("120", 1), ("120", None)])
def test_versions_that_went_back_or_another_or_no_count_are_told_without_a_watch(now, rest):
    said, requests = proven(server(event("BOOKMARK"), now=now, rest=rest))
    assert (said, [one for one in requests if "watch" in one.query]) == (False, [])


@pytest.mark.parametrize(("rest", "found"), [(2, True), (1, False), (None, False)])
def test_a_server_that_has_written_nothing_since_needs_no_watch(rest, found):
    said, requests = proven(server(now="100", rest=rest))
    assert (said, [one for one in requests if "watch" in one.query]) == (found, [])


@pytest.mark.parametrize("now", ["", "0", "v7", "1.5"])
def test_versions_that_are_no_numbers_are_refused(now):
    assert proven(server(event("BOOKMARK"), now=now))[0] == "garbled"
    assert proven(server(event("BOOKMARK")), since=now)[0] == "garbled"


def test_what_is_asked():
    requests = proven(server(event("BOOKMARK")), seconds=7)[1]
    first, *others = [one.query for one in requests]
    assert first == {"limit": "1"}
    watch = {"watch": "1", "resourceVersion": "100", "allowWatchBookmarks": "true", "timeoutSeconds": "7"}
    hurry = {"fieldSelector": NO_OBJECT, "resourceVersion": "120", "resourceVersionMatch": "NotOlderThan"}
    assert watch in others
    assert all(one in (watch, hurry) for one in others)
    assert {one.method for one in requests} == {"GET"}
