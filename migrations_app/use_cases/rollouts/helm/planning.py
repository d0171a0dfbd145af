"""Plans a run of helm by running a real helm with dry runs, and recording its requests object by object (A26, A27)."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from migrations_app.actions.base import Unavailable
from migrations_app.actions.conditions import content_digest, value_at
from migrations_app.actions.gates.controller_gate import ControllerGate, leader_lease
from migrations_app.actions.helm.request import HelmOperation, HelmProposal, HelmRequest, HelmRun, SourceRecord
from migrations_app.actions.targets.crds import planned_release
from migrations_app.actions.targets.helm_releases import one_release, refuse_without_rollback, repair_of_newest
from migrations_app.actions.undo import restorable
from migrations_app.clients.helm.engine import HelmInput, HelmTool, dry_run_helm
from migrations_app.clients.helm.records import DEPLOYED, ReleaseRecord, read_record, values_digest
from migrations_app.clients.helm.relay_rules import DryRules, RelayedRequest
from migrations_app.clients.kubernetes.api import Resource, Writer, api_request
from migrations_app.clients.kubernetes.limits import ClientLimits
from migrations_app.conversion.chart_values.trees import hidden
from migrations_app.conversion.metadata import CONTROLLER_ANNOTATIONS
from migrations_app.errors import InvalidInput
from migrations_app.execution.controller_status import images_of
from migrations_app.execution.helm_hooks import hook_requests
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter import kinds
from migrations_app.karpenter.releases import as_tag
from migrations_app.manifests import JsonMap
from migrations_app.models.cluster import Cluster
from migrations_app.readiness.stage import detect_running_release
from migrations_app.use_cases.rollouts.helm.run_input import chart_for, helm_tool, values_after
from migrations_app.use_cases.rollouts.helm.values import typed_changes
from migrations_app.use_cases.runtime.agent_connections import refuse_without_helm
from migrations_app.use_cases.runtime.connections import connect_transport

MAX_CONCURRENT_READS = 16
WORDS = {"PATCH": "changed", "POST": "created", "PUT": "replaced", "DELETE": "deleted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HelmPreview:
    """The proposal, the objects before and after it by name, and the stored record of the previous revision."""

    proposal: HelmProposal
    before: JsonMap
    after: JsonMap
    former: ReleaseRecord


def relay_limits(tool: HelmTool) -> ClientLimits:
    """The limits of the relay's connection, enough for a run and its preview."""
    return ClientLimits(scan_seconds=4.0 * tool.seconds + 300, parallel=MAX_CONCURRENT_READS)


def propose(
    cluster: Cluster,
    *,
    user: str,
    doing: HelmOperation,
    inventory: Inventory,
    writer: Writer,
    parameters: Mapping[str, Any],
) -> HelmPreview:
    """The requests that helm would make. Changes nothing. Raises Unavailable and InvalidInput with the reason,
    ReadError.
    """
    tool = helm_tool()
    chart = str(parameters.get("chart") or "karpenter")
    release = one_release(inventory, chart)
    refuse_without_helm(cluster, namespace=release.namespace, release=release.name)
    records = _records(writer, namespace=release.namespace, release=release.name)
    if doing == "rollback":
        run, helm_input = _rollback(records, chart=chart), HelmInput()
    else:
        run, helm_input = _upgrade(records, inventory=inventory, parameters=parameters, chart=chart)
    with connect_transport(cluster, user=user, within=relay_limits(tool), purpose="helm preview") as transport:
        end, seen = dry_run_helm(tool, run, transport=transport, given=helm_input)
        _refuse_missing(seen)
        if not end.done:
            raise InvalidInput(f"helm would fail: {end.words}", code="helm_refused")
        release_record = read_record(seen.record)
        hooks = hook_requests(transport, release_record, doing=run.do)
    former = records[run.before]
    planned = (*planned_requests(seen), *hooks)
    before, after = _objects_before_and_after(seen)
    proposal = HelmProposal(
        run=msgspec.structs.replace(run, requests=tuple(planned)),
        from_version=former.chart.metadata.version,
        objects=(
            *_object_changes(seen),
            *((hook.path.rpartition("/")[2], "made by a hook") for hook in hooks if hook.digest),
        ),
        record=_record_of(writer, run),
        helm=tool.version,
        gate=gate_of(release_record),
    )
    return HelmPreview(proposal=proposal, before=before, after=after, former=former)


