"""Suspends and resumes deliveries of Flux and Argo CD. An annotation of the object keeps its former setting, so that
anyone who finds it paused can resume it (A39).
"""

import json
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from migrations_app.actions.base import Parameters, Unavailable
from migrations_app.actions.changes import ObjectTarget, checked_name, merge
from migrations_app.actions.conditions import Field, fields_digest, value_at
from migrations_app.actions.patches import field_conditions, patch_step
from migrations_app.actions.plan import Step
from migrations_app.actions.targets.deliveries import ROWS, delivery_target
from migrations_app.errors import InvalidInput
from migrations_app.inventory.facts.delivery_sources import (
    APPLICATION,
    PAUSED,
    delivers_to_this_cluster,
    display_name_of,
    writer_of,
)
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import GitOpsDelivery
from migrations_app.manifests import JsonMap
from migrations_app.manifests.nesting import parse_json

NAMES = "deliveries"
MAX_MARK_LENGTH = 1000
"""Most characters of a kept setting; Argo CD's has four fields."""
SUSPEND: Field = ("spec", "suspend")
AUTOMATED: Field = ("spec", "syncPolicy", "automated")
MARK: Field = ("metadata", "annotations", PAUSED)


def deliveries_named(inventory: Inventory, parameters: Parameters) -> tuple[GitOpsDelivery, ...]:
    """The chosen deliveries, each `Kind namespace/name`; all that deliver to this cluster if none is chosen.

    Raises InvalidInput for a name that no delivery has.
    """
    by_name = {
        display_name_of(delivery): delivery
        for delivery in inventory.deliveries.items
        if delivery.kind in ROWS and delivers_to_this_cluster(delivery)
    }
    names = parameters.get(NAMES) or ()
    if isinstance(names, str) or not isinstance(names, list | tuple):
        raise InvalidInput("enter a list of names", where=NAMES, code="bad_parameter")
    for text in names:
        if text not in by_name:
            raise InvalidInput(f"not among the deliveries of Karpenter: {str(text)[:120]}", where=NAMES, code="gone")
    return tuple(by_name[name] for name in dict.fromkeys(names)) if names else tuple(by_name.values())


def switch_of(target: ObjectTarget) -> Field:
    """The field that suspends a delivery: `suspend` of Flux, the automatic sync policy of Argo CD."""
    return AUTOMATED if target.kind == APPLICATION else SUSPEND


def pause_step(delivery: GitOpsDelivery, read: JsonMap) -> Step:
    """A step that pauses the delivery and keeps its setting; its undo restores the setting."""
    target = _checked(delivery)
    patch = pausing(target, value_at(read, switch_of(target)))
    step = patch_step(
        target, read, patch=patch, title=f"Pause {display_name_of(delivery)}", risk="medium",
        note=reverted_by(delivery), manager=_switched_on_again(delivery, read),
    )  # fmt: skip
    return _with_whole_switch(step, target, read=read)


def resume_step(delivery: GitOpsDelivery, read: JsonMap) -> Step:
    """A step that restores the setting from before the pause; a delivery that is not paused keeps its setting. If
    somebody changed the setting since the pause, it stays, and the step only removes the annotation.
    """
    target = _checked(delivery)
    before = before_pause(target, read)
    if value_at(read, MARK) is not None and not _is_off(target, read):
        return _leaving_step(delivery, target, read=read)
    off, on = pausing(target, before), resuming(target, before)
    step = patch_step(
        target, read, patch=on, title=f"Resume {display_name_of(delivery)}", risk="medium",
        note="It applies its source at once, and reverts what differs from it.",
    )  # fmt: skip
    # The undo pauses the delivery, also where the plan is made before the pause.
    return _with_whole_switch(
        replace(step, undo=merge(target, off), undo_postconditions=field_conditions(off)), target, read=read
    )


