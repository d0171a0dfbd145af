"""v1 objects that the conversion webhook made: what it parked in annotations is put where v1 has it.

Source: kubernetes-sigs/karpenter@v1.0.8:pkg/apis/v1/labels.go, aws/karpenter-provider-aws@v1.0.8:pkg/apis/v1/labels.go.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from migrations_app.karpenter.conversion import fields, metadata
from migrations_app.karpenter.conversion.drafts import Draft, spec_of
from migrations_app.karpenter.conversion.losses import Notes, Path
from migrations_app.karpenter.conversion.options import Known
from migrations_app.karpenter.conversion.shapes import Shape, anything, list_of, map_of, text

KUBELET: Final = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
UBUNTU: Final = "compatibility.karpenter.k8s.aws/v1beta1-ubuntu"

_INCOMPATIBLE: Final = "incompatible"
# Only what is looked at is checked; v1 grows with every release, and the rest is printed as it is.
_seen_map: Final = map_of(anything)
_CHECKED: Final[Mapping[str, Shape]] = {
    "template": _seen_map,
    "disruption": _seen_map,
    "limits": _seen_map,
    "kubelet": _seen_map,
    "amiSelectorTerms": list_of(_seen_map),
}
_CHECKED_TEMPLATE: Final[Mapping[str, Shape]] = {
    "nodeClassRef": map_of(text),
    "requirements": list_of(_seen_map),
}
_KUBELET_AT: Final[Path] = ("metadata", "annotations", KUBELET)


def _kept(body: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    """The object with cleaned metadata and without status; everything else as it is."""
    head = metadata.cleaned(body, notes)
    spec = _seen_map(spec_of(body), ("spec",), notes=notes) or {}
    _check(spec, _CHECKED, at=("spec",), notes=notes)
    template = spec.get("template")
    inner = template.get("spec") if isinstance(template, Mapping) else None
    if inner is not None and _seen_map(inner, ("spec", "template", "spec"), notes=notes):
        _check(inner, _CHECKED_TEMPLATE, at=("spec", "template", "spec"), notes=notes)
    return {key: head if key == "metadata" else value for key, value in body.items() if key != "status"}


def _check(spec: Mapping[str, Any], table: Mapping[str, Shape], *, at: Path, notes: Notes) -> None:
    for name, shape in table.items():
        if spec.get(name) is not None:
            shape(spec[name], (*at, name), notes=notes)


def finish_pool(body: Mapping[str, Any], notes: Notes, *, known: Known) -> list[Draft]:
    """The NodePool with its parked kubelet settings set apart, or nothing when the object has an error."""
    kept = _kept(body, notes)
    if notes.failed:
        return []
    draft = Draft(kept, notes)
    draft.kubelet_at = _KUBELET_AT
    draft.kubelet = _parked_kubelet(body, notes)
    after = (spec_of(body).get("disruption") or {}).get("consolidateAfter")
    if draft.name in known.never_consolidated and after == "0s":
        what = "consolidateAfter was Never before the upgrade and is 0s now"
        notes.add("consolidation-never-lost", ("spec", "disruption", "consolidateAfter"), what=what, proposal="Never")
    return [] if notes.failed else [draft]


def _parked_kubelet(body: Mapping[str, Any], notes: Notes) -> dict[str, Any] | None:
    parked = metadata.annotations_of(body).get(KUBELET)
    if not parked:
        return None
    try:
        found = json.loads(parked)
    except (ValueError, RecursionError):
        notes.add(
            "bad-type",
            _KUBELET_AT,
            what="the annotation is no JSON; look up the kubelet settings and write them by hand",
        )
        return None
    cleaned: dict[str, Any] | None = fields.KUBELET(found, _KUBELET_AT, notes=notes)
    return {key: value for key, value in (cleaned or {}).items() if key != "containerRuntime"}


def finish_class(body: Mapping[str, Any], notes: Notes) -> list[Draft]:
    """The EC2NodeClass without the webhook's marks, or nothing when the object has an error."""
    kept = _kept(body, notes)
    if _INCOMPATIBLE in str(metadata.annotations_of(body).get(UBUNTU, "")):
        what = "the webhook put ami-placeholder into amiSelectorTerms: name the Ubuntu images there"
        notes.add("ubuntu-needs-ami-terms", ("spec", "amiSelectorTerms"), what=what)
    return [] if notes.failed else [Draft(kept, notes)]
