"""How the CRDs convert between v1beta1 and v1: whether the Service of the conversion webhook can answer, how to repair
the conversion, and what the chart karpenter-crd will write into the CRDs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from migrations_app.errors import CONVERSION_FAILED
from migrations_app.inventory.facts.controller import (
    ABSENT,
    CRD_CHART,
    given_values,
    installation,
    value_at,
    webhooks_off,
)
from migrations_app.inventory.facts.delivery_sources import Values
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import CRD, Endpoints, Service, ServiceReference, Workload
from migrations_app.inventory.parts import NOT_CONVERTED, Part, Seen, Unseen, is_whole
from migrations_app.karpenter import kinds
from migrations_app.karpenter.crds import MAIN_CHART_WEBHOOK_SERVICE
from migrations_app.karpenter.releases import crd_set, find, serves
from migrations_app.karpenter.tables.port_rows import WEBHOOK_PORT_NAME
from migrations_app.karpenter.versions import Release

CONVERTED = tuple(kind.crd_name for kind in kinds.CURRENT_KINDS)
CONVERTED_PARTS = {"nodepools": kinds.NODE_POOL, "nodeclaims": kinds.NODE_CLAIM, "ec2nodeclasses": kinds.EC2_NODE_CLASS}
OWN_SERVICE = "KARPENTER_SERVICE"
"""The variable in which the chart gives the controller the name of its Service."""
DEFAULT_PORT = 443
"""The port that the API server uses if the reference names none."""


def conversion_crds(inventory: Inventory) -> tuple[CRD, ...]:
    """The CRDs that serve two versions or have the conversion strategy Webhook."""
    crds = (crd for crd in inventory.crds.items if crd.name in CONVERTED)
    return tuple(crd for crd in crds if len(crd.served) > 1 or strategy_of(crd) == "Webhook")


NOTHING_CONVERTED = "nothing but v1 was ever stored and webhooks are off, so nothing is converted"


def converts_nothing(inventory: Inventory, running: Release | None) -> bool:
    """Whether nothing is converted: only v1 was ever stored, webhooks are off, and the release acts on v1.

    False where a CRD could not be read.
    """
    crds = [crd for crd in inventory.crds.items if crd.name in CONVERTED] if is_whole(inventory.crds) else []
    only_v1 = bool(crds) and all(crd.stored == ("v1",) for crd in crds)
    acts = running is not None and serves(running, "v1") is True
    return only_v1 and acts and webhooks_off(installation(inventory), running)


def failed_conversions(inventory: Inventory) -> dict[str, str]:
    """The API server's message for each list that it could not convert, by the name of its CRD."""
    messages = {kind.crd_name: _failed_conversion(inventory.part(name)) for name, kind in CONVERTED_PARTS.items()}
    return {name: message for name, message in messages.items() if message is not None}


def _failed_conversion(part: Part[object]) -> str | None:
    if isinstance(part, Unseen):
        return part.detail if part.why == CONVERSION_FAILED else None
    other = part.other_version
    return other.detail if other is not None and other.why == CONVERSION_FAILED else None


def mislabelled_objects(inventory: Inventory) -> dict[str, str]:
    """How many objects have v1beta1 content under the apiVersion v1, as text, by the name of their CRD."""
    parts = ((kind.crd_name, inventory.part(name)) for name, kind in CONVERTED_PARTS.items())
    others = ((name, part.other_version) for name, part in parts if isinstance(part, Seen))
    return {name: other.detail for name, other in others if other is not None and other.why == NOT_CONVERTED}


def conversion_target(crd: CRD) -> ServiceReference | None:
    """The Service that the CRD's conversion calls; None for a URL or without a webhook."""
    webhook = crd.spec.conversion.webhook if crd.spec.conversion else None
    target = webhook.client_config if webhook else None
    return target.service if target else None


def service_problem(inventory: Inventory, target: ServiceReference) -> str | Unseen:
    """Why that Service cannot answer; empty if it exists, has the port, and has a ready endpoint of the controller.

    Unseen if that cannot be determined. If endpoints were not read, the controller's readiness counts instead.
    """
    service_key = (target.namespace, target.name)
    service = next((item for item in inventory.services.items if (item.namespace, item.name) == service_key), None)
    if service is None:
        return _unread(inventory.services, service_key) or "no such Service"
    if (target.port or DEFAULT_PORT) not in _ports(service):
        return "the Service has no such port"
    selected = [workload for workload in inventory.controller.items if _selects(service, workload)]
    if isinstance(inventory.endpoints, Unseen):
        ready = any(workload.status and workload.status.ready_replicas for workload in selected)
        return "" if ready else inventory.endpoints
    ends = next(
        (endpoint for endpoint in inventory.endpoints.items if (endpoint.namespace, endpoint.name) == service_key), None
    )
    if ends is None or not ends.ready:
        return _unread(inventory.endpoints, service_key) or "the Service has no ready endpoint"
    return "" if selected or not inventory.controller.items else "the Service selects no pods of the controller"


