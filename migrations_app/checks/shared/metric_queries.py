"""Finds queries in the cluster with metrics or labels that a release no longer has, and renames those metrics."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from migrations_app.checks.base import CheckContext, Evidence, Remedy
from migrations_app.checks.changes import Change, ChangeTarget, PersonTask, QueryRename, group
from migrations_app.checks.remedies.commands import remedies_of
from migrations_app.inventory.facts.managers import BY_HAND, managed
from migrations_app.karpenter.metrics import outdated, outdated_labels

QueryPart = Literal["prometheus_rules", "dashboards", "monitors", "other_queries"]
RESOURCES = {
    "PrometheusRule": "prometheusrules.monitoring.coreos.com",
    "ConfigMap": "configmap",
    "ServiceMonitor": "servicemonitors.monitoring.coreos.com",
    "PodMonitor": "podmonitors.monitoring.coreos.com",
    "VMRule": "vmrules.operator.victoriametrics.com",
    "ScaledObject": "scaledobjects.keda.sh",
    "ScaledJob": "scaledjobs.keda.sh",
}
GONE = "nothing: the metric is gone"
AFTER = "Writes new names into the object, once the new release serves them"
CHOICE = "what to ask for in the place of a metric or label that is gone, or of a label's value, is a choice"
_METRIC = re.compile(r"[A-Za-z_:][\w:]*", re.ASCII)


def outdated_queries(case: CheckContext, part: QueryPart) -> Iterator[Evidence]:
    """One row for each query and each name that the target version no longer has."""
    for owner in getattr(case.inventory, part).items:
        for query in owner.queries:
            release = case.hop.release
            for name in (*outdated(query.text, release), *outdated_labels(query.text, release)):
                yield Evidence(
                    kind=owner.kind,
                    namespace=owner.namespace,
                    name=owner.name,
                    path=query.path,
                    seen=f"{name.old}, gone at {name.release}",
                    wanted=name.new or GONE,
                    data={"old": name.old, "new": name.new},
                )


def rename_remedies(case: CheckContext, part: QueryPart, *, evidence: Sequence[Evidence]) -> tuple[Remedy, ...]:
    """Renames the metrics in every object, for each tool; a manual task for metrics without a successor."""
    owners = {(owner.kind, owner.namespace, owner.name): owner for owner in getattr(case.inventory, part).items}
    places = list(dict.fromkeys((row.kind, row.namespace, row.name) for row in evidence))
    first = owners.get(places[0])
    renames = "; ".join(dict.fromkeys(f"{row.value('old')} is now {row.wanted}" for row in evidence))[:1000]
    steps = [step for place in places for step in _changes(place, evidence=evidence)]
    change = group(*steps, what=renames)
    return remedies_of(change, managed(first.metadata) if first else BY_HAND)


def _changes(place: tuple[str, str, str], *, evidence: Sequence[Evidence]) -> Iterator[Change]:
    kind, namespace, name = place
    target = ChangeTarget(kind, name, namespace, resource=RESOURCES[kind])
    object_rows = [row for row in evidence if (row.kind, row.namespace, row.name) == place]
    pairs = {row.value("old"): row.value("new") for row in object_rows}
    names = {old: new for old, new in pairs.items() if _METRIC.fullmatch(old) and _METRIC.fullmatch(new)}
    if names:
        old_names = {new: old for old, new in names.items()}
        yield QueryRename(
            target=target,
            names=names,
            when="after",
            notes=(AFTER,),
            undo=QueryRename(target=target, names=old_names, when="after") if len(old_names) == len(names) else None,
            final="" if len(old_names) == len(names) else "several old names have become one",
            done=f"no query of {kind} {namespace}/{name} names what is gone",
        )
    others = [f"{old} is now {new or GONE}" for old, new in pairs.items() if old not in names]
    if others:
        yield PersonTask(target=target, what="; ".join(others), why=CHOICE, where=f"{kind} {namespace}/{name}")
