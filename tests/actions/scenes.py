"""Scenes for tests of actions: a cluster as a scan sees it, and the whole objects as a planner is given them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from migrations_app.actions import registry
from migrations_app.actions.base import Action, Scene
from migrations_app.actions.changes import Target
from migrations_app.actions.plan import Forecast, Identity, Limits, Plan, Step, numbered
from migrations_app.karpenter import kinds
from migrations_app.readiness import stage
from migrations_app.samples.kubernetes_objects import Doc
from tests.builders import NOW, ACluster


def action_of(name: str) -> Action:
    found = registry.find(name)
    if found is None:
        raise LookupError(name)
    return found


def target_of(doc: Doc) -> Target:
    """The object of that document, without its uid."""
    group, _, version = str(doc["apiVersion"]).rpartition("/")
    row = kinds.find(doc["kind"], group=group)
    if row is None:
        raise LookupError(doc["kind"])
    metadata = doc["metadata"]
    return Target(group, version, row.plural, row.kind, metadata["name"], namespace=metadata.get("namespace", ""))


def a_scene(cluster: ACluster, *docs: Doc, limits: Limits = Limits()) -> Scene:  # noqa: B008 - frozen
    """The scene of a cluster; `docs` are objects that were read whole."""
    inventory = cluster.build()
    objects = {target_of(doc): doc for doc in docs}
    return Scene(inventory=inventory, running=stage.running(inventory), objects=objects, now=NOW, limits=limits)


def steps_of(name: str, scene: Scene, **parameters: Any) -> tuple[Step, ...]:
    return action_of(name).steps(scene, parameters)


def forecast_of(name: str, scene: Scene, **parameters: Any) -> Forecast:
    return action_of(name).forecast(scene, parameters)


def bodies(steps: Iterable[Step]) -> list[tuple[str, str, Any]]:
    """Verb, object and body of each request: what is sent."""
    return [(step.change.verb, step.change.target.said, step.change.body) for step in steps if step.change]


def asks_too_much(name: str, steps: Iterable[Step]) -> set[Any]:
    """Rights that the steps and their undoing ask for without the action saying so."""
    changes = [change for step in steps for change in (step.change, step.undo) if change]
    return {change.need for change in changes} - set(action_of(name).may)


def with_limits(scene: Scene, **limits: int) -> Scene:
    return replace(scene, limits=msgspec.structs.replace(scene.limits, **limits))


def a_plan(name: str, steps: Iterable[Step], *, parameters: Mapping[str, Any] | None = None) -> Plan:
    return Plan(
        action=name,
        title=action_of(name).title,
        parameters=dict(parameters or {}),
        cluster="c",
        identity=Identity("uid", "ca", "https://c"),
        steps=numbered(steps),
        limits=Limits(),
        forecast=Forecast(),
        author="ada",
        snapshot="",
        policy=1,
    )
