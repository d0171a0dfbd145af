"""The subresources of pods that schedulers and drains use: eviction, held by PodDisruptionBudgets, and binding.

Source: kubernetes/kubernetes@v1.20.2:pkg/registry/core/pod/storage/{eviction.go,storage.go}.
"""

from dataclasses import replace

from migrations_app.manifests import JsonMap
from migrations_app.twin.answers import (
    Answer,
    RequestRefused,
    bad_request,
    conflict,
    forbidden,
    internal,
    no_such_path,
    success,
)
from migrations_app.twin.calls import Call
from migrations_app.twin.deletion import delete
from migrations_app.twin.objects.faults import RefusalCause
from migrations_app.twin.objects.kinds import ServedKind
from migrations_app.twin.objects.wire_types import BindingBody, EvictionBody, decode_error
from migrations_app.twin.state import BUDGETS, Work
from migrations_app.twin.store import StoredObject

_UNPROTECTED_PHASES = ("Pending", "Succeeded", "Failed")
_MAX_DISRUPTED = 2000
_FIRST_EVICTING_TERMINATING = 22
"""Servers before 1.22 count pods that are being deleted; later ones evict those without asking a budget."""


def post_subresource(work: Work) -> Answer:
    """POST to a subresource of a pod."""
    if work.call.kind.place != ("", "pods"):
        raise no_such_path()
    if work.call.subresource == "eviction":
        return evict(work)
    if work.call.subresource == "binding":
        return bind(work)
    raise no_such_path()


def evict(work: Work) -> Answer:
    """Deletes the pod if its budget allows one more disruption."""
    body = _decoded(work.call, EvictionBody)
    pod_name = (body.get("metadata") or {}).get("name")
    if pod_name != work.call.name:
        raise bad_request("name in URL does not match name in Eviction object")
    stored = work.state.find(work.call)
    options = dict(body.get("deleteOptions") or {})
    dry = work.call.dry or bool(options.get("dryRun"))
    if not _is_unprotected(work, stored.document):
        _take_disruption(work, stored.document, dry=dry)
    deletion = replace(work.call, method="DELETE", subresource="", body=options | ({"dryRun": ["All"]} if dry else {}))
    delete(Work(work.state, deletion))
    return Answer(201, success(code=201))


def _decoded(call: Call, body_type: type[BindingBody | EvictionBody]) -> JsonMap:
    """The body. Raises RequestRefused if it has fields of another type."""
    odd = decode_error(call.body, body_type)
    if odd:
        raise bad_request(f"the body cannot be handled: {odd}")
    return dict(call.body)


def _is_unprotected(work: Work, pod: JsonMap) -> bool:
    """Whether the pod is evicted without asking a budget."""
    going = work.state.minor >= _FIRST_EVICTING_TERMINATING and "deletionTimestamp" in pod["metadata"]
    return going or (pod.get("status") or {}).get("phase") in _UNPROTECTED_PHASES


def _budgets(work: Work, pod: JsonMap) -> list[StoredObject]:
    labels = pod["metadata"].get("labels") or {}
    if not labels:
        return []
    names = work.state.budgets.over(work.call.namespace, labels)
    stored_objects = (work.state.store.find(BUDGETS, (work.call.namespace, name)) for name in names)
    return [stored for stored in stored_objects if stored is not None]


def _take_disruption(work: Work, pod: JsonMap, *, dry: bool) -> None:
    """Takes one disruption from the budget of the pod. Raises RequestRefused if there is none left."""
    budgets = _budgets(work, pod)
    if not budgets:
        return
    if len(budgets) > 1:
        raise internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    budget = budgets[0].document
    status = _checked_status(work, budget)
    if dry:
        return
    definition = work.state.definitions.find(BUDGETS)
    if definition is not None:
        disrupted = (status.get("disruptedPods") or {}) | {pod["metadata"]["name"]: work.state.now()}
        new_status = status | {"disruptionsAllowed": status["disruptionsAllowed"] - 1, "disruptedPods": disrupted}
        work.state.put(definition, budget | {"status": new_status}, version=budget["apiVersion"].rpartition("/")[2])


def _checked_status(work: Work, budget: JsonMap) -> JsonMap:
    """The status of a budget that allows a disruption. Raises RequestRefused."""
    status, name = dict(budget.get("status") or {}), budget["metadata"]["name"]
    allowed = status.get("disruptionsAllowed", 0)
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _budget_refusal(f"The disruption budget {name} is still being processed by the server.")
    definition = work.state.definitions.find(BUDGETS)
    if definition is not None and allowed < 0:
        raise forbidden(definition.kind, name, why="pdb disruptions allowed is negative")
    if definition is not None and len(status.get("disruptedPods") or {}) > _MAX_DISRUPTED:
        raise forbidden(definition.kind, name, why="DisruptedPods map too big - too many evictions not confirmed")
    if allowed == 0:
        desired, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        raise _budget_refusal(f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently")
    return status


def _budget_refusal(why: str) -> RequestRefused:
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    cause = RefusalCause("DisruptionBudget", "", why)
    return RequestRefused(429, "TooManyRequests", message=message, causes=[cause])


def bind(work: Work) -> Answer:
    """Puts the pod onto the node that the body names."""
    target = str(_decoded(work.call, BindingBody)["target"].get("name") or "")
    if not target:
        raise bad_request("a Binding names its target")
    pod = work.state.find(work.call).document
    node_name = str(pod["spec"].get("nodeName") or "")
    if "deletionTimestamp" in pod["metadata"]:
        why = f"pod {work.call.name} is being deleted, cannot be assigned to a host"
        raise conflict(_binding(work.call), work.call.name, why=why)
    if node_name:
        why = f"pod {work.call.name} is already assigned to node {node_name!r}"
        raise conflict(_binding(work.call), work.call.name, why=why)
    status = pod.get("status") or {}
    others = [condition for condition in status.get("conditions") or () if condition.get("type") != "PodScheduled"]
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": work.state.now()}
    spec = pod["spec"] | {"nodeName": target}
    work.stored(pod | {"spec": spec, "status": status | {"conditions": [*others, scheduled]}})
    return Answer(201, success(code=201))


def _binding(call: Call) -> ServedKind:
    return replace(call.kind, plural="pods/binding")