def _records(writer: Writer, *, namespace: str, release: str) -> dict[int, ReleaseRecord]:
    """The stored revisions of the release, by number. Raises ReadError, Unavailable if there are none."""
    selector = f"owner=helm,name={release}"
    resource = Resource("", "v1", kinds.SECRET.plural, namespace=namespace, label_selector=selector, page_size=20)
    every = [read_record(msgspec.json.decode(raw)) for page in writer.pages(resource) for raw in page.items]
    if not every:
        raise Unavailable(f"no record of release {namespace}/{release} is left", code="no_release")
    return {record.revision: record for record in every}


def _upgrade(
    records: Mapping[int, ReleaseRecord], *, inventory: Inventory, parameters: Mapping[str, Any], chart: str
) -> tuple[HelmRun, HelmInput]:
    last = records[max(records)]
    where = f"release {last.namespace}/{last.name}"
    repair = repair_of_newest(worked_before=bool(_worked_before(records)), chart=chart)
    if last.pending:
        words = (
            f"{where} is {last.status} since revision {last.revision}: a run of helm is in progress or was interrupted"
        )
        raise Unavailable(f"{words}; {repair}", code="release_pending")
    if last.status != DEPLOYED:
        raise Unavailable(f"{where} is {last.status}: {repair}", code="release_failed")
    running = detect_running_release(inventory)
    to = planned_release(inventory, running, wanted=str(parameters.get("release") or ""))
    packed = chart_for(str(parameters.get("source") or "oci"), chart=chart, tag=as_tag(to))
    changes = typed_changes(inventory, last.values, chart=chart, start=running.release, target_release=to)
    for key, text in changes:
        leaf = key.rpartition(".")[2]
        if text and hidden({leaf: msgspec.json.decode(text)}) != {leaf: msgspec.json.decode(text)}:
            raise InvalidInput(f"the value of {key} looks like a secret: change it yourself first", code="secret_value")
    if not changes and last.chart.metadata.version.removeprefix("v") == str(to):
        raise Unavailable(f"{where} is at {to} already", code="nothing_to_do")
    values = values_after(last.values, changes)
    run = HelmRun(
        do="upgrade",
        release=last.name,
        namespace=last.namespace,
        before=last.revision,
        chart=chart,
        version=as_tag(to),
        source=packed.source,
        chart_digest=packed.digest,
        changes=changes,
        values_digest=values_digest(values),
    )
    return run, HelmInput(chart=packed.raw, values=values)


def _worked_before(records: Mapping[int, ReleaseRecord]) -> list[ReleaseRecord]:
    """The revisions before the newest one that once ran."""
    last = records[max(records)]
    return [record for record in records.values() if record.status in (DEPLOYED, "superseded") and record != last]


def _rollback(records: Mapping[int, ReleaseRecord], *, chart: str) -> HelmRun:
    """Plans the rollback to the last revision that worked, if the tables allow it."""
    last = records[max(records)]
    worked = _worked_before(records)
    if not worked:
        raise Unavailable("Helm has no earlier revision of the release", code="nothing_to_do")
    to = max(worked, key=lambda record: record.revision)
    refuse_without_rollback(last.chart.metadata.version, to.chart.metadata.version, chart=chart)
    return HelmRun(
        do="rollback",
        release=last.name,
        namespace=last.namespace,
        before=last.revision,
        to=to.revision,
        chart=chart,
        version=to.chart.metadata.version,
    )


def _refuse_missing(seen: DryRules) -> None:
    """Raises InvalidInput `missing_rights` with the RBAC rules that the server denied."""
    rules = dict.fromkeys(_rule(request) for request in seen.denied)
    if rules:
        raise InvalidInput("missing rules: " + " ".join(f"- {rule}" for rule in sorted(rules)), code="missing_rights")


