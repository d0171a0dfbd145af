"""The stored form of a rehearsal: its plays as JSON of limited size, with the names of what was cut."""

from collections.abc import Sequence

import msgspec

from migrations_app.rehearsals.result import RehearsalResult, RehearsalValue, Scenario

DOCUMENT_SCHEMA = "karpdash/rehearsals/v1"
MAX_BYTES = 1_000_000
LONGEST_TEXT = 2000
MAX_MOMENTS = 200
LISTS = {
    "drained": 2000,
    "groups": 200,
    "pools": 200,
    "held": 200,
    "workloads": 200,
    "budgets": 200,
    "no_place": 200,
    "unknown": 50,
    "assumptions": 50,
}
"""Maximum number of stored items of each list."""


class PlayRefusal(RehearsalValue, frozen=True):
    """The reason why a play could not begin, such as a failure that this cluster cannot have."""

    code: str
    words: str


class RehearsalPlay(RehearsalValue, frozen=True):
    """One play: its result, or why it could not begin."""

    scenario: Scenario
    zone: str
    result: RehearsalResult | None
    refusal: PlayRefusal | None = None


class RehearsalDocument(RehearsalValue, frozen=True):
    """The plays of one rehearsal, the one without a failure first. `cut` names the lists that were shortened."""

    schema: str
    plays: tuple[RehearsalPlay, ...]
    cut: tuple[str, ...] = ()

    @property
    def without_failure(self) -> RehearsalResult | None:
        """The play without a failure."""
        return next((play.result for play in self.plays if play.scenario == "none"), None)


def stored(plays: Sequence[RehearsalPlay], *, most: int = MAX_BYTES) -> bytes:
    """The document as JSON of at most `most` bytes. Raises ValueError if it is larger even with empty lists."""
    shares = 1
    while True:
        cut: set[str] = set()
        short_plays = tuple(_shortened(play, cut, shares=shares) for play in plays)
        document = RehearsalDocument(schema=DOCUMENT_SCHEMA, plays=short_plays, cut=tuple(sorted(cut)))
        raw = msgspec.json.encode(document)
        if len(raw) <= most:
            return raw
        if shares > max(LISTS.values()):
            raise ValueError(f"{len(raw)} bytes are left of a rehearsal, at most {most} are kept")
        shares *= 2


def read_document(raw: bytes) -> RehearsalDocument:
    """Decodes a stored document. Raises msgspec.ValidationError for another schema."""
    return msgspec.json.decode(raw, type=RehearsalDocument)


def _shortened(play: RehearsalPlay, cut: set[str], *, shares: int) -> RehearsalPlay:
    """The play with its lists cut to a share of their maximum; adds the names of cut lists to `cut`."""
    result = play.result
    if result is None:
        return play
    changed: dict[str, object] = {}
    for name, most in LISTS.items():
        items = getattr(result, name)
        if items is not None and len(items) > most // shares:
            changed[name] = items[: most // shares]
            cut.add(name)
    step = max(1, -(-len(result.timeline) * shares // MAX_MOMENTS))
    if step > 1:
        # Fewer moments show the same course, so they do not count as cut.
        changed["timeline"] = (*result.timeline[::step], result.timeline[-1])
    if result.stopped is not None and len(result.stopped.words) > LONGEST_TEXT:
        cut.add("stopped")
        changed["stopped"] = msgspec.structs.replace(result.stopped, words=result.stopped.words[:LONGEST_TEXT])
    return msgspec.structs.replace(play, result=msgspec.structs.replace(result, **changed))
