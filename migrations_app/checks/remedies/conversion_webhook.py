"""How to point the conversion of CRDs at the Service of the controller."""

from collections.abc import Sequence

from migrations_app.checks.base import CheckContext, Evidence, Remedy
from migrations_app.checks.changes import HelmValue
from migrations_app.checks.remedies.commands import as_json, crd_chart, helm_remedies, here, kubectl, spelled
from migrations_app.checks.shell import json_word, pointer, word
from migrations_app.inventory.facts.controller import CRD_CHART
from migrations_app.inventory.facts.conversion_webhook import crd_values
from migrations_app.inventory.objects.karpenter import Service

SERVICE = "spec.conversion.webhook.clientConfig.service"


def by_chart(case: CheckContext, real: Service | None) -> tuple[Remedy, ...]:
    """The chart karpenter-crd told of the Service, or brought to the release that runs where it was told nothing."""
    if crd_values(case.inventory) is not None:
        # The same chart again would change nothing: it keeps the values that it was given.
        return helm_remedies(case, _values(real), when="before", chart=CRD_CHART)
    return crd_chart(case, spelled(here(case)))


def by_patch(evidence: Sequence[Evidence], real: Service | None) -> tuple[Remedy, ...]:
    """The Service written into each CRD; empty where more than the Service is amiss, or the right one is not known."""
    if real is None or any(row.path != SERVICE for row in evidence):
        return ()
    body = {"namespace": real.namespace, "name": real.name, "port": 8443}
    patch = json_word([{"op": "replace", "path": pointer(SERVICE), "value": body}])
    return (kubectl(*(f"kubectl patch crd {word(row.name)} --type=json -p {patch}" for row in evidence)),)


def _values(real: Service | None) -> tuple[HelmValue, ...]:
    on = HelmValue("webhook.enabled", "true", "the CRDs convert through the webhook")
    if real is None:
        return (on,)
    why = "the Service of the controller"
    name = HelmValue("webhook.serviceName", as_json(real.name), why)
    return on, name, HelmValue("webhook.serviceNamespace", as_json(real.namespace), why)
