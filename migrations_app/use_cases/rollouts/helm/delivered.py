"""The changes of values for an upgrade of Karpenter in an object of Flux or Argo CD."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from migrations_app.actions.base import PlanningContext, Unavailable
from migrations_app.actions.targets.crds import landing
from migrations_app.actions.targets.deliveries import delivery_target, place_of, the_delivery, values_in
from migrations_app.actions.undo import bare
from migrations_app.errors import InvalidInput
from migrations_app.inventory.facts.controller import CHART
from migrations_app.queries.rollouts.policies import CONTROLLER_UPGRADES_OFF
from migrations_app.use_cases.rollouts.helm.values import ValueEdits, typed_changes


def delivery_edits(scene: PlanningContext, parameters: Mapping[str, Any]) -> ValueEdits:
    """What the hop changes in the values that the object gives. Raises InvalidInput `controller_upgrades_off`, and
    Unavailable where the object may not be changed, or its values are not all its own.
    """
    if not settings.ENV.controller_upgrades:
        raise InvalidInput(CONTROLLER_UPGRADES_OFF, code="controller_upgrades_off")
    delivery = the_delivery(scene.inventory, str(parameters.get("chart") or CHART))
    read = scene.objects.get(bare(delivery_target(delivery.delivery)))
    if read is None:
        raise Unavailable(f"{delivery.said} could not be read, or is gone", code="not_seen")
    given = values_in(read, place_of(delivery))
    to = landing(scene.inventory, scene.running, wanted=str(parameters.get("release") or ""))
    return typed_changes(scene.inventory, given, chart=delivery.chart, start=scene.running.release, lands=to)
