"""Helm 3 release Secrets (T05): base64, base64, gzip, JSON, each decoded under a limit. Only Karpenter's charts are
kept.

A record is reduced to its names, versions, status, selected values, and the objects its manifest declares.
"""

import base64
import binascii
import gzip
import re
import zlib
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import msgspec

from migrations_app.clients.helm.values import kept_values
from migrations_app.inventory.objects.karpenter import HelmRelease
from migrations_app.inventory.parse import OTHER_NAMESPACE
from migrations_app.inventory.parts import NO_NAME, UnparsableObject

CHARTS = frozenset({"karpenter", "karpenter-crd"})
TYPE = "helm.sh/release.v1"
LONGEST_RECORD = 3 * 1024 * 1024
"""etcd accepts 1.5 MiB by default; base64 adds a third."""
LONGEST_RELEASE = 32 * 1024 * 1024
LARGEST_RATIO = 200
_RATIO_FROM = 1024 * 1024
_DECLARED = 500

_DOCUMENT = re.compile(r"^---[^\n]*$", re.MULTILINE)
_API_VERSION = re.compile(r"^apiVersion:[ \t]*[\"']?([A-Za-z0-9./_-]{1,120})", re.MULTILINE)
_KIND = re.compile(r"^kind:[ \t]*[\"']?([A-Za-z0-9]{1,120})", re.MULTILINE)
_NAME = re.compile(r"[ \t]+name:[ \t]*[\"']?([a-z0-9.-]{1,253})")
_KARPENTER = ("karpenter.sh/", "karpenter.k8s.aws/")


