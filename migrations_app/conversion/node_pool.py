"""NodePool and NodeClaim of v1beta1 to v1.

If the webhook would change behaviour, the old behaviour is written explicitly. Source:
kubernetes-sigs/karpenter@v1.0.8:pkg/apis/v1/nodepool_conversion.go and nodeclaim_conversion.go.
"""

from collections.abc import Mapping
from typing import Any, Final

from migrations_app.conversion import kubelet, metadata, provisioner, quantities, schema
from migrations_app.conversion.findings import FieldPath, FindingCollector
from migrations_app.conversion.objects import (
    CLASS_GROUP,
    CLASS_KIND,
    ObjectDraft,
    Options,
    filled,
    manifest,
    spec_of,
)
from migrations_app.conversion.schema import shown

API: Final = "karpenter.sh/v1"
POOL_LABEL: Final = "karpenter.sh/nodepool"

_BETA_EXPIRY: Final = "720h"

Spec = dict[str, Any]


def convert_pool(body: Mapping[str, Any], notes: FindingCollector, *, options: Options) -> list[ObjectDraft]:
    """The v1 NodePool with its kubelet settings held separately; empty if the object has an error."""
    head = metadata.cleaned(schema.OBJECT(body, (), notes=notes) or {}, notes)
    spec: Spec = schema.NODE_POOL(spec_of(body), ("spec",), notes=notes) or {}
    if notes.failed:
        return []
    if options.live:
        metadata.warn_of_markers(head, notes)
    template: Spec = spec.get("template") or {}
    template_spec: Spec = template.get("spec") or {}
    new_spec = {
        "template": _template(template, spec.get("disruption") or {}, notes=notes),
        "disruption": _disruption(spec.get("disruption") or {}, notes),
        **filled({"limits": spec.get("limits"), "weight": spec.get("weight")}),
    }
    draft = ObjectDraft(manifest(API, "NodePool", metadata=head, spec=new_spec), notes)
    draft.kubelet_at = ("spec", "template", "spec", "kubelet")
    draft.kubelet = _kubelet(template_spec, draft.kubelet_at, notes=notes)
    return [] if notes.failed else [draft]


def _template(template: Spec, disruption: Spec, *, notes: FindingCollector) -> Spec:
    head, spec = template.get("metadata") or {}, template.get("spec") or {}
    path = ("spec", "template")
    new_head = filled(
        {
            "labels": metadata.open_labels(head.get("labels") or {}, (*path, "metadata", "labels"), notes=notes),
            "annotations": metadata.current_annotations(
                head.get("annotations") or {}, (*path, "metadata", "annotations"), notes=notes
            ),
        }
    )
    resources = spec.get("resources")
    if resources and resources != {"requests": {}}:
        message = f"resources {shown(resources)} are left out"
        notes.add("template-resources-dropped", (*path, "spec", "resources"), what=message)
    requirements_at = (*path, "spec", "requirements")
    requirements = provisioner.checked(spec.get("requirements") or [], requirements_at, notes=notes)
    provisioner.check_count(requirements, requirements_at, notes=notes, v1=True)
    new_spec = {
        "nodeClassRef": class_reference(spec.get("nodeClassRef"), (*path, "spec", "nodeClassRef"), notes=notes),
        "requirements": requirements,
        **filled({"taints": spec.get("taints"), "startupTaints": spec.get("startupTaints")}),
        "expireAfter": _expiry(disruption, notes),
    }
    return {"metadata": new_head, "spec": new_spec} if new_head else {"spec": new_spec}


