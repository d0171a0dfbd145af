"""Where delivery tools give values to a Helm chart.

Sources: argoproj/argo-cd@v2.13.0:docs/user-guide/helm.md and docs/operator-manual/applicationset;
fluxcd/helm-controller@v1.2.0:docs/spec/v2/helmreleases.md; crossplane-contrib/provider-helm@v0.19.0:apis/release;
k3s-io/helm-controller@v0.16.0:pkg/apis; kubernetes-sigs/kustomize@v5.5.0:api/types/helmchartargs.go;
helmfile/helmfile@v0.169.0:docs/index.md.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from migrations_app.conversion.findings import FieldPath
from migrations_app.karpenter.controller_settings import given_settings
from migrations_app.manifests.reader import read

MAIN, CRDS = "karpenter", "karpenter-crd"
_VALUES_FILES = (".yaml", ".yml")
_PARAMETER_LISTS = ("parameters", "set")


class GivenValues(NamedTuple):
    """The path of values in a document, and the name of the chart that gets them; "" if only its files tell.

    What stands at the path is a tree, the text of one, or a parameter, which sets one value.
    """

    path: FieldPath
    chart: str

    @property
    def is_parameter(self) -> bool:
        """True if a name and a value stand there."""
        return isinstance(self.path[-1], int) and self.path[-2] in _PARAMETER_LISTS


def given_values(body: Mapping[str, Any]) -> Iterator[GivenValues]:
    """Each place of the document where a chart is given values."""
    group = str(body.get("apiVersion")).partition("/")[0]
    rule = _RULES.get((group, str(body.get("kind"))))
    if rule:
        yield from rule(body)
    elif "kind" not in body:
        yield from _kustomize(body)
        yield from _helmfile(body)


def below(value: Any, path: FieldPath) -> Any:  # noqa: ANN401  # plain JSON
    """The value at the path; None if there is none."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]
        else:
            return None
    return value


def parameter_tree(parameter: Any) -> dict[str, Any]:  # noqa: ANN401  # plain JSON
    """The values that a parameter sets; empty for a name with indexes or escapes, which is not taken apart."""
    name = parameter.get("name") if isinstance(parameter, dict) else None
    if not isinstance(name, str) or not name or set(name) & set("[]\\"):
        return {}
    tree = parameter.get("value")
    for step in reversed(name.split(".")):
        tree = {step: tree}
    return dict(tree)


def _rows(body: Any, path: FieldPath) -> Iterator[FieldPath]:  # noqa: ANN401  # plain JSON
    """The path of each item of the list at the path."""
    listed = below(body, path)
    yield from ((*path, number) for number in range(len(listed) if isinstance(listed, list) else 0))


def _last_step(chart: object) -> str:
    return chart.rstrip("/").rpartition("/")[2] if isinstance(chart, str) else ""


def _flux(body: Mapping[str, Any]) -> Iterator[GivenValues]:
    """A chart by reference has the name of the reference, unless its values tell that it is Karpenter's."""
    path: FieldPath = ("spec", "values")
    values = below(body, path)
    chart = _last_step(below(body, ("spec", "chart", "spec", "chart")))
    referred = _last_step(below(body, ("spec", "chartRef", "name")))
    if referred and referred not in (MAIN, CRDS) and isinstance(values, dict) and given_settings(values):
        referred = MAIN
    yield GivenValues(path, chart or referred)


def _argo(body: Mapping[str, Any], *, above: FieldPath = ("spec",)) -> Iterator[GivenValues]:
    """`values` is a text, and does not count where `valuesObject` is given."""
    for at in ((*above, "source"), *_rows(body, (*above, "sources"))):
        address = below(body, (*at, "repoURL"))
        in_registry = isinstance(address, str) and address.startswith("oci://")
        chart = _last_step(below(body, (*at, "chart")) or (address if in_registry else None))
        given = below(body, (*at, "helm"))
        if isinstance(given, dict):
            yield GivenValues((*at, "helm", "valuesObject" if given.get("valuesObject") else "values"), chart)
            yield from (GivenValues(row, chart) for row in _rows(body, (*at, "helm", "parameters")))


def _argo_set(body: Mapping[str, Any]) -> Iterator[GivenValues]:
    yield from _argo(body, above=("spec", "template", "spec"))


def _crossplane(body: Mapping[str, Any]) -> Iterator[GivenValues]:
    above: FieldPath = ("spec", "forProvider")
    chart = _last_step(below(body, (*above, "chart", "name")) or below(body, (*above, "chart", "url")))
    yield GivenValues((*above, "values"), chart)
    yield from (GivenValues(row, chart) for row in _rows(body, (*above, "set")))


def _k3s(body: Mapping[str, Any]) -> Iterator[GivenValues]:
    chart = _last_step(below(body, ("spec", "chart"))) or _last_step(below(body, ("metadata", "name")))
    yield GivenValues(("spec", "valuesContent"), chart)
    yield GivenValues(("spec", "values"), chart)


def _values_files(body: Mapping[str, Any]) -> Iterator[GivenValues]:
    """Values files in a ConfigMap or Secret, which Flux gives to the chart: those that hold a setting of Karpenter."""
    for path in (("data",), ("stringData",)):
        files = below(body, path)
        named = files.items() if isinstance(files, dict) else ()
        yield from (GivenValues((*path, key), MAIN) for key, text in named if _holds_settings(key, text))


def _holds_settings(file: str, text: object) -> bool:
    if not file.endswith(_VALUES_FILES) or not isinstance(text, str) or "settings" not in text:
        return False
    return any(given_settings(inner.body) for inner in read(text, file=file).manifests)


def _kustomize(body: Mapping[str, Any]) -> Iterator[GivenValues]:
    for row in _rows(body, ("helmCharts",)):
        yield GivenValues((*row, "valuesInline"), _last_step(below(body, (*row, "name"))))


def _helmfile(body: Mapping[str, Any]) -> Iterator[GivenValues]:
    for row in _rows(body, ("releases",)):
        chart = _last_step(below(body, (*row, "chart")))
        yield from (GivenValues(values, chart) for values in _rows(body, (*row, "values")))
        yield from (GivenValues(parameter, chart) for parameter in _rows(body, (*row, "set")))


_RULES: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], Iterator[GivenValues]]] = {
    ("helm.toolkit.fluxcd.io", "HelmRelease"): _flux,
    ("argoproj.io", "Application"): _argo,
    ("argoproj.io", "ApplicationSet"): _argo_set,
    ("helm.crossplane.io", "Release"): _crossplane,
    ("helm.cattle.io", "HelmChart"): _k3s,
    ("helm.cattle.io", "HelmChartConfig"): _k3s,
    ("kustomize.config.k8s.io", "Kustomization"): _kustomize,
    ("v1", "ConfigMap"): _values_files,
    ("v1", "Secret"): _values_files,
}
"""By API group, or the version of the core group, and kind."""
