"""The definition of a fault: what it changes, and which reasons a scan may give for it."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.fakes.evilk8s import Request, Wire
from tests.fakes.lying.honest import OK, Document, Turn

Act = Callable[[Turn, Wire], object]

CUT = frozenset({"cut", "garbled"})
GARBLED = frozenset({"garbled"})
LATE = frozenset({"timeout"})
LARGE = frozenset({"too_large", "scan_too_large", *LATE})
NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault. `why` are the reasons that a scan may give for an affected part; none for a harmless fault.

    In any case a part that is reported whole has to hold what the correct server holds. `lie` marks faults that cannot
    be detected, since a correct server of another cluster could answer the same: only time and memory are checked. `on`
    says which requests are affected: lists, or those of discovery, of the version or of Helm's records.
    """

    name: str
    act: Act
    why: frozenset[str] = GARBLED
    lie: bool = False
    on: str = "lists"
    harmless: bool = False
    """Whether a client may find the honest answer in it, or gets it when it asks again."""
    pages: bool = False
    """Whether it needs a list of several pages."""

    def applies_to(self, request: Request) -> bool:
        discovery = request.path in ("/api", "/apis")
        version = request.path == "/version"
        if self.on == "discovery":
            return discovery
        if self.on == "version":
            return version
        if self.on == "secrets":
            return request.path.endswith("/secrets")
        return not discovery and not version


def for_plurals(fault: Fault, plurals: frozenset[str]) -> Callable[[Request], bool]:
    """Returns which requests are affected: those for these plurals; all requests of the fault if none is named."""

    def applies_to(request: Request) -> bool:
        return fault.applies_to(request) and (not plurals or request.path.rpartition("/")[2] in plurals)

    return applies_to


def body(make: Callable[[Turn], bytes], **headers: str) -> Act:
    """Sends a whole answer with that body; what is not served stays a 404."""
    return lambda turn, wire: wire.answer(make(turn), status=turn.status, **headers)


def document(change: Callable[[Document, Turn], object]) -> Act:
    """Sends the correct answer with a change made in place."""

    def act(turn: Turn, wire: Wire) -> None:
        answer = turn.server.answer(turn.request)
        if answer.status == OK:
            change(answer.document, turn)
        wire.answer(answer.body, status=answer.status)

    return act


def listed(change: Callable[[Document, Turn], object]) -> Act:
    """As `document`, for lists with objects only: other answers have nothing to change."""
    return document(lambda found, turn: change(found, turn) if found.get("items") else None)


def status(line: str, *, text: bytes = b"{}", **headers: str) -> Act:
    return lambda _, wire: wire.answer(text, status=line, **headers)
