"""What pods and workload templates use: Karpenter keys, instance metadata, and disruption budgets.

`selects` implements Kubernetes label selectors.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from migrations_app.conversion.quantities import nanoseconds
from migrations_app.inventory.inventory import WORKLOAD_PARTS, Inventory, once
from migrations_app.inventory.objects.karpenter import (
    Container,
    DisruptionBudget,
    LabelSelector,
    PodGroup,
    SelectorExpression,
    Workload,
)
from migrations_app.inventory.parse import TEMPLATE_KEYS
from migrations_app.inventory.pod_groups import NODES_KEPT, constraints, markers
from migrations_app.karpenter.tables.metadata_rows import METADATA_USERS, MetadataUser
from migrations_app.karpenter.versions import Release, release

POD_PARTS: tuple[str, ...] = ("pods", *WORKLOAD_PARTS)
"""The parts to read for a statement about all pods: the running ones, and the templates of future ones."""
KIND_OF_PART = {
    "deployments": "Deployment",
    "statefulsets": "StatefulSet",
    "daemonsets": "DaemonSet",
    "jobs": "Job",
    "cronjobs": "CronJob",
    "argo_rollouts": "Rollout",
}
CRON_TEMPLATE = "spec.jobTemplate.spec.template"
TIMED_PROTECTION_SINCE = release("1.12.0")
"""The first release that reads a duration in do-not-disrupt of a pod. kubernetes-sigs/karpenter@v1.12.0 and v1.11.2:
pkg/utils/pod/scheduling.go."""
_LONGEST_DURATION = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention of a key. `count` is the number of pods behind it, at least one for a template without pods."""

    kind: str
    namespace: str
    name: str
    path: str
    key: str
    value: str
    count: int


def protected_for(value: str) -> int | None:
    """The length of a duration in do-not-disrupt, such as 8h, in nanoseconds since the start of the pod; None if the
    value is none that Karpenter reads as one."""
    length = nanoseconds(value)
    return length if length is not None and 0 < length <= _LONGEST_DURATION else None


def protects(value: str, running: Release | None) -> bool:
    """Whether do-not-disrupt with that value protects a pod from a controller of that release: `true` does, and from
    1.12 on a duration, which may be over by now. A release that is not known counts as a new one."""
    timed = running is None or running >= TIMED_PROTECTION_SINCE
    return value == "true" or (timed and protected_for(value) is not None)


def protects_at(value: str, running: Release | None, *, age: timedelta | None) -> bool:
    """Whether do-not-disrupt with that value still protects a pod that started that long ago. None: that is not known,
    and the protection counts as not over. Source: kubernetes-sigs/karpenter@v1.12.0: pkg/utils/pod/scheduling.go."""
    length = protected_for(value)
    if length is None or age is None:
        return protects(value, running)
    return protects(value, running) and age < timedelta(microseconds=length / 1000)


def mark_mentions(inventory: Inventory, keys: Collection[str]) -> tuple[Mention, ...]:
    """Annotations with those keys."""
    return _merged(_marks(inventory), keys=keys)


def placement_mentions(inventory: Inventory, keys: Collection[str]) -> tuple[Mention, ...]:
    """Selectors, affinities, topology spread keys and tolerations with those keys."""
    return _merged(_places(inventory), keys=keys)


@once
def _marks(inventory: Inventory) -> tuple[Mention, ...]:
    return _joined(_marked_templates(inventory), _marked_pods(inventory))


@once
def _places(inventory: Inventory) -> tuple[Mention, ...]:
    return _joined(_placed_templates(inventory), _placed_pods(inventory))


def _merged(every: tuple[Mention, ...], *, keys: Collection[str]) -> tuple[Mention, ...]:
    return tuple(mention for mention in every if mention.key in keys)


