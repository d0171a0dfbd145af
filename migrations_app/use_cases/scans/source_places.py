"""Where the objects of a bundle are written: file and line, for reports that point to them."""

import re
from collections.abc import Iterable
from pathlib import Path

from migrations_app.checks.base import Evidence
from migrations_app.clients.archive import is_archive
from migrations_app.clients.bundle.files import DIRECT, files
from migrations_app.manifests.reader import MAX_BYTES, Manifest, read
from migrations_app.readiness.outputs.sarif import PlaceLookup, SourceLine

SourceKey = tuple[str, str, str]
"""Kind, namespace and name."""
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def bundle_places(bundle: Path, rows: Iterable[Evidence]) -> PlaceLookup:
    """Returns a function that gives file and line of the field of such a row, and the bundle itself for other rows.

    Manifests above the size limit and those in an archive have no line: their rows get the bundle.
    Raises InvalidBundle as reading the bundle does.
    """
    bundle_line = SourceLine(_shown(bundle))
    keys = {_key(row) for row in rows}
    manifests = {} if _is_archive(bundle) else _manifests_of(bundle, keys)

    def place(row: Evidence | None) -> SourceLine:
        written = manifests.get(_key(row)) if row else None
        if row is None or written is None:
            return bundle_line
        return SourceLine(written.document.file, max(1, written.line_of(_steps(row.path))))

    return place


def _manifests_of(bundle: Path, keys: set[SourceKey]) -> dict[SourceKey, Manifest]:
    manifests: dict[SourceKey, Manifest] = {}
    for name, body in files(bundle, DIRECT):
        path = bundle / name if bundle.is_dir() else bundle
        if len(body) > MAX_BYTES:
            continue
        for manifest in read(body, file=_shown(path)).manifests:
            key = _key_of(manifest)
            if key in keys:
                manifests.setdefault(key, manifest)
    return manifests


def _key(row: Evidence) -> SourceKey:
    return row.kind, row.namespace, row.name


def _key_of(manifest: Manifest) -> SourceKey:
    metadata = manifest.body.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    return str(manifest.body.get("kind")), str(fields.get("namespace") or ""), str(fields.get("name"))


def _steps(path: str) -> tuple[str | int, ...]:
    """Splits `spec.template[0]` into steps. For a step that is not in the text, its nearest ancestor is used."""
    return tuple(int(number) if number else name for number, name in _STEP.findall(path))


def _is_archive(bundle: Path) -> bool:
    if bundle.is_dir():
        return False
    with bundle.open("rb") as raw:
        return is_archive(raw.read(512))


def _shown(path: Path) -> str:
    """The path relative to the working folder if it is below it, otherwise its last two steps; with forward slashes."""
    absolute = path.absolute()
    try:
        return absolute.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return "/".join(absolute.parts[-2:])
