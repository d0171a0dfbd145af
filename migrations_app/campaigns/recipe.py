"""The recipe of a campaign: which clusters, where to, in which waves, how many at once, and what opens a wave."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from migrations_app.actions.changes import Risk
from migrations_app.journeys.compose import SOAK_SECONDS

PersonGate = Literal["never", "first", "every"]
"""Whether a person opens no wave, the one after the first, or every one after the first."""
PERSON_GATES: tuple[PersonGate, ...] = ("never", "first", "every")
REST = 0
"""As the size of a wave: all clusters that are left."""
LONGEST_GATE_SOAK = 30 * 24 * 3600


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which clusters: those in one of the groups, in one of the environments, and with every label; empty: any."""

    groups: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    clusters: tuple[str, ...] = ()
    """Ids of single clusters; empty for all that the rest of the selection finds."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How many clusters may be in work at once: together, of one region, and of one environment; 0 for no limit.

    The region is the label `region` of the cluster. Clusters without one count together as one region.
    """

    at_once: int = 5
    per_region: int = 0
    per_environment: int = 0


class Gates(msgspec.Struct, frozen=True, kw_only=True):
    """What opens the next wave, besides every cluster of the waves before being verified.

    `soak_seconds` run from the end of the last cluster. A wave in which more than `most_stops` clusters stopped by
    themselves needs a person for the next one, whatever `person` says.
    """

    soak_seconds: int = 3600
    person: PersonGate = "first"
    most_stops: int = 0


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """What is done on every cluster, and in which order.

    `to` is the hop or the release at which each cluster ends; empty: the next hop of each. `order` names environments,
    first ones first; clusters of others come last, and of one environment those with the fewest nodes come first.
    """

    selection: Selection
    to: str = ""
    covers: Risk = "high"
    parameters: dict[str, dict[str, Any]] = {}
    soak_seconds: int = SOAK_SECONDS
    waves: tuple[int, ...] = (1, 5, REST)
    order: tuple[str, ...] = ()
    limits: Limits = Limits()
    gates: Gates = Gates()
    windows: tuple[dict[str, Any], ...] = ()
    stop_all: bool = False
    """Whether the clusters in work are paused too when one stops; else they go on, and only no other one begins."""
    weighed: str = ""
    """What the author wrote on what only a person can weigh, for all clusters; empty: each cluster asks a person."""
    accepts: bool = False
    """Whether the approvers accept warnings that fail, one by one, as the preview shows them."""
    destroys: tuple[str, ...] = ()
    """The actions whose plans that delete the approval also covers, of the objects that the preview shows alone."""
    unseen: bool = False
    """Whether the approval also covers plans that can only be made on the way; see journeys/beforehand.py."""


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """What decides the wave of a cluster."""

    id: str
    name: str
    environment: str
    nodes: int


def in_waves(clusters: Sequence[Placed], recipe: Recipe) -> tuple[tuple[str, ...], ...]:
    """The ids of the clusters by wave, each once; waves without a cluster are left out.

    Clusters beyond the last size are in a last wave of their own.
    """
    rank = {name: place for place, name in enumerate(recipe.order)}
    left = [
        cluster.id
        for cluster in sorted(
            clusters, key=lambda placed: (rank.get(placed.environment, len(rank)), placed.nodes, placed.name, placed.id)
        )
    ]
    waves: list[tuple[str, ...]] = []
    for size in (*recipe.waves, REST):
        count = len(left) if size == REST else size
        if left[:count]:
            waves.append(tuple(left[:count]))
        left = left[count:]
    return tuple(waves)


def person_opens(gates: Gates, *, wave: int) -> bool:
    """Whether a person opens the wave of that number, the first being 0, even if nothing stopped before it."""
    return wave > 0 and (gates.person == "every" or (gates.person == "first" and wave == 1))
