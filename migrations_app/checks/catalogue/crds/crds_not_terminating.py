"""Fails for each CRD of Karpenter that is being deleted."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import Observation, PersonTask, group
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shell import no_option
from migrations_app.inventory.objects.karpenter import CRD

check = Check(
    __name__,
    title="No CRD is being deleted",
    phase="crds",
    severity="blocker",
    why="Deleting a CRD deletes its objects and their nodes; until it ends, no object can be created or converted.",
    how="Reads the deletion timestamp and the condition Terminating of each CRD.",
    reads=("crds",),
    says=("{count} CRD is being deleted", "{count} CRDs are being deleted"),
    sources=("kubernetes/kubernetes: CustomResourceDefinition condition Terminating",),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not case.inventory.crds.items:
        yield NotApplicable("no CRD of Karpenter is installed")
    for crd in case.inventory.crds.items:
        if crd.metadata.deleting or _terminating(crd):
            yield Evidence(
                kind="CustomResourceDefinition",
                name=crd.name,
                path="metadata.deletionTimestamp",
                seen=crd.metadata.deletion_timestamp or "condition Terminating",
                wanted="absent",
            )


def _terminating(crd: CRD) -> bool:
    conditions = (crd.status.conditions if crd.status else None) or ()
    return any(condition.type == "Terminating" and condition.status == "True" for condition in conditions)


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    kinds = ",".join(row.name for row in evidence)
    columns = "custom-columns=KIND:.kind,NAME:.metadata.name,FINALIZERS:.metadata.finalizers"
    save = Observation(pipe=(("kubectl", "get", no_option(kinds), "-o", "yaml"),), into="karpenter-objects.yaml")
    look = read_command("kubectl", "get", no_option(kinds), "-o", columns)
    task = PersonTask(
        what="let the objects of these CRDs end, install the CRDs anew, then create the saved pools and classes",
        why="with the last object its CRD goes; a claim that is created again launches an instance of its own",
        where="the file that was saved, and the finalizers that hold each object",
    )
    yield in_cluster(group(save, look, task, notes=("Save what is left, then see which finalizers hold it",)))
