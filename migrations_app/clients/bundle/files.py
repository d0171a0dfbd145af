"""The files of a bundle as (name, content), from a folder, a single file, an archive, or bytes."""

import io
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from migrations_app.clients.archive import ArchiveLimits, is_archive, members, refuse, safe_name
from migrations_app.clients.kubernetes.limits import MIB
from migrations_app.clients.local_files import READING
from migrations_app.manifests.yaml_reader import YamlLimits

Source: TypeAlias = Path | bytes | Mapping[str, bytes]
Files: TypeAlias = Iterator[tuple[str, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleLimits:
    """`plain_bytes`: size limit of one YAML or JSON file outside an archive. `kindless`: documents without a kind.
    `densest`: minimum number of bytes per comma in JSON.
    """

    archive: ArchiveLimits
    plain_bytes: int
    yaml: YamlLimits
    objects: int
    kindless: int
    densest: float


UPLOAD = BundleLimits(
    archive=ArchiveLimits(),
    plain_bytes=64 * MIB,
    yaml=YamlLimits(size=32 * MIB, documents=20_000, depth=100, nodes=2_000_000),
    objects=300_000,
    kindless=20_000,
    densest=10.0,
)
"""Limits for uploads to the web server."""
DIRECT = BundleLimits(
    archive=ArchiveLimits(member_bytes=512 * MIB, total_bytes=512 * MIB),
    plain_bytes=512 * MIB,
    yaml=YamlLimits(size=512 * MIB, documents=200_000, depth=100, nodes=50_000_000),
    objects=2_000_000,
    kindless=200_000,
    densest=0.0,
)
"""Limits for local files named on the command line: a dump of all pods takes hundreds of megabytes."""
_BEGINNING = 512


def files(source: Source, limits: BundleLimits) -> Files:
    """Every file of the bundle that may contain objects. Raises InvalidBundle."""
    if isinstance(source, bytes):
        return _from_bytes(source, limits)
    if isinstance(source, Mapping):
        return iter(source.items())
    if source.is_dir():
        return _from_folder(source, limits)
    return _from_file(source, limits)


def _from_bytes(body: bytes, limits: BundleLimits) -> Files:
    if is_archive(body[:_BEGINNING]):
        yield from members(io.BytesIO(body), limits.archive)
        return
    _check_size(len(body), limits, name="")
    yield "", body


def _from_file(path: Path, limits: BundleLimits) -> Files:
    try:
        with path.open("rb") as raw:
            if is_archive(raw.read(_BEGINNING)):
                raw.seek(0)
                yield from members(raw, limits.archive)
                return
            size = os.fstat(raw.fileno()).st_size
            _check_size(size, limits, name=path.name)
            raw.seek(0)
            yield path.name, raw.read(limits.plain_bytes + 1)
    except OSError as error:
        refuse(f"cannot be read: {error.strerror}", "bundle_unreadable", where=str(path))


def _from_folder(folder: Path, limits: BundleLimits) -> Files:
    bytes_left = limits.archive.total_bytes
    for number, path in enumerate(_expected_files(folder)):
        if number >= limits.archive.members:
            refuse(f"more than {limits.archive.members} files", "archive_members", where=str(folder))
        name = str(path.relative_to(folder))
        body = _read_regular(path, min(bytes_left, limits.plain_bytes), name=name)
        bytes_left -= len(body)
        yield name, body


def _expected_files(folder: Path) -> Iterator[Path]:
    """Files with expected names, sorted; symbolic links are not followed."""
    for directory, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(directory, name)
            if safe_name(str(path.relative_to(folder))) and path.is_file() and not path.is_symlink():
                yield path


def _read_regular(path: Path, most: int, *, name: str) -> bytes:
    try:
        descriptor = os.open(path, READING)
        with os.fdopen(descriptor, "rb") as raw:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return b""
            body = raw.read(most + 1)
    except OSError as error:
        refuse(f"cannot be read: {error.strerror}", "bundle_unreadable", where=name)
    if len(body) > most:
        refuse("the files are larger than the limit of a bundle", "archive_total", where=name)
    return body


def _check_size(size: int, limits: BundleLimits, *, name: str) -> None:
    if size > limits.plain_bytes:
        refuse(
            f"larger than {limits.plain_bytes // MIB} MiB; `karpdash bundle` writes smaller ones",
            "bundle_too_large",
            where=name,
        )
