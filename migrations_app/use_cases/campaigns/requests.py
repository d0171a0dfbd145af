"""What is asked of a campaign, checked and turned into its recipe."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from migrations_app.actions import registry
from migrations_app.campaigns.recipe import LONGEST_GATE_SOAK, PERSON_GATES, Gates, Limits, Recipe, Selection
from migrations_app.errors import InvalidInput
from migrations_app.journeys.compose import SOAK_SECONDS
from migrations_app.journeys.destroyed import FORECAST
from migrations_app.journeys.plan import COVERABLE
from migrations_app.karpenter.hops import HOPS
from migrations_app.karpenter.versions import parse, parse_minor
from migrations_app.use_cases.journeys.drafts import LONGEST_SOAK
from migrations_app.use_cases.rollouts.drafts import checked
from migrations_app.use_cases.rollouts.policies import MOST_WINDOWS, checked_window

MOST_CLUSTERS = 1000
MOST_WAVES = 20
LONGEST_CAMPAIGN_NAME, LONGEST_NOTE = 120, 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRequest:
    """What the author asks for."""

    name: str
    selection: Selection
    to: str = ""
    covers: str = "high"
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    soak_seconds: int = SOAK_SECONDS
    waves: tuple[int, ...] = (1, 5, 0)
    order: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    gates: Gates = field(default_factory=Gates)
    windows: tuple[Mapping[str, Any], ...] = ()
    stop_all: bool = False
    weighed: str = ""
    accepts: bool = False
    destroys: tuple[str, ...] = ()
    unseen: bool = False
    ticket: str = ""
    note: str = ""


def checked_recipe(wanted: CampaignRequest) -> Recipe:
    """The recipe of the request. Raises InvalidInput that names the field."""
    if wanted.covers not in COVERABLE:
        raise InvalidInput("low, medium or high", where="covers", code="bad_parameter")
    if wanted.to and wanted.to not in HOPS and parse(wanted.to) is None and parse_minor(wanted.to) != wanted.to:
        raise InvalidInput("a hop, a release or a minor, such as 1.0", where="to", code="bad_parameter")
    _within("soak_seconds", wanted.soak_seconds, most=LONGEST_SOAK)
    _within("gates", wanted.gates.soak_seconds, most=LONGEST_GATE_SOAK)
    _within("gates", wanted.gates.most_stops, most=MOST_CLUSTERS)
    if wanted.gates.person not in PERSON_GATES:
        raise InvalidInput("never, first or every", where="gates", code="bad_parameter")
    for most in (wanted.limits.at_once, wanted.limits.per_region, wanted.limits.per_environment):
        _within("limits", most, most=MOST_CLUSTERS)
    if wanted.limits.at_once < 1:
        raise InvalidInput("at least 1 at once", where="limits", code="out_of_range")
    if not wanted.waves or len(wanted.waves) > MOST_WAVES:
        raise InvalidInput(f"1 to {MOST_WAVES} waves", where="waves", code="out_of_range")
    for size in wanted.waves:
        _within("waves", size, most=MOST_CLUSTERS)
    _refuse_settled(wanted)
    if len(wanted.windows) > MOST_WINDOWS:
        raise InvalidInput(f"at most {MOST_WINDOWS} windows", where="windows", code="too_many")
    return Recipe(
        selection=wanted.selection,
        to=wanted.to,
        covers=wanted.covers,
        parameters=_parameters(wanted.parameters),
        soak_seconds=wanted.soak_seconds,
        waves=wanted.waves,
        order=wanted.order,
        limits=wanted.limits,
        gates=wanted.gates,
        windows=tuple(checked_window(dict(window)) for window in wanted.windows),
        stop_all=wanted.stop_all,
        weighed=wanted.weighed.strip()[:LONGEST_NOTE],
        accepts=wanted.accepts,
        destroys=tuple(dict.fromkeys(wanted.destroys)),
        unseen=wanted.unseen,
    )


def _refuse_settled(wanted: CampaignRequest) -> None:
    """Raises InvalidInput for what one approval cannot cover."""
    if strange := sorted(set(wanted.destroys) - set(FORECAST)):
        words = f"{strange[0][:60]!r} is no action whose objects can be told beforehand: {', '.join(FORECAST)}"
        raise InvalidInput(words, where="destroys", code="bad_parameter")
    if wanted.accepts and not wanted.weighed.strip():
        raise InvalidInput("say why the warnings may stay", where="weighed", code="reason_needed")


def _parameters(given: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, values in given.items():
        action = registry.find(name)
        if action is None:
            raise InvalidInput(f"there is no action {name[:60]!r}", where="parameters", code="unknown_action")
        full = checked(action, values)
        found[name] = {key: full[key] for key in values}
    return found


def _within(where: str, value: int, *, most: int) -> None:
    if not 0 <= value <= most:
        raise InvalidInput(f"0 to {most}", where=where, code="out_of_range")
