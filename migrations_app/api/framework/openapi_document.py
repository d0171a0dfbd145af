"""Completes the OpenAPI document with what cannot be derived from serializers and views, so that client
generators can use it.

A hook of the schema generator adds tags, summaries, servers, headers of answers, values of fields, uploads, examples.
"""

import re
from collections.abc import Iterator
from typing import Any, get_args

from migrations_app import HOME_PAGE
from migrations_app.actions.changes import RISKS
from migrations_app.actions.states import STATES
from migrations_app.api.framework.openapi_summaries import SUMMARIES, TAGS
from migrations_app.manifests import JsonMap
from migrations_app.queries.fleet.clusters import BUCKETS, STAGES
from migrations_app.readiness.report import Verdict

_RULE_IDS = re.compile(r" ?\((?:[KTRA]\d\d(?:, )?)+\)")
_SAME_WORDS = re.compile(r"^\* `([^`]*)` - \1$")
LOCATED = frozenset({
    "channels_create", "channels_test", "cluster_scans_create", "clusters_create", "deliveries_resend",
    "fleet_scans_create", "grants_create", "groups_create", "people_create", "plans_create", "rollouts_roll_back",
    "service_tokens_create", "services_create", "teams_create", "tokens_create", "views_create", "waivers_create",
})  # fmt: skip
"""Operations whose successful answer has the URL of the new object in Location."""
HEADERS: JsonMap = {
    "API-Version": {"description": "Version of this API.", "schema": {"type": "string"}},
    "ETag": {"description": "Version of what is answered; goes into If-Match.", "schema": {"type": "string"}},
    "Idempotency-Replayed": {
        "description": "`true` where the answer is that of an earlier request with the same Idempotency-Key.",
        "schema": {"type": "string"},
    },
    "Location": {"description": "Address of what was made.", "schema": {"type": "string", "format": "uri-reference"}},
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}},
    "X-Request-ID": {"description": "Id of the request, for logs.", "schema": {"type": "string"}},
}
VALUES: dict[tuple[str, str], tuple[str, ...]] = {
    ("ClusterRow", "stage"): (*STAGES, ""),
    ("ClusterRow", "bucket"): BUCKETS,
    ("ClusterRow", "verdict"): (*get_args(Verdict), ""),
    ("ClusterRow", "source"): ("kubeconfig", "in_cluster", "eks", "agent", "bundle", "sample", "twin"),
    ("SnapshotSummary", "stage"): (*STAGES, ""),
    ("SnapshotSummary", "verdict"): (*get_args(Verdict), ""),
    ("ScanState", "state"): ("queued", "running", "done", "failed"),
    **{(name, "state"): STATES for name in ("RolloutLine", "RolloutWhole", "PlanWhole")},
    **{(name, "risk"): (*RISKS, "") for name in ("RolloutLine", "RolloutWhole", "PlanWhole")},
}
"""All values of fields of answers; the empty text if nothing is known yet."""
EXAMPLES: dict[str, JsonMap] = {
    "NewCluster": {"name": "shop", "source": "kubeconfig", "kubeconfig": "apiVersion: v1\nkind: Config\n...\n"},
    "NewService": {
        "name": "prometheus", "purpose": "scrapes", "role": "viewer", "everywhere": True, "scopes": ["metrics"],
        "networks": ["192.0.2.0/24"],
    },
    "NewServiceToken": {"name": "scrape", "scopes": ["metrics"], "days": None},
    "NewGrant": {"role": "operator", "team": "night", "over": None},
    "NewToken": {"name": "pipeline", "scopes": ["read", "scan"], "days": 30},
    "NewPlan": {
        "cluster": "7d1c2f6e-58c4-4a53-9f0e-0f6f3c1f2b10", "action": "adopt_crds", "parameters": {},
    },
    "ProblemBody": {
        "type": "/api/v1/problems/not_found", "title": "Not found", "status": 404, "detail": "no such cluster",
        "code": "not_found", "instance": "/api/v1/clusters/7d1c2f6e-58c4-4a53-9f0e-0f6f3c1f2b10",
        "request_id": "0f6f3c1f2b10",
    },
}  # fmt: skip


def completed(result: JsonMap, generator: Any, request: Any, public: bool) -> JsonMap:  # noqa: ANN401, ARG001 - the library's signature
    """Returns the document with the additions of this module. The parameters are those of drf-spectacular's hooks."""
    result["info"] |= {
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        "contact": {"name": "karpdash", "url": HOME_PAGE},
    }
    result["servers"] = [{"url": "/", "description": "The installation that serves this document."}]
    used = set()
    for operations in result["paths"].values():
        for method, operation in operations.items():
            _complete(method, operation, siblings=operations)
            used |= set(operation["tags"])
    result["tags"] = [{"name": name, "description": about} for name, about in TAGS.items() if name in used]
    result["components"]["headers"] = HEADERS
    _complete_schemas(result["components"]["schemas"])
    _clean(result)
    return result


def _complete(method: str, operation: JsonMap, *, siblings: JsonMap) -> None:
    operation["summary"] = SUMMARIES[operation["operationId"]]
    tagged = method != "post" and any(_takes(sibling, "If-Match") for sibling in siblings.values())
    tagged |= _takes(operation, "If-None-Match") or _takes(operation, "If-Match")
    for status, answer in operation["responses"].items():
        good = status[0] in "23"
        answer["description"] = answer.get("description") or _GOOD.get(status, "The answer")
        names = {"X-Request-ID", "API-Version"}
        names |= {"ETag"} if good and tagged and status != "204" else set()
        names |= {"Location"} if good and operation["operationId"] in LOCATED else set()
        names |= {"Idempotency-Replayed"} if good and _takes(operation, "Idempotency-Key") else set()
        names |= {"Retry-After"} if status in ("429", "503") else set()
        answer["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in sorted(names)}


_GOOD = {
    "200": "Done",
    "201": "Made",
    "202": "Accepted; done in the background",
    "204": "Done; nothing to say",
    "304": "Nothing has changed",
}


def _takes(operation: JsonMap, header: str) -> bool:
    return any(parameter["name"] == header for parameter in operation.get("parameters", ()))


def _complete_schemas(schemas: JsonMap) -> None:
    for (name, field), values in VALUES.items():
        schemas[name]["properties"][field]["enum"] = list(values)
    for schema in schemas.values():
        for field in schema.get("properties", {}).values():
            if field.get("format") == "uri" and field.get("writeOnly"):
                field["format"] = "binary"  # a file of a form: a URI is what the generator takes it for
    for name, example in EXAMPLES.items():
        schemas[name]["examples"] = [example]


def _clean(tree: JsonMap) -> None:
    """Removes rule ids of this project from descriptions, and lists that repeat the values of a field."""
    for holder in _holders(tree):
        lines = [line for line in holder["description"].splitlines() if not _SAME_WORDS.match(line.strip())]
        text = _RULE_IDS.sub("", "\n".join(lines)).strip()
        if text:
            holder["description"] = text
        else:
            del holder["description"]


def _holders(tree: Any) -> Iterator[JsonMap]:  # noqa: ANN401 - plain JSON
    if isinstance(tree, dict):
        if isinstance(tree.get("description"), str):
            yield tree
        for inner in list(tree.values()):
            yield from _holders(inner)
    elif isinstance(tree, list):
        for inner in tree:
            yield from _holders(inner)
