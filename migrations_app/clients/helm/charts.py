"""The CRDs of a Helm chart, read from a packed chart, a folder, or an OCI registry, under limits (T04, T05).

No template is rendered, nothing is unpacked to disk. Only `Chart.yaml` and the files in `crds/` are kept, because
Helm applies those unchanged. The chart karpenter-crd ships the same CRDs as templates; it is refused with a message
that names the chart to use.
Pulling is anonymous and read-only. Requests: `GET /v2/<name>/manifests/<tag>`, the token endpoint that the registry
names (`GET <realm>?service=...&scope=...`), and `GET /v2/<name>/blobs/<digest>` for the chart's layer.
Rules: https only, each request by the guarded client (`clients/http.py`), also those to the token endpoint and to the
target of a redirect. Redirects are followed only for the blob, at most three, only to https, and the token is sent only
to the registry's own host. A layer that does not match its digest is refused.
"""

import hashlib
import io
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlencode, urljoin, urlsplit

import msgspec

from migrations_app.clients.addresses import OutboundPolicy, Resolver, ask_resolver
from migrations_app.clients.archive import ArchiveLimits, members, safe_name
from migrations_app.clients.http import CallBounds, HttpAnswer, send
from migrations_app.clients.kubernetes.connection import Server, parse_host, parse_server
from migrations_app.clients.kubernetes.limits import KIB, MIB, ClientLimits
from migrations_app.clients.kubernetes.transport import user_agent
from migrations_app.clients.local_files import READING
from migrations_app.errors import (
    InvalidInput,
    InvalidKubeconfig,
    InvalidResponse,
    NotServed,
    ServerFailed,
    Unauthorized,
)
from migrations_app.manifests.yaml_reader import YamlLimits, read_documents

MAX_BYTES = 8 * MIB
"""Limit for a packed chart; Karpenter's charts are below 0.5 MiB."""
ARCHIVE = ArchiveLimits(members=500, member_bytes=4 * MIB, total_bytes=32 * MIB)
YAML = YamlLimits(size=4 * MIB, documents=20, depth=100, nodes=400_000)
CHART = "Chart.yaml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*", re.ASCII)
_DIRECT = re.compile(r"Chart\.yaml|crds/[^/]+\.(?:yaml|yml|json)", re.ASCII)


def from_archive(raw: bytes) -> dict[str, bytes]:
    """Each kept file as JSON: a list of documents, and a single document for Chart.yaml. Raises InvalidInput."""
    if len(raw) > MAX_BYTES:
        raise InvalidInput("the packed chart is larger than the limit", code="chart_too_large")
    # The first path segment is the chart's own folder.
    files = ((name.partition("/")[2], body) for name, body in members(io.BytesIO(raw), ARCHIVE))
    return _kept_files(files)


def from_folder(charts: Path, name: str) -> dict[str, bytes]:
    """Same as `from_archive`, for `<charts>/<name>`: a .tgz file or a chart folder. Symbolic links are never followed.

    Raises InvalidInput with code `no_chart` if there is none of that name.
    """
    if not _NAME.fullmatch(name) or len(name) > 128:
        raise InvalidInput("enter a name of letters, digits, dots, - and _", where="source", code="bad_name")
    place = charts / name
    kind = _kind(place)
    if kind == "file":
        return from_archive(_read(place, MAX_BYTES))
    if kind == "folder":
        return _kept_files(_files(place))
    raise InvalidInput(f"there is no chart {name} in the folder charts", where="source", code="no_chart")


def read_chart_file(charts: Path, name: str) -> bytes:
    """The packed chart of that name in the folder. Raises InvalidInput (code `no_chart`, `bad_name`)."""
    if not _NAME.fullmatch(name) or len(name) > 128:
        raise InvalidInput("enter a name of letters, digits, dots, - and _", where="source", code="bad_name")
    if _kind(charts / name) != "file":
        raise InvalidInput(f"there is no chart {name} in the folder charts", where="source", code="no_chart")
    return _read(charts / name, MAX_BYTES)


def _kind(place: Path) -> str:
    try:
        mode = place.lstat().st_mode
    except OSError:
        return ""
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else ""


def _files(chart: Path) -> Iterator[tuple[str, bytes]]:
    total = 0
    for path in [chart / CHART, *_crd_files(chart / "crds")]:
        if _kind(path) != "file":
            continue
        body = _read(path, ARCHIVE.member_bytes)
        total += len(body)
        if total > ARCHIVE.total_bytes:
            raise InvalidInput("the chart is larger than the limit", code="chart_too_large")
        yield str(path.relative_to(chart)), body


def _crd_files(folder: Path) -> list[Path]:
    if _kind(folder) != "folder":
        return []
    paths = sorted(path for path in folder.iterdir() if safe_name(path.name))
    if len(paths) > ARCHIVE.members:
        raise InvalidInput("the chart has too many files", code="chart_too_large")
    return paths