def _leaving_step(delivery: GitOpsDelivery, target: ObjectTarget, *, read: JsonMap) -> Step:
    said = value_at(read, MARK)
    step = patch_step(
        target, read, patch={"metadata": {"annotations": {PAUSED: None}}}, risk="medium",
        title=f"Leave the setting of {display_name_of(delivery)}, which was changed since",
        note=f"{'.'.join(switch_of(target))} was changed externally and stays; before the pause it was {said}",
    )  # fmt: skip
    return _with_whole_switch(step, target, read=read)


def _is_off(target: ObjectTarget, read: JsonMap) -> bool:
    """Whether the switch is as the pause left it."""
    return value_at(read, switch_of(target)) is (None if target.kind == APPLICATION else True)


def _with_whole_switch(step: Step, target: ObjectTarget, *, read: JsonMap) -> Step:
    """The step with the whole setting, and the annotation that keeps it, as preconditions."""
    fields = (switch_of(target), MARK)
    return replace(step, preconditions=fields, digest=fields_digest(read, fields))


def pausing(target: ObjectTarget, setting: Any) -> JsonMap:  # noqa: ANN401 - plain JSON
    """The merge patch that suspends the delivery and keeps the setting."""
    metadata = {"annotations": {PAUSED: json.dumps(setting, sort_keys=True, separators=(",", ":"))}}
    return {"metadata": metadata} | _switched(target, None if target.kind == APPLICATION else True)


def resuming(target: ObjectTarget, setting: Any) -> JsonMap:  # noqa: ANN401 - plain JSON
    """The merge patch that restores the setting and removes the annotation."""
    return {"metadata": {"annotations": {PAUSED: None}}} | _switched(target, setting)


def _switched(target: ObjectTarget, value: Any) -> JsonMap:  # noqa: ANN401 - plain JSON
    return {"spec": {"syncPolicy": {"automated": value}} if target.kind == APPLICATION else {"suspend": value}}


def before_pause(target: ObjectTarget, read: JsonMap) -> Any:  # noqa: ANN401 - plain JSON
    """The setting from before the pause; the current setting if nothing paused the delivery. Raises Unavailable for an
    annotation that holds no valid setting.
    """
    text = value_at(read, MARK)
    if text is None:
        return value_at(read, switch_of(target))
    try:
        setting = parse_json(text) if len(text) <= MAX_MARK_LENGTH else ""
    except ValueError:
        setting = ""
    good = isinstance(setting, dict) if target.kind == APPLICATION else setting in (None, False)
    if not good:
        words = f"{target.display_name}: the annotation {PAUSED} lacks the former state; resume and remove it yourself"
        raise Unavailable(words, code="changed")
    return setting


def reverted_by(delivery: GitOpsDelivery) -> str:
    """A note for an object that another tool writes; empty for other objects."""
    writer = writer_of(delivery)
    return f"{writer} writes this object; where it states the switch, the pause is undone by it." if writer else ""


def _switched_on_again(delivery: GitOpsDelivery, read: JsonMap) -> str:
    """The tool that would resume the delivery. A tool that writes an Application writes its sync policy too, while Flux
    does not touch `suspend` if its source does not set it.
    """
    writer = writer_of(delivery)
    states = delivery.kind == APPLICATION or value_at(read, SUSPEND) is not None
    return writer if writer and states else ""


def _checked(delivery: GitOpsDelivery) -> ObjectTarget:
    checked_name(delivery.name)
    return delivery_target(delivery)


def refuse_owned(deliveries: Iterable[GitOpsDelivery]) -> None:
    """Raises Unavailable for Applications of an ApplicationSet, which writes the policy again at once."""
    owned = [
        display_name_of(delivery) for delivery in deliveries if delivery.metadata.owner("ApplicationSet") is not None
    ]
    if owned:
        words = f"an ApplicationSet writes {', '.join(owned)}, and would revert the pause: pause it there"
        raise Unavailable(words, code="kept")
