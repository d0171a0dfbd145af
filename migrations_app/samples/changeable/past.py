"""The invented history of a sample cluster: what it was like in the ninety days before it was created, and its
rollouts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from migrations_app.manifests import JsonMap
from migrations_app.samples.changeable.clusters import ALPHA, HALFWAY, STORED, alpha_stage, current_stage, mixed_stage

DAYS = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRollout:
    """A rollout that succeeded so many days ago, in the stage that lasted until then."""

    days_ago: int
    action: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastStage:
    """The cluster from so many days ago until the next stage; `release` ran then."""

    days_ago: int
    release: str
    build: Callable[[datetime], list[JsonMap]]
    ended_by: PastRollout | None = None


def past(sample: str) -> tuple[PastStage, ...]:
    """The stages of that sample, oldest first; none for one that is not known."""
    return _PASTS.get(sample, ())


def _alpha(days_ago: int, machines: int) -> PastStage:
    return PastStage(days_ago=days_ago, release="0.31.5", build=partial(alpha_stage, ALPHA, machines=machines))


_PASTS: Mapping[str, tuple[PastStage, ...]] = {
    "live-alpha": (_alpha(90, 14), _alpha(55, 17), _alpha(21, 20)),
    "live-halfway": (
        PastStage(
            days_ago=90,
            release="0.31.5",
            build=partial(alpha_stage, HALFWAY, machines=12),
            ended_by=PastRollout(days_ago=41, action="upgrade_crds", parameters={"release": "0.32.10"}),
        ),
        PastStage(
            days_ago=40,
            release="0.32.10",
            build=partial(mixed_stage, HALFWAY, machines=12, claims=0),
        ),
        PastStage(days_ago=24, release="0.32.10", build=partial(mixed_stage, HALFWAY, machines=9, claims=3)),
        PastStage(days_ago=9, release="0.32.10", build=partial(mixed_stage, HALFWAY, machines=6, claims=6)),
    ),
    "live-stored": (
        PastStage(days_ago=90, release="0.31.5", build=partial(alpha_stage, STORED, machines=8)),
        PastStage(
            days_ago=66,
            release="0.32.10",
            build=partial(mixed_stage, STORED, machines=4, claims=4),
        ),
        PastStage(
            days_ago=48,
            release="0.37.8",
            build=partial(current_stage, STORED, version="0.37.8", claims=8),
            ended_by=PastRollout(days_ago=13, action="upgrade_crds", parameters={"release": "1.0.14"}),
        ),
        PastStage(days_ago=12, release="1.0.14", build=partial(current_stage, STORED, version="1.0.14", claims=8)),
    ),
}
