"""Scenes for tests of actions: a cluster as a scan sees it, and the whole objects as a planner is given them."""

from collections.abc import Iterable, Mapping
from typing import Any

from migrations_app.actions import registry
from migrations_app.actions.base import Action, PlanningContext
from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.plan import ClusterIdentity, Forecast, Plan, RolloutLimits, Step, numbered
from migrations_app.karpenter import kinds
from migrations_app.manifests import JsonMap
from migrations_app.readiness import stage
from tests.builders.clusters import NOW, ACluster


def action_of(name: str) -> Action:
    found = registry.find(name)
    if found is None:
        raise LookupError(name)
    return found


def target_of(doc: JsonMap) -> ObjectTarget:
    """The object of that document, without its uid."""
    group, _, version = str(doc["apiVersion"]).rpartition("/")
    row = kinds.find(doc["kind"], group=group)
    if row is None:
        raise LookupError(doc["kind"])
    metadata = doc["metadata"]
    return ObjectTarget(group, version, row.plural, row.kind, metadata["name"], namespace=metadata.get("namespace", ""))


def a_scene(cluster: ACluster, *docs: JsonMap, limits: RolloutLimits = RolloutLimits()) -> PlanningContext:  # noqa: B008 - frozen
    """The scene of a cluster; `docs` are objects that were read whole."""
    inventory = cluster.build()
    objects = {target_of(doc): doc for doc in docs}
    return PlanningContext(
        inventory=inventory, running=stage.detect_running_release(inventory), objects=objects, now=NOW, limits=limits
    )


def steps_of(name: str, scene: PlanningContext, **parameters: Any) -> tuple[Step, ...]:
    return action_of(name).steps(scene, parameters)


def forecast_of(name: str, scene: PlanningContext, **parameters: Any) -> Forecast:
    return action_of(name).forecast(scene, parameters)


def bodies(steps: Iterable[Step]) -> list[tuple[str, str, Any]]:
    """Verb, object and body of each request: what is sent."""
    return [(step.change.verb, step.change.target.display_name, step.change.body) for step in steps if step.change]


def asks_too_much(name: str, steps: Iterable[Step]) -> set[Any]:
    """Rights that the steps and their undoing ask for without the action saying so."""
    changes = [change for step in steps for change in (step.change, step.undo) if change]
    return {change.need for change in changes} - set(action_of(name).may)


def a_plan(name: str, steps: Iterable[Step], *, parameters: Mapping[str, Any] | None = None) -> Plan:
    return Plan(
        action=name,
        title=action_of(name).title,
        parameters=dict(parameters or {}),
        cluster="c",
        identity=ClusterIdentity("uid", "ca", "https://c"),
        steps=numbered(steps),
        limits=RolloutLimits(),
        forecast=Forecast(),
        author="ada",
        snapshot="",
        policy=1,
    )
