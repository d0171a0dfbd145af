"""Queries in the cluster that name metrics which a release no longer has, and how to change them."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from migrations_app.checks.base import CheckContext, Evidence, Remedy
from migrations_app.checks.remedies.commands import NAMES_SHOWN, from_source, kubectl, ordered
from migrations_app.checks.shell import word
from migrations_app.inventory.facts.managers import Managed, managed
from migrations_app.karpenter.metrics import outdated

QueryPart = Literal["prometheus_rules", "dashboards", "monitors"]
RESOURCES = {
    "PrometheusRule": "prometheusrules.monitoring.coreos.com",
    "ConfigMap": "configmap",
    "ServiceMonitor": "servicemonitors.monitoring.coreos.com",
    "PodMonitor": "podmonitors.monitoring.coreos.com",
}
GONE = "nothing: the metric is gone"
_METRIC = re.compile(r"[A-Za-z_:][\w:]*", re.ASCII)


def outdated_queries(case: CheckContext, part: QueryPart) -> Iterator[Evidence]:
    """One row for each query and name that the hop's release no longer has."""
    for found in getattr(case.inventory, part).items:
        for query in found.queries:
            for name in outdated(query.text, case.step.release):
                yield Evidence(
                    kind=found.kind,
                    namespace=found.namespace,
                    name=found.name,
                    path=query.path,
                    seen=f"{name.old}, gone at {name.release}",
                    wanted=name.new or GONE,
                    data={"old": name.old, "new": name.new},
                )


def renamed_queries(case: CheckContext, part: QueryPart, *, evidence: Sequence[Evidence]) -> tuple[Remedy, ...]:
    """Where the source of the first object is, and a command for each object that renames what has a new name."""
    owners = {(one.namespace, one.name): managed(one.metadata) for one in getattr(case.inventory, part).items}
    by = owners.get((evidence[0].namespace, evidence[0].name), Managed("hand"))
    told = "; ".join(dict.fromkeys(f"{row.value('old')} is now {row.wanted}" for row in evidence))[:1000]
    objects = dict.fromkeys((row.kind, row.namespace, row.name) for row in evidence)
    lines = [_command(place, evidence=evidence) for place in list(objects)[:NAMES_SHOWN]]
    about = "# writes new names into the object; run it once the new release serves them"
    return ordered(by, (*from_source(by, told), kubectl(about, *(line for line in lines if line))))


def _command(place: tuple[str, str, str], *, evidence: Sequence[Evidence]) -> str:
    kind, namespace, name = place
    pairs = {row.value("old"): row.value("new") for row in evidence if (row.kind, row.namespace, row.name) == place}
    script = "; ".join(
        f"s/\\b{old}\\b/{new}/g" for old, new in pairs.items() if _METRIC.fullmatch(old) and _METRIC.fullmatch(new)
    )
    where = f"{RESOURCES[kind]} -n {word(namespace)} {word(name)}"
    if not script:
        return f"kubectl get {where} -o yaml  # edit: {', '.join(pairs)}".replace("\n", " ")
    return f"kubectl get {where} -o yaml | sed -E {word(script)} | kubectl replace -f -"
