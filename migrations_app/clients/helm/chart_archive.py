"""Packed charts for helm: pulled from the registry or read from the data folder, and checked before helm sees them."""

import hashlib
import io
from pathlib import Path

import msgspec

from migrations_app.clients.archive import members
from migrations_app.clients.helm.charts import ARCHIVE, CHART, MAX_BYTES, YAML, read_chart_file
from migrations_app.errors import InvalidInput
from migrations_app.manifests.yaml_reader import read_documents


class PackedChart(msgspec.Struct, frozen=True):
    """A chart as a .tgz, where it came from, and the SHA-256 of its bytes."""

    raw: bytes
    source: str
    digest: str


class _ChartName(msgspec.Struct, frozen=True):
    name: str = ""
    version: str = ""


def from_file(charts: Path, name: str) -> bytes:
    """The .tgz of that name in the folder. Raises InvalidInput (code `no_chart`)."""
    if not name.endswith(".tgz"):
        raise InvalidInput(
            "helm needs a packed chart: name a .tgz of the folder charts", where="source", code="no_chart"
        )
    return read_chart_file(charts, name)


def checked_chart(raw: bytes, *, source: str, name: str, version: str) -> PackedChart:
    """The chart, if it is the requested one. Raises InvalidInput, also for a link or an unsafe name in it (T05)."""
    if len(raw) > MAX_BYTES:
        raise InvalidInput("the packed chart is larger than the limit", where="source", code="chart_too_large")
    chart_names = [_read(body) for path, body in members(io.BytesIO(raw), ARCHIVE) if _is_head(path)]
    if len(chart_names) != 1:
        raise InvalidInput(
            "this is not a chart: it does not have exactly one Chart.yaml", where="source", code="strange_chart"
        )
    head = chart_names[0]
    if head.name != name or head.version.removeprefix("v") != version.removeprefix("v"):
        message = f"the chart is {head.name[:60]} {head.version[:40]}, and {name} {version} is needed"
        raise InvalidInput(message, where="source", code="other_release")
    return PackedChart(raw, source, f"sha256:{hashlib.sha256(raw).hexdigest()}")


def _is_head(path: str) -> bool:
    return path.partition("/")[2] == CHART


def _read(body: bytes) -> _ChartName:
    try:
        return msgspec.convert(next(iter(read_documents(body, limits=YAML)), {}), type=_ChartName, strict=False)
    except (InvalidInput, msgspec.ValidationError):
        raise InvalidInput("the chart's Chart.yaml cannot be read", where="source", code="strange_chart") from None