def _read(path: Path, most: int) -> bytes:
    try:
        descriptor = os.open(path, READING)
    except OSError:
        raise InvalidInput(f"{path.name} cannot be opened", where="source", code="no_chart") from None
    with os.fdopen(descriptor, "rb") as opened:
        body = opened.read(most + 1)
    if len(body) > most:
        raise InvalidInput(f"{path.name} is larger than the limit", where="source", code="chart_too_large")
    return body


def _kept_files(files: Iterable[tuple[str, bytes]]) -> dict[str, bytes]:
    documents: dict[str, bytes] = {}
    templates = False
    for name, body in files:
        templates = templates or name.startswith("templates/")
        if not _DIRECT.fullmatch(name):
            continue
        if name in documents:
            raise InvalidInput(f"{name} is in the chart twice", where="source", code="strange_chart")
        documents[name] = _documents(name, body)
    if CHART not in documents:
        raise InvalidInput("this is not a chart: it has no Chart.yaml", where="source", code="strange_chart")
    if len(documents) == 1:
        words = "the chart has no folder crds" + (
            ": its CRDs are templates, which only Helm can render; use the chart karpenter" if templates else ""
        )
        raise InvalidInput(words, where="source", code="chart_without_crds")
    return documents


def _documents(name: str, body: bytes) -> bytes:
    try:
        documents = [document for document in read_documents(body, limits=YAML) if document is not None]
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error.message}", where=error.where, code=error.code) from None
    return msgspec.json.encode(documents[0] if name == CHART and len(documents) == 1 else documents)


