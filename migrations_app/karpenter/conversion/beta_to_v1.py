"""NodePool and NodeClaim of v1beta1 to v1.

Source: kubernetes-sigs/karpenter@v1.0.8:pkg/apis/v1/nodepool_conversion.go and nodeclaim_conversion.go; where the
webhook changes behaviour the old behaviour is written out instead.
"""

from collections.abc import Mapping
from typing import Any, Final

from migrations_app.karpenter.conversion import durations, fields, keys, kubelet, metadata, requirements
from migrations_app.karpenter.conversion.drafts import CLASS_GROUP, CLASS_KIND, Draft, filled, manifest, spec_of
from migrations_app.karpenter.conversion.losses import Notes, Path
from migrations_app.karpenter.conversion.options import Options
from migrations_app.karpenter.conversion.shapes import shown

API: Final = "karpenter.sh/v1"
POOL_LABEL: Final = "karpenter.sh/nodepool"

_BETA_EXPIRY: Final = "720h"

Spec = dict[str, Any]


def convert_pool(body: Mapping[str, Any], notes: Notes, *, options: Options) -> list[Draft]:
    """The v1 NodePool with its kubelet settings set apart, or nothing when the object has an error."""
    head = metadata.cleaned(fields.OBJECT(body, (), notes=notes) or {}, notes)
    spec: Spec = fields.NODE_POOL(spec_of(body), ("spec",), notes=notes) or {}
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
    draft = Draft(manifest(API, "NodePool", metadata=head, spec=new_spec), notes)
    draft.kubelet_at = ("spec", "template", "spec", "kubelet")
    draft.kubelet = _kubelet(template_spec, draft.kubelet_at, notes=notes)
    return [] if notes.failed else [draft]


def _template(template: Spec, disruption: Spec, *, notes: Notes) -> Spec:
    head, spec = template.get("metadata") or {}, template.get("spec") or {}
    at = ("spec", "template")
    new_head = filled(
        {
            "labels": keys.open_labels(head.get("labels") or {}, (*at, "metadata", "labels"), notes=notes),
            "annotations": keys.current_annotations(
                head.get("annotations") or {}, (*at, "metadata", "annotations"), notes=notes
            ),
        }
    )
    resources = spec.get("resources")
    if resources and resources != {"requests": {}}:
        what = f"resources {shown(resources)} are left out"
        notes.add("template-resources-dropped", (*at, "spec", "resources"), what=what)
    new_spec = {
        "nodeClassRef": class_reference(spec.get("nodeClassRef"), (*at, "spec", "nodeClassRef"), notes=notes),
        "requirements": requirements.checked(
            spec.get("requirements") or [], (*at, "spec", "requirements"), notes=notes
        ),
        **filled({"taints": spec.get("taints"), "startupTaints": spec.get("startupTaints")}),
        "expireAfter": _expiry(disruption, notes),
    }
    return {"metadata": new_head, "spec": new_spec} if new_head else {"spec": new_spec}


def class_reference(old: Mapping[str, str] | None, at: Path, *, notes: Notes) -> dict[str, str]:
    """The node class by group, kind and name."""
    if not old or not old.get("name"):
        notes.add("no-nodeclass-ref", at, what="nodeClassRef.name is missing; name the node class of this object")
        return {}
    group = (old.get("apiVersion") or "").partition("/")[0] or CLASS_GROUP
    return {"group": group, "kind": old.get("kind") or CLASS_KIND, "name": old["name"]}


def _kubelet(spec: Spec, at: Path, *, notes: Notes) -> Spec | None:
    if not spec.get("kubelet"):
        return None
    found = kubelet.without_runtime(spec["kubelet"], at, notes=notes)
    kubelet.check(found, at, notes=notes)
    return found


def _expiry(disruption: Spec, notes: Notes) -> str:
    at = ("spec", "disruption", "expireAfter")
    expire: str | None = disruption.get("expireAfter")
    if expire is None:
        what = f"expireAfter is not written, so it was {_BETA_EXPIRY} by default and is written out now"
        notes.add("expire-implicit", at, what=what, proposal="Never")
    if expire != durations.NEVER:
        what = (
            f"after {expire or _BETA_EXPIRY} v1 drains a node at once; pods behind a disruption budget of their"
            " own hold it without end unless terminationGracePeriod is set: review both"
        )
        notes.add("expire-forceful", at, what=what)
    return expire or _BETA_EXPIRY


def _disruption(old: Spec, notes: Notes) -> Spec:
    policy, after = old.get("consolidationPolicy"), old.get("consolidateAfter")
    at = ("spec", "disruption", "consolidateAfter")
    if policy == "WhenEmpty":
        if after is None:
            notes.add("consolidate-after-missing", at, what="WhenEmpty needs consolidateAfter, such as 30s or Never")
    else:
        policy = "WhenEmptyOrUnderutilized"
        if after not in (None, durations.NEVER):
            notes.add(
                "consolidate-after-odd", at, what=f"{after} had no effect with WhenUnderutilized and has one in v1"
            )
    new = {"consolidationPolicy": policy, "consolidateAfter": after or "0s"}
    return {**new, **filled({"budgets": old.get("budgets")})}


def convert_claim(body: Mapping[str, Any], notes: Notes, *, expiry_of_pool: Mapping[str, str]) -> list[Draft]:
    """What v1 will show of a NodeClaim, for viewing only; nothing when the object has an error."""
    head = metadata.cleaned({key: item for key, item in body.items() if key != "status"}, notes)
    old: Spec = fields.NODE_CLAIM(spec_of(body), ("spec",), notes=notes) or {}
    if notes.failed:
        return []
    if old.get("kubelet"):
        what = f"kubelet {shown(old['kubelet'])} is taken from the node class in v1"
        notes.add("kubelet-moved", ("spec", "kubelet"), what=what, proposal=old["kubelet"])
    pool = (head.get("labels") or {}).get(POOL_LABEL, "")
    spec = {
        "nodeClassRef": class_reference(old.get("nodeClassRef"), ("spec", "nodeClassRef"), notes=notes),
        "requirements": old.get("requirements") or [],
        **filled({name: old.get(name) for name in ("taints", "startupTaints", "resources")}),
        "expireAfter": expiry_of_pool.get(pool, durations.NEVER),
    }
    notes.add("nodeclaim-view-only", (), what="shown as v1 will show it; do not apply it")
    draft = Draft(manifest(API, "NodeClaim", metadata=head, spec=spec), notes)
    if body.get("status"):
        draft.body["status"] = body["status"]
    draft.view_only = True
    return [] if notes.failed else [draft]
