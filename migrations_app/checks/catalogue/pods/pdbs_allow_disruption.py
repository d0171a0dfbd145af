"""Fails for each PodDisruptionBudget that allows no disruption, for pods on nodes that the upgrade replaces."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import Observation, group
from migrations_app.checks.remedies.commands import NAMES_SHOWN, in_cluster
from migrations_app.checks.remedies.observations import read_command, undo_comments
from migrations_app.checks.remedies.pod_protection import loosen_budget
from migrations_app.checks.shared.replaced_nodes import NOTHING_REPLACED, replaced_nodes
from migrations_app.checks.shell import no_option
from migrations_app.inventory.facts.workloads import blocking_field, budgets_without_pods_on
from migrations_app.karpenter.hops import ALPHA_LEFT

check = Check(
    __name__,
    title="Every PodDisruptionBudget allows a disruption",
    phase="rollout",
    severity="warning",
    why=(
        "A node with such a pod never drains: the rollout stops there, or the node is deleted when its grace period "
        "ends."
    ),
    how="Reads the allowed disruptions of the PodDisruptionBudgets of pods on nodes that are to be replaced.",
    reads=("pdbs", "nodes"),
    says=("{count} PodDisruptionBudget allows no disruption", "{count} PodDisruptionBudgets allow no disruption"),
    severity_at={ALPHA_LEFT: "blocker"},
    sources=(
        "Kubernetes documentation, Disruptions",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
    ),
    remedy_tools=("kubectl",),
)


CONSENT = "With the owners' consent, for the time of the rollout; where it is a single pod, add a replica first"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    nodes = replaced_nodes(case)
    if not nodes:
        yield NotApplicable(NOTHING_REPLACED)
        return
    off = budgets_without_pods_on(case.inventory, nodes)
    for budget in case.inventory.pdbs.items:
        if (budget.namespace, budget.name) in off:
            continue
        status = budget.status
        if status is None or status.disruptions_allowed is None:
            yield Unknown(f"PodDisruptionBudget {budget.namespace}/{budget.name}: status.disruptionsAllowed is not set")
        elif status.disruptions_allowed == 0 and (status.expected_pods or 0) > 0:
            path, seen = blocking_field(budget)
            yield Evidence(
                kind="PodDisruptionBudget",
                namespace=budget.namespace,
                name=budget.name,
                path=path,
                seen=seen,
                wanted="one pod may go",
            )


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    budgets = {(budget.namespace, budget.name): budget.spec for budget in case.inventory.pdbs.items}
    budget_rows = [row for row in evidence if row.path.startswith("spec.")]
    steps = [loosen_budget(row, budgets[(row.namespace, row.name)]) for row in budget_rows]
    if steps:
        back = undo_comments(group(*steps), "To put each rule back once the nodes are replaced:")
        yield in_cluster(group(*steps, notes=(CONSENT, *back)))
    short = [_described(row) for row in evidence if row not in budget_rows][:NAMES_SHOWN]
    if short:
        yield in_cluster(group(*short, notes=("First bring the pods of these back: the rule is right",)))


def _described(row: Evidence) -> Observation:
    return read_command("kubectl", "-n", no_option(row.namespace), "describe", "pdb", no_option(row.name))
