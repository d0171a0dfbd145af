"""Complete records of one Helm release, read under the limits of `releases`. Values and manifest are secrets of the
cluster, and stay in memory or encrypted. A record shows how a run of helm with an unknown outcome ended (A22).
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from migrations_app.actions.conditions import Exists, holds
from migrations_app.clients.helm.releases import decoded_release
from migrations_app.errors import InvalidInput, InvalidResponse
from migrations_app.manifests.yaml_reader import MIB, YamlLimits, read_documents

MANIFEST = YamlLimits(size=8 * MIB, documents=1000, depth=100, nodes=600_000)
PENDING = ("pending-install", "pending-upgrade", "pending-rollback", "uninstalling")
DEPLOYED, FAILED, UNINSTALLED = "deployed", "failed", "uninstalled"


class _RecordStatus(msgspec.Struct, frozen=True):
    status: str = ""
    description: str = ""


class _RecordChartMetadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    version: str = ""
    app_version: str = ""


class _RecordChart(msgspec.Struct, frozen=True):
    metadata: _RecordChartMetadata = _RecordChartMetadata()
    values: dict[str, Any] | None = None


class _RecordHook(msgspec.Struct, frozen=True):
    name: str = ""
    kind: str = ""
    manifest: str = ""
    events: list[str] | None = None


class ReleaseRecord(msgspec.Struct, frozen=True):
    """One revision of a release, as helm keeps it."""

    name: str = ""
    namespace: str = ""
    version: int = 0
    info: _RecordStatus = _RecordStatus()
    chart: _RecordChart = _RecordChart()
    config: dict[str, Any] | None = None
    manifest: str = ""
    hooks: list[_RecordHook] | None = None

    @property
    def revision(self) -> int:
        return self.version

    @property
    def status(self) -> str:
        return self.info.status

    @property
    def pending(self) -> bool:
        """Whether helm was working on the release when it last wrote the record, and may still be."""
        return self.status in PENDING

    @property
    def values(self) -> dict[str, Any]:
        """The values that were passed to the chart."""
        return self.config or {}

    def objects(self) -> dict[str, dict[str, Any]]:
        """The objects of the manifest by `Kind namespace/name`. Raises InvalidResponse if the manifest is not YAML."""
        return dict(_objects_by_name(self.manifest, self.namespace))

    def hook_objects(self, events: Iterable[str]) -> dict[str, dict[str, Any]]:
        """The objects of the hooks that run at one of these events."""
        event_set = set(events)
        matching_hooks = [hook for hook in self.hooks or () if event_set & set(hook.events or ())]
        return {
            name: tree
            for record_hook in matching_hooks
            for name, tree in _objects_by_name(record_hook.manifest, self.namespace)
        }


def read_record(secret: dict[str, Any]) -> ReleaseRecord:
    """The record in a Secret. Raises InvalidResponse (code `odd_record`)."""
    try:
        return msgspec.json.decode(decoded_release(secret), type=ReleaseRecord)
    except (ValueError, msgspec.DecodeError, RecursionError) as error:
        raise InvalidResponse(f"a record of the release cannot be read: {error}"[:200], code="odd_record") from None


def values_digest(values: dict[str, Any]) -> str:
    """SHA-256 of the values in one fixed order."""
    return hashlib.sha256(msgspec.json.encode(values, order="sorted")).hexdigest()


def _objects_by_name(text: str, namespace: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        documents = list(read_documents(text.encode(), limits=MANIFEST))
    except InvalidInput as error:
        raise InvalidResponse(
            f"the manifest of the release cannot be read: {error.message}", code="odd_record"
        ) from None
    for tree in documents:
        if isinstance(tree, dict):
            metadata = tree.get("metadata") or {}
            home = metadata.get("namespace") or namespace
            yield f"{tree.get('kind')} {home}/{metadata.get('name')}", tree


class SettledRun(NamedTuple):
    """A run that ended without success: the outcome for the journal, a code, and the reason."""

    outcome: str
    code: str
    words: str


def settled_run(read: dict[str, Any], *, own: Mapping[str, str], late: bool) -> SettledRun | None:
    """How the run ended, by the record that it made; None while that is not known or if it succeeded.

    `late`: no request of the run can arrive any more.
    """
    if not holds(Exists(marks=dict(own)), read):
        return SettledRun("not_applied", "changed", "another client created this revision") if late else None
    try:
        record = read_record(read)
    except InvalidResponse as error:
        return SettledRun("changed_by_other", error.code, error.message) if late else None
    if record.status == DEPLOYED:
        return None
    where = f"release {record.namespace}/{record.name} revision {record.revision}"
    advice = "roll the controller back, or fix it yourself"
    if record.pending:
        words = f"helm was interrupted: {where} is {record.status}; {advice}"
        return SettledRun("changed_by_other", "release_pending", words) if late else None
    message = f"{where} is {record.status}: {record.info.description[:500]}; {advice}"
    return SettledRun("changed_by_other", "release_failed", message)