def _joined(templates: Iterator[Mention], pods: Iterator[Mention]) -> tuple[Mention, ...]:
    """Merges a template with its running pods, which mention the same keys, into one row with the number of pods."""
    rows = {_same(mention): mention for mention in templates}
    counts: Counter[tuple[str, ...]] = Counter()
    for mention in pods:
        same = _same(mention)
        counts[same] += mention.count
        rows.setdefault(same, mention)
    return tuple(replace(mention, count=counts[same] or 1) for same, mention in rows.items())


def _same(mention: Mention) -> tuple[str, ...]:
    root = next((root for root in (CRON_TEMPLATE, "spec.template") if mention.path.startswith(f"{root}.")), "")
    path = mention.path.removeprefix(f"{root}.") if root else mention.path
    return (mention.kind, mention.namespace, mention.name, path, mention.key, mention.value)


def _templates(inventory: Inventory) -> Iterator[tuple[str, Workload, str]]:
    """The templates that can still create pods; finished Jobs are left out."""
    for part, kind in KIND_OF_PART.items():
        for workload in inventory.part(part).items:
            if isinstance(workload, Workload) and not (kind == "Job" and workload.over):
                yield kind, workload, CRON_TEMPLATE if workload.spec.job_template else "spec.template"


def _marked_templates(inventory: Inventory) -> Iterator[Mention]:
    for kind, workload, root in _templates(inventory):
        for key, value in markers(workload.template.metadata).items():
            path = f"{root}.metadata.annotations[{key}]"
            yield Mention(kind, workload.namespace, workload.name, path, key, value, 1)


def _placed_templates(inventory: Inventory) -> Iterator[Mention]:
    for kind, workload, root in _templates(inventory):
        for row in constraints(workload.template.spec, below=f"{root}.spec", also=TEMPLATE_KEYS):
            yield Mention(kind, workload.namespace, workload.name, row.path, row.key, row.value, 1)


def _marked_pods(inventory: Inventory) -> Iterator[Mention]:
    for group in inventory.pods.items:
        for key, value in group.markers.items():
            yield _of_group(group, path=f"metadata.annotations[{key}]", key=key, value=value)


def _placed_pods(inventory: Inventory) -> Iterator[Mention]:
    for group in inventory.pods.items:
        for row in group.placement:
            yield _of_group(group, path=row.path, key=row.key, value=row.value)


def _of_group(group: PodGroup, *, path: str, key: str, value: str) -> Mention:
    kind, name = group.owner_kind or "Pod", group.owner_name or next(iter(group.samples), "")
    return Mention(kind, group.namespace, name, path, key, value, group.count)


def workload(inventory: Inventory, *, kind: str, namespace: str, name: str) -> Workload | None:
    """The workload of a mention; None for pods without one and for a workload that was not seen."""
    part = next((part for part, of_kind in KIND_OF_PART.items() if of_kind == kind), None)
    objects = inventory.part(part).items if part else ()
    matching = (
        item for item in objects if isinstance(item, Workload) and (item.namespace, item.name) == (namespace, name)
    )
    return next(matching, None)


@dataclass(frozen=True, slots=True)
class KnownMetadataUser:
    """A workload that matches a row of METADATA_USERS; `image` is the image that matched."""

    kind: str
    workload: Workload
    image: str
    row: MetadataUser


def metadata_users(inventory: Inventory) -> Iterator[KnownMetadataUser]:
    """The workloads without host network whose arguments do not make the metadata query unnecessary."""
    for kind, part in (("Deployment", inventory.deployments), ("DaemonSet", inventory.daemonsets)):
        for workload in part.items:
            spec = workload.template.spec
            for container in () if spec.host_network else spec.containers or ():
                row = _row(container)
                if row:
                    yield KnownMetadataUser(kind, workload, container.image or "", row)


def claims_devices(workload: Workload) -> bool:
    """Whether its pods name ResourceClaims."""
    return bool(workload.template.spec.resource_claims)


