"""Workloads, pods and nodes with retired Karpenter keys: which objects name the keys, how the keys are renamed, and
which pods restart if a template changes.
Everything but the renamed keys stays unchanged.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from migrations_app.actions.base import Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.conditions import Field, value_at
from migrations_app.actions.gate import Gate
from migrations_app.actions.gates.workload_gate import workload_gate
from migrations_app.actions.targets import pools
from migrations_app.actions.targets.nodes import counted
from migrations_app.inventory.facts.workloads import KIND_OF_PART, Mention, mark_mentions, placement_mentions
from migrations_app.inventory.inventory import WORKLOAD_PARTS, Inventory
from migrations_app.inventory.objects.karpenter import Metadata, PodGroup
from migrations_app.karpenter import kinds, labels
from migrations_app.manifests import JsonMap

OLD_MARKS = (labels.DO_NOT_EVICT, labels.DO_NOT_CONSOLIDATE)
OLD, NEW = labels.PROVISIONER_NAME, labels.NODEPOOL
NAMING, AVOIDING = ("In", "NotIn"), ("NotIn", "DoesNotExist")
LEAST_SECONDS, SECONDS_A_POD = 900, 60
"""How long the replacement of a workload's pods may take."""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class Renaming:
    """`gone` are old keys that the running release ignores: they are removed. Other old keys stay next to the new ones.

    `pool_of` returns the NodePool for the name of a Provisioner; it may raise.
    """

    pool_of: Callable[[str], str]
    gone: Collection[str] = ()

    def template(self, template: JsonMap, *, marks: bool, placement: bool) -> JsonMap:
        """The pod template with the requested keys renamed."""
        new_template = dict(template)
        if marks and isinstance(template.get("metadata"), dict):
            new_template["metadata"] = self.metadata(template["metadata"])
        if placement and isinstance(template.get("spec"), dict):
            new_template["spec"] = self._spec(template["spec"])
        return new_template

    def metadata(self, metadata: JsonMap) -> JsonMap:
        """The metadata with do-not-disrupt instead of the old marks, as an annotation with the old value."""
        annotations = metadata.get("annotations")
        values = [annotations[key] for key in OLD_MARKS if key in annotations] if isinstance(annotations, dict) else []
        if not isinstance(annotations, dict) or not values:
            return metadata
        value = "true" if "true" in values else values[0]
        others = {key: text for key, text in annotations.items() if key not in OLD_MARKS or key not in self.gone}
        return metadata | {"annotations": {labels.DO_NOT_DISRUPT: value} | others}

    def _spec(self, spec: JsonMap) -> JsonMap:
        new_spec = dict(spec)
        if isinstance(spec.get("nodeSelector"), dict):
            new_spec["nodeSelector"] = self._selector(spec["nodeSelector"])
        if isinstance(spec.get("affinity"), dict):
            new_spec["affinity"] = self._affinity(spec["affinity"])
        if isinstance(spec.get("topologySpreadConstraints"), list):
            new_spec["topologySpreadConstraints"] = [_topology(row) for row in spec["topologySpreadConstraints"]]
        return new_spec

    def _selector(self, selector: JsonMap) -> JsonMap:
        if OLD not in selector:
            return selector
        others = {key: value for key, value in selector.items() if key != OLD}
        return {NEW: self.pool_of(str(selector[OLD]))} | others

    def _affinity(self, affinity: JsonMap) -> JsonMap:
        new_affinity = dict(affinity)
        if isinstance(affinity.get("nodeAffinity"), dict):
            new_affinity["nodeAffinity"] = self._node_affinity(affinity["nodeAffinity"])
        for kind in ("podAffinity", "podAntiAffinity"):
            if isinstance(affinity.get(kind), dict):
                new_affinity[kind] = _pod_affinity(affinity[kind])
        return new_affinity

    def _node_affinity(self, affinity: JsonMap) -> JsonMap:
        new_affinity = dict(affinity)
        required = affinity.get(REQUIRED)
        if isinstance(required, dict) and isinstance(required.get("nodeSelectorTerms"), list):
            terms = [self._term(term) for term in required["nodeSelectorTerms"]]
            new_affinity[REQUIRED] = required | {"nodeSelectorTerms": terms}
        if isinstance(affinity.get(PREFERRED), list):
            new_affinity[PREFERRED] = [self._preference(row) for row in affinity[PREFERRED]]
        return new_affinity

    def _preference(self, row: Any) -> Any:  # noqa: ANN401 - plain JSON
        return row | {"preference": self._term(row["preference"])} if _has(row, "preference") else row

    def _term(self, term: Any) -> Any:  # noqa: ANN401 - plain JSON
        rows = term.get("matchExpressions") if isinstance(term, dict) else None
        if not isinstance(rows, list):
            return term
        expressions = [expression for row in rows for expression in self._expression(row)]
        return term | {
            "matchExpressions": [row for place, row in enumerate(expressions) if row not in expressions[:place]]
        }

    def _expression(self, row: Any) -> list[Any]:  # noqa: ANN401 - plain JSON
        """An excluding expression is duplicated for both labels while the release reads both; a selecting one is
        replaced.
        """
        if not isinstance(row, dict) or row.get("key") != OLD:
            return [row]
        avoids = row.get("operator") in AVOIDING
        renamed = row | {"key": NEW}
        if row.get("operator") in NAMING and isinstance(row.get("values"), list):
            renamed["values"] = [str(value) if avoids else self.pool_of(str(value)) for value in row["values"]]
        return [row, renamed] if avoids and OLD not in self.gone else [renamed]


