"""Lists that are JSON but cannot be a correct answer: their kind, objects or pages are wrong."""

import json
from dataclasses import replace

from tests.fakes.evilk8s import Request, Wire
from tests.fakes.lying.honest import OK, PAGE, Document, Turn
from tests.fakes.lying.way import CUT, GARBLED, LATE, Act, Fault, document, listed, status

AGAIN = frozenset({"listed_twice", "endless_list"})
EXPIRED = frozenset({"expired"})


def _metadata(**told: object) -> Act:
    return document(lambda found, _: found["metadata"].update(told))


def _items(value: object) -> Act:
    return document(lambda found, _: found.update(items=value))


def _first(change: dict[str, object]) -> Act:
    """Changes the metadata of the first object."""
    return listed(lambda found, _: found["items"][0]["metadata"].update(change))


def _without_first(name: str) -> Act:
    return listed(lambda found, _: found["items"][0].pop(name, None))


def _doubled(found: Document, turn: Turn) -> None:
    found["items"].append(turn.dice.choice(found["items"]))


def _namesake(found: Document, turn: Turn) -> None:
    """Adds a second state of an object of this list, with the same uid and name."""
    one = json.loads(json.dumps(turn.dice.choice(found["items"])))
    one["metadata"]["resourceVersion"] = "99999"
    found["items"].append(one)


def replayed(turn: Turn, wire: Wire) -> None:
    """Sends the first page again as the second; then the list goes on after it."""
    query = dict(turn.request.query)
    start = int(query.get("continue", "0"))
    found = turn.document
    if start == PAGE:
        first = turn.server.answer(_asked(turn, 0)).document
        found["items"] = first["items"]
    wire.answer(json.dumps(found).encode(), status=turn.status)


def overlapping(turn: Turn, wire: Wire) -> None:
    """Begins each page with the last object of the page before."""
    start = int(turn.request.query.get("continue", "0"))
    found = turn.document
    if start:
        before = turn.server.answer(_asked(turn, start - PAGE)).document["items"]
        found["items"] = [*before[-1:], *found["items"]]
    wire.answer(json.dumps(found).encode(), status=turn.status)


def _asked(turn: Turn, start: int) -> Request:
    return replace(turn.request, query=turn.request.query | {"continue": str(start)})


def endless(turn: Turn, wire: Wire) -> None:
    """Sends a new continue token for ever, and no objects."""
    answer = turn.server.answer(_asked(turn, 0))  # the token is not one of the honest server
    turn.kept["token"] = turn.kept.get("token", 0) + 1
    told = answer.document | {"items": [], "metadata": _token(str(turn.kept["token"]))}
    wire.answer(json.dumps(told).encode(), status=answer.status)


def same_token(turn: Turn, wire: Wire) -> None:
    answer = turn.server.answer(_asked(turn, 0))
    told = answer.document | {"items": [], "metadata": _token("x")}
    wire.answer(json.dumps(told).encode(), status=answer.status)


def _token(token: str) -> Document:
    return {"resourceVersion": "4711", "continue": token}


def gone(times: int) -> Act:
    """Answers requests for a later page with 410 that many times."""

    def act(turn: Turn, wire: Wire) -> None:
        count = turn.kept.get(turn.request.path, 0)
        if turn.is_later and count < times:
            turn.kept[turn.request.path] = count + 1
            wire.answer(b'{"kind": "Status", "reason": "Expired"}', status="410 Gone")
        else:
            answer = turn.server.answer(turn.request)
            wire.answer(answer.body, status=answer.status)

    return act


def versions(*told: str) -> Act:
    """Each page names the next of these resource versions."""

    def change(found: Document, turn: Turn) -> None:
        page = int(turn.request.query.get("continue", "0")) // PAGE
        found["metadata"]["resourceVersion"] = told[min(page, len(told) - 1)]

    return document(change)


def _long_token(turn: Turn, wire: Wire) -> None:
    """Sends a continue token that is too long for a request line."""
    answer = turn.server.answer(turn.request)
    if answer.status == OK and answer.document["metadata"].get("continue"):
        answer.document["metadata"]["continue"] = "x" * (1 << 20)
    if len(turn.request.query.get("continue", "")) > 1000:
        wire.answer(b"", status="414 Too Long")
    else:
        wire.answer(answer.body, status=answer.status)


def _single(turn: Turn, wire: Wire) -> None:
    """Sends one object instead of the list."""
    answer = turn.server.answer(turn.request)
    items = answer.document.get("items")
    wire.answer(json.dumps(items[0]).encode() if items else b"{}", status=answer.status)


