"""The form of a new campaign: words of people read as a recipe."""

from django.http import QueryDict

from migrations_app.campaigns.recipe import REST, Gates, Limits, Selection
from migrations_app.errors import InvalidInput
from migrations_app.journeys.compose import UPGRADE_CRDS
from migrations_app.texts import text as _
from migrations_app.use_cases.campaigns.requests import CampaignRequest
from migrations_app.web.rollouts.policies import read

LONGEST_LIST = 50
CHOSEN = ((UPGRADE_CRDS, "source"), ("convert_and_apply", "node_role"))
"""The fields that are parameters of actions."""


def request_of(said: QueryDict) -> CampaignRequest:
    """The request in the form. Raises InvalidInput that names the field."""
    return CampaignRequest(
        name=said.get("name", ""),
        selection=Selection(
            groups=tuple(said.getlist("groups")[:LONGEST_LIST]),
            environments=_words(said.get("environments", "")),
            labels=_labels(said.get("labels", "")),
        ),
        to=said.get("to", "").strip(),
        covers=said.get("covers", "high"),
        parameters=_parameters(said),
        soak_seconds=60 * _number(said, "minutes", otherwise=10),
        waves=_sizes(said.get("waves", "")),
        order=_words(said.get("order", "")),
        limits=Limits(
            at_once=_number(said, "at_once", otherwise=5),
            per_region=_number(said, "per_region"),
            per_environment=_number(said, "per_environment"),
        ),
        gates=Gates(
            soak_seconds=60 * _number(said, "gate_minutes", otherwise=60),
            person=said.get("person", "first"),  # type: ignore[arg-type]  # checked where it is drafted
            most_stops=_number(said, "most_stops"),
        ),
        windows=read(said.get("windows", "")),
        stop_all=bool(said.get("stop_all")),
        weighed=said.get("weighed", "").strip(),
        accepts=bool(said.get("accepts")),
        destroys=tuple(said.getlist("destroys")[:LONGEST_LIST]),
        unseen=bool(said.get("unseen")),
        ticket=said.get("ticket", "").strip(),
        note=said.get("note", "").strip(),
    )


def _parameters(said: QueryDict) -> dict[str, dict[str, str]]:
    """What the author chose for actions; an empty field chooses nothing."""
    return {action: {name: text} for action, name in CHOSEN if (text := said.get(name, "").strip())}


def sizes_text(waves: tuple[int, ...]) -> str:
    """The sizes as they are written in the form: `1, 5, rest`."""
    return ", ".join("rest" if size == REST else str(size) for size in waves)


def _sizes(text: str) -> tuple[int, ...]:
    words = _words(text)
    if not words:
        return (1, 5, REST)
    found = []
    for word in words:
        if word != "rest" and not (word.isdecimal() and len(word) < 6 and int(word) > 0):
            raise InvalidInput(_("sizes such as 1, 5, rest"), where="waves", code="bad_parameter")
        found.append(REST if word == "rest" else int(word))
    return tuple(found)


def _labels(text: str) -> tuple[tuple[str, str], ...]:
    found = []
    for word in _words(text):
        key, sign, value = word.partition("=")
        if not sign or not key.strip():
            raise InvalidInput(_("labels such as team=pay"), where="labels", code="bad_parameter")
        found.append((key.strip(), value.strip()))
    return tuple(found)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.split(",") if (word := part.strip()))[:LONGEST_LIST]


def _number(said: QueryDict, name: str, *, otherwise: int = 0) -> int:
    text = said.get(name, "").strip()
    if not text:
        return otherwise
    if not text.isdecimal() or len(text) > 6:
        raise InvalidInput(_("a whole number"), where=name, code="out_of_range")
    return int(text)
