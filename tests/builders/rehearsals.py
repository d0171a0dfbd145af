"""Creates rows of rehearsals: of plans that can be played on the sample scene, and with stored results."""

from functools import cache
from typing import Any

import msgspec
from django.utils import timezone

from migrations_app.actions.plan import Plan, RolloutLimits
from migrations_app.collect.collect import collect
from migrations_app.models.cluster import Cluster
from migrations_app.models.rehearsal import Rehearsal
from migrations_app.models.rollout import Rollout
from migrations_app.rehearsals.assumptions import assumptions_of
from migrations_app.rehearsals.document import RehearsalPlay, stored
from migrations_app.rehearsals.plan_rehearsal import rehearse_plan
from migrations_app.rehearsals.planning import UNNAMED, plan_on
from migrations_app.rehearsals.play import Failure, no_check, set_up
from migrations_app.rehearsals.reading import read_objects
from migrations_app.rehearsals.rehearse import NO_FAILURE
from migrations_app.use_cases.clusters.registration import Details, register_bundle
from tests.builders.rollouts import a_rollout
from tests.rehearsals.scene import Scene

LIMITS = RolloutLimits(batch=2, pool_percent=50)


def plan_for(scene: Scene, action: str = "roll_nodes") -> Plan:
    """Returns the plan that a preview of the scene's cluster makes."""
    api = scene.bundle()
    inventory = collect(api, cluster="shop").inventory
    reading = read_objects(api, inventory)
    stage = set_up(reading, assumptions_of(reading, inventory).behaviour, identity=UNNAMED, failure=NO_FAILURE)
    return plan_on(stage, inventory, action=action, parameters={}, limits=LIMITS)


def scene_cluster(scene: Scene, name: str = "shop") -> Cluster:
    """Registers the scene as a bundle and returns the cluster."""
    items = {"apiVersion": "v1", "kind": "List", "items": scene.documents}
    return Cluster.objects.get(pk=register_bundle(msgspec.json.encode(items), Details(name=name)))


def plan_row(scene: Scene, *, state: str = "previewed", action: str = "roll_nodes", **columns: Any) -> Rollout:
    """Creates the previewed plan of the scene's cluster, which can be read again."""
    cluster = scene_cluster(scene)
    plan = msgspec.structs.replace(plan_for(scene, action), cluster=str(cluster.pk), author="ada", policy=1)
    return a_rollout(cluster, state=state, plan_value=plan, **columns)


@cache
def played(*failures: Failure) -> tuple[RehearsalPlay, ...]:
    """Returns the plays of the plan of the default scene."""
    scene = Scene()
    return rehearse_plan(scene.bundle(), plan_for(scene), cluster="shop", failures=failures, seed=0, check=no_check)


def a_rehearsal(row: Rollout, *failures: Failure, state: str = "finished", **columns: Any) -> Rehearsal:
    """Creates a rehearsal of the plan in that state; a finished one has the result of the default scene."""
    now = timezone.now()
    told: dict[str, Any] = {"digest": row.digest, "state": state, "requested_by": "ada"}
    told["failures"] = [[one.scenario, one.zone] for one in failures]
    if state == "finished":
        told |= {"result": stored(played(*failures)), "started_at": now, "finished_at": now}
    if state == "failed":
        told |= {"error_code": "worker_lost", "error": "the worker ended", "finished_at": now}
    return Rehearsal.objects.create(rollout=row, **(told | columns))
