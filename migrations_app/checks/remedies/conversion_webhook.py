"""How to point the conversion of CRDs at the Service of the controller."""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from migrations_app.checks.base import CheckContext, Evidence, Remedy
from migrations_app.checks.changes import Body, HelmValue, ObjectPatch, Observation, group
from migrations_app.checks.remedies.commands import as_json, crd_chart, helm_remedies, here, in_cluster
from migrations_app.checks.remedies.crd_landing import crd_target
from migrations_app.checks.shell import no_option, pointer
from migrations_app.inventory.facts.controller import CRD_CHART
from migrations_app.inventory.facts.conversion_webhook import conversion_target, crd_values
from migrations_app.inventory.objects.karpenter import Service, ServiceReference

SERVICE = "spec.conversion.webhook.clientConfig.service"


def by_chart(case: CheckContext, real: Service | None) -> tuple[Remedy, ...]:
    """The chart karpenter-crd told of the Service, or brought to the release that runs where it was told nothing."""
    if crd_values(case.inventory) is not None:
        # The same chart again would change nothing: it keeps the values that it was given.
        return helm_remedies(case, _values(real), when="before", chart=CRD_CHART)
    return crd_chart(case, here(case))


def by_patch(case: CheckContext, evidence: Sequence[Evidence], *, real: Service | None) -> tuple[Remedy, ...]:
    """The Service written into each CRD; empty where more than the Service is amiss, or the right one is not known."""
    if real is None or any(row.path != SERVICE for row in evidence):
        return ()
    body: Body = {"namespace": real.namespace, "name": real.name, "port": 8443}
    found = {crd.name: conversion_target(crd) for crd in case.inventory.crds.items}
    return (in_cluster(group(*(_called(row.name, body, service=found.get(row.name)) for row in evidence))),)


def _called(name: str, body: Body, *, service: ServiceReference | None) -> ObjectPatch:
    target = crd_target(name)
    done = f"the conversion of {name} calls {body['namespace']}/{body['name']}"
    patch = ObjectPatch(target=target, body=_service(body), done=done)
    if service is None:
        return patch
    before: Body = {"namespace": service.namespace, "name": service.name} | (
        {"port": service.port} if service.port else {}
    )
    return replace(patch, undo=ObjectPatch(target=target, body=_service(before)))


def _service(body: Body) -> tuple[Body, ...]:
    return ({"op": "replace", "path": pointer(SERVICE), "value": body},)


def by_looking(case: CheckContext, evidence: Sequence[Evidence], *, real: Service | None) -> tuple[Remedy, ...]:
    """What shows why nothing is ready behind the controller's Service; empty where a CRD calls another one."""
    named = {row.name for row in evidence}
    called = [conversion_target(crd) for crd in case.inventory.crds.items if crd.name in named]
    if real is None or not called or not all(map(partial(_is_called, real), called)):
        return ()
    home = ("kubectl", "-n", real.namespace)
    note = "The CRDs call the right Service; what is behind it is not ready: the controller's pods, by their events"
    ends = Observation(pipe=((*home, "describe", "service", no_option(real.name)),), notes=(note,))
    pods = Observation(pipe=((*home, "describe", "pods", "-l", "app.kubernetes.io/name=karpenter"),))
    return (in_cluster(group(ends, pods)),)


def _is_called(real: Service, target: ServiceReference | None) -> bool:
    if target is None or (target.namespace, target.name) != (real.namespace, real.name):
        return False
    return target.port in [port.port for port in real.spec.ports or ()]


def _values(real: Service | None) -> tuple[HelmValue, ...]:
    on = HelmValue("webhook.enabled", "true", "the CRDs convert through the webhook")
    if real is None:
        return (on,)
    why = "the Service of the controller"
    name = HelmValue("webhook.serviceName", as_json(real.name), why)
    return on, name, HelmValue("webhook.serviceNamespace", as_json(real.namespace), why)
