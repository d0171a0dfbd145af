"""What a way of lying is, and what a scan has to make of it."""

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
class Way:
    """`why` are the reasons that a scan may give for a part that was lied about; none for what does no harm.

    Whatever a way does, a part that is told whole holds what the honest server holds. `lie` is for what nobody can
    find, since an honest server of another cluster would answer the same: only time and memory are asked of it.
    `on` says which requests it is about: lists, or those of discovery, of the version or of Helm's records.
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

    def bites(self, request: Request) -> bool:
        discovery = request.path in ("/api", "/apis")
        version = request.path == "/version"
        if self.on == "discovery":
            return discovery
        if self.on == "version":
            return version
        if self.on == "secrets":
            return request.path.endswith("/secrets")
        return not discovery and not version


def on_top(way: Way, plurals: frozenset[str]) -> Callable[[Request], bool]:
    """Only requests for these plurals are answered badly; all that the way is about where none is named."""

    def bites(request: Request) -> bool:
        return way.bites(request) and (not plurals or request.path.rpartition("/")[2] in plurals)

    return bites


def body(make: Callable[[Turn], bytes], **headers: str) -> Act:
    """A whole answer with that body; what is not served is still not served."""
    return lambda turn, wire: wire.answer(make(turn), status=turn.status, **headers)


def document(change: Callable[[Document, Turn], object]) -> Act:
    """The honest answer with a change that is made in place."""

    def act(turn: Turn, wire: Wire) -> None:
        answer = turn.server.answer(turn.request)
        if answer.status == OK:
            change(answer.document, turn)
        wire.answer(answer.body, status=answer.status)

    return act


def listed(change: Callable[[Document, Turn], object]) -> Act:
    """As `document`, of lists that hold objects only: elsewhere there is nothing to change."""
    return document(lambda found, turn: change(found, turn) if found.get("items") else None)


def status(line: str, *, text: bytes = b"{}", **headers: str) -> Act:
    return lambda _, wire: wire.answer(text, status=line, **headers)
