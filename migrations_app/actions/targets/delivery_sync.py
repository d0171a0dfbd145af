"""The gates after a change of a delivery and after its undo, and whether a delivery has installed a release."""

import msgspec

from migrations_app.actions.gate import Gate
from migrations_app.actions.gates.controller_gate import ControllerGate, leader_lease
from migrations_app.actions.gates.delivery_gate import DeliveryGate
from migrations_app.actions.targets.deliveries import delivery_target
from migrations_app.inventory.facts.controller import CHART, installation
from migrations_app.inventory.facts.delivery_sources import ChartDelivery
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter.detection import image_release
from migrations_app.karpenter.releases import as_tag
from migrations_app.karpenter.versions import Release, parse

SETTLE_SECONDS = 1800
"""Flux reads a changed object at once, Argo CD within three minutes; both then wait for the chart's hooks."""


def settled_gate(inventory: Inventory, chart_delivery: ChartDelivery, *, to: Release) -> Gate:
    """The gate: the delivery reports the release, and the controller runs it if the chart is the controller's."""
    delivery = DeliveryGate(target=delivery_target(chart_delivery.delivery), version=as_tag(to))
    controller = _controller(inventory, to) if chart_delivery.chart == CHART else None
    return Gate(delivery=delivery, controller=controller, seconds=SETTLE_SECONDS)


def is_delivered(inventory: Inventory, delivery: ChartDelivery, *, release: Release) -> bool:
    """Whether that release of the chart is installed: by the image of the controller; True for other charts."""
    controller = installation(inventory) if delivery.chart == CHART else None
    images = (
        [container.image or "" for container in controller.workload.template.spec.containers or ()]
        if controller
        else []
    )
    return delivery.chart != CHART or any(image_release(image) == release for image in images)


def undo_gate(gate: Gate, chart_delivery: ChartDelivery) -> Gate:
    """The gate after the undo: the same gate for the version that the delivery names now."""
    delivery, controller, former = gate.delivery, gate.controller, parse(chart_delivery.version)
    if delivery is not None:
        delivery = msgspec.structs.replace(delivery, version=chart_delivery.version)
    if controller is not None and controller.release and former is not None:
        controller = msgspec.structs.replace(controller, release=str(former))
    return msgspec.structs.replace(gate, delivery=delivery, controller=controller)


def _controller(inventory: Inventory, to: Release) -> ControllerGate | None:
    """The Deployment that runs now, with the release that it has to run after the sync. The release is left empty if
    no image has a tag.
    """
    controller = installation(inventory)
    if controller is None:
        return None
    images = [container.image or "" for container in controller.workload.template.spec.containers or ()]
    named = any(image_release(image) for image in images)
    return ControllerGate(
        namespace=controller.namespace,
        deployment=controller.name,
        images=(),
        leader=leader_lease(controller.env),
        release=str(to) if named else "",
    )