def _unread(part: Part[Service] | Part[Endpoints], service_key: tuple[str | None, str]) -> Unseen | None:
    """Unseen if the object exists but could not be read; None otherwise."""
    if isinstance(part, Unseen):
        return part
    bad = next(
        (unparsable for unparsable in part.quarantined if (unparsable.namespace, unparsable.name) == service_key), None
    )
    return Unseen("garbled", f"{bad.kind} {bad.name} at {bad.field}") if bad else None


def _selects(service: Service, workload: Workload) -> bool:
    """Whether the Service selects the workload's pods. True for a Service without a selector, whose endpoints somebody
    else writes.
    """
    if not service.spec.selector:
        return True
    carried = workload.template.metadata.labels or {}
    return service.namespace == workload.namespace and service.spec.selector.items() <= carried.items()


def webhook_services(inventory: Inventory) -> tuple[Service, ...]:
    """The Services that offer the webhook port in a namespace with a controller.

    If any of them selects a controller, only those, since a CRD may name a Service of somebody else; of those only the
    one that the controller itself names, because its certificate is issued for that name.
    """
    workloads = inventory.controller.items
    homes = {workload.namespace for workload in workloads}
    offering = [
        service
        for service in inventory.services.items
        if service.namespace in homes and MAIN_CHART_WEBHOOK_SERVICE[2] in _ports(service)
    ]
    selecting = [service for service in offering if service.spec.selector and _selects_any(service, workloads)]
    named = {(workload.namespace, name) for workload in workloads for name in _own_service(workload)}
    own = [service for service in selecting if (service.namespace, service.name) in named]
    return tuple(own or selecting or offering)


def _selects_any(service: Service, workloads: Iterable[Workload]) -> bool:
    return any(_selects(service, workload) for workload in workloads)


def _own_service(workload: Workload) -> Iterator[str]:
    for container in workload.template.spec.containers or ():
        yield from (
            variable.value for variable in container.env or () if variable.name == OWN_SERVICE and variable.value
        )


def webhook_service(inventory: Inventory) -> Service | None:
    """The controller's Service that offers the webhook port; None if there is none, or if several could be meant."""
    services = webhook_services(inventory)
    return services[0] if len(services) == 1 else None


def webhook_path(crd: CRD) -> str:
    """The path at which the controller converts the objects of that CRD: one for each API group."""
    return f"/conversion/{crd.name.partition('.')[2]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionRepair:
    """How to repair a conversion that does not answer: its strategy in the CRD, and the Service of its webhook.

    `strategy` is empty where a change of the CRD does not help; `why` and its `code` say what does.
    """

    strategy: str = ""
    service: ServiceReference | None = None
    why: str = ""
    code: str = ""


def conversion_repairs(inventory: Inventory, running: Release | None) -> dict[str, ConversionRepair]:
    """The repair for each CRD whose conversion does not answer, by the name of the CRD."""
    if converts_nothing(inventory, running):
        return {}
    crds = (crd for crd in conversion_crds(inventory) if _is_broken(crd, inventory=inventory, running=running))
    return {crd.name: _repair(crd, inventory=inventory, running=running) for crd in crds}


def strategy_is_missing(crd: CRD, *, inventory: Inventory, running: Release | None) -> bool:
    """Whether the CRD lacks the strategy Webhook although it needs that: objects have to be converted, or the
    controller runs with webhooks and requires it, whatever is stored."""
    off = webhooks_off(installation(inventory), running)
    return strategy_of(crd) != "Webhook" and (crd.stored != ("v1",) or not off)


def _is_broken(crd: CRD, *, inventory: Inventory, running: Release | None) -> bool:
    if strategy_of(crd) != "Webhook":
        return strategy_is_missing(crd, inventory=inventory, running=running)
    target = conversion_target(crd)
    problem = service_problem(inventory, target) if target else ""
    wrong_path = bool(target and target.path and target.path != webhook_path(crd))
    return wrong_path or (isinstance(problem, str) and bool(problem)) or crd.name in failed_conversions(inventory)


