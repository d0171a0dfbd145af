"""Reduces objects to what may leave a cluster in a bundle (T23): the fields that checks read, without credentials and
schemas.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from migrations_app.clients.helm.releases import packed, read_release
from migrations_app.clients.helm.values import kept_env, kept_values
from migrations_app.errors import InvalidInput
from migrations_app.inventory.aws_facts.pod_network import CILIUM_CONFIG, IPAM
from migrations_app.inventory.metric_queries import DASHBOARD_LABEL, dashboard_queries
from migrations_app.inventory.objects.karpenter import ConfigMap, HelmRelease
from migrations_app.inventory.parse import CONVERSION, LAST_APPLIED, applied_version
from migrations_app.karpenter import kinds
from migrations_app.karpenter.crds import paths_of, pruned
from migrations_app.karpenter.metrics import names_in
from migrations_app.karpenter.user_data import sketch
from migrations_app.manifests import JsonMap
from migrations_app.manifests.yaml_reader import MANIFESTS, read_document
from migrations_app.redaction import REMOVED, contains_secret, is_secret_name, redacted_tree

KEPT_CONFIG_MAPS = frozenset({"aws-auth", "karpenter-global-settings"})
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_DROPPED = frozenset({"caBundle", "schema", "additionalPrinterColumns", "imagePullSecrets"})
_MOVED = ("emptyDir", "hostPath", "persistentVolumeClaim", "ephemeral")
"""The kinds of volumes that decide whether a pod can leave its node; their contents and names are dropped."""
_WORD = b"karpenter"


def redacted_object(raw: msgspec.Raw, *, group: str, plural: str) -> JsonMap | None:
    """The redacted object, or None if it is dropped entirely. Raises msgspec.DecodeError if it is not a JSON object."""
    special = _policy if group == kinds.GATEKEEPER_CONSTRAINT.group else _SPECIAL.get((group, plural))
    doc = msgspec.json.decode(raw, type=JsonMap)
    special_form = special(doc, bytes(raw)) if special else doc
    if special_form is None:
        return None
    walked: JsonMap = redacted_tree(_redacted_tree(special_form))
    sketched = _sketches(walked, doc) if (group, plural) == (kinds.CRD.group, kinds.CRD.plural) else {}
    return walked | sketched | {"metadata": _metadata(walked.get("metadata"))}


def _metadata(document: Any) -> JsonMap:  # noqa: ANN401 - plain JSON
    metadata = document if isinstance(document, dict) else {}
    annotations, fields = metadata.get("annotations"), metadata.get("managedFields")
    if isinstance(annotations, dict) and LAST_APPLIED in annotations:
        # Whether it was applied by hand, and in which version, is useful to know; the text itself may contain
        # anything.
        applied = applied_version(str(annotations[LAST_APPLIED]))
        metadata = metadata | {"annotations": annotations | {LAST_APPLIED: applied}}
    if isinstance(fields, list):
        entry_keys = ("manager", "operation", "apiVersion", "time")
        entries = [
            {key: entry[key] for key in entry_keys if key in entry} | _conversion_owned(entry)
            for entry in fields
            if isinstance(entry, dict)
        ]
        metadata = metadata | {"managedFields": entries}
    return metadata


def _conversion_owned(entry: JsonMap) -> JsonMap:
    """Keeps ownership of the CRD's conversion only: it decides whether the next version can be applied."""
    owns = CONVERSION in _inner(_inner(entry, "fieldsV1"), "f:spec")
    return {"fieldsV1": {"f:spec": {CONVERSION: {}}}} if owns else {}


def _sketches(walked: JsonMap, doc: JsonMap) -> JsonMap:
    """The spec of a CRD with only those parts of its schemas that distinguish releases."""
    spec, name = _inner(walked, "spec"), str(_inner(doc, "metadata").get("name"))
    versions, schemas = spec.get("versions"), _schemas(doc)
    if not isinstance(versions, list):
        return {}
    drawn = [
        _pruned_version(version, name, schemas=schemas) if isinstance(version, dict) else version
        for version in versions
    ]
    return {"spec": spec | {"versions": drawn}}


def _pruned_version(version: JsonMap, crd: str, *, schemas: dict[str, JsonMap]) -> JsonMap:
    version_name = str(version.get("name"))
    schema = schemas.get(version_name, {})
    # A schema without properties takes any field; a live scan does not count it as read.
    properties = schema.get("properties")
    return (
        version | {"schema": {"openAPIV3Schema": pruned(schema, paths_of(crd, version_name))}}
        if properties
        else version
    )


