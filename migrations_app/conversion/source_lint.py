"""Finds what a Karpenter release does not accept in a repository: manifests of other generations, and Helm values that
it does not read."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from migrations_app.conversion.chart_values.trees import steps_of
from migrations_app.karpenter import kinds, releases
from migrations_app.karpenter.controller_settings import UnreadKey, unread_crd_chart_keys, unread_helm_keys
from migrations_app.karpenter.versions import Release
from migrations_app.manifests.reader import Manifest, ManifestFault, read

_ORDER = ("alpha", "beta", "v1")
_VALUES = "values"
_CHARTS = {"karpenter": unread_helm_keys, "karpenter-crd": unread_crd_chart_keys}
"""The function that finds unread values, by chart name; an umbrella chart has the values below that name."""


class LintFinding(NamedTuple):
    """A problem in a file, with its line number from 1."""

    file: str
    line: int
    code: str
    what: str


def lint_texts(sources: Iterable[tuple[str, bytes | str]], release: Release) -> list[LintFinding]:
    """The findings in (file name, text) pairs, file by file, in the order of their lines.

    A document without apiVersion and kind counts as Helm values where the name of its file says "values".
    """
    return [
        lint_finding
        for name, text in sources
        for lint_finding in sorted(_of_file(name, text, release=release), key=lambda lint_finding: lint_finding[1])
    ]


def _of_file(name: str, text: bytes | str, *, release: Release) -> Iterator[LintFinding]:
    reading = read(text, file=name)
    yield from (_of_fault(fault) for fault in reading.faults)
    for manifest in reading.manifests:
        if "kind" in manifest.body and "apiVersion" in manifest.body:
            yield from _of_object(manifest, release)
        elif _VALUES in name.rpartition("/")[2].lower():
            yield from _of_values(manifest, release)


def _of_fault(fault: ManifestFault) -> LintFinding:
    return LintFinding(fault.file, max(1, fault.line), fault.code, fault.what)


def _of_object(manifest: Manifest, release: Release) -> Iterator[LintFinding]:
    kind, (group, _, version) = str(manifest.body["kind"]), str(manifest.body["apiVersion"]).partition("/")
    row = kinds.find(kind, group=group)
    generation = row.generation_of(version) if row else ""
    if generation and not _accepted(generation, release):
        later = any(_accepted(next_generation, release) for next_generation in _ORDER[_ORDER.index(generation) + 1 :])
        hint = ": karpdash convert makes its successor" if later else " yet"
        message = f"{kind} {_name(manifest.body)} is {group}/{version}, which Karpenter {release} does not accept{hint}"
        line = manifest.line_of(("apiVersion",))
        yield LintFinding(manifest.document.file, line, "other-generation", message)


def _accepted(generation: str, release: Release) -> bool:
    """Whether the release acts on objects of that generation, or its webhook converts them; True where unknown."""
    row = releases.find(release)
    if row is not None and row.generation == "v1_with_beta_conversion" and generation == "beta":
        return True
    return releases.serves(release, generation) is not False


def _of_values(manifest: Manifest, release: Release) -> Iterator[LintFinding]:
    below = {name: manifest.body[name] for name in _CHARTS if isinstance(manifest.body.get(name), dict)}
    for name, tree in (below or {"": manifest.body}).items():
        for key in _CHARTS[name or "karpenter"](tree, release):
            steps = ((name,) if name else ()) + tuple(steps_of(key.key))
            yield LintFinding(
                manifest.document.file, manifest.line_of(steps), "unread-value", _unread_text(key, release)
            )


def _unread_text(key: UnreadKey, release: Release) -> str:
    instead = f"; use {key.replacement}" if key.replacement else ""
    why = f" ({key.fate})" if key.fate else ""
    return f"{key.key} is not read by the chart of Karpenter {release}{why}{instead}"


def _name(body: dict[str, Any]) -> str:
    metadata = body.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, dict) else ""
