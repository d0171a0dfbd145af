"""Fails for each pod that two PodDisruptionBudgets cover, on a node that the upgrade replaces."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import Change, PersonTask, group
from migrations_app.checks.remedies.commands import NAMES_SHOWN, in_cluster
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shared.replaced_nodes import (
    NODES_PARTLY_KNOWN,
    NOTHING_REPLACED,
    groups_on_nodes,
    replaced_nodes,
)
from migrations_app.checks.shell import no_option
from migrations_app.inventory.facts.workloads import covered
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="No pod is covered by two PodDisruptionBudgets",
    phase="rollout",
    severity="warning",
    why="The API server never evicts a pod that two PodDisruptionBudgets cover: its node never drains.",
    reads=("pdbs", "pods", "nodes"),
    says=("{count} pod is covered by two PodDisruptionBudgets", "{count} pods are covered by two PodDisruptionBudgets"),
    how=(
        "Compares the selectors of the PodDisruptionBudgets of a namespace with the labels of the pods of each "
        "workload, where the upgrade replaces their node."
    ),
    hops=hops_from(ALPHA_LEFT),
    severity_at={ALPHA_LEFT: "blocker"},
    sources=("Kubernetes documentation, API-initiated Eviction",),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    nodes = replaced_nodes(case)
    if not nodes:
        yield NotApplicable(NOTHING_REPLACED)
    several = {id(group): budgets for group, budgets in covered(case.inventory) if len(budgets) > 1}
    for situation in groups_on_nodes(case, nodes, wanted=lambda group: id(group) in several):
        names = sorted(budget.name for budget in several[id(situation.group)])
        row = situation.evidence(
            path="metadata.labels", seen=f"covered by {' and '.join(names)}", wanted="one PodDisruptionBudget"
        )
        yield row.with_data(budgets=" ".join(names))
        if not situation.exact:
            yield NODES_PARTLY_KNOWN


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield in_cluster(group(*dict.fromkeys(step for row in evidence[:NAMES_SHOWN] for step in _steps(row))))


def _steps(row: Evidence) -> Iterator[Change]:
    budgets = row.value("budgets").split()
    yield PersonTask(
        what=f"keep one PodDisruptionBudget of {row.kind} {row.name}, or let each select pods of its own",
        why="which rule they need is for the owners to say; the API server evicts no pod that has two",
        where=f"namespace {row.namespace}: {' and '.join(budgets)}",
    )
    yield read_command("kubectl", "-n", no_option(row.namespace), "get", "pdb", *map(no_option, budgets), "-o", "yaml")