class _ManifestMetadata(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Record(msgspec.Struct, frozen=True):
    type: str = ""
    metadata: _ManifestMetadata = _ManifestMetadata()
    data: dict[str, str] | None = None


class _Chart(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    version: str = ""
    app_version: str = ""


class _ChartFile(msgspec.Struct, frozen=True):
    metadata: _Chart | None = None
    values: dict[str, Any] | None = None


class _Progress(msgspec.Struct, frozen=True):
    status: str = ""
    last_deployed: str = ""


class _ChartNameFile(msgspec.Struct, frozen=True):
    metadata: _Chart | None = None


class _ReleaseHead(msgspec.Struct, frozen=True):
    """Enough to identify the chart: the values of other charts are never decoded."""

    chart: _ChartNameFile | None = None


class _Release(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    version: int = 0
    info: _Progress | None = None
    chart: _ChartFile | None = None
    config: dict[str, Any] | None = None
    manifest: str = ""


class _OddError(Exception):
    """Raised if the record cannot be read; the text says which step failed."""


@dataclass(frozen=True, slots=True)
class DeclaredObjects:
    """What a manifest declares: names of CRDs, and (apiVersion, kind) of Karpenter's own objects."""

    crds: tuple[str, ...] = ()
    packaged: tuple[tuple[str, str], ...] = ()


def read_release(body: bytes, *, home: str = "") -> HelmRelease | UnparsableObject | None:
    """The release in a Secret; None if it is not a Karpenter chart; UnparsableObject if the record cannot be read.

    `home` is the namespace whose Secrets were listed: a Secret that states another namespace is not read.
    """
    try:
        record = msgspec.json.decode(body, type=_Record)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _quarantined(_ManifestMetadata(), "$", why="not a Secret")
    if home and record.metadata.namespace != home:
        return _quarantined(record.metadata, "$.metadata.namespace", why=OTHER_NAMESPACE)
    if record.type != TYPE:
        return None
    try:
        return _release(_unpacked(_payload(record)), record.metadata)
    except _OddError as error:
        return _quarantined(record.metadata, "$.data.release", why=str(error))


def decoded_release(secret: dict[str, Any]) -> bytes:
    """The JSON of the whole release in a Secret, under the same limits. Raises ValueError with the reason."""
    try:
        record = msgspec.convert(secret, type=_Record)
        return _unpacked(_payload(record))
    except (_OddError, msgspec.ValidationError) as error:
        raise ValueError(str(error)) from None


def packed(release: HelmRelease) -> str:
    """The value of `data.release` for a bundle's Secret: `read_release` returns the same release from it."""
    documents = [
        f"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: {crd}\n"
        for crd in release.crds
    ]
    documents += ["apiVersion: {}\nkind: {}\n".format(*object_kind.split(" ", 1)) for object_kind in release.packaged]
    record = _Release(
        name=release.name,
        namespace=release.namespace,
        version=release.revision,
        info=_Progress(release.status, release.updated),
        chart=_ChartFile(_Chart(release.chart, release.chart_version, release.app_version), release.defaults),
        config=release.config,
        manifest="---\n".join(documents),
    )
    body = gzip.compress(msgspec.json.encode(record), mtime=0)
    return base64.b64encode(base64.b64encode(body)).decode()


def declared(manifest: str) -> DeclaredObjects:
    """The objects that the rendered manifest declares. Found line by line, since the manifest may hold megabytes of
    schemas.
    """
    crds: list[str] = []
    packaged: set[tuple[str, str]] = set()
    for document in _DOCUMENT.split("\n" + manifest):
        kind, version = _KIND.search(document), _API_VERSION.search(document)
        if not kind or not version:
            continue
        if kind[1] == "CustomResourceDefinition":
            crds += _name(document)
        elif version[1].startswith(_KARPENTER):
            packaged.add((version[1], kind[1]))
    return DeclaredObjects(tuple(crds[:_DECLARED]), tuple(sorted(packaged))[:_DECLARED])


def _name(document: str) -> list[str]:
    """metadata.name in a list, or an empty list: the first `name:` at the indent of the lines directly below
    `metadata:`.
    """
    below = document.partition("\nmetadata:")[2].split("\n")[1:]
    indent = len(below[0]) - len(below[0].lstrip()) if below else 0
    block = takewhile(lambda line: not line or line[0] in " \t", below)
    name_matches = (_NAME.match(line) for line in block if len(line) - len(line.lstrip()) == indent)
    return [match[1] for match in name_matches if match][:1]


def _payload(record: _Record) -> bytes:
    text = (record.data or {}).get("release", "")
    if len(text) > LONGEST_RECORD:
        raise _OddError(f"longer than {LONGEST_RECORD} bytes")
    try:
        return base64.b64decode(base64.b64decode(text, validate=True), validate=True)
    except (binascii.Error, ValueError):
        raise _OddError("not base64") from None


def _unpacked(packed: bytes) -> bytes:
    if packed[:2] != b"\x1f\x8b":
        return packed
    most = min(LONGEST_RELEASE, max(_RATIO_FROM, len(packed) * LARGEST_RATIO))
    inflate = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        body = inflate.decompress(packed, most + 1)
    except zlib.error:
        raise _OddError("not gzip") from None
    if len(body) > most:
        raise _OddError("unpacks to more than the limit of a release")
    if not inflate.eof:
        raise _OddError("the packed record is truncated")
    return body


def _release(body: bytes, metadata: _ManifestMetadata) -> HelmRelease | None:
    try:
        head = msgspec.json.decode(body, type=_ReleaseHead)
        chart = head.chart and head.chart.metadata
        if not chart or chart.name not in CHARTS:
            return None
        return _projected(msgspec.json.decode(body, type=_Release), chart, metadata=metadata)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise _OddError("not the JSON of a release") from None


def _projected(release: _Release, chart: _Chart, *, metadata: _ManifestMetadata) -> HelmRelease:
    info = release.info or _Progress()
    declared_objects = declared(release.manifest)
    return HelmRelease(
        name=release.name[:253],
        namespace=(release.namespace or metadata.namespace)[:253],
        revision=release.version,
        status=info.status[:40],
        chart=chart.name,
        chart_version=chart.version[:80],
        app_version=chart.app_version[:80],
        config=kept_values(release.config),
        defaults=kept_values(release.chart.values if release.chart else None),
        crds=list(declared_objects.crds),
        packaged=[f"{version} {kind}" for version, kind in declared_objects.packaged],
        updated=info.last_deployed[:40],
    )


def _quarantined(metadata: _ManifestMetadata, path: str, *, why: str) -> UnparsableObject:
    return UnparsableObject("HelmRelease", metadata.namespace[:253], metadata.name[:253] or NO_NAME, path, why)
