"""Parses the form of a new campaign into a request."""

import uuid
from collections.abc import Mapping

from django.http import QueryDict

from migrations_app.campaigns.recipe import (
    ALL_REMAINING,
    LONGEST_GATE_SOAK,
    PERSON_GATES,
    Gates,
    Limits,
    PersonGate,
    Selection,
)
from migrations_app.errors import InvalidInput
from migrations_app.journeys.compose import UPGRADE_CRDS
from migrations_app.journeys.plan import FORM_COVERS
from migrations_app.texts import text as _
from migrations_app.use_cases.campaigns.requests import MAX_CLUSTERS, CampaignRequest
from migrations_app.use_cases.journeys.drafts import LONGEST_SOAK
from migrations_app.web.command_forms import NumberField, number_within
from migrations_app.web.rollouts.policies import parse_windows

LONGEST_LIST = 50
CHOSEN = ((UPGRADE_CRDS, "source"), ("convert_and_apply", "node_role"))
"""The fields that are parameters of actions."""
NUMBER_FIELDS: Mapping[str, NumberField] = {
    "minutes": NumberField(
        _("Minutes that a new release runs before the work after it on the same cluster"), most=LONGEST_SOAK // 60
    ),
    "at_once": NumberField(_("Clusters at once"), least=1, most=MAX_CLUSTERS),
    "per_region": NumberField(_("At once in one region"), most=MAX_CLUSTERS),
    "per_environment": NumberField(_("At once in one environment"), most=MAX_CLUSTERS),
    "gate_minutes": NumberField(_("Minutes to soak after the last one"), most=LONGEST_GATE_SOAK // 60),
    "most_stops": NumberField(_("Clusters of a wave that may have stopped"), most=MAX_CLUSTERS),
}


def request_of(form: QueryDict) -> CampaignRequest:
    """Returns the request in the form. Raises InvalidInput that names the field."""
    return CampaignRequest(
        name=form.get("name", ""),
        selection=Selection(
            groups=_groups(form),
            environments=_words(form.get("environments", "")),
            labels=_labels(form.get("labels", "")),
        ),
        to=form.get("to", "").strip(),
        covers=form.get("covers", FORM_COVERS),
        parameters=_parameters(form),
        soak_seconds=60 * _number(form, "minutes", otherwise=10),
        waves=_sizes(form.get("waves", "")),
        order=_words(form.get("order", "")),
        limits=Limits(
            at_once=_number(form, "at_once", otherwise=5),
            per_region=_number(form, "per_region"),
            per_environment=_number(form, "per_environment"),
        ),
        gates=Gates(
            soak_seconds=60 * _number(form, "gate_minutes", otherwise=60),
            person=_person_gate(form),
            most_stops=_number(form, "most_stops"),
        ),
        windows=parse_windows(form.get("windows", "")),
        stop_all=bool(form.get("stop_all")),
        weighed=form.get("weighed", "").strip(),
        accepts=bool(form.get("accepts")),
        destroys=tuple(form.getlist("destroys")[:LONGEST_LIST]),
        unseen=bool(form.get("unseen")),
        ticket=form.get("ticket", "").strip(),
        note=form.get("note", "").strip(),
    )


def _groups(form: QueryDict) -> tuple[str, ...]:
    """Returns the ids of the groups that the author chose. Raises InvalidInput for a text that is no id."""
    chosen = tuple(form.getlist("groups")[:LONGEST_LIST])
    for text in chosen:
        try:
            uuid.UUID(text)
        except ValueError:
            raise InvalidInput(_("there is no such group"), where="selection", code="bad_parameter") from None
    return chosen


def _parameters(form: QueryDict) -> dict[str, dict[str, str]]:
    """Returns the action parameters that the author chose; an empty field chooses nothing."""
    return {action: {name: text} for action, name in CHOSEN if (text := form.get(name, "").strip())}


def sizes_text(waves: tuple[int, ...]) -> str:
    """Returns the wave sizes as the form shows them: `1, 5, rest`."""
    return ", ".join("rest" if size == ALL_REMAINING else str(size) for size in waves)


def _sizes(text: str) -> tuple[int, ...]:
    words = _words(text)
    if not words:
        return (1, 5, ALL_REMAINING)
    sizes = []
    for word in words:
        if word != "rest" and not (word.isdecimal() and len(word) < 6 and int(word) > 0):
            raise InvalidInput(
                _("“Clusters in each wave” takes sizes such as 1, 5, rest"), where="waves", code="bad_parameter"
            )
        sizes.append(ALL_REMAINING if word == "rest" else int(word))
    return tuple(sizes)


def _labels(text: str) -> tuple[tuple[str, str], ...]:
    labels = []
    for word in _words(text):
        key, sign, value = word.partition("=")
        if not sign or not key.strip():
            raise InvalidInput(_("“Labels” takes pairs such as team=pay"), where="labels", code="bad_parameter")
        labels.append((key.strip(), value.strip()))
    return tuple(labels)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.split(",") if (word := part.strip()))[:LONGEST_LIST]


def _number(form: QueryDict, name: str, *, otherwise: int = 0) -> int:
    return number_within(form, name, field=NUMBER_FIELDS[name], otherwise=otherwise)


def _person_gate(form: QueryDict) -> PersonGate:
    gate = form.get("person", "first")
    if gate not in PERSON_GATES:
        raise InvalidInput("never, first or every", where="person", code="bad_parameter")
    return gate