def _pod_affinity(affinity: JsonMap) -> JsonMap:
    new_affinity = dict(affinity)
    if isinstance(affinity.get(REQUIRED), list):
        new_affinity[REQUIRED] = [_topology(row) for row in affinity[REQUIRED]]
    if isinstance(affinity.get(PREFERRED), list):
        new_affinity[PREFERRED] = [_weighted(row) for row in affinity[PREFERRED]]
    return new_affinity


def _weighted(row: Any) -> Any:  # noqa: ANN401 - plain JSON
    return row | {"podAffinityTerm": _topology(row["podAffinityTerm"])} if _has(row, "podAffinityTerm") else row


def _topology(row: Any) -> Any:  # noqa: ANN401 - plain JSON
    return row | {"topologyKey": NEW} if isinstance(row, dict) and row.get("topologyKey") == OLD else row


def _has(row: Any, key: str) -> bool:  # noqa: ANN401 - plain JSON
    return isinstance(row, dict) and isinstance(row.get(key), dict)


TEMPLATE: Field = ("spec", "template")
CRON_TEMPLATE: Field = ("spec", "jobTemplate", "spec", "template")
POD = kinds.POD
ROLLOUT = kinds.ARGO_ROLLOUT.kind


@dataclass(frozen=True, slots=True)
class Restart:
    """The effect of a changed template: number of restarting pods, and a note; `held` if it cannot be changed, `later`
    if the pods restart only once somebody resumes the workload.
    """

    pods: int
    note: str
    held: bool = False
    later: bool = False


def target_of(inventory: Inventory, *, kind: str, namespace: str, name: str) -> ObjectTarget | None:
    """The workload in the version that was read. None for a kind that is not read, and for an Argo Rollout, whose
    controller replaces pods in steps that are not previewed.
    """
    part = next((part for part in WORKLOAD_PARTS if KIND_OF_PART[part] == kind != ROLLOUT), None)
    row = kinds.find(kind)
    if part is None or row is None:
        return None
    version = pools.served_version(inventory, part) or row.versions[0]
    return ObjectTarget(row.group, version, row.plural, row.kind, name, namespace=namespace)


def pod_target(namespace: str, name: str) -> ObjectTarget:
    return ObjectTarget(POD.group, POD.versions[0], POD.plural, POD.kind, name, namespace=namespace)


def with_uid(target: ObjectTarget, read: JsonMap) -> ObjectTarget:
    """The target, bound to the object that was read."""
    return msgspec.structs.replace(target, uid=str(value_at(read, ("metadata", "uid")) or ""))


def template_field(target: ObjectTarget) -> Field:
    return CRON_TEMPLATE if target.kind == kinds.CRON_JOB.kind else TEMPLATE


def metadata_of(read: JsonMap) -> Metadata:
    """The metadata as an inventory projection; empty if it is malformed."""
    try:
        return msgspec.convert(read.get("metadata") or {}, Metadata)
    except msgspec.ValidationError:
        return Metadata()


