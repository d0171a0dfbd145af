"""How the CRDs convert between v1beta1 and v1, and whether what they call is there."""

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import CRD, Service, ServiceReference
from migrations_app.karpenter import kinds
from migrations_app.karpenter.crd_sets import MAIN_CHART_WEBHOOK_SERVICE

CONVERTED = tuple(kind.crd_name for kind in kinds.CURRENT_KINDS)
DEFAULT_PORT = 443
"""What the API server calls where the reference names no port."""


def converting(inventory: Inventory) -> tuple[CRD, ...]:
    """The CRDs that serve two versions, or whose conversion says Webhook."""
    found = (crd for crd in inventory.crds.items if crd.name in CONVERTED)
    return tuple(crd for crd in found if len(crd.served) > 1 or _strategy(crd) == "Webhook")


def conversion_target(crd: CRD) -> ServiceReference | None:
    """The Service that its conversion calls; None for a URL or no webhook at all."""
    webhook = crd.spec.conversion.webhook if crd.spec.conversion else None
    target = webhook.client_config if webhook else None
    return target.service if target else None


def ready_port(inventory: Inventory, target: ServiceReference) -> str:
    """Why that Service cannot answer; empty when it is there, has the port and a ready endpoint."""
    wanted = (target.namespace, target.name)
    service = next((one for one in inventory.services.items if (one.namespace, one.name) == wanted), None)
    if service is None:
        return "no such Service"
    if (target.port or DEFAULT_PORT) not in _ports(service):
        return "the Service has no such port"
    ends = next((one for one in inventory.endpoints.items if (one.namespace, one.name) == wanted), None)
    return "" if ends is not None and ends.ready else "the Service has no ready endpoint"


def webhook_service(inventory: Inventory) -> Service | None:
    """The Service of the controller that offers the webhook port; None where none does."""
    homes = {workload.namespace for workload in inventory.controller.items}
    found = (one for one in inventory.services.items if one.namespace in homes)
    return next((one for one in found if MAIN_CHART_WEBHOOK_SERVICE[2] in _ports(one)), None)


def _strategy(crd: CRD) -> str:
    return (crd.spec.conversion.strategy if crd.spec.conversion else None) or "None"


def _ports(service: Service) -> set[int | None]:
    return {port.port for port in service.spec.ports or ()}
