"""Points the conversion of CRDs at the controller's Service, or switches it off where nothing needs conversion.

A CRD is changed only if that helps: the Service exists, has the port and a ready endpoint.
"""

from collections.abc import Iterator

import msgspec

from migrations_app.actions.base import Action, Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import ObjectTarget, RbacNeed
from migrations_app.actions.conditions import Field, content_digest, fields_digest, value_at
from migrations_app.actions.patches import patch_step
from migrations_app.actions.plan import SourceObject, Step
from migrations_app.actions.targets.crds import CLIENT, OFF, crd_need, crd_target, find_crd, target_of
from migrations_app.actions.targets.pools import reverting_tool
from migrations_app.inventory.facts.conversion_webhook import ConversionRepair, conversion_repairs
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import CRD, ServiceReference
from migrations_app.karpenter import kinds
from migrations_app.karpenter.crds import REVIEW_VERSIONS
from migrations_app.manifests import JsonMap

CONVERSION: Field = ("spec", "conversion")
DECIDING_FIELDS: tuple[Field, ...] = (("spec", "versions"), ("status", "storedVersions"))
"""Fields, besides the conversion itself, that decide whether the API server converts objects."""
SERVICES = kinds.SERVICE

action = Action(
    __name__,
    title="Fix the conversion of the CRDs",
    button="Fix the conversion of {count} CRDs",
    why="Until the conversion answers, every read of an object stored in another version fails, the controller's too.",
    risk="medium",
    parts=("crds", "services", "controller"),
    may=(crd_need("patch"), RbacNeed(verb="get", group=SERVICES.group, plural=SERVICES.plural)),
    sources=(
        "aws/karpenter-provider-aws@v1.0.14:pkg/webhooks/webhooks.go",
        "kubernetes-sigs/karpenter@v1.0.9:pkg/webhooks/webhooks.go",
        "aws/karpenter-provider-aws#6818",
        "Kubernetes documentation, Versions in CustomResourceDefinitions",
    ),
)


@action.reads
def reads(inventory: Inventory, _parameters: Parameters) -> Iterator[ObjectTarget]:
    yield from (crd_target(kind.crd_name) for kind in kinds.CURRENT_KINDS)
    homes = {workload.namespace for workload in inventory.controller.items}
    yield from (
        _service(service.namespace or "", service.name)
        for service in inventory.services.items
        if service.namespace in homes
    )


@action.prepare
def prepare(context: PlanningContext, _parameters: Parameters) -> Iterator[Step]:
    all_mends = conversion_repairs(context.inventory, context.running.release)
    possible = {name: conversion_mend for name, conversion_mend in all_mends.items() if conversion_mend.strategy}
    if all_mends and not possible:
        name, first = next(iter(all_mends.items()))
        raise Unavailable(f"{name}: {first.why}", code=first.code)
    for name, mend in possible.items():
        crd, before = find_crd(context.inventory, name), context.objects.get(crd_target(name))
        if crd is not None and before is not None:
            yield _step(context, crd, before=before, mend=mend)


def _step(context: PlanningContext, crd: CRD, *, before: JsonMap, mend: ConversionRepair) -> Step:
    patch, title, note = _switch_off(crd) if mend.service is None else _call_service(crd, before, service=mend.service)
    step = patch_step(target_of(crd), before, patch=patch, title=title, note=note, manager=reverting_tool(crd.metadata))
    fields = (*step.preconditions, *DECIDING_FIELDS)
    return msgspec.structs.replace(
        step,
        preconditions=fields,
        digest=fields_digest(before, fields),
        risk="medium",
        computed_from=tuple(_sources(context, mend.service)),
    )


def _switch_off(crd: CRD) -> tuple[JsonMap, str, str]:
    title = f"End the conversion of {crd.name}"
    note = f"{crd.storage} is all that it serves, and all that was ever stored: nothing has to be converted."
    return {"spec": {"conversion": dict(OFF)}}, title, note


def _call_service(crd: CRD, before: JsonMap, *, service: ServiceReference) -> tuple[JsonMap, str, str]:
    """Patches only the Service where the CRD already calls a webhook, because the controller writes the caBundle."""
    place: JsonMap = {
        "namespace": service.namespace, "name": service.name, "port": service.port, "path": service.path,
    }  # fmt: skip
    title = f"Let {service.namespace}/{service.name} convert the objects of {crd.name}"
    note = "The controller writes its certificate into the CRD by itself; until then the conversion is refused."
    if value_at(before, CLIENT) is not None:
        certificate_note = "" if value_at(before, (*CLIENT, "caBundle")) else note
        strategy: JsonMap = {} if value_at(before, (*CONVERSION, "strategy")) == "Webhook" else {"strategy": "Webhook"}
        return (
            {"spec": {"conversion": {**strategy, "webhook": {"clientConfig": {"service": place}}}}},
            title,
            certificate_note,
        )
    webhook = {"conversionReviewVersions": list(REVIEW_VERSIONS), "clientConfig": {"service": place}}
    return {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}, title, note


def _service(namespace: str, name: str, *, uid: str = "") -> ObjectTarget:
    return ObjectTarget(
        SERVICES.group, SERVICES.versions[0], SERVICES.plural, SERVICES.kind, name, namespace=namespace, uid=uid
    )


def _sources(context: PlanningContext, service: ServiceReference | None) -> Iterator[SourceObject]:
    """The Service that the conversion will call. If it changes or is recreated, the step is not sent."""
    read = context.objects.get(_service(service.namespace, service.name)) if service else None
    if service and read:
        target = _service(service.namespace, service.name, uid=str(value_at(read, ("metadata", "uid")) or ""))
        yield SourceObject(target=target, digest=content_digest(read))