def _schemas(doc: JsonMap) -> dict[str, JsonMap]:
    versions = _inner(doc, "spec").get("versions")
    version_maps = [version for version in versions if isinstance(version, dict)] if isinstance(versions, list) else []
    return {
        str(version_map.get("name")): _inner(_inner(version_map, "schema"), "openAPIV3Schema")
        for version_map in version_maps
    }


def _redacted_tree(value: Any) -> Any:  # noqa: ANN401 - plain JSON
    if isinstance(value, list):
        return [_redacted_tree(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _entry(key, item) for key, item in value.items() if key not in _DROPPED}


def _entry(key: str, value: Any) -> Any:  # noqa: ANN401 - plain JSON
    if key in _CONTAINERS and isinstance(value, list):
        return [_container(item) for item in value if isinstance(item, dict)]
    if key == "volumes" and isinstance(value, list):
        return [volume for item in value if isinstance(item, dict) and (volume := _volume(item))]
    if key == "userData":
        return sketch(value) if isinstance(value, str) else REMOVED
    return _redacted_tree(value)


def _volume(volume: JsonMap) -> JsonMap:
    kept_kinds: JsonMap = {kind: {} for kind in _MOVED if volume.get(kind) is not None}
    return {"emptyDir": {"medium": "Memory"}} if _inner(volume, "emptyDir").get("medium") == "Memory" else kept_kinds


def _container(container: JsonMap) -> JsonMap:
    result: JsonMap = {key: container[key] for key in ("name", "image") if key in container}
    resources = _inner(container, "resources")
    if resources:
        result["resources"] = {name: _inner(resources, name) for name in ("requests", "limits") if name in resources}
    if "karpenter" not in str(container.get("image")):
        return result
    args, sources = container.get("args"), container.get("envFrom")
    if isinstance(args, list):
        result["args"] = list(_arguments(args))
    if isinstance(sources, list):
        result["envFrom"] = [{} for _ in sources]
    return result | {"env": _variables(container.get("env"))}


def _variables(env: Any) -> list[JsonMap]:  # noqa: ANN401 - plain JSON
    """The variables without secrets, and which of them take their value from another object."""
    entries = [entry for entry in env if isinstance(entry, dict)] if isinstance(env, list) else []
    referred = [entry.get("name") for entry in entries if entry.get("valueFrom") is not None]
    return [row | {"valueFrom": {}} if row["name"] in referred else row for row in kept_env(env)]


def _arguments(args: list[Any]) -> Iterator[Any]:
    """The command's arguments without secrets: both `--token=x` and the `x` after `--token` are removed."""
    after = False
    for arg in args:
        name, equals, _ = str(arg).partition("=")
        secret = after or is_secret_name(name) or contains_secret(str(arg))
        yield REMOVED if secret else arg
        after = name.startswith("-") and not equals and is_secret_name(name)


def _pod(doc: JsonMap, _: bytes) -> JsonMap:
    status = _inner(doc, "status")
    pod_status: JsonMap = {"phase": status["phase"]} if status.get("phase") is not None else {}
    if "karpenter" in str(_inner(_inner(doc, "metadata"), "labels").get("app.kubernetes.io/name")):
        pod_status |= {"containerStatuses": _container_statuses(status.get("containerStatuses"))}
    return doc | {"status": pod_status} if "status" in doc else doc


def _container_statuses(statuses: Any) -> list[JsonMap]:  # noqa: ANN401 - plain JSON
    """Restart counts of the containers and why they terminated."""
    status_maps = [status for status in statuses if isinstance(status, dict)] if isinstance(statuses, list) else []
    return [
        {
            "name": status_map.get("name"),
            "restartCount": status_map.get("restartCount"),
            "lastState": {
                "terminated": {"reason": _inner(_inner(status_map, "lastState"), "terminated").get("reason")}
            },
        }
        for status_map in status_maps
    ]


def _node(doc: JsonMap, _: bytes) -> JsonMap:
    status = _inner(doc, "status")
    node_status = {key: status[key] for key in ("conditions", "nodeInfo", "allocatable", "capacity") if key in status}
    return doc | {"status": node_status} if "status" in doc else doc


def _config_map(doc: JsonMap, raw: bytes) -> JsonMap | None:
    if DASHBOARD_LABEL in _inner(_inner(doc, "metadata"), "labels"):
        return _dashboards(doc, raw)
    name, texts = _inner(doc, "metadata").get("name"), {key: value for key, value in doc.items() if key != "binaryData"}
    if name == CILIUM_CONFIG:
        return texts | {"data": {key: value for key, value in _inner(doc, "data").items() if key == IPAM}}
    return texts if name in KEPT_CONFIG_MAPS else None


def _dashboards(doc: JsonMap, raw: bytes) -> JsonMap | None:
    """Only the queries that name a Karpenter metric, in the shape of a dashboard."""
    try:
        config_map = msgspec.json.decode(raw, type=ConfigMap)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    files: dict[str, list[JsonMap]] = {}
    for query in dashboard_queries(config_map):
        name, _, title = query.path.removeprefix("data[").partition("]")
        files.setdefault(name, []).append({"title": title.removeprefix(": "), "expr": query.text})
    data = {name: msgspec.json.encode(queries).decode() for name, queries in files.items()}
    head = {key: doc[key] for key in ("apiVersion", "kind", "metadata") if key in doc}
    return head | {"data": data} if data else None


def _prometheus_rule(doc: JsonMap, raw: bytes) -> JsonMap | None:
    """Only the rules that name a Karpenter metric, without their labels and annotations."""
    if _WORD not in raw:
        return None
    groups = _inner(doc, "spec").get("groups")
    rule_groups = (
        [_rule_group(group) for group in groups if isinstance(group, dict)] if isinstance(groups, list) else []
    )
    karpenter_groups = [group for group in rule_groups if group["rules"]]
    return (
        {key: value for key, value in doc.items() if key != "status"} | {"spec": {"groups": karpenter_groups}}
        if karpenter_groups
        else None
    )


def _scaled(doc: JsonMap, raw: bytes) -> JsonMap | None:
    """Only the queries of triggers that name a Karpenter metric; a trigger's other values may be addresses."""
    triggers = _inner(doc, "spec").get("triggers") if _WORD in raw else None
    kept = [_trigger(trigger) for trigger in triggers] if isinstance(triggers, list) else []
    if not any(kept):
        return None
    return {key: value for key, value in doc.items() if key != "status"} | {"spec": {"triggers": kept}}


def _trigger(trigger: Any) -> JsonMap:  # noqa: ANN401 - plain JSON
    """The trigger at its place in the list; empty if its query names no Karpenter metric."""
    document = trigger if isinstance(trigger, dict) else {}
    query = _inner(document, "metadata").get("query")
    is_kept = isinstance(query, str) and bool(names_in(query))
    return {"type": str(document.get("type")), "metadata": {"query": query}} if is_kept else {}


def _rule_group(group: JsonMap) -> JsonMap:
    rules = group.get("rules")
    kept_rules = [
        {key: rule[key] for key in ("alert", "record", "expr") if key in rule}
        for rule in (rules if isinstance(rules, list) else ())
        if isinstance(rule, dict) and names_in(str(rule.get("expr")))
    ]
    return {"name": group.get("name"), "rules": kept_rules}


def _secret(doc: JsonMap, raw: bytes) -> JsonMap | None:
    release = read_release(raw)
    if not isinstance(release, HelmRelease):
        return None
    head = {key: doc[key] for key in ("apiVersion", "kind", "metadata", "type") if key in doc}
    return head | {"data": {"release": packed(release)}}


def _flux_release(doc: JsonMap, raw: bytes) -> JsonMap | None:
    if _WORD not in raw:
        return None
    spec = _inner(doc, "spec")
    return doc | {"spec": spec | {"values": kept_values(spec["values"])} if "values" in spec else spec}


def _policy(doc: JsonMap, raw: bytes) -> JsonMap | None:
    """Only policies that name Karpenter, without their status."""
    return {key: value for key, value in doc.items() if key != "status"} if _WORD in raw else None


def _monitor(doc: JsonMap, raw: bytes) -> JsonMap | None:
    """Only monitors that name Karpenter, and of their endpoints the ports and relabelings."""
    if _WORD not in raw:
        return None
    spec = _inner(doc, "spec")
    monitor_spec: JsonMap = {key: spec[key] for key in ("selector", "namespaceSelector") if key in spec}
    for key in ("endpoints", "podMetricsEndpoints"):
        if isinstance(spec.get(key), list):
            monitor_spec[key] = [_endpoint(endpoint) for endpoint in spec[key] if isinstance(endpoint, dict)]
    return doc | {"spec": monitor_spec}


def _endpoint(endpoint: JsonMap) -> JsonMap:
    allowed_keys = ("port", "targetPort", "portNumber", "relabelings", "metricRelabelings")
    return {key: endpoint[key] for key in allowed_keys if key in endpoint}


def _namespace(doc: JsonMap, _: bytes) -> JsonMap:
    return {key: doc[key] for key in ("apiVersion", "kind", "metadata") if key in doc}


def _volume_of_cluster(doc: JsonMap, _: bytes) -> JsonMap:
    """The PersistentVolume with only its node affinity and the namespace and name of its claim."""
    spec, claim = _inner(doc, "spec"), _inner(_inner(doc, "spec"), "claimRef")
    volume_spec = {"nodeAffinity": spec["nodeAffinity"]} if "nodeAffinity" in spec else {}
    claim_name = {key: claim[key] for key in ("namespace", "name") if key in claim}
    return _namespace(doc, b"") | {"spec": volume_spec | ({"claimRef": claim_name} if claim_name else {})}


def _flux_source(doc: JsonMap, _: bytes) -> JsonMap:
    """The source with only its address and its branch or version."""
    spec = _inner(doc, "spec")
    return _namespace(doc, b"") | {"spec": {key: spec[key] for key in ("url", "ref", "type") if key in spec}}


def _flux_kustomization(doc: JsonMap, raw: bytes) -> JsonMap | None:
    return doc if _WORD in raw else None


def _argo_application(doc: JsonMap, raw: bytes) -> JsonMap | None:
    if _WORD not in raw:
        return None
    spec = dict(_inner(doc, "spec"))
    if "source" in spec:
        spec["source"] = _argo_source(spec["source"])
    if isinstance(spec.get("sources"), list):
        spec["sources"] = [_argo_source(source) for source in spec["sources"]]
    return (
        doc | {"spec": spec, "status": _argo_status(_inner(doc, "status"))} if "status" in doc else doc | {"spec": spec}
    )


def _argo_status(status: JsonMap) -> JsonMap:
    """Sync and health status, and the names of the objects that it delivers; the rest repeats their manifests."""
    statuses = {key: _inner(status, key).get("status") for key in ("sync", "health") if key in status}
    kept: JsonMap = {key: {"status": value} for key, value in statuses.items()}
    if isinstance(status.get("resources"), list):
        kept["resources"] = [{"name": row.get("name")} for row in status["resources"] if isinstance(row, dict)]
    return kept


def _argo_source(source: Any) -> Any:  # noqa: ANN401 - plain JSON
    helm = _inner(source, "helm") if isinstance(source, dict) else {}
    if not helm:
        return source
    helm_source: JsonMap = {
        key: helm[key] for key in ("releaseName", "valueFiles", "version", "skipCrds") if key in helm
    }
    if "valuesObject" in helm:
        helm_source["valuesObject"] = kept_values(helm["valuesObject"])
    if helm.get("values"):
        helm_source["values"] = _values_text(helm["values"])
    for given in ("parameters", "fileParameters"):  # their names: that there are any makes the values uncertain
        if helm.get(given):
            helm_source[given] = _parameter_names(helm[given])
    return source | {"helm": helm_source}


def _parameter_names(given: Any) -> Any:  # noqa: ANN401 - plain JSON
    """The parameters by name; a mark stays of each that has none."""
    if not isinstance(given, list):
        return REMOVED
    return [{"name": row.get("name")} if isinstance(row, dict) else REMOVED for row in given]


def _values_text(text: Any) -> str:  # noqa: ANN401 - plain JSON
    """The text of Helm values with only those that are kept, as JSON, which is YAML; REMOVED if it cannot be read."""
    try:
        tree = read_document(str(text).encode(), limits=MANIFESTS) or {}
    except InvalidInput:
        return REMOVED
    return json.dumps(kept_values(tree)) if isinstance(tree, dict) else REMOVED


def _inner(doc: JsonMap, key: str) -> JsonMap:
    value = doc.get(key)
    return value if isinstance(value, dict) else {}


_SPECIAL: dict[tuple[str, str], Callable[[JsonMap, bytes], JsonMap | None]] = {
    (kind.group, kind.plural): special
    for kind, special in (
        (kinds.POD, _pod),
        (kinds.NODE, _node),
        (kinds.CONFIG_MAP, _config_map),
        (kinds.SECRET, _secret),
        (kinds.FLUX_HELM_RELEASE, _flux_release),
        (kinds.FLUX_KUSTOMIZATION, _flux_kustomization),
        (kinds.ARGO_APPLICATION, _argo_application),
        (kinds.PROMETHEUS_RULE, _prometheus_rule),
        (kinds.VM_RULE, _prometheus_rule),
        (kinds.SCALED_OBJECT, _scaled),
        (kinds.SCALED_JOB, _scaled),
        (kinds.SERVICE_MONITOR, _monitor),
        (kinds.POD_MONITOR, _monitor),
        (kinds.NAMESPACE, _namespace),
        (kinds.PERSISTENT_VOLUME, _volume_of_cluster),
        *((kind, _policy) for kind in (*kinds.POLICY_KINDS, *kinds.ADMISSION_POLICIES)),
        *((kind, _flux_source) for kind in kinds.FLUX_SOURCES),
    )
}