def restart(target: ObjectTarget, read: JsonMap) -> Restart:
    """What happens to the running pods if the template changes."""
    if target.kind == kinds.CRON_JOB.kind:
        return Restart(0, "no pod restarts; the next run has it")
    if target.kind == kinds.JOB.kind:
        return _job_restart(read)
    many = _replicas(target, read)
    pods = counted(many, "pod")
    if value_at(read, ("spec", "updateStrategy", "type")) == "OnDelete":
        return Restart(0, f"{pods} stay as they are until deleted")
    if value_at(read, ("spec", "paused")) is True:
        return Restart(many, f"restarts {pods} once it is resumed", later=True)
    if value_at(read, ("spec", "strategy", "type")) == "Recreate":
        return Restart(many, f"stops {pods} at once and starts them again")
    return Restart(many, f"restarts {pods} one after the other")


def rollout_gate(target: ObjectTarget, read: JsonMap, *, restart: Restart) -> Gate | None:
    """The gate before the next workload: the pods of this one are replaced, unless it is paused. None without a
    restart.
    """
    if not restart.pods or restart.later:
        return Gate(pending_above=0) if restart.pods else None
    workload = workload_gate(with_uid(target, read), read, pods=restart.pods)
    return Gate(workload=workload, pending_above=0, seconds=max(LEAST_SECONDS, SECONDS_A_POD * restart.pods))


def _job_restart(read: JsonMap) -> Restart:
    started = value_at(read, ("status", "startTime")) is not None
    if value_at(read, ("spec", "suspend")) is True and not started:
        return Restart(0, "no pod runs yet")
    return Restart(0, "its template cannot be changed any more", held=True)


def _replicas(target: ObjectTarget, read: JsonMap) -> int:
    field = ("status", "desiredNumberScheduled") if target.kind == kinds.DAEMON_SET.kind else ("spec", "replicas")
    count = value_at(read, field)
    return count if isinstance(count, int) else 1


def templates(inventory: Inventory, parameters: Parameters) -> tuple[ObjectTarget, ...]:
    """The workloads that name an old key, except the controller, whose chart rewrites its own rules."""
    own = {(workload.namespace, workload.name) for workload in inventory.controller.items}
    named = (mention for mention in _mentions(inventory, parameters) if (mention.namespace, mention.name) not in own)
    return tuple(dict.fromkeys(target for mention in named if (target := _target(inventory, mention)) is not None))


def argo_rollouts(inventory: Inventory, parameters: Parameters) -> tuple[str, ...]:
    """Namespace and name of the Rollouts that name an old key: people have to change them."""
    mentions = (mention for mention in _mentions(inventory, parameters) if mention.kind == ROLLOUT)
    return tuple(dict.fromkeys(f"{mention.namespace}/{mention.name}" for mention in mentions))


def _mentions(inventory: Inventory, parameters: Parameters) -> list[Mention]:
    mentions = [*(mark_mentions(inventory, OLD_MARKS) if asks(parameters, "marks") else ())]
    mentions += placement_mentions(inventory, {OLD}) if asks(parameters, "placement") else ()
    return [mention for mention in mentions if _in_namespaces(parameters, mention.namespace)]


def _target(inventory: Inventory, mention: Mention) -> ObjectTarget | None:
    return target_of(inventory, kind=mention.kind, namespace=mention.namespace, name=mention.name)


def marked_groups(inventory: Inventory, parameters: Parameters) -> Iterator[PodGroup]:
    """The groups of pods that have an old mark without the new one."""
    for group in inventory.pods.items if asks(parameters, "marks") else ():
        only_old = set(OLD_MARKS) & set(group.markers) and labels.DO_NOT_DISRUPT not in group.markers
        if only_old and _in_namespaces(parameters, group.namespace):
            yield group


def asks(parameters: Parameters, name: str) -> bool:
    """Whether that renaming is requested; True unless it was declined."""
    return parameters.get(name, True) is not False


def _in_namespaces(parameters: Parameters, namespace: str) -> bool:
    namespaces = pools.chosen_names(parameters, "namespaces")
    return not namespaces or namespace in namespaces


def renaming(context: PlanningContext, parameters: Parameters) -> Renaming:
    """The renaming for the running release, with the NodePools of this cluster."""
    running, pool_names = context.running.release, {pool.name for pool in pools.living_pools(context.inventory)}
    gone = {key for key in (*OLD_MARKS, OLD) if running is not None and labels.retired(key, running)}
    default_pool = parameters.get("pool") or ""

    def pool_of(name: str) -> str:
        pool_name = name if name in pool_names else default_pool
        if pool_name not in pool_names:
            raise Unavailable(
                f"there is no NodePool {pool_name or name}: convert the Provisioners first", code="no_pool"
            )
        return str(pool_name)

    return Renaming(pool_of, gone)