MANIFEST = "application/vnd.oci.image.manifest.v1+json"
LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
MANIFEST_BYTES, TOKEN_BYTES = MIB, 64 * KIB
MAX_REDIRECTS = 3
TIMEOUT_SECONDS = 60.0
"""Time limit in seconds for the whole pull."""
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", re.ASCII)
_CHART = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_PARAMETER = re.compile(r'([a-z]{1,20})="([^"\\]{0,2000})"', re.ASCII)
_URL = re.compile(r"[!-~]{1,8192}", re.ASCII)
S = TypeVar("S", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class ChartDownload:
    """A packed chart and its digest from the manifest, which was verified."""

    raw: bytes
    digest: str


def pull_chart(
    registry: Server,
    chart: str,
    *,
    tag: str,
    reach: OutboundPolicy,
    limits: ClientLimits | None = None,
    resolver: Resolver = ask_resolver,
) -> ChartDownload:
    """The packed chart. Raises ReadError if the registry does not answer or sends an invalid response."""
    if not _CHART.fullmatch(chart) or not _TAG.fullmatch(tag):
        raise InvalidInput(f"{chart[:40]!r} at {tag[:40]!r} is not a chart", code="bad_name")
    pull = _Pull(
        registry, f"{registry.prefix.strip('/')}/{chart}".strip("/"), reach, limits or ClientLimits(), resolver
    )
    layer = _layer(pull.manifest(tag))
    raw = pull.blob(layer.digest, most=min(layer.size, MAX_BYTES))
    if len(raw) != layer.size or f"sha256:{hashlib.sha256(raw).hexdigest()}" != layer.digest:
        raise InvalidResponse("the registry's chart does not match its digest", code="digest")
    return ChartDownload(raw, layer.digest)


class _Layer(msgspec.Struct, frozen=True, rename="camel"):
    media_type: str = ""
    digest: str = ""
    size: int = 0


class _Manifest(msgspec.Struct, frozen=True, rename="camel"):
    schema_version: int = 0
    layers: list[_Layer] = []


class _Token(msgspec.Struct, frozen=True):
    token: str = ""
    access_token: str = ""


@dataclass(slots=True)
class _Pull:
    registry: Server
    name: str
    reach: OutboundPolicy
    limits: ClientLimits
    resolver: Resolver
    token: str = ""
    ends: float = 0.0

    def __post_init__(self) -> None:
        self.ends = time.monotonic() + TIMEOUT_SECONDS

    def manifest(self, tag: str) -> bytes:
        url = f"{self._root}/manifests/{tag}"
        http_answer = self._get(url, most=MANIFEST_BYTES, accept=MANIFEST, token=self.token)
        if http_answer.status == 401 and not self.token:
            self.token = self._fetch_token(http_answer.headers.get("WWW-Authenticate", ""))
            http_answer = self._get(url, most=MANIFEST_BYTES, accept=MANIFEST, token=self.token)
        body = self._checked_body(http_answer, f"{self.name}:{tag}")
        stated_digest = http_answer.headers.get("Docker-Content-Digest", "")
        if _DIGEST.fullmatch(stated_digest) and stated_digest != f"sha256:{hashlib.sha256(body).hexdigest()}":
            raise InvalidResponse("the registry's manifest does not match its digest", code="digest")
        return body

    def blob(self, digest: str, *, most: int) -> bytes:
        url = f"{self._root}/blobs/{digest}"
        for _ in range(MAX_REDIRECTS + 1):
            same_server = _origin(url) == _origin(self._root)
            http_answer = self._get(url, most=most, token=self.token if same_server else "")
            if http_answer.status not in (301, 302, 303, 307, 308):
                return self._checked_body(http_answer, self.name)
            url = _redirect_target(url, http_answer.headers.get("Location", ""))
        raise InvalidResponse("the registry redirects too often", code="redirected")

    @property
    def _root(self) -> str:
        return f"https://{self.registry.authority}/v2/{self.name}"

    def _fetch_token(self, challenge: str) -> str:
        """An anonymous token that can pull this one repository."""
        kind, _, rest = challenge.partition(" ")
        parameters = dict(_PARAMETER.findall(rest))
        if kind.lower() != "bearer" or not parameters.get("realm"):
            raise Unauthorized("the registry allows no anonymous pull", code="unauthorized")
        query = {"scope": f"repository:{self.name}:pull"} | (
            {"service": parameters["service"]} if "service" in parameters else {}
        )
        url = parameters["realm"] + ("&" if "?" in parameters["realm"] else "?") + urlencode(query)
        body = self._checked_body(self._get(url, most=TOKEN_BYTES), "a token")
        token_answer = _decoded(body, _Token)
        token = token_answer.token or token_answer.access_token
        if not re.fullmatch(r"[!-~]{1,16384}", token, re.ASCII):
            raise InvalidResponse("the registry's token cannot be used")
        return token

    def _checked_body(self, http_answer: HttpAnswer, subject: str) -> bytes:
        if http_answer.status == 200:
            return http_answer.body
        if http_answer.status in (401, 403):
            raise Unauthorized(f"the registry allows no anonymous pull of {subject}")
        if http_answer.status == 404:
            raise NotServed(f"the registry has no {subject}", code="absent")
        if 300 <= http_answer.status < 400:
            raise InvalidResponse("the registry redirects to an address that is not followed", code="redirected")
        raise ServerFailed(f"the registry answers HTTP {http_answer.status} for {subject}")

    def _get(self, url: str, *, most: int, accept: str = "*/*", token: str = "") -> HttpAnswer:
        server, path = _split_url(url)
        headers = {"Accept": accept, "User-Agent": f"{user_agent()} chart"}
        bounds = CallBounds(
            server=f"chart registry {server.host}",
            reach=self.reach,
            ends=min(self.ends, time.monotonic() + self.limits.read_seconds),
            most=most,
            limits=self.limits,
            resolver=self.resolver,
        )
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        return send("GET", f"https://{server.authority}{path}", bounds=bounds, headers=headers)


def _split_url(url: str) -> tuple[Server, str]:
    """The server, and the path with its query. Raises InvalidResponse for anything but a plain https URL."""
    try:
        parts = urlsplit(url if _URL.fullmatch(url) else "")
        host, port, has_user = parts.hostname or "", parts.port or 443, parts.username is not None
        if parts.scheme != "https" or not host or has_user:
            raise InvalidResponse("the registry names an address that is not an https URL", code="not_https")
        parsed_host = parse_host(f"[{host}]" if ":" in host else host, where="registry")
    except (ValueError, InvalidKubeconfig):
        raise InvalidResponse("the registry names an address that cannot be used", code="bad_address") from None
    path = parts.path or "/"
    return Server(parsed_host, port), f"{path}?{parts.query}" if parts.query else path


def _redirect_target(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        raise InvalidResponse("the registry names an address that cannot be used", code="bad_address") from None


def _origin(url: str) -> Server:
    return _split_url(url)[0]


def _layer(manifest: bytes) -> _Layer:
    """The layer that contains the chart."""
    document = _decoded(manifest, _Manifest)
    layers = [layer for layer in document.layers if layer.media_type == LAYER]
    if document.schema_version != 2 or len(layers) != 1 or not _DIGEST.fullmatch(layers[0].digest):
        raise InvalidResponse("the registry's manifest is not that of a Helm chart", code="strange_manifest")
    if not 0 < layers[0].size <= MAX_BYTES:
        raise InvalidResponse("the registry's chart is larger than the limit", code="chart_too_large")
    return layers[0]


def _decoded(body: bytes, kind: type[S]) -> S:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise InvalidResponse("the registry's answer cannot be read") from None


SCHEME = "oci://"


def read_registry(text: str) -> Server:
    """The registry and the path prefix of its charts, from `oci://host[:port]/path`. Raises InvalidInput."""
    if not text.startswith(SCHEME):
        raise InvalidInput("enter an address such as oci://registry.example/karpenter", code="bad_registry")
    try:
        return parse_server("https://" + text.removeprefix(SCHEME), where="registry")
    except InvalidKubeconfig as error:
        raise InvalidInput(error.message, code="bad_registry") from None
