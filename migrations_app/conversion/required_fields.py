"""The fields that the CRD of v1 requires and that an object written for v1 lacks, or has with a value that is none.

Only what every release of v1 requires: aws/karpenter-provider-aws@v1.0.0 to v1.14.1:pkg/apis/crds. A field that the CRD
gives a default, such as `nodes` of a budget, is not required.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from migrations_app.conversion.findings import FieldPath, FindingCollector
from migrations_app.conversion.refusals import REFUSED, CrdRefusal, identity_refusals

_EACH: Final = "[]"
"""A step into every item of a list."""
_NODE_CLASS: Final = "karpenter.k8s.aws/v1 EC2NodeClass"
_TEMPLATE: Final[FieldPath] = ("spec", "template", "spec")
_REFERENCE: Final[FieldPath] = (*_TEMPLATE, "nodeClassRef")
_REQUIRED: Final[Mapping[str, Mapping[FieldPath, str]]] = {
    "karpenter.sh/v1 NodePool": {
        ("spec",): "",
        ("spec", "template"): "",
        _TEMPLATE: "",
        _REFERENCE: "name the node class by group, kind and name",
        (*_REFERENCE, "group"): "karpenter.k8s.aws for an EC2NodeClass",
        (*_REFERENCE, "kind"): "such as EC2NodeClass",
        (*_REFERENCE, "name"): "",
        (*_TEMPLATE, "requirements"): "[] stands for none",
        (*_TEMPLATE, "requirements", _EACH, "key"): "",
        (*_TEMPLATE, "requirements", _EACH, "operator"): "",
        (*_TEMPLATE, "taints", _EACH, "key"): "",
        (*_TEMPLATE, "taints", _EACH, "effect"): "",
        (*_TEMPLATE, "startupTaints", _EACH, "key"): "",
        (*_TEMPLATE, "startupTaints", _EACH, "effect"): "",
        ("spec", "disruption", "consolidateAfter"): "0s is what WhenUnderutilized of v1beta1 becomes",
    },
    _NODE_CLASS: {
        ("spec", "amiSelectorTerms"): "v1 finds no images by amiFamily alone; the alias of the family does",
        ("spec", "subnetSelectorTerms"): "",
        ("spec", "securityGroupSelectorTerms"): "",
    },
}
"""The required fields of each kind, and what else to say. A field is missing where what holds it is there."""
_FILLED: Final = ("amiSelectorTerms", "subnetSelectorTerms", "securityGroupSelectorTerms")
"""Lists that may not be empty either."""


def note_missing_fields(body: Mapping[str, Any], notes: FindingCollector) -> None:
    """Adds a finding for each required field that the v1 object lacks."""
    for refusal in missing_fields(body):
        notes.add(refusal.code, refusal.path, what=refusal.what)


def missing_fields(body: Mapping[str, Any]) -> Iterator[CrdRefusal]:
    """The required fields that this object lacks; empty for an object that is not of v1."""
    api = f"{body.get('apiVersion')} {body.get('kind')}"
    for path, hint in _REQUIRED.get(api, {}).items():
        for at in _missing(body, path):
            yield CrdRefusal(REFUSED, at, f"{at[-1]} is missing, and v1 requires it" + (f": {hint}" if hint else ""))
    spec = body.get("spec")
    if api == _NODE_CLASS and isinstance(spec, Mapping):
        yield from identity_refusals(spec)
    if api in _REQUIRED and api != _NODE_CLASS:
        yield from _group_refusals(body)


def _group_refusals(body: Mapping[str, Any]) -> Iterator[CrdRefusal]:
    """What v1 refuses in the group of the node class: the version of an apiVersion."""
    group = _value(body, (*_REFERENCE, "group"))
    if isinstance(group, str) and "/" in group:
        what = f"{group} has a version; write {group.partition('/')[0]}"
        yield CrdRefusal(REFUSED, (*_REFERENCE, "group"), what)


def _value(body: Any, path: FieldPath) -> Any:  # noqa: ANN401  # any JSON
    for step in path:
        body = body.get(step) if isinstance(body, Mapping) else None
    return body


def _missing(value: Any, path: FieldPath, *, above: FieldPath = ()) -> Iterator[FieldPath]:  # noqa: ANN401  # any JSON
    """Where below the value the last step of the path is missing; nowhere if what should hold it is missing itself."""
    step, *rest = path
    if step == _EACH:
        for number, item in enumerate(value if isinstance(value, list) else ()):
            yield from _missing(item, tuple(rest), above=(*above, number))
    elif not isinstance(value, Mapping):
        return
    elif rest:
        yield from _missing(value.get(step), tuple(rest), above=(*above, step))
    elif value.get(step) is None or (step in _FILLED and value[step] == []):
        yield (*above, step)
