"""Changes Helm values in the file of a HelmRelease of Flux or an Application of Argo CD."""

import copy
from collections.abc import Iterable
from typing import Final

from migrations_app.checks.changes import HelmChange
from migrations_app.conversion.chart_values.trees import laid
from migrations_app.errors import InvalidManifest
from migrations_app.inventory.facts.delivery_sources import (
    APPLICATION,
    HELM_RELEASE,
    ChartPlace,
    below,
    chart_place,
)
from migrations_app.karpenter.releases import as_tag
from migrations_app.karpenter.versions import parse
from migrations_app.manifests import JsonMap, edits, writer
from migrations_app.readiness.pull_requests.value_sources import edit_refused

_GROUPS: Final = {HELM_RELEASE: "helm.toolkit.fluxcd.io", APPLICATION: "argoproj.io"}
_WITH_UPGRADE: Final = "merge it with the upgrade of this hop, not before: the chart that runs reads other values"
_AFTER_UPGRADE: Final = "merge it after the upgrade of this hop"


def delivers(document: JsonMap, edit: HelmChange) -> bool:
    """Returns whether the document is the HelmRelease or Application of that chart and Helm release."""
    kind, spec = document.get("kind"), document.get("spec")
    group = str(document.get("apiVersion")).rpartition("/")[0]
    if kind not in _GROUPS or group != _GROUPS[kind] or not isinstance(spec, dict):
        return False
    place = chart_place(kind, spec, chart=edit.chart)
    if kind == HELM_RELEASE:
        return (place is not None or bool(spec.get("chartRef"))) and _flux_name(document, spec) == edit.release
    if place is None:
        return False
    named = below(spec, (*place.at, "helm", "releaseName")) or document["metadata"].get("name")
    return bool(named == edit.release)


def with_values(document: JsonMap, edit: HelmChange) -> JsonMap:
    """Returns the delivery with its values changed, and with the chart version raised if the change needs a later one.

    Raises InvalidInput `edit_refused` if the effect of the change is not known.
    """
    after = copy.deepcopy(document)
    spec, kind = after["spec"], str(after["kind"])
    place = chart_place(kind, spec, chart=edit.chart)
    if edit.version:
        _set_version(spec, place, edit=edit)
    if edit.values and kind == HELM_RELEASE:
        _set_tree(spec, "values", edit=edit)
    elif edit.values and place is not None:
        _set_in_source(below(spec, place.at), edit=edit)
    return after


def merge_notes(edit: HelmChange) -> tuple[str, ...]:
    """Returns when to merge the change, before or after the upgrade; empty if it does not matter."""
    return {"landing": (_WITH_UPGRADE,), "after": (_AFTER_UPGRADE,)}.get(edit.when, ())


def value_notes(edit: HelmChange) -> Iterable[str]:
    """Yields each value with its new content and the reason."""
    for helm_value in edit.values:
        to = helm_value.text or "taken out"
        yield f"{helm_value.key}: {to}" + (f" ({helm_value.why})" if helm_value.why else "")


def _flux_name(document: JsonMap, spec: JsonMap) -> str:
    """Returns the name that Flux gives the Helm release."""
    name, namespace = str(document["metadata"].get("name")), spec.get("targetNamespace")
    return str(spec.get("releaseName") or (f"{namespace}-{name}" if namespace else name))


def _set_version(spec: JsonMap, place: ChartPlace | None, *, edit: HelmChange) -> None:
    new_version = parse(edit.version)
    current = str(below(spec, (*place.at, place.version)) or "") if place else ""
    running = parse(current)
    if new_version is None:
        return
    if place is None or running is None:
        message = f"its version is {current!r}" if current else "another object names its version"
        raise edit_refused(f"{message}; bring the chart to {edit.version} by hand", edit)
    if running < new_version:
        below(spec, place.at)[place.version] = as_tag(new_version)


def _set_in_source(source: JsonMap, *, edit: HelmChange) -> None:
    """Sets the values in the source of an Application: as an object, or in YAML text whose comments stay."""
    helm = source.setdefault("helm", {})
    if not isinstance(helm, dict):
        raise edit_refused("its helm is no map", edit)
    names = {str(parameter.get("name")) for parameter in helm.get("parameters") or () if isinstance(parameter, dict)}
    if shadowed := sorted(names & {helm_value.key for helm_value in edit.values}):
        raise edit_refused(f"its helm.parameters set {shadowed[0]}, over all values", edit)
    text = helm.get("values")
    if "valuesObject" in helm or not (isinstance(text, str) and text.strip()):
        _set_tree(helm, "valuesObject", edit=edit)
    else:
        helm["values"] = _edited_text(text, edit)


def _edited_text(text: str, edit: HelmChange) -> str:
    try:
        documents = edits.values(text)
        if not documents:
            return text.rstrip("\n") + "\n" + writer.text_of(_values_after({}, edit))
        if len(documents) > 1 or not isinstance(documents[0], dict):
            raise edit_refused("its values are no map", edit)
        return edits.edited(text, {0: _values_after(documents[0], edit)})
    except InvalidManifest as wrong:
        raise edit_refused(f"its values: {wrong.message}", edit) from None


def _set_tree(holder: JsonMap, field: str, *, edit: HelmChange) -> None:
    before = holder.get(field)
    if before is not None and not isinstance(before, dict):
        raise edit_refused(f"its {field} are no map", edit)
    after = _values_after(before or {}, edit)
    if after or field in holder:
        holder[field] = after


def _values_after(tree: JsonMap, edit: HelmChange) -> JsonMap:
    return laid(tree, [(helm_value.key, helm_value.text) for helm_value in edit.values], prune=True)
