"""What the chart karpenter-crd will write into the conversion of the CRDs, by its values and where it is installed."""

from dataclasses import dataclass
from typing import Any

from migrations_app.inventory.installation import ABSENT, CRD_CHART, Values, given_values, helm_release, value_at
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter.crd_sets import MAIN_CHART_WEBHOOK_SERVICE
from migrations_app.karpenter.releases import find
from migrations_app.karpenter.versions import Release


@dataclass(frozen=True, slots=True)
class Aim:
    """What the CRDs of a release will say: whether they convert, and which Service is called."""

    converts: bool
    name: str
    namespace: str
    port: int


def crd_values(inventory: Inventory) -> Values | None:
    """The values given to karpenter-crd; None where that chart is not installed or nothing tells."""
    return given_values(inventory, chart=CRD_CHART)


def aim(inventory: Inventory, release: Release) -> Aim | None:
    """What karpenter-crd of that release will write; None where it writes no conversion or its values are not known."""
    values, row = crd_values(inventory), find(release)
    defaults = row.crd_chart_webhook(release) if row else None
    if values is None or defaults is None:
        return None
    record = helm_release(inventory, chart=CRD_CHART)
    home = record.namespace if record else values.namespace
    name, namespace, port = MAIN_CHART_WEBHOOK_SERVICE[0], defaults.service_namespace or home, _port(values)
    return Aim(
        converts=_given(values, "webhook.enabled", default=defaults.enabled) is True,
        name=str(_given(values, "webhook.serviceName", default=name)),
        namespace=str(_given(values, "webhook.serviceNamespace", default=namespace)) or home,
        port=port,
    )


def _port(values: Values) -> int:
    given = _given(values, "webhook.port", default=MAIN_CHART_WEBHOOK_SERVICE[2])
    return given if isinstance(given, int) else 0


def _given(values: Values, key: str, *, default: object) -> Any:  # noqa: ANN401 - Helm values are free JSON
    found = value_at(values.tree, key)
    return default if found is ABSENT else found
