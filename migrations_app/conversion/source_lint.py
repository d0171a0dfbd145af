"""Finds what a Karpenter release does not accept in a repository: manifests of other generations, and Helm values that
it does not read."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from migrations_app.conversion.chart_values.trees import steps_of
from migrations_app.conversion.findings import FieldPath
from migrations_app.conversion.refusals import CrdRefusal, older_fields
from migrations_app.conversion.required_fields import missing_fields, refused_budgets
from migrations_app.conversion.sources.charts import (
    CRDS,
    MAIN,
    GivenValues,
    below,
    given_values,
    parameter_tree,
)
from migrations_app.conversion.sources.embedded import embedded_objects
from migrations_app.conversion.sources.fields import unknown_fields
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
from migrations_app.manifests.reader import Manifest, ManifestFault, ManifestReading, read

_ORDER = ("alpha", "beta", "v1")
_VALUES = "values"
_CHARTS = {MAIN: unread_helm_keys, CRDS: unread_crd_chart_keys}
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
    template that cannot be read, what its documents state in plain text is judged. Objects and references inside of a
    document count, too, and so do values that a delivery tool gives to a chart. A document that is no object, such as
    a patch of Kustomize in JSON, is passed over; a plain list of objects is a fault. `patches` are files whose objects
    are parts of others: they may lack required fields.
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
    faults = _faults(reading)
    yield from (_of_fault(fault) for fault in faults)
    for manifest in reading.manifests:
        yield from _of_embedded(manifest, release)
        for given in given_values(manifest.body):
            yield from _of_given(manifest, given, release=release)
        if "kind" in manifest.body and "apiVersion" in manifest.body:
            yield from _of_object(manifest, release, whole=whole)
        elif _VALUES in name.rpartition("/")[2].lower():
            yield from _of_values(manifest, release)
    if any(fault.code == "not-yaml" for fault in faults):
        read_lines = {manifest.line_of(("apiVersion",)) for manifest in reading.manifests}
        yield from _of_template(name, text, release=release, read_lines=read_lines)


def _faults(reading: ManifestReading) -> list[ManifestFault]:
    """What could not be read, without documents that are no object."""
    return [fault for fault in reading.faults if fault.path or fault.code != "bad-type"]


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
    for refusal in () if message else _refusals(manifest.body, release=release, whole=whole):
        yield LintFinding(manifest.document.file, manifest.line_of(refusal.path), refusal.code, refusal.what)


def _refusals(body: Mapping[str, Any], *, release: Release, whole: bool) -> Iterator[CrdRefusal]:
    yield from older_fields(body)
    yield from unknown_fields(body, release)
    if whole:
        yield from missing_fields(body)
    yield from refused_budgets(body, release)


def _of_embedded(manifest: Manifest, release: Release) -> Iterator[LintFinding]:
    """Objects of Karpenter inside the document; they may be parts of others, so that no field is missing."""
    kind, name = manifest.body.get("kind"), _name(manifest.body)
    place = f" in {' '.join(filter(None, (kind, name)))}" if isinstance(kind, str) else ""
    file = manifest.document.file
    for found in embedded_objects(manifest):
        subject = f"{' '.join(filter(None, (found.kind, found.name)))}{place}"
        message = _other_generation(
            found.kind, found.api_version, subject=subject, release=release, only_named=found.is_reference
        )
        if message:
            yield LintFinding(file, found.line, "other-generation", message)
        else:
            for refusal in _refusals(found.body, release=release, whole=False):
                yield LintFinding(file, found.line_of(refusal.path), refusal.code, f"{subject}: {refusal.what}")


def _other_generation(kind: str, api_version: str, *, subject: str, release: Release, only_named: bool = False) -> str:
    """The sentence about an object whose generation the release does not accept; empty if it does."""
    group, _, version = api_version.partition("/")
    row = kinds.find(kind, group=group)
    generation = row.generation_of(version) if row else ""
    if not generation or _accepted(generation, release):
        return ""
    later = any(_accepted(next_generation, release) for next_generation in _ORDER[_ORDER.index(generation) + 1 :])
    hint = ": karpdash convert makes its successor" if later else " yet"
    return f"{subject} is {api_version}, which Karpenter {release} does not accept{'' if only_named else hint}"


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
    if CRDS in file:
        return {CRDS: values}
    if MAIN in file or given_settings(values) or not unknown_helm_keys(values):
        return {MAIN: values}
    return {}


def _of_given(manifest: Manifest, given: GivenValues, *, release: Release) -> Iterator[LintFinding]:
    """The unread values that a delivery tool gives to a chart."""
    file, line, value = manifest.document.file, manifest.line_of(given.path), below(manifest.body, given.path)
    if given.is_parameter:
        for _, key in _unread(parameter_tree(value), given.chart, release=release):
            yield LintFinding(file, line, "unread-value", _unread_text(key, release))
    elif isinstance(value, str):
        reading = read(value, file=file)
        if given.chart in _CHARTS or any(name in value for name in _CHARTS):
            faults = map(_of_fault, _faults(reading))
            yield from (fault._replace(line=line + fault.line) for fault in faults)
        for inner in reading.manifests:
            for path, key in _unread(inner.body, given.chart, release=release):
                yield LintFinding(file, line + inner.line_of(path), "unread-value", _unread_text(key, release))
    elif isinstance(value, dict):
        for path, key in _unread(value, given.chart, release=release):
            yield LintFinding(file, manifest.line_of((*given.path, *path)), "unread-value", _unread_text(key, release))


def _unread(values: dict[str, Any], chart: str, *, release: Release) -> Iterator[tuple[FieldPath, UnreadKey]]:
    """The unread values and their paths; those of a chart of Karpenter below its name in the values of another one."""
    trees = {name: values.get(name) for name in _CHARTS} if chart not in _CHARTS else {"": values}
    for name, tree in trees.items():
        for key in _CHARTS[name or chart](tree, release) if isinstance(tree, dict) else ():
            yield (*((name,) if name else ()), *steps_of(key.key)), key


def _unread_text(key: UnreadKey, release: Release) -> str:
    instead = f"; use {key.replacement}" if key.replacement else ""
    why = f" ({key.fate})" if key.fate else ""
    return f"{key.key} is not read by the chart of Karpenter {release}{why}{instead}"


def _name(body: dict[str, Any]) -> str:
    metadata = body.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, dict) else ""