def _rule(request: RelayedRequest) -> str:
    verbs = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
    endpoint = api_request("get", request.path)
    verb = "list" if request.method == "GET" and not endpoint.name else verbs[request.method]
    where = f" in {endpoint.namespace}" if endpoint.namespace else ""
    return f'{{apiGroups: ["{endpoint.group}"], resources: ["{endpoint.plural}"], verbs: ["{verb}"]}}{where}'


def planned_requests(seen: DryRules) -> tuple[HelmRequest, ...]:
    """The requests of the dry run that change something, each with a digest of the object that helm read for it."""
    return tuple(
        HelmRequest(
            method=change.asked.method,
            path=change.asked.object_path,
            digest=change.asked.digest,
            live=_live(_tree(seen.reads.get(change.asked.path))) if change.asked.method != "POST" else "",
        )
        for change in seen.changes
    )


def _live(read: JsonMap | None) -> str:
    """A digest of the object without the fields that only the server and its controllers write; empty without an
    object.
    """
    if read is None:
        return ""
    document = restorable(read)
    annotations = document["metadata"].get("annotations") or {}
    own = {key: text for key, text in annotations.items() if key not in CONTROLLER_ANNOTATIONS}
    plain = document | {"metadata": document["metadata"] | {"annotations": own}}
    return hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()


def _objects_before_and_after(seen: DryRules) -> tuple[JsonMap, JsonMap]:
    before: JsonMap = {}
    after: JsonMap = {}
    for change in seen.changes:
        before_object, after_object = _tree(seen.reads.get(change.asked.path)), _tree(change.answer.body)
        name = _object_name(before_object or after_object, change.asked.object_path)
        if change.asked.method != "POST" and before_object is not None:
            before[name] = restorable(before_object)
        if change.asked.method != "DELETE" and after_object is not None:
            after[name] = restorable(after_object)
    return before, after


def _object_changes(seen: DryRules) -> Iterator[tuple[str, str]]:
    for change in seen.changes:
        tree = _tree(seen.reads.get(change.asked.path)) or _tree(change.answer.body)
        yield _object_name(tree, change.asked.object_path), WORDS[change.asked.method]


def _object_name(tree: JsonMap | None, path: str) -> str:
    kind, name = value_at(tree, ("kind",)), value_at(tree, ("metadata", "name"))
    if not kind or not name or kind == "Status":
        return path
    home = value_at(tree, ("metadata", "namespace"))
    return f"{kind} {home}/{name}" if home else f"{kind} {name}"


def _tree(body: Any) -> JsonMap | None:  # noqa: ANN401 - plain JSON
    try:
        tree = msgspec.json.decode(body) if isinstance(body, bytes | bytearray) else body
    except msgspec.DecodeError:
        return None
    return tree if isinstance(tree, dict) else None


def _record_of(writer: Writer, run: HelmRun) -> SourceRecord:
    read = writer.read(run.former)
    return SourceRecord(uid=str(value_at(read, ("metadata", "uid")) or ""), digest=content_digest(read))


def gate_of(record: ReleaseRecord) -> ControllerGate | None:
    """The gate for the first Deployment of the release; None if it has none."""
    for tree in record.objects().values():
        if tree.get("kind") != "Deployment":
            continue
        spec = value_at(tree, ("spec", "template", "spec"))
        return ControllerGate(
            namespace=str(value_at(tree, ("metadata", "namespace")) or record.namespace),
            deployment=str(value_at(tree, ("metadata", "name"))),
            images=tuple(images_of(spec)),
            leader=_leader(spec),
        )
    return None


def _leader(spec: Any) -> str:  # noqa: ANN401 - plain JSON
    rows = [row for container in value_at(spec, ("containers",)) or [] for row in container.get("env") or []]
    return leader_lease({str(row.get("name")): str(row.get("value") or "") for row in rows if isinstance(row, dict)})
