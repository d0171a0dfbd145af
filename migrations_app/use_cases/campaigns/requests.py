"""The request for a campaign, checked and turned into its recipe."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from migrations_app.actions import registry
from migrations_app.campaigns.recipe import LONGEST_GATE_SOAK, PERSON_GATES, Gates, Limits, Recipe, Selection
from migrations_app.errors import InvalidInput
from migrations_app.journeys.compose import SOAK_SECONDS
from migrations_app.journeys.deletions import FORECAST
from migrations_app.journeys.plan import COVERABLE
from migrations_app.karpenter.hops import HOPS
from migrations_app.karpenter.versions import parse, parse_minor
from migrations_app.use_cases.journeys.drafts import LONGEST_SOAK
from migrations_app.use_cases.rollouts.drafts import checked
from migrations_app.use_cases.rollouts.policies import MAX_WINDOWS, checked_window

MAX_CLUSTERS = 1000
MAX_WAVES = 20
LONGEST_CAMPAIGN_NAME, LONGEST_NOTE = 120, 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRequest:
    """The author's choices for a campaign."""

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


def checked_recipe(request: CampaignRequest) -> Recipe:
    """The recipe of the request. Raises InvalidInput that names the field."""
    if request.covers not in COVERABLE:
        raise InvalidInput("low, medium or high", where="covers", code="bad_parameter")
    if request.to and request.to not in HOPS and parse(request.to) is None and parse_minor(request.to) != request.to:
        raise InvalidInput("name a release or a minor, such as 1.0", where="to", code="bad_parameter")
    _within("soak_seconds", request.soak_seconds, most=LONGEST_SOAK)
    _within("gates", request.gates.soak_seconds, most=LONGEST_GATE_SOAK)
    _within("gates", request.gates.most_stops, most=MAX_CLUSTERS)
    if request.gates.person not in PERSON_GATES:
        raise InvalidInput("never, first or every", where="gates", code="bad_parameter")
    for most in (request.limits.at_once, request.limits.per_region, request.limits.per_environment):
        _within("limits", most, most=MAX_CLUSTERS)
    if request.limits.at_once < 1:
        raise InvalidInput("at least 1 at once", where="limits", code="out_of_range")
    if not request.waves or len(request.waves) > MAX_WAVES:
        raise InvalidInput(f"1 to {MAX_WAVES} waves", where="waves", code="out_of_range")
    for size in request.waves:
        _within("waves", size, most=MAX_CLUSTERS)
    _refuse_settled(request)
    if len(request.windows) > MAX_WINDOWS:
        raise InvalidInput(f"at most {MAX_WINDOWS} windows", where="windows", code="too_many")
    return Recipe(
        selection=request.selection,
        to=request.to,
        covers=request.covers,
        parameters=_parameters(request.parameters),
        soak_seconds=request.soak_seconds,
        waves=request.waves,
        order=request.order,
        limits=request.limits,
        gates=request.gates,
        windows=tuple(checked_window(dict(window)) for window in request.windows),
        stop_all=request.stop_all,
        weighed=request.weighed.strip()[:LONGEST_NOTE],
        accepts=request.accepts,
        destroys=tuple(dict.fromkeys(request.destroys)),
        unseen=request.unseen,
    )


def _refuse_settled(request: CampaignRequest) -> None:
    """Raises InvalidInput for decisions that one approval cannot cover."""
    if strange := sorted(set(request.destroys) - set(FORECAST)):
        words = f"{strange[0][:60]!r} is not an action whose objects are known before its plan: {', '.join(FORECAST)}"
        raise InvalidInput(words, where="destroys", code="bad_parameter")
    if request.accepts and not request.weighed.strip():
        raise InvalidInput("give the reason why the warnings are accepted", where="weighed", code="reason_needed")


def _parameters(parameters: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    by_action: dict[str, dict[str, Any]] = {}
    for name, values in parameters.items():
        action = registry.find(name)
        if action is None:
            raise InvalidInput(f"there is no action {name[:60]!r}", where="parameters", code="unknown_action")
        full = checked(action, values, inside=("parameters", name))
        by_action[name] = {key: full[key] for key in values}
    return by_action


def _within(where: str, value: int, *, most: int) -> None:
    if not 0 <= value <= most:
        raise InvalidInput(f"0 to {most}", where=where, code="out_of_range")
