"""How the CRDs convert between v1beta1 and v1, and whether what they call is there."""

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import CRD, Endpoints, Service, ServiceReference, Workload
from migrations_app.inventory.seen import Part, Unseen
from migrations_app.karpenter import kinds
from migrations_app.karpenter.crd_sets import MAIN_CHART_WEBHOOK_SERVICE

CONVERTED = tuple(kind.crd_name for kind in kinds.CURRENT_KINDS)
DEFAULT_PORT = 443
"""What the API server calls where the reference names no port."""


def converting(inventory: Inventory) -> tuple[CRD, ...]:
    """The CRDs that serve two versions, or whose conversion says Webhook."""
    found = (crd for crd in inventory.crds.items if crd.name in CONVERTED)
    return tuple(crd for crd in found if len(crd.served) > 1 or strategy_of(crd) == "Webhook")


def conversion_target(crd: CRD) -> ServiceReference | None:
    """The Service that its conversion calls; None for a URL or no webhook at all."""
    webhook = crd.spec.conversion.webhook if crd.spec.conversion else None
    target = webhook.client_config if webhook else None
    return target.service if target else None


def ready_port(inventory: Inventory, target: ServiceReference) -> str | Unseen:
    """Why that Service cannot answer; empty when it is there, has the port and a ready endpoint of the controller.

    Unseen where that cannot be told. Endpoints that were not read are as ready as the controller behind the Service.
    """
    wanted = (target.namespace, target.name)
    service = next((one for one in inventory.services.items if (one.namespace, one.name) == wanted), None)
    if service is None:
        return _unread(inventory.services, wanted) or "no such Service"
    if (target.port or DEFAULT_PORT) not in _ports(service):
        return "the Service has no such port"
    behind = [one for one in inventory.controller.items if _selects(service, one)]
    if isinstance(inventory.endpoints, Unseen):
        ready = any(one.status and one.status.ready_replicas for one in behind)
        return "" if ready else inventory.endpoints
    ends = next((one for one in inventory.endpoints.items if (one.namespace, one.name) == wanted), None)
    if ends is None or not ends.ready:
        return _unread(inventory.endpoints, wanted) or "the Service has no ready endpoint"
    return "" if behind or not inventory.controller.items else "the Service selects no pods of the controller"


def _unread(part: Part[Service] | Part[Endpoints], wanted: tuple[str | None, str]) -> Unseen | None:
    """The one of that name was there, and could not be read."""
    if isinstance(part, Unseen):
        return part
    bad = next((one for one in part.quarantined if (one.namespace, one.name) == wanted), None)
    return Unseen("garbled", f"{bad.kind} {bad.name} at {bad.field}") if bad else None


def _selects(service: Service, workload: Workload) -> bool:
    """Without a selector somebody else writes the endpoints, and they may be anybody's."""
    if not service.spec.selector:
        return True
    carried = workload.template.metadata.labels or {}
    return service.namespace == workload.namespace and service.spec.selector.items() <= carried.items()


def webhook_service(inventory: Inventory) -> Service | None:
    """The Service of the controller that offers the webhook port; None where none does."""
    homes = {workload.namespace for workload in inventory.controller.items}
    found = (one for one in inventory.services.items if one.namespace in homes)
    return next((one for one in found if MAIN_CHART_WEBHOOK_SERVICE[2] in _ports(one)), None)


def strategy_of(crd: CRD) -> str:
    """None, the default, or Webhook."""
    return (crd.spec.conversion.strategy if crd.spec.conversion else None) or "None"


def _ports(service: Service) -> set[int | None]:
    return {port.port for port in service.spec.ports or ()}
