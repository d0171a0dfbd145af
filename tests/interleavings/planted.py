"""Faults in the product, one a name: for each invariant one that breaks it, so that none holds whatever happens.

A fault is planted in a process of its own. `FAULTS` says which invariant it breaks, in which scene, and after which
interruption; the walk is not told where that has to come.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection

from migrations_app.actions import states
from migrations_app.clients.kubernetes import writer
from migrations_app.clients.kubernetes.api import WriteResult
from migrations_app.execution import steps
from migrations_app.execution.interface import Intent
from migrations_app.models.rollout import Lease, Rollout
from migrations_app.use_cases.rollouts import journal, lease, lifecycle, transitions, worker
from migrations_app.use_cases.rollouts.journal import ExecutionContext
from tests.interleavings.invariants import (
    CRASH,
    DENIED,
    FINAL,
    NO_INTENT,
    OPEN,
    RESTLESS,
    STALE,
    STOPPED,
    STRANDED,
    TWICE,
    TWO_HOLD,
    UNKNOWN_EFFECT,
    UNSCANNED,
    UNTOLD,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFault:
    """`plant` changes the product of this process. `by` is the interruption that shows it; empty: none is needed."""

    breaks: str
    plant: Callable[[], None]
    by: str = ""
    scene: str = "patch"


def _nothing(*_: Any, **__: Any) -> None:
    return


def _no(*_: Any, **__: Any) -> bool:
    return False


def _put(place: Any, **members: Any) -> Callable[[], None]:
    def plant() -> None:
        for name, value in members.items():
            getattr(place, name)  # a member that was renamed would be replaced nowhere
            setattr(place, name, value)

    return plant


def _without_preconditions() -> None:
    request_body = writer.request_body

    def bare(*given: Any, **more: Any) -> dict[str, Any]:
        body = request_body(*given, **more)
        metadata = {key: value for key, value in body["metadata"].items() if key not in ("uid", "resourceVersion")}
        return body | {"metadata": metadata}

    writer.request_body = bare


def _unwritten(*_: Any, **__: Any) -> Intent:
    return Intent(0, 1)


def _open_requests_forgotten() -> None:
    place = states.current_position

    def forgetful(*given: Any) -> Any:
        here = place(*given)
        return replace(here, phase="request") if here is not None and here.phase == "settle" else here

    states.current_position = forgetful


def _ended_is_not_final() -> None:
    states.ROLLOUT_TRANSITIONS["succeeded"] = frozenset({"aborted"})
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER rollout_states")


def _two_may_hold() -> None:
    lifecycle.refuse_held_elsewhere = _nothing
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX one_rollout_holds_a_cluster")


def _dead_holders_count() -> list[tuple[uuid.UUID, str]]:
    held = Lease.objects.exclude(holder="").values("cluster_id")
    return list(Rollout.objects.filter(state="running").exclude(cluster_id__in=held).values_list("pk", "state"))


def _crash(*_: Any, **__: Any) -> Any:
    raise KeyError("metadata")


_ROWS: tuple[tuple[str, Callable[[], None], str, str], ...] = (
    ("requests carry no preconditions", _without_preconditions, "no answer reaches w1", TWICE),
    ("requests are sent before the intent is written", _put(ExecutionContext, record_intent=_unwritten), "", NO_INTENT),
    ("fencing tokens are not compared", _put(lease, check=_nothing), "a minute passes", STALE),
    ("open requests are not settled", _open_requests_forgotten, "w1 is killed", OPEN),
    ("stops are not read before a request", _put(journal, refuse_if_stopped=_nothing), "eve pauses 0", STOPPED),
    ("what succeeded may be aborted", _ended_is_not_final, "eve aborts 0", FINAL),
    ("changes of state are not audited", _put(transitions, record=_nothing), "", UNTOLD),
    ("a held cluster is not refused", _two_may_hold, "ada starts 1", TWO_HOLD),
    ("the sweep counts dead workers", _put(worker, rollouts_to_enqueue=_dead_holders_count), "w1 is killed", STRANDED),
    ("the end asks for no scan", _put(transitions, ask_for_scan=_nothing), "", UNSCANNED),
    ("settling crashes", _put(steps, resolve_unknown_outcome=_crash), "w1 is killed", CRASH),
    ("own marks are not recognised", _put(steps, holds=_no), "the server does request 0 and fails", UNKNOWN_EFFECT),
    ("a failing server counts as a refusal", _put(WriteResult, in_doubt=property(_no)),
     "the server does request 0 and fails", DENIED),
    ("an open request is always too young", _put(ExecutionContext, is_late=_no), "w1 is killed", RESTLESS),
)  # fmt: skip
SCENE_OF = {"a held cluster is not refused": "two rollouts", "own marks are not recognised": "create"}
FAULTS: dict[str, PlantedFault] = {
    name: PlantedFault(plant=plant, by=by, breaks=breaks, scene=SCENE_OF.get(name, "patch"))
    for name, plant, by, breaks in _ROWS
}


def plant(name: str) -> PlantedFault:
    """Plants it in this process, which is of no use for anything else from then on."""
    FAULTS[name].plant()
    return FAULTS[name]
