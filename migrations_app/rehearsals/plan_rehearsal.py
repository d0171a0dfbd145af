"""Rehearses a previewed plan on a twin of a fresh read: without a failure, and with each requested failure."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from migrations_app.actions.plan import Plan
from migrations_app.actions.rehearsable import why_unplayed
from migrations_app.actions.running_controller import PlannedController
from migrations_app.clients.kubernetes.api import ClusterApi
from migrations_app.collect.collect import collect
from migrations_app.errors import InvalidInput
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.parts import Seen
from migrations_app.karpenter import labels
from migrations_app.rehearsals.assumptions import RehearsalAssumptions, as_sample, assumptions_of
from migrations_app.rehearsals.document import PlayRefusal, RehearsalPlay
from migrations_app.rehearsals.play import Failure, set_up
from migrations_app.rehearsals.python_gc import reduced_garbage_collection
from migrations_app.rehearsals.reading import ClusterReading, read_objects
from migrations_app.rehearsals.rehearse import NO_FAILURE, rehearse_on
from migrations_app.rehearsals.result import RehearsalStop, UnknownPart
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.instance_sizes import ZONE

AWS_UNREAD = UnknownPart(
    code="aws_unread",
    words="quotas and free addresses of AWS were not read: whether the nodes at the peak fit cannot be told",
)
AWS_APART = UnknownPart(
    code="aws_apart",
    words="quotas and free addresses of AWS are compared with the batches in the plan's preview, not with this play",
)


RELEASE_UNREAD = UnknownPart(
    code="release_unread",
    words="the controller could not be read: whether the release of the preview still runs cannot be told",
)
NEW_PREVIEW = "make a new preview"


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlayInput:
    """The common input of all plays of a rehearsal."""

    plan: Plan
    inventory: Inventory
    reading: ClusterReading
    assumptions: RehearsalAssumptions
    check: Callable[[], None]
    release_changed: RehearsalStop | None = None
    """Set if the rollout would send nothing, because another release of the controller runs than at the preview."""
    unknown: tuple[UnknownPart, ...] = ()


@reduced_garbage_collection()
def rehearse_plan(
    api: ClusterApi,
    plan: Plan,
    *,
    cluster: str,
    failures: Sequence[Failure],
    seed: int,
    check: Callable[[], None],
    simulated: Behaviour | None = None,
) -> tuple[RehearsalPlay, ...]:
    """Plays the plan without a failure, then with each failure.

    `check` is called repeatedly and may end the rehearsal by raising. `simulated` is the behaviour of a sample cluster,
    which is itself simulated. Raises InvalidInput `not_played` for a plan that cannot be rehearsed, `not_seen`;
    ReadError.
    """
    if why := why_unplayed(plan):
        raise InvalidInput(why, code="not_played", where="plan")
    inventory = collect(api, cluster=cluster).inventory
    check()
    reading = read_objects(api, inventory)
    assumptions = assumptions_of(reading, inventory, seed=seed)
    if simulated is not None:
        assumptions = as_sample(assumptions, simulated)
    known = isinstance(inventory.controller, Seen) and not inventory.controller.quarantined
    play_input = _PlayInput(
        plan=plan,
        inventory=inventory,
        reading=reading,
        assumptions=assumptions,
        check=check,
        release_changed=_release_changed(plan, inventory) if known else None,
        unknown=() if known or not plan.controllers else (RELEASE_UNREAD,),
    )
    without_failure = _play(play_input, NO_FAILURE)
    return without_failure, *(_play(play_input, _with_zone(failure, reading)) for failure in failures)


def _release_changed(plan: Plan, inventory: Inventory) -> RehearsalStop | None:
    """Where the rollout stops because another release of the controller runs than at the preview; None if none does.
    A twin has no Deployment of the controller, so the play itself cannot compare it.
    """
    first = next((step for step in plan.steps if step.change), None)
    words = next((words for planned in plan.controllers or () if (words := _difference(planned, inventory))), "")
    if first is None or not words:
        return None
    return RehearsalStop(step=first.id, title=first.title, code="release_changed", words=f"{words}; {NEW_PREVIEW}")


def _difference(planned: PlannedController, inventory: Inventory) -> str:
    target = planned.deployment
    place = (target.name, target.namespace)
    running = next((one for one in inventory.controller.items if (one.name, one.namespace) == place), None)
    containers = running.template.spec.containers or () if running else ()
    images = [container.image or "" for container in containers if container.name == planned.container]
    return planned.changed_to(None if running is None else next(iter(images), ""))


def _play(play_input: _PlayInput, failure: Failure) -> RehearsalPlay:
    scenario, zone = failure.scenario, failure.zone
    play_input.check()
    try:
        stage = set_up(
            play_input.reading, play_input.assumptions.behaviour, identity=play_input.plan.identity, failure=failure
        )
    except InvalidInput as wrong:
        refusal = PlayRefusal(code=wrong.code, words=wrong.message)
        return RehearsalPlay(scenario=scenario, zone=zone, result=None, refusal=refusal)
    result = rehearse_on(
        stage,
        play_input.plan,
        inventory=play_input.inventory,
        assumptions=play_input.assumptions,
        failure=failure,
        check=play_input.check,
        stopped=play_input.release_changed,
    )
    unknown = (*result.unknown, *play_input.unknown, _aws_unknown(play_input.plan))
    result = msgspec.structs.replace(result, unknown=unknown)
    return RehearsalPlay(scenario=scenario, zone=zone, result=result)


def _aws_unknown(plan: Plan) -> UnknownPart:
    """What the play does not know of AWS: either nothing was read, or the preview made the comparison."""
    lines = plan.forecast.capacity or ()
    read = any(line.what != "pool" and line.standing != "unknown" for line in lines)
    return AWS_APART if read else AWS_UNREAD


def _with_zone(failure: Failure, reading: ClusterReading) -> Failure:
    """The failure with its zone; without a given zone, the one with most of Karpenter's nodes."""
    if failure.scenario != "full_zone" or failure.zone:
        return failure
    zones: Counter[str] = Counter()
    for node in reading.of("Node"):
        marks = node["metadata"].get("labels") or {}
        if marks.get(ZONE) and (labels.NODEPOOL in marks or labels.PROVISIONER_NAME in marks):
            zones[marks[ZONE]] += 1
    most = min(zones, key=lambda zone: (-zones[zone], zone), default="")
    return Failure("full_zone", most)