def claiming_templates(inventory: Inventory) -> Iterator[tuple[str, Workload]]:
    """The workloads, each with its kind, whose pods will name ResourceClaims and that have none now."""
    with_pods = {(group.owner_kind, group.namespace, group.owner_name) for group in inventory.pods.items}
    for kind, workload, _ in _templates(inventory):
        if claims_devices(workload) and (kind, workload.namespace, workload.name) not in with_pods:
            yield kind, workload


def may_ask_metadata(workload: Workload) -> bool:
    """Whether an image is known to query instance metadata, regardless of its arguments."""
    images = [container.image or "" for container in workload.template.spec.containers or ()]
    return any(row.image in image for row in METADATA_USERS for image in images)


def _row(container: Container) -> MetadataUser | None:
    flags = {argument.partition("=")[0] for argument in container.args or ()}
    known = (row for row in METADATA_USERS if row.image in (container.image or ""))
    return next((row for row in known if not set(row.spared_by) <= flags), None)


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether the selector matches an object with those labels; None matches nothing, an empty selector matches
    everything.
    """
    if selector is None:
        return False
    for key, value in (selector.match_labels or {}).items():
        if labels.get(key) != value:
            return False
    # Called for every node and every group of pods, nearly always with labels only.
    expressions = selector.match_expressions
    return not expressions or all(_holds(expression, labels) for expression in expressions)


def _holds(expression: SelectorExpression, labels: Mapping[str, str]) -> bool:
    value, operator = labels.get(expression.key), expression.operator
    if operator == "In":
        return value in (expression.values or ())
    if operator == "NotIn":
        return value not in (expression.values or ())
    return value is not None if operator == "Exists" else operator == "DoesNotExist" and value is None


CoveredPods = tuple[PodGroup, tuple[DisruptionBudget, ...]]


@once
def covered(inventory: Inventory) -> tuple[CoveredPods, ...]:
    """Each group of pods that budgets of its namespace cover, with these budgets."""
    by_namespace: dict[str, list[DisruptionBudget]] = defaultdict(list)
    for budget in inventory.pdbs.items:
        by_namespace[budget.namespace].append(budget)
    group_budgets = ((group, _covering(group, by_namespace.get(group.namespace, []))) for group in inventory.pods.items)
    return tuple((group, budgets) for group, budgets in group_budgets if budgets)


def _covering(group: PodGroup, budgets: list[DisruptionBudget]) -> tuple[DisruptionBudget, ...]:
    return tuple(budget for budget in budgets if selects(budget.spec.selector, group.labels))


def budgets_without_pods_on(inventory: Inventory, nodes: Collection[str]) -> frozenset[tuple[str, str]]:
    """Namespace and name of the budgets whose pods were all seen and run on none of these nodes."""
    away: dict[tuple[str, str], bool] = {}
    for group, budgets in covered(inventory):
        apart = 0 < len(group.nodes) < NODES_KEPT and not any(name in nodes for name in group.nodes)
        for budget in budgets:
            key = (budget.namespace, budget.name)
            away[key] = away.get(key, True) and apart
    return frozenset(key for key, apart in away.items() if apart)


def blocking_field(budget: DisruptionBudget) -> tuple[str, str]:
    """The field and value because of which the budget never allows a disruption; otherwise the current counts."""
    spec, expected = budget.spec, (budget.status and budget.status.expected_pods) or 0
    if spec.max_unavailable in (0, "0", "0%"):
        return "spec.maxUnavailable", str(spec.max_unavailable)
    least = spec.min_available
    if least == "100%" or (isinstance(least, int) and least >= expected):
        return "spec.minAvailable", f"{least} of {expected} pods"
    healthy = (budget.status and budget.status.current_healthy) or 0
    if healthy >= expected:
        path, limit = ("minAvailable", least) if least is not None else ("maxUnavailable", spec.max_unavailable)
        return f"spec.{path}", f"{limit}, and all {expected} pods are healthy"
    return "status.disruptionsAllowed", f"0, {healthy} of {expected} pods are healthy"
