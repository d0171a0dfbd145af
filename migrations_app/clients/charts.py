"""The CRDs of a Helm chart, from a packed chart or a folder, under limits (T04, T05): nothing is run, nothing unpacked
to disk, no template filled in.

Only `Chart.yaml` and what lies in `crds/` is kept: those files stand there as they are applied. The chart karpenter-crd
holds the same CRDs as templates, which only Helm can fill in; it is refused with a word on which chart to take.
"""

import io
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from migrations_app.clients.archive import ArchiveLimits, members, wanted_name
from migrations_app.clients.limits import MIB
from migrations_app.clients.yaml_strict import YamlLimits, read_documents
from migrations_app.errors import BadInput

MOST_BYTES = 8 * MIB
"""Of a packed chart; Karpenter's are below 0.5 MiB."""
ARCHIVE = ArchiveLimits(members=500, member_bytes=4 * MIB, total_bytes=32 * MIB)
YAML = YamlLimits(size=4 * MIB, documents=20, depth=100, nodes=400_000)
CHART = "Chart.yaml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*", re.ASCII)
_DIRECT = re.compile(r"Chart\.yaml|crds/[^/]+\.(?:yaml|yml|json)", re.ASCII)


def from_archive(raw: bytes) -> dict[str, bytes]:
    """The documents of each kept file as a JSON list, Chart.yaml as one document. Raises BadInput."""
    if len(raw) > MOST_BYTES:
        raise BadInput("the packed chart is larger than a chart may be", code="chart_too_large")
    # The first step of a name is the chart's own folder.
    found = ((name.partition("/")[2], body) for name, body in members(io.BytesIO(raw), ARCHIVE))
    return _kept(found)


def from_folder(charts: Path, name: str) -> dict[str, bytes]:
    """As `from_archive`, of `<charts>/<name>`: a .tgz, or the folder of a chart. Links are never followed.

    Raises BadInput with code `no_chart` where there is none of that name.
    """
    if not _NAME.fullmatch(name) or len(name) > 128:
        raise BadInput("a name of letters, digits, dots, - and _ is wanted", where="source", code="bad_name")
    place = charts / name
    kind = _kind(place)
    if kind == "file":
        return from_archive(_read(place, MOST_BYTES))
    if kind == "folder":
        return _kept(_files(place))
    raise BadInput(f"there is no chart {name} in the folder charts", where="source", code="no_chart")


def _kind(place: Path) -> str:
    try:
        mode = place.lstat().st_mode
    except OSError:
        return ""
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else ""


def _files(chart: Path) -> Iterator[tuple[str, bytes]]:
    total = 0
    for path in [chart / CHART, *_listed(chart / "crds")]:
        if _kind(path) != "file":
            continue
        body = _read(path, ARCHIVE.member_bytes)
        total += len(body)
        if total > ARCHIVE.total_bytes:
            raise BadInput("the chart is larger than a chart may be", code="chart_too_large")
        yield str(path.relative_to(chart)), body


def _listed(folder: Path) -> list[Path]:
    if _kind(folder) != "folder":
        return []
    found = sorted(path for path in folder.iterdir() if wanted_name(path.name))
    if len(found) > ARCHIVE.members:
        raise BadInput("the chart has more files than a chart may have", code="chart_too_large")
    return found


def _read(path: Path, most: int) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        raise BadInput(f"{path.name} cannot be opened", where="source", code="no_chart") from None
    with os.fdopen(descriptor, "rb") as opened:
        body = opened.read(most + 1)
    if len(body) > most:
        raise BadInput(f"{path.name} is larger than it may be", where="source", code="chart_too_large")
    return body


def _kept(files: Iterable[tuple[str, bytes]]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    templates = False
    for name, body in files:
        templates = templates or name.startswith("templates/")
        if not _DIRECT.fullmatch(name):
            continue
        if name in found:
            raise BadInput(f"{name} is in the chart twice", where="source", code="strange_chart")
        found[name] = _documents(name, body)
    if CHART not in found:
        raise BadInput("this is no chart: it has no Chart.yaml", where="source", code="strange_chart")
    if len(found) == 1:
        words = "the chart has no folder crds" + (
            ": its CRDs are templates, which only Helm fills in; take the chart karpenter" if templates else ""
        )
        raise BadInput(words, where="source", code="chart_without_crds")
    return found


def _documents(name: str, body: bytes) -> bytes:
    try:
        read = [one for one in read_documents(body, limits=YAML) if one is not None]
    except BadInput as wrong:
        raise BadInput(f"{name}: {wrong.message}", where=wrong.where, code=wrong.code) from None
    return msgspec.json.encode(read[0] if name == CHART and len(read) == 1 else read)