def class_reference(reference: Mapping[str, str] | None, path: FieldPath, *, notes: FindingCollector) -> dict[str, str]:
    """The reference to the node class by group, kind and name."""
    if not reference or not reference.get("name"):
        notes.add("no-nodeclass-ref", path, what="nodeClassRef.name is missing; name the node class of this object")
        return {}
    group, kind = (
        (reference.get("apiVersion") or "").partition("/")[0] or CLASS_GROUP,
        reference.get("kind") or CLASS_KIND,
    )
    if (group, kind) != (CLASS_GROUP, CLASS_KIND):
        message = f"{kind} of {group} is kept as it is; from 1.0 on only {CLASS_KIND} of {CLASS_GROUP} is found"
        notes.add("provider-ref-foreign", path, what=message)
    return {"group": group, "kind": kind, "name": reference["name"]}


def _kubelet(spec: Spec, path: FieldPath, *, notes: FindingCollector) -> Spec | None:
    if not spec.get("kubelet"):
        return None
    settings = kubelet.without_runtime(spec["kubelet"], path, notes=notes)
    kubelet.check(settings, path, notes=notes)
    return settings


def _expiry(disruption: Spec, notes: FindingCollector) -> str:
    path = ("spec", "disruption", "expireAfter")
    expire: str | None = disruption.get("expireAfter")
    if expire is None:
        message = f"expireAfter is not written, so it was {_BETA_EXPIRY} by default and is written out now"
        notes.add("expire-implicit", path, what=message, proposal="Never")
    if expire != quantities.NEVER:
        message = (
            f"after {expire or _BETA_EXPIRY} v1 drains a node at once; pods behind a disruption budget of their"
            " own hold it without end unless terminationGracePeriod is set: review both"
        )
        notes.add("expire-forceful", path, what=message)
    return expire or _BETA_EXPIRY


def _disruption(old: Spec, notes: FindingCollector) -> Spec:
    policy, after = old.get("consolidationPolicy"), old.get("consolidateAfter")
    path = ("spec", "disruption", "consolidateAfter")
    if policy == "WhenEmpty":
        if after is None:
            notes.add("consolidate-after-missing", path, what="WhenEmpty needs consolidateAfter, such as 30s or Never")
    else:
        policy = "WhenEmptyOrUnderutilized"
        if after not in (None, quantities.NEVER):
            notes.add(
                "consolidate-after-odd", path, what=f"{after} had no effect with WhenUnderutilized and has one in v1"
            )
    new = {"consolidationPolicy": policy, "consolidateAfter": after or "0s"}
    # An empty list means no limit, an absent one the default of 10%: K@v0.37.0:pkg/apis/v1beta1/nodepool.go.
    return {**new, "budgets": old["budgets"]} if "budgets" in old else new


def convert_claim(
    body: Mapping[str, Any], notes: FindingCollector, *, expiry_of_pool: Mapping[str, str]
) -> list[ObjectDraft]:
    """What v1 will show of a NodeClaim, for viewing only; empty if the object has an error."""
    head = metadata.cleaned({key: item for key, item in body.items() if key != "status"}, notes)
    old: Spec = schema.NODE_CLAIM(spec_of(body), ("spec",), notes=notes) or {}
    if notes.failed:
        return []
    if old.get("kubelet"):
        message = f"kubelet {shown(old['kubelet'])} is taken from the node class in v1"
        notes.add("kubelet-moved", ("spec", "kubelet"), what=message, proposal=old["kubelet"])
    pool = (head.get("labels") or {}).get(POOL_LABEL, "")
    spec = {
        "nodeClassRef": class_reference(old.get("nodeClassRef"), ("spec", "nodeClassRef"), notes=notes),
        "requirements": old.get("requirements") or [],
        **filled({name: old.get(name) for name in ("taints", "startupTaints", "resources")}),
        "expireAfter": expiry_of_pool.get(pool, quantities.NEVER),
    }
    notes.add("nodeclaim-view-only", (), what="shown as v1 will show it; do not apply it")
    draft = ObjectDraft(manifest(API, "NodeClaim", metadata=head, spec=spec), notes)
    if body.get("status"):
        draft.body["status"] = body["status"]
    draft.view_only = True
    return [] if notes.failed else [draft]
