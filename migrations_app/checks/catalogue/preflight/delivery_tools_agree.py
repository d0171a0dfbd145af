"""Fails for each CRD, controller, NodePool or node class that more than one tool applies."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import Observation, PersonTask, group
from migrations_app.checks.evidence import at_object
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shell import no_option
from migrations_app.inventory.facts.managers import appliers
from migrations_app.inventory.objects.karpenter import NamedObject

check = Check(
    __name__,
    title="One tool applies each object",
    phase="preflight",
    severity="warning",
    why="Two tools overwrite each other: what one upgrades the other reverts within minutes.",
    how=(
        "Reads labels, annotations and field managers of CRDs, the controller, NodePools and node classes, tool by "
        "tool."
    ),
    reads=("crds", "controller", "nodepools", "ec2nodeclasses", "provisioners", "awsnodetemplates"),
    says=("{count} object is applied by more than one tool", "{count} objects are applied by more than one tool"),
    sources=(
        "aws/karpenter-provider-aws#6867",
        "aws/karpenter-provider-aws#6847",
        "argoproj/argo-cd@master:docs/user-guide/resource_tracking.md",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    parts = (case.inventory.part(name) for name in check.reads)
    objects = [item for part in parts for item in part.items if isinstance(item, NamedObject)]
    if not objects:
        yield NotApplicable("nothing of Karpenter is installed")
    for named_object in objects:
        tools = appliers(named_object.metadata, case.inventory)
        if len(tools) > 1:
            yield at_object(named_object, "metadata", seen=" and ".join(tools), wanted="one of them")


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    task = PersonTask(
        what="decide which tool keeps each object, and take it out of the others without pruning",
        why="each of them writes it, and the cluster does not tell which one is to",
        where="the managers of the fields below",
    )
    yield in_cluster(group(task, *dict.fromkeys(map(_managers, evidence))))


def _managers(row: Evidence) -> Observation:
    home = ("-n", no_option(row.namespace)) if row.namespace else ()
    words = (*home, "get", row.kind.lower(), no_option(row.name), "-o", "yaml", "--show-managed-fields")
    return read_command("kubectl", *words)
