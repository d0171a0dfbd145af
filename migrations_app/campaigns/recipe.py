"""The recipe of a campaign: clusters, target, waves, limits and gates."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from migrations_app.actions.changes import Risk
from migrations_app.journeys.compose import SOAK_SECONDS

PersonGate = Literal["never", "first", "every"]
"""Whether a person has to open no wave, only the second one, or every one after the first."""
PERSON_GATES: tuple[PersonGate, ...] = ("never", "first", "every")
ALL_REMAINING = 0
"""As the size of a wave: all remaining clusters."""
LONGEST_GATE_SOAK = 30 * 24 * 3600


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The clusters: in one of the groups, in one of the environments, and with every label; empty means any."""

    groups: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    clusters: tuple[str, ...] = ()
    """Ids of single clusters; empty for all that the other fields select."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How many clusters may be in work at once: in total, per region and per environment; 0 for no limit.

    The region is the label `region` of the cluster. Clusters without that label count as one region.
    """

    at_once: int = 5
    per_region: int = 0
    per_environment: int = 0


class Gates(msgspec.Struct, frozen=True, kw_only=True):
    """What has to hold before the next wave opens, besides that every cluster of earlier waves is verified.

    `soak_seconds` count from the end of the last cluster. If more than `most_stops` clusters of a wave stopped by
    themselves, a person has to open the next wave, whatever `person` says.
    """

    soak_seconds: int = 3600
    person: PersonGate = "first"
    most_stops: int = 0


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """What is done on every cluster, and in which order.

    `to` is the hop or release at which each cluster ends; empty: its next hop. `order` names environments, first ones
    first; clusters of others come last. In one environment clusters with the fewest nodes come first.
    """

    selection: Selection
    to: str = ""
    covers: Risk = "high"
    parameters: dict[str, dict[str, Any]] = {}
    soak_seconds: int = SOAK_SECONDS
    waves: tuple[int, ...] = (1, 5, ALL_REMAINING)
    order: tuple[str, ...] = ()
    limits: Limits = Limits()
    gates: Gates = Gates()
    windows: tuple[dict[str, Any], ...] = ()
    stop_all: bool = False
    """Whether the clusters in work are paused too if one stops; else they continue, and no further one begins."""
    weighed: str = ""
    """The author's text about what only a person can judge, for all clusters; empty: each cluster asks a person."""
    accepts: bool = False
    """Whether the approvers accept failing warnings one by one, as the preview shows them."""
    destroys: tuple[str, ...] = ()
    """Actions whose destructive plans the approval also covers, for the objects in the preview only."""
    unseen: bool = False
    """Whether the approval also covers plans that can only be made later; see journeys/prior_approval.py."""


class WaveCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that decide the wave of a cluster."""

    id: str
    name: str
    environment: str
    nodes: int


def in_waves(clusters: Sequence[WaveCandidate], recipe: Recipe) -> tuple[tuple[str, ...], ...]:
    """Returns the ids of the clusters by wave, each once; waves without a cluster are left out.

    Clusters beyond the last size form one more wave.
    """
    rank = {name: place for place, name in enumerate(recipe.order)}
    remaining = [
        cluster.id
        for cluster in sorted(
            clusters, key=lambda placed: (rank.get(placed.environment, len(rank)), placed.nodes, placed.name, placed.id)
        )
    ]
    waves: list[tuple[str, ...]] = []
    for size in (*recipe.waves, ALL_REMAINING):
        count = len(remaining) if size == ALL_REMAINING else size
        if remaining[:count]:
            waves.append(tuple(remaining[:count]))
        remaining = remaining[count:]
    return tuple(waves)


def person_opens(gates: Gates, *, wave: int) -> bool:
    """Returns whether a person has to open the wave with that index (from 0), even if nothing stopped before it."""
    return wave > 0 and (gates.person == "every" or (gates.person == "first" and wave == 1))
