"""Converts values files: reads them strictly, merges them as Helm does, and writes the result with their comments."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, Final, NamedTuple

import msgspec

from migrations_app.conversion.chart_values.convert import KIND, ConvertedValues, convert_values
from migrations_app.conversion.chart_values.side_by_side import CRDS, MAIN, ValueRow
from migrations_app.conversion.chart_values.trees import hidden, merged, steps_of
from migrations_app.conversion.findings import ConversionFinding, worst
from migrations_app.errors import InvalidInput, InvalidManifest
from migrations_app.karpenter.versions import Release
from migrations_app.manifests import writer
from migrations_app.manifests.map_text import MapEdit, edited
from migrations_app.manifests.yaml_reader import MIB, YamlLimits, compose, read_documents

MAX_BYTES: Final = MIB
"""Helm stores a release in one object of the API server, which allows no larger object."""
_LIMITS: Final = YamlLimits(size=MAX_BYTES, documents=1, depth=40, nodes=100_000)
_TEMPLATES: Final = ("{{", "{%")
_CODES: Final = {"yaml_too_large": "too-large"}


class ValuesFile(NamedTuple):
    """A values file as a map and as text."""

    name: str
    tree: dict[str, Any]
    text: str


class ValuesReport(NamedTuple):
    """The result of a conversion. `text` is YAML for the new release and may contain secrets; it is empty if a file
    could not be used, because then nothing is written."""

    text: str
    tree: dict[str, Any]
    rows: tuple[ValueRow, ...]
    findings: tuple[ConversionFinding, ...]
    secret: bool = False

    @property
    def exit_code(self) -> int:
        """0: converted; 1: a decision is needed; 2: a file could not be used."""
        if not self.text:
            return 2
        return int(worst(self.findings) in ("error", "action"))


def convert_files(
    named_texts: Iterable[tuple[str, bytes]], *, start: Release, target_release: Release, chart: str = MAIN
) -> ValuesReport:
    """Converts the files to values for the chart of the release `target_release`. Several files are merged, later ones
    override earlier ones; values of the two charts may also be below the chart's name, as in an umbrella chart."""
    files: list[ValuesFile] = []
    faults: list[ConversionFinding] = []
    for name, raw in named_texts:
        read = _read(name, raw)
        if isinstance(read, ConversionFinding):
            faults.append(read)
        else:
            files.append(read)
    if faults:
        return ValuesReport("", {}, (), tuple(faults))
    none: dict[str, Any] = {}
    tree = reduce(merged, (file.tree for file in files), none)
    by_chart = {
        above: _below(tree, above, start=start, target_release=target_release, chart=chart)
        for above in _charts_in(tree)
    }
    after = _together(tree, by_chart)
    text, has_comments = _written(files, by_chart, after=after)
    findings = [_placed(finding, above) for above, values in by_chart.items() for finding in values.findings]
    if not has_comments:
        message = "the values are written anew: comments between them are gone"
        findings.append(ConversionFinding("values-comments-lost", KIND, chart, (), message))
    rows = tuple(row for values in by_chart.values() for row in values.rows)
    return ValuesReport(text, after, rows, tuple(findings), hidden(after) != after)


def _read(name: str, raw: bytes) -> ValuesFile | ConversionFinding:
    if _is_template(name, raw):
        return _fault("values-template", name, what="it holds a template; render it first, as helmfile or gomplate do")
    try:
        documents = list(read_documents(raw, limits=_LIMITS, error=InvalidManifest))
    except InvalidInput as wrong:
        return _fault(_CODES.get(wrong.code, "values-not-read"), name, what=str(wrong))
    text = raw.decode("utf-8-sig")
    # The strict reader checks the file; the values are read as Helm reads them, where `on` is true.
    tree = next(compose(text, limits=_LIMITS)).value if documents else {}
    if not isinstance(tree, dict) and tree is not None:
        kind = "a list" if isinstance(tree, list) else "plain text"
        return _fault("values-no-map", name, what=f"the document is {kind}, a map is wanted")
    if isinstance(tree, dict) and {"apiVersion", "kind"} <= tree.keys():
        return _fault("values-no-map", name, what=f"it is a manifest ({tree['kind']}); leave out --values for it")
    return ValuesFile(name, tree or {}, text)


def _is_template(name: str, raw: bytes) -> bool:
    """Whether the file is a template: by its file extension, or by a template action outside of quotes."""
    if name.endswith((".gotmpl", ".tpl", ".tmpl", ".j2")):
        return True
    lines = raw[:MAX_BYTES].decode("utf-8", "replace").splitlines()
    return any(_is_action(line) for line in lines)


def _is_action(line: str) -> bool:
    code = line.split(" #", 1)[0].strip()
    value = code.partition(": ")[2].strip() or code.removeprefix("- ").strip()
    return code.startswith(_TEMPLATES) or value.startswith(_TEMPLATES)


def _fault(code: str, name: str, *, what: str) -> ConversionFinding:
    return ConversionFinding(code, KIND, name, (), what)


def _charts_in(tree: Mapping[str, Any]) -> list[str]:
    """The chart names below which the values are; one empty name if the values are at the top level."""
    return [name for name in (MAIN, CRDS) if isinstance(tree.get(name), dict)] or [""]


def _below(tree: dict[str, Any], above: str, *, start: Release, target_release: Release, chart: str) -> ConvertedValues:
    return convert_values(
        tree[above] if above else tree, chart=above or chart, start=start, target_release=target_release
    )


def _placed(finding: ConversionFinding, above: str) -> ConversionFinding:
    at = (above, *finding.at) if above else finding.at
    return ConversionFinding(finding.code, finding.kind, finding.name, at, finding.what, finding.proposal)


def _together(tree: dict[str, Any], by_chart: Mapping[str, ConvertedValues]) -> dict[str, Any]:
    if "" in by_chart:
        return by_chart[""].tree
    return {**tree, **{above: values.tree for above, values in by_chart.items()}}


def _written(
    files: list[ValuesFile], by_chart: Mapping[str, ConvertedValues], *, after: dict[str, Any]
) -> tuple[str, bool]:
    """The YAML, and whether comments were kept, which is possible for one file only."""
    if len(files) == 1:
        edits = [edit for above, values in by_chart.items() for edit in _edits(values, above)]
        edited_text = edited(files[0].text, edits, expected=after)
        if edited_text is not None:
            return edited_text, True
    return (writer.text_of(after) if after else "{}\n"), not any("#" in file.text for file in files)


def _edits(values: ConvertedValues, above: str) -> Iterator[MapEdit]:
    prefix = (above,) if above else ()
    moved = {change.source for change in values.changes}
    lost = {row.key: row.loss for row in values.rows}
    for change in values.changes:
        source = (*prefix, *steps_of(change.source)) if change.source else ()
        why = "" if change.key in moved else lost.get(change.key) or change.why
        yield MapEdit((*prefix, *steps_of(change.key)), change.text, why, source)


def as_json(report: ValuesReport) -> str:
    """The values, the rows and the findings as JSON, without secrets."""
    document = {
        "values": hidden(report.tree),
        "rows": [msgspec.to_builtins(row) for row in report.rows],
        "findings": [finding.as_dict() for finding in report.findings],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
