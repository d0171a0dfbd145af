"""Computes what chart and controller do after an upgrade: RBAC rights, tags, and rewriting stored objects as v1."""

from dataclasses import replace as with_fields
from typing import Final

from msgspec.structs import replace

from migrations_app.inventory.facts.controller import installation, webhooks_off
from migrations_app.inventory.facts.conversion_webhook import CONVERTED
from migrations_app.inventory.facts.rbac import kept_by_chart, missing_rights, per_target
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.objects.aws import TaggedInstances
from migrations_app.inventory.objects.cluster import ClusterRole, PolicyRule
from migrations_app.inventory.parts import AHEAD, Part, Seen, Unseen
from migrations_app.karpenter import labels
from migrations_app.karpenter.tables.rbac_rows import RbacRight, rights_needed
from migrations_app.karpenter.versions import Release, within
from migrations_app.readiness.runbook.effects.controller import release_of
from migrations_app.readiness.runbook.effects.object_lookup import with_items, with_parts

REWRITING_RELEASES: Final = ("1.0.6", "1.0")
"""The first and last of the releases that rewrite objects stored as v1beta1.

Source: kubernetes-sigs/karpenter@v1.0.9:pkg/controllers/migration/crd/controller.go.
"""
TAGGING_MINOR: Final = "1.0"
"""The minor that tags instances with their cluster and annotates each NodeClaim, if IAM permits.

Source: aws/karpenter-provider-aws@v1.0.14:pkg/controllers/nodeclaim/tagging/controller.go.
"""
REWRITTEN_PARTS: Final = ("nodepools", "ec2nodeclasses", "nodeclaims")


def with_controller_work(inventory: Inventory) -> Inventory:
    """The inventory after the chart updated its ClusterRoles and the controller did its work (minutes to hours)."""
    controller = installation(inventory)
    running = release_of(controller.workload) if controller else None
    if controller is None or running is None:
        return inventory
    webhooks_are_off = webhooks_off(controller, running)
    allowed = _with_rights(inventory, rights_needed(running, webhooks=not webhooks_are_off))
    tagged = _with_tags(allowed) if running.minor == TAGGING_MINOR else allowed
    return _rewritten(tagged) if _rewrites(tagged, running) and not webhooks_are_off else tagged


def _with_rights(inventory: Inventory, rights: tuple[RbacRight, ...]) -> Inventory:
    part = inventory.controller_rbac
    missing = missing_rights(part.items, rights)
    first = next((cluster_role for cluster_role in part.items if kept_by_chart(cluster_role)), None)
    if not isinstance(part, Seen) or first is None or not missing:
        return inventory
    rules = [
        PolicyRule(api_groups=[group[0].group], resources=[group[0].resource], verbs=[right.verb for right in group])
        for group in per_target(missing).values()
    ]
    completed: ClusterRole = replace(first, rules=[*(first.rules or ()), *rules])
    items = tuple(completed if cluster_role is first else cluster_role for cluster_role in part.items)
    return with_fields(inventory, controller_rbac=with_items(part, items))


def _with_tags(inventory: Inventory) -> Inventory:
    claims, aws = inventory.nodeclaims, inventory.aws
    changed: dict[str, Part[object]] = {}
    if isinstance(claims, Seen):
        changed["nodeclaims"] = with_items(claims, tuple(_claim_annotated(claim) for claim in claims.items))
    if isinstance(aws.instances, Seen) and aws.place.cluster:
        mark = (labels.CLUSTER_NAME_TAG, aws.place.cluster)
        groups = tuple(_group_with_tag(instances, mark) for instances in aws.instances.items)
        inventory = with_fields(inventory, aws=with_fields(aws, instances=with_items(aws.instances, groups)))
    return with_parts(inventory, changed)


def _claim_annotated(claim: o.NodeClaim) -> o.NodeClaim:
    marks = {**(claim.metadata.annotations or {}), labels.CLUSTER_NAME_TAGGED: "true"}
    return replace(claim, metadata=replace(claim.metadata, annotations=marks)) if claim.provider_id else claim


def _group_with_tag(group: TaggedInstances, mark: tuple[str, str]) -> TaggedInstances:
    if not dict(group.tags).keys() & {labels.NODEPOOL}:
        return group
    return with_fields(group, tags=tuple(sorted({**dict(group.tags), mark[0]: mark[1]}.items())))


def _rewrites(inventory: Inventory, running: Release) -> bool:
    crds = [crd for crd in inventory.crds.items if crd.name in CONVERTED]
    first, last = REWRITING_RELEASES
    return within(running, first=first, last=last) and bool(crds) and all(crd.storage == "v1" for crd in crds)


def _rewritten(inventory: Inventory) -> Inventory:
    """The inventory with all stored objects marked as rewritten, and v1 as the only stored version of their CRDs."""
    changed: dict[str, Part[object]] = {}
    for name in REWRITTEN_PARTS:
        part = inventory.part(name)
        if isinstance(part, Seen):
            changed[name] = with_items(part, tuple(map(_marked_rewritten, part.items)))
    unread = [inventory.part(name) for name in REWRITTEN_PARTS if name not in changed]
    if isinstance(inventory.crds, Seen) and all(
        isinstance(unread_part, Unseen) and unread_part.why == AHEAD for unread_part in unread
    ):
        changed["crds"] = with_items(inventory.crds, tuple(map(_only_v1_stored, inventory.crds.items)))
    return with_parts(inventory, changed)


def _marked_rewritten(item: object) -> object:
    if not isinstance(item, o.NamedObject):
        return item
    marks = {**(item.metadata.annotations or {}), labels.STORED_VERSION_DONE: "true"}
    return replace(item, metadata=replace(item.metadata, annotations=marks))


def _only_v1_stored(crd: o.CRD) -> o.CRD:
    if crd.name not in CONVERTED or crd.status is None:
        return crd
    return replace(crd, status=replace(crd.status, stored_versions=[crd.storage]))
