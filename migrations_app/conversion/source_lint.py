"""Finds what a Karpenter release does not accept in a repository: manifests of other generations, and Helm values that
it does not read."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from migrations_app.conversion.chart_values.trees import steps_of
from migrations_app.conversion.findings import FieldPath
from migrations_app.conversion.refusals import CrdRefusal, older_fields
from migrations_app.conversion.required_fields import missing_fields, refused_budgets
from migrations_app.karpenter import kinds, releases
from migrations_app.karpenter.controller_settings import (
    UnreadKey,
    given_settings,
    unknown_helm_keys,
    unread_crd_chart_keys,
    unread_helm_keys,
)
from migrations_app.karpenter.versions import Release
from migrations_app.manifests import templates
from migrations_app.manifests.reader import Manifest, ManifestFault, read

_ORDER = ("alpha", "beta", "v1")
_VALUES = "values"
_MAIN, _CRDS = "karpenter", "karpenter-crd"
_CHARTS = {_MAIN: unread_helm_keys, _CRDS: unread_crd_chart_keys}
"""The function that finds unread values, by chart name; an umbrella chart has the values below that name."""


class LintFinding(NamedTuple):
    """A problem in a file, with its line number from 1."""

    file: str
    line: int
    code: str
    what: str


def lint_texts(
    sources: Iterable[tuple[str, bytes | str]], release: Release, *, patches: Collection[str] = ()
) -> list[LintFinding]:
    """The findings in (file name, text) pairs, file by file, in the order of their lines.

    A document without apiVersion and kind counts as Helm values where the name of its file says "values"; of a
    template that cannot be read, what its documents state in plain text is judged. A document that is no object, such
    as a patch of Kustomize, is passed over; a plain list of objects is a fault. `patches` are files whose objects are
    parts of others: they may lack required fields.
    """
    return [
        lint_finding
        for name, text in sources
        for lint_finding in sorted(
            _of_file(name, text, release=release, whole=name not in patches), key=lambda lint_finding: lint_finding[1]
        )
    ]


def _of_file(name: str, text: bytes | str, *, release: Release, whole: bool) -> Iterator[LintFinding]:
    reading = read(text, file=name)
    faults = [fault for fault in reading.faults if fault.path or fault.code != "bad-type"]
    yield from (_of_fault(fault) for fault in faults)
    for manifest in reading.manifests:
        if "kind" in manifest.body and "apiVersion" in manifest.body:
            yield from _of_object(manifest, release, whole=whole)
        elif _VALUES in name.rpartition("/")[2].lower():
            yield from _of_values(manifest, release)
    if any(fault.code == "not-yaml" for fault in faults):
        read_lines = {manifest.line_of(("apiVersion",)) for manifest in reading.manifests}
        yield from _of_template(name, text, release=release, read_lines=read_lines)


def _of_fault(fault: ManifestFault) -> LintFinding:
    return LintFinding(fault.file, max(1, fault.line), fault.code, fault.what)


def _of_template(
    name: str, text: bytes | str, *, release: Release, read_lines: Collection[int]
) -> Iterator[LintFinding]:
    plain = text.decode("utf-8-sig", "replace") if isinstance(text, bytes) else text
    for stated in templates.stated_kinds(plain) if templates.is_template(plain) else ():
        message = _other_generation(
            stated.kind, stated.api_version, subject=f"{stated.kind} of the template", release=release
        )
        if message and stated.line not in read_lines:
            yield LintFinding(name, stated.line, "other-generation", message)


def _of_object(manifest: Manifest, release: Release, *, whole: bool) -> Iterator[LintFinding]:
    kind, api_version = str(manifest.body["kind"]), str(manifest.body["apiVersion"])
    message = _other_generation(kind, api_version, subject=f"{kind} {_name(manifest.body)}", release=release)
    if message:
        yield LintFinding(manifest.document.file, manifest.line_of(("apiVersion",)), "other-generation", message)
    refused = () if message else _refused(manifest, whole=whole, release=release)
    for refusal in refused:
        yield LintFinding(manifest.document.file, manifest.line_of(refusal.path), refusal.code, refusal.what)
    for at, chart in _CHART_SPECS.get((api_version.partition("/")[0], kind), _no_charts)(manifest.body.get("spec")):
        yield from _of_delivered(manifest, at, chart=chart, release=release)


def _refused(manifest: Manifest, *, whole: bool, release: Release) -> Iterator[CrdRefusal]:
    yield from older_fields(manifest.body)
    if whole:
        yield from missing_fields(manifest.body)
    yield from refused_budgets(manifest.body, release)


def _other_generation(kind: str, api_version: str, *, subject: str, release: Release) -> str:
    """The sentence about an object whose generation the release does not accept; empty if it does."""
    group, _, version = api_version.partition("/")
    row = kinds.find(kind, group=group)
    generation = row.generation_of(version) if row else ""
    if not generation or _accepted(generation, release):
        return ""
    later = any(_accepted(next_generation, release) for next_generation in _ORDER[_ORDER.index(generation) + 1 :])
    hint = ": karpdash convert makes its successor" if later else " yet"
    return f"{subject} is {api_version}, which Karpenter {release} does not accept{hint}"


def _accepted(generation: str, release: Release) -> bool:
    """Whether the release acts on objects of that generation, or its webhook converts them; True where unknown."""
    row = releases.find(release)
    if row is not None and row.generation == "v1_with_beta_conversion" and generation == "beta":
        return True
    return releases.serves(release, generation) is not False


def _of_values(manifest: Manifest, release: Release) -> Iterator[LintFinding]:
    for name, tree in _values_by_chart(manifest.body, manifest.document.file.lower()).items():
        above = (name,) if tree is not manifest.body else ()
        for key in _CHARTS[name](tree, release):
            line = manifest.line_of((*above, *steps_of(key.key)))
            yield LintFinding(manifest.document.file, line, "unread-value", _unread_text(key, release))


def _values_by_chart(values: dict[str, Any], file: str) -> dict[str, dict[str, Any]]:
    """The values of Karpenter's charts by chart name; empty for the values of another chart.

    Values at the top level are those of a chart of Karpenter if the path of the file names it, if they hold a setting
    of Karpenter, or if its chart knows each of them.
    """
    below = {name: values[name] for name in _CHARTS if isinstance(values.get(name), dict)}
    if below:
        return below
    if _CRDS in file:
        return {_CRDS: values}
    if _MAIN in file or given_settings(values) or not unknown_helm_keys(values):
        return {_MAIN: values}
    return {}


def _flux_charts(spec: Any) -> Iterator[tuple[FieldPath, str]]:  # noqa: ANN401  # plain JSON
    """The path of the values of a HelmRelease, and the chart that gets them."""
    chart = _below(spec, ("chart", "spec", "chart"))
    if isinstance(chart, str):
        yield ("spec", "values"), chart


def _argo_charts(spec: Any) -> Iterator[tuple[FieldPath, str]]:  # noqa: ANN401  # plain JSON
    """The paths of the values of an Application, and the chart that gets them. `values` is a text, and does not count
    where `valuesObject` is given; each of the `parameters` is a value.

    argoproj/argo-cd@v2.13.0:docs/user-guide/helm.md.
    """
    several = _below(spec, ("sources",))
    numbers = range(len(several)) if isinstance(several, list) else ()
    for at in (("source",), *(("sources", number) for number in numbers)):
        address = _below(spec, (*at, "repoURL"))
        in_registry = isinstance(address, str) and address.startswith("oci://")
        chart = _below(spec, (*at, "chart")) or (address if in_registry else None)
        given = _below(spec, (*at, "helm"))
        if isinstance(chart, str) and isinstance(given, dict):
            yield ("spec", *at, "helm", "valuesObject" if given.get("valuesObject") else "values"), chart
            parameters = given.get("parameters")
            for number in range(len(parameters) if isinstance(parameters, list) else 0):
                yield ("spec", *at, "helm", "parameters", number), chart


def _no_charts(_spec: Any) -> Iterator[tuple[FieldPath, str]]:  # noqa: ANN401  # plain JSON
    return iter(())


_CHART_SPECS: Mapping[tuple[str, str], Callable[[Any], Iterator[tuple[FieldPath, str]]]] = {
    ("helm.toolkit.fluxcd.io", "HelmRelease"): _flux_charts,
    ("argoproj.io", "Application"): _argo_charts,
}
"""Where Flux and Argo CD give values to a chart, by API group and kind."""


def _below(value: Any, path: FieldPath) -> Any:  # noqa: ANN401  # plain JSON
    """The value at the path; None if there is none."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]
        else:
            return None
    return value


