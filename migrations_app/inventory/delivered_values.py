"""The values that Flux and Argo CD give to the charts, as far as their objects hold them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from migrations_app.errors import InvalidInput
from migrations_app.inventory.objects.karpenter import GitOpsDelivery, Tree
from migrations_app.manifests.yaml_reader import MANIFESTS, read_document

_ELSEWHERE = ("valueFiles", "parameters", "fileParameters")
"""What Argo CD lays over the values: files of a repository that are not read, and single values from outside."""


@dataclass(frozen=True, slots=True)
class Values:
    """Helm values as they were given: `origin` says where they were read, `tree` holds them."""

    origin: str
    kind: str
    name: str
    namespace: str
    tree: Tree
    path: str = "config"
    """The path of the tree in that object, for evidence."""


def delivered_values(delivery: GitOpsDelivery, chart: str) -> Values | None:
    """The values that this object gives to the chart; None if it delivers another one, or takes values from other
    objects or files, or if they cannot be read."""
    found: tuple[object, str] | None = None
    if delivery.kind == "HelmRelease" and delivery.get("spec.chart.spec.chart") == chart:
        found = None if delivery.get("spec.valuesFrom") else (delivery.get("spec.values", {}), "spec.values")
    elif delivery.kind == "Application":
        sources = [(at, source) for at, source in _sources(delivery) if source.get("chart") == chart]
        found = _argo_values(*sources[0]) if len(sources) == 1 else None
    if found is None or not isinstance(found[0], dict):
        return None
    return Values(delivery.kind, delivery.kind, delivery.name, delivery.namespace, found[0], found[1])


def _sources(delivery: GitOpsDelivery) -> Iterator[tuple[str, dict[str, Any]]]:
    """The sources of an Application with their paths; several, where values come from another repository."""
    single, several = delivery.get("spec.source"), delivery.get("spec.sources")
    if isinstance(several, list) and several:  # Argo CD ignores the single one then
        yield from ((f"spec.sources[{at}]", row) for at, row in enumerate(several) if isinstance(row, dict))
    elif isinstance(single, dict):
        yield "spec.source", single


def _argo_values(at: str, source: dict[str, Any]) -> tuple[object, str] | None:
    """The values of the source with their path. `valuesObject` wins over the text in `values`, as in Argo CD."""
    helm = source.get("helm") or {}
    if not isinstance(helm, dict) or any(helm.get(name) for name in _ELSEWHERE):
        return None
    text = helm.get("values")
    if helm.get("valuesObject") or not text:
        return helm.get("valuesObject", {}), f"{at}.helm.valuesObject"
    return (_parsed(text), f"{at}.helm.values") if isinstance(text, str) else None


@lru_cache(maxsize=8)  # each check asks, at each hop
def _parsed(text: str) -> object:
    """The tree of a YAML text; None if it cannot be read."""
    try:
        return (read_document(text.encode(), limits=MANIFESTS) or {}) if text.strip() else {}
    except InvalidInput:
        return None