def _wrapped(found: Document, _: Turn) -> None:
    found.update(kind="Table", apiVersion="meta.k8s.io/v1", rows=found.pop("items"), columnDefinitions=[])


FAULTS: tuple[Fault, ...] = (
    Fault(name="list of another kind", act=document(lambda d, _: d.update(kind="LeaseList"))),
    Fault(name="kind of one object", act=document(lambda d, _: d.update(kind=d["kind"].removesuffix("List")))),
    Fault(name="kind that is none", act=document(lambda d, _: d.update(kind=7))),
    Fault(name="another version", act=document(lambda d, _: d.update(apiVersion="karpenter.sh/v9"))),
    Fault(name="version that is none", act=document(lambda d, _: d.update(apiVersion=[]))),
    Fault(name="table in place of a list", act=document(_wrapped)),
    Fault(name="one object in place of a list", act=_single),
    Fault(name="event of a watch", act=document(lambda d, _: (d.update(type="ADDED", kind="", object=d.pop("items"))))),
    Fault(name="no items", act=document(lambda d, _: (d.pop("items"), d.update(kind="")))),
    Fault(name="items null", act=_items(None), lie=True),
    Fault(name="items an object", act=_items({})),
    Fault(name="items a text", act=_items("")),
    Fault(name="items of numbers", act=_items([1, 2]), why=GARBLED | AGAIN),
    Fault(name="items of nothing", act=_items([None]), why=GARBLED | AGAIN),
    Fault(name="items of lists", act=_items([[]]), why=GARBLED | AGAIN),
    Fault(name="objects without metadata", act=_without_first("metadata"), why=GARBLED | AGAIN),
    Fault(name="objects with other metadata", act=listed(lambda d, _: d["items"][0].update(metadata=[])),
        why=GARBLED | AGAIN),
    Fault(name="objects without a name", act=_first({"name": ""})),
    Fault(name="objects whose name is a path", act=_first({"name": "../../x"})),
    Fault(name="objects whose name holds NUL", act=_first({"name": "a\0b"})),
    Fault(name="objects whose name is a number", act=_first({"name": 7})),
    Fault(name="objects in no namespace there is", act=_first({"namespace": "A/b"})),
    Fault(name="objects in no namespace", act=_first({"namespace": ""}), lie=True),
    Fault(name="objects of another namespace", act=_first({"namespace": "elsewhere"}), lie=True),
    Fault(name="objects without a uid", act=_first({"uid": None}), lie=True),
    Fault(name="objects of another kind", act=listed(lambda d, _: d["items"][0].update(kind="Lease")), lie=True),
    Fault(name="an object twice", act=listed(_doubled), why=AGAIN),
    Fault(name="two objects of one uid", act=listed(_namesake), why=AGAIN),
    Fault(name="list without metadata", act=document(lambda d, _: d.pop("metadata")), lie=True),
    Fault(name="metadata null", act=document(lambda d, _: d.update(metadata=None))),
    Fault(name="token that is a number", act=_metadata(**{"continue": 7})),
    Fault(name="more remain, no token", act=document(lambda d, _: d["metadata"].update(remainingItemCount=5) or
        d["metadata"].pop("continue", None)), why=CUT),
    Fault(name="token of a megabyte", act=_long_token, pages=True, why=frozenset({"refused", *CUT})),
    Fault(name="the same token for ever", act=same_token, why=AGAIN),
    Fault(name="new tokens for ever", act=endless, why=AGAIN | LATE),
    Fault(name="a page again", act=replayed, why=AGAIN, pages=True),
    Fault(name="pages that overlap", act=overlapping, why=AGAIN, pages=True),
    Fault(name="gone once", harmless=True, act=gone(1), why=EXPIRED, pages=True),
    Fault(name="gone twice", harmless=True, act=gone(2), why=EXPIRED, pages=True),
    Fault(name="gone for ever", act=gone(1000), why=EXPIRED, pages=True),
    Fault(name="gone before it begins", act=status("410 Gone"), why=EXPIRED),
    Fault(name="version goes back", act=versions("4711", "4710"), why=EXPIRED, pages=True),
    Fault(name="version goes on", act=versions("4711", "4712"), why=EXPIRED, pages=True),
    Fault(name="version is lost", act=versions("4711", ""), why=EXPIRED, pages=True),
    Fault(name="version is a number", act=_metadata(resourceVersion=4711), why=GARBLED),
)  # fmt: skip