def _repair(crd: CRD, *, inventory: Inventory, running: Release | None) -> ConversionRepair:
    shipped = crd_set(running) if running else None
    if shipped is None:
        return ConversionRepair(why="which release has to convert is not known", code="unknown_release")
    off = webhooks_off(installation(inventory), running)
    must_convert = shipped.crd_chart_converts and not off
    if strategy_of(crd) == "Webhook" and crd.served == crd.stored == (crd.storage,) and not must_convert:
        return ConversionRepair(strategy="None")
    if conversion_target(crd) is None and strategy_of(crd) == "Webhook":
        return ConversionRepair(why="its webhook is outside of the cluster", code="webhook_outside")
    if not shipped.crd_chart_converts:
        return ConversionRepair(why=f"{running} converts nothing: bring its own CRDs", code="release_converts_nothing")
    if off:
        return ConversionRepair(why="the controller runs without webhooks: switch them on first", code="webhooks_off")
    return _repair_with_service(crd, inventory=inventory)


def _repair_with_service(crd: CRD, *, inventory: Inventory) -> ConversionRepair:
    """The repair that calls the controller's Service, if that Service answers and is not called already."""
    port = MAIN_CHART_WEBHOOK_SERVICE[2]
    every, own_service = webhook_services(inventory), webhook_service(inventory)
    if every and own_service is None:
        names = " and ".join(f"{candidate.namespace}/{candidate.name}" for candidate in every)
        why = f"which Service has to be called is not known: {names} offer the port {port} of a controller"
        return ConversionRepair(why=why, code="several_services")
    if own_service is None:
        return ConversionRepair(why=f"no Service of the controller has the port {port}", code="no_webhook_service")
    wanted_service = ServiceReference(
        namespace=own_service.namespace or "", name=own_service.name, port=port, path=webhook_path(crd)
    )
    problem, place = (
        service_problem(inventory, wanted_service),
        f"{wanted_service.namespace}/{wanted_service.name}:{port}",
    )
    if isinstance(problem, Unseen):
        return ConversionRepair(why=f"whether {place} answers is not known: {problem.why}", code="not_seen")
    if problem:
        return ConversionRepair(why=f"{place} does not answer: {problem}", code="conversion_unanswered")
    if strategy_of(crd) == "Webhook" and conversion_target(crd) == wanted_service:
        why = f"{place} is called already and refuses: restart the controller, which writes its certificate anew"
        return ConversionRepair(why=why, code="called_already")
    return ConversionRepair(strategy="Webhook", service=wanted_service)


def strategy_of(crd: CRD) -> str:
    """The conversion strategy: "None" (the default) or "Webhook"."""
    return (crd.spec.conversion.strategy if crd.spec.conversion else None) or "None"


def _ports(service: Service) -> set[int | None]:
    return {port.port for port in service.spec.ports or ()}


@dataclass(frozen=True, slots=True)
class WebhookAddress:
    """What the CRDs of a release will contain: whether they convert, and which Service is called.

    Whether they convert is as a template decides: the text "false" of `--set-string` counts as true. `namespace` is
    empty if it is that of the Helm release and that is not known.
    """

    converts: bool
    name: str
    namespace: str
    port: int


def crd_values(inventory: Inventory) -> Values | None:
    """The values given to karpenter-crd; None if that chart is not installed or its values are not known."""
    return given_values(inventory, chart=CRD_CHART)


def chart_webhook(inventory: Inventory, release: Release) -> WebhookAddress | None:
    """What karpenter-crd of that release will write into CRDs; None without a conversion or if values are not known."""
    values, row = crd_values(inventory), find(release)
    defaults = row.crd_chart_webhook(release) if row else None
    if values is None or defaults is None:
        return None
    home = values.release_namespace
    name, namespace, port = MAIN_CHART_WEBHOOK_SERVICE[0], defaults.service_namespace or home, _port(values)
    return WebhookAddress(
        converts=bool(_chart_value(values, "webhook.enabled", default=defaults.enabled)),
        name=str(_chart_value(values, "webhook.serviceName", default=name)),
        namespace=str(_chart_value(values, "webhook.serviceNamespace", default=namespace)) or home,
        port=port,
    )


def _port(values: Values) -> int:
    """The template prints the port, so digits as text are the same; 0 for anything else."""
    port = str(_chart_value(values, "webhook.port", default=MAIN_CHART_WEBHOOK_SERVICE[2]))
    return int(port) if port.isdecimal() else 0


def webhook_port_of(service: Service, *, otherwise: int) -> int:
    """The port on which that Service offers the webhook: by its name in the chart, else `otherwise` if it has that
    port, else the default.
    """
    named = [port.port for port in service.spec.ports or () if port.name == WEBHOOK_PORT_NAME]
    if named and named[0] is not None:
        return named[0]
    return otherwise if otherwise in _ports(service) else MAIN_CHART_WEBHOOK_SERVICE[2]


def _chart_value(values: Values, key: str, *, default: object) -> Any:  # noqa: ANN401 - Helm values are free JSON
    chart_value = value_at(values.tree, key)
    return default if chart_value is ABSENT else chart_value