def _of_delivered(manifest: Manifest, at: FieldPath, *, chart: str, release: Release) -> Iterator[LintFinding]:
    unread_keys = _CHARTS.get(chart.rstrip("/").rpartition("/")[2])
    values = _below(manifest.body, at)
    if unread_keys is None:
        return
    if at[-2] == "parameters":
        for key in unread_keys(_set_tree(values), release):
            yield LintFinding(manifest.document.file, manifest.line_of(at), "unread-value", _unread_text(key, release))
    elif isinstance(values, str):
        for inner in read(values, file=manifest.document.file).manifests:
            for key in unread_keys(inner.body, release):
                line = manifest.line_of(at) + inner.line_of(tuple(steps_of(key.key)))
                yield LintFinding(manifest.document.file, line, "unread-value", _unread_text(key, release))
    elif isinstance(values, dict):
        for key in unread_keys(values, release):
            line = manifest.line_of((*at, *steps_of(key.key)))
            yield LintFinding(manifest.document.file, line, "unread-value", _unread_text(key, release))


def _set_tree(parameter: Any) -> dict[str, Any]:  # noqa: ANN401  # plain JSON
    """The values that a parameter sets; empty for a name with indexes or escapes, which is not taken apart."""
    name = parameter.get("name") if isinstance(parameter, dict) else None
    if not isinstance(name, str) or not name or set(name) & set("[]\\"):
        return {}
    tree = parameter.get("value")
    for step in reversed(name.split(".")):
        tree = {step: tree}
    return dict(tree)


def _unread_text(key: UnreadKey, release: Release) -> str:
    instead = f"; use {key.replacement}" if key.replacement else ""
    why = f" ({key.fate})" if key.fate else ""
    return f"{key.key} is not read by the chart of Karpenter {release}{why}{instead}"


def _name(body: dict[str, Any]) -> str:
    metadata = body.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, dict) else ""
