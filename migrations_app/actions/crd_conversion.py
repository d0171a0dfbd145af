"""What the conversion of a CRD should say: what its controller owns is kept, and nothing aims at a Service that cannot
answer, as every read of the kind would fail then."""

from migrations_app.actions.base import Unavailable
from migrations_app.actions.changes import Body
from migrations_app.actions.conditions import Tree, value_at
from migrations_app.inventory.conversion import ready_port, webhook_service
from migrations_app.inventory.crd_chart import aim
from migrations_app.inventory.installation import CRD_CHART
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import ServiceReference
from migrations_app.inventory.seen import Unseen
from migrations_app.karpenter.crd_sets import MAIN_CHART_WEBHOOK_SERVICE
from migrations_app.karpenter.versions import Release

CLIENT = ("spec", "conversion", "webhook", "clientConfig")
OFF: Body = {"strategy": "None", "webhook": None}


def with_conversion(wanted: Body, before: Tree | None, *, inventory: Inventory, release: Release) -> Body:
    """The CRD as shipped, with the conversion that fits this cluster. Raises Unavailable where that cannot answer."""
    shipped = value_at(wanted, ("spec", "conversion"))
    if not isinstance(shipped, dict) or shipped.get("strategy") != "Webhook":
        return wanted | {"spec": wanted["spec"] | {"conversion": dict(OFF) if before else {"strategy": "None"}}}
    _refuse_switched_off(inventory, release)
    client = _client(wanted, before, inventory=inventory, release=release)
    _refuse_unanswered(client, str(value_at(wanted, ("metadata", "name"))), inventory=inventory)
    webhook = shipped["webhook"] | {"clientConfig": client}
    return wanted | {"spec": wanted["spec"] | {"conversion": shipped | {"webhook": webhook}}}


def _refuse_switched_off(inventory: Inventory, release: Release) -> None:
    told = aim(inventory, release)
    if told is not None and not told.converts:
        words = f"{CRD_CHART} is installed with webhook.enabled=false, but the CRDs of {release} convert: switch it on"
        raise Unavailable(words, code="conversion_off")


def _client(wanted: Body, before: Tree | None, *, inventory: Inventory, release: Release) -> Body:
    """What is there now stands, its caBundle above all: the controller writes it."""
    here = value_at(before, CLIENT)
    if isinstance(here, dict) and (here.get("service") or here.get("url")):
        return here
    name, namespace, port = _service(inventory, release)
    service = value_at(wanted, (*CLIENT, "service")) or {}
    return {"service": service | {"name": name, "namespace": namespace, "port": port}}


def _service(inventory: Inventory, release: Release) -> tuple[str, str, int]:
    told = aim(inventory, release)
    if told is not None:
        return told.name, told.namespace, told.port
    found = webhook_service(inventory)
    return (found.name, found.namespace, MAIN_CHART_WEBHOOK_SERVICE[2]) if found else MAIN_CHART_WEBHOOK_SERVICE


def _refuse_unanswered(client: Body, crd: str, *, inventory: Inventory) -> None:
    service = client.get("service")
    if not isinstance(service, dict):
        return  # an address outside of the cluster: nothing that was seen tells whether it answers
    for name in ("services", "endpoints"):
        part = inventory.part(name)
        if isinstance(part, Unseen):
            raise Unavailable(f"whether the conversion answers is not known: {name}: {part.why}", code="not_seen")
    target = ServiceReference(
        namespace=str(service.get("namespace", "")), name=str(service.get("name", "")), port=service.get("port")
    )
    problem = ready_port(inventory, target)
    if problem:
        words = f"{crd} would be converted by {target.namespace}/{target.name}, and every read of it fail: {problem}"
        raise Unavailable(words, code="conversion_unanswered")
