"""The files of a chart -> the CRDs of one release, each held against what is known of that release."""

from collections.abc import Mapping
from typing import Any

import msgspec

from migrations_app.actions.base import Unavailable
from migrations_app.actions.changes import Body
from migrations_app.actions.conditions import value_at
from migrations_app.karpenter.crd_sets import Crd
from migrations_app.karpenter.releases import crd_set
from migrations_app.karpenter.versions import Release, parse

CHART = "Chart.yaml"
ORIGIN = "origin"
"""Where the chart came from, in words; beside its files."""


def crds_of(files: Mapping[str, bytes], release: Release) -> dict[str, Body]:
    """The CRDs by name, in the order of the release's set. Raises Unavailable where the chart is of another release or
    says something else of a version than that release does."""
    _refuse_other(files, release)
    shipped = crd_set(release)
    if shipped is None:
        raise Unavailable(f"the CRDs of {release} are not known", code="unknown_release")
    found = {str(value_at(one, ("metadata", "name"))): one for one in _documents(files)}
    missing = [row.name for row in shipped.crds if row.name not in found]
    strange = sorted(set(found) - {row.name for row in shipped.crds})
    if missing or strange:
        words = f"without {', '.join(missing)}" if missing else f"with {', '.join(strange)}"
        raise Unavailable(f"this is not the chart of {release}: it comes {words}", code="strange_chart")
    for row in shipped.crds:
        _refuse_odd(found[row.name], row)
    return {row.name: found[row.name] for row in shipped.crds}


def origin(files: Mapping[str, bytes]) -> str:
    """Where the chart came from, in words."""
    return files.get(ORIGIN, b"").decode("utf-8", "replace")


def _refuse_other(files: Mapping[str, bytes], release: Release) -> None:
    told = _read(files.get(CHART, b"null"))
    version = told.get("version") if isinstance(told, dict) else None
    if parse(version) != release:
        said = str(version)[:40] if version else "no version"
        raise Unavailable(f"the chart says {said}, and {release} is wanted", code="other_release")


def _documents(files: Mapping[str, bytes]) -> list[Body]:
    """Every document but Chart.yaml; each has to be a CRD."""
    every = [_read(body) for name, body in sorted(files.items()) if name not in (CHART, ORIGIN)]
    flat = [one for file in every for one in (file if isinstance(file, list) else [file]) if one is not None]
    for one in flat:
        if not isinstance(one, dict) or one.get("kind") != "CustomResourceDefinition":
            raise Unavailable("the chart holds something else than CRDs beside them", code="strange_chart")
    return flat


def _read(body: bytes) -> Any:  # noqa: ANN401 - plain JSON
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise Unavailable("a file of the chart cannot be read", code="strange_chart") from None


def _refuse_odd(crd: Body, row: Crd) -> None:
    """Names and versions have to be those of the release; what the schemas say is the chart's own matter."""
    versions = value_at(crd, ("spec", "versions"))
    told = [one for one in versions if isinstance(one, dict)] if isinstance(versions, list) else []
    flags = {(one.get("name"), one.get("served"), one.get("storage")) for one in told}
    names = (
        crd.get("apiVersion"),
        value_at(crd, ("spec", "group")),
        value_at(crd, ("spec", "names", "plural")),
        value_at(crd, ("spec", "names", "kind")),
    )
    alike = names == ("apiextensions.k8s.io/v1", row.kind.group, row.kind.plural, row.kind.kind)
    if not alike or flags != {(one.name, one.served, one.storage) for one in row.versions}:
        words = f"{row.name} of the chart serves or stores other versions than its release does"
        raise Unavailable(words, code="strange_chart")
