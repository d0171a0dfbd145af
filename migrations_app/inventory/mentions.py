"""Where pods and the templates they come from mention a Karpenter key, one row for each workload."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from migrations_app.inventory.inventory import WORKLOAD_PARTS, Inventory
from migrations_app.inventory.keys import TEMPLATE_KEYS
from migrations_app.inventory.objects import PodGroup, Workload
from migrations_app.inventory.placement import constraints, markers
from migrations_app.inventory.sharing import once

POD_PARTS: tuple[str, ...] = ("pods", *WORKLOAD_PARTS)
"""What a check has to read to speak of all pods: the running ones, and the templates of those to come."""
KIND_OF_PART = {
    "deployments": "Deployment",
    "statefulsets": "StatefulSet",
    "daemonsets": "DaemonSet",
    "jobs": "Job",
    "cronjobs": "CronJob",
}
CRON_TEMPLATE = "spec.jobTemplate.spec.template"


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention. `count` is the number of pods behind it, at least one for a template without pods."""

    kind: str
    namespace: str
    name: str
    path: str
    key: str
    value: str
    count: int


def marked(inventory: Inventory, keys: Collection[str]) -> tuple[Mention, ...]:
    """Annotations and labels of those keys."""
    return _merged(_marks(inventory), keys=keys)


def placed(inventory: Inventory, keys: Collection[str]) -> tuple[Mention, ...]:
    """Selectors, affinities, spread keys and tolerations of those keys."""
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
    """A template and its running pods say the same thing: one row, with the number of the pods."""
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
    """Those that pods may still come from: the history of a CronJob is none of them."""
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
    found = inventory.part(part).items if part else ()
    matching = (one for one in found if isinstance(one, Workload) and (one.namespace, one.name) == (namespace, name))
    return next(matching, None)
