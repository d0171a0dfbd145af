"""What was settled for a journey before it was made, once for many clusters: in the recipe of its campaign.

Only what was shown counts: a check that was not among those that were weighed, one that fails or failed when it was
shown, an action that was not shown, or more nodes ask a person as if nothing had been settled.
"""

from collections.abc import Mapping

import msgspec

from migrations_app.journeys.outline import Outline
from migrations_app.journeys.plan import JourneyStep, coverable

NODE_MARGIN = 10
"""A plan may be about a tenth more nodes than were shown, and one more in any case."""


class WeighedChecks(msgspec.Struct, frozen=True):
    """What was shown to people of one hop: checks of steps that people do, and those of them that failed."""

    checks: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()


class SettledBefore(msgspec.Struct, frozen=True, kw_only=True):
    """What one approval covers besides the plans that a journey shows itself.

    `note` is what `by` wrote on what people weigh, by the release that a hop lands at; empty: each step asks.
    `actions`, by the same: plans of these may be made on the way without asking again, with at most a tenth more than
    `nodes`; None covers no plan with nodes. Both count only on the cluster of that uid and CA.
    """

    source: str
    by: str = ""
    note: str = ""
    weighed: dict[str, WeighedChecks] = {}
    actions: dict[str, tuple[str, ...]] = {}
    cluster: str = ""
    nodes: int | None = None
    covered: bool = False
    """Whether the approval was given to this journey: one that differs asks people, and then nothing was settled."""


def is_weighed(
    settled: SettledBefore, step: JourneyStep, *, lands: str, cluster: str, statuses: Mapping[str, str]
) -> bool:
    """Whether a person weighed everything of the step before, for this journey.

    `cluster` is its uid and CA as they are now, `statuses` are those of its checks as scanned now. What a scan shows
    as failing was not weighed.
    """
    told = settled.weighed.get(lands)
    if not settled.covered or cluster != settled.cluster or not settled.note or told is None or not step.checks:
        return False
    weighed = set(told.checks) - set(told.failing)
    return all(check in weighed and statuses.get(check, "fail") != "fail" for check in step.checks)


def covers_unseen(settled: SettledBefore, step: JourneyStep, *, made: Outline, lands: str, limit: str) -> bool:
    """Whether the approval covers a plan that could not be shown: by its action, cluster, nodes and risk."""
    if not settled.covered or made.action != step.action or made.action not in settled.actions.get(lands, ()):
        return False
    if made.cluster != settled.cluster or not coverable(made, limit=limit):  # type: ignore[arg-type]  # one of COVERABLE
        return False
    most = max((one.count for one in made.nodes), default=0)
    return not most or (settled.nodes is not None and most <= settled.nodes + max(1, settled.nodes // NODE_MARGIN))
