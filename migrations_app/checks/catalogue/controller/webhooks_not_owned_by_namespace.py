"""Fails for each webhook configuration of Karpenter with a Namespace as its owner."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import ChangeTarget, ObjectPatch, group
from migrations_app.checks.evidence import at_object
from migrations_app.checks.remedies.commands import in_cluster

check = Check(
    __name__,
    title="No webhook configuration is owned by a namespace",
    phase="controller",
    severity="info",
    why="Argo CD follows the owner and watches the whole namespace: its memory use grows without limit.",
    how="Reads metadata.ownerReferences of Karpenter's webhook configurations.",
    reads=("webhooks",),
    says=(
        "{count} webhook configuration is owned by a namespace",
        "{count} webhook configurations are owned by a namespace",
    ),
    sources=("aws/karpenter-provider-aws#7080",),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not case.inventory.webhooks.items:
        yield NotApplicable("there is no admission webhook of Karpenter")
    for webhook in case.inventory.webhooks.items:
        owner = webhook.metadata.owner("Namespace")
        if owner is not None:
            wanted = "none, as 0.33.10, 0.34.11, 0.35.10, 0.36.7, 0.37.5 and later leave it"
            yield at_object(webhook, "metadata.ownerReferences", seen=f"Namespace {owner.name}", wanted=wanted)


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    body = ({"op": "remove", "path": "/metadata/ownerReferences"},)
    final = "the controller writes it again by itself, as long as its release does"
    steps = (ObjectPatch(target=ChangeTarget(row.kind, row.name), body=body, final=final) for row in evidence)
    yield in_cluster(group(*steps, notes=("Until a patch that leaves it out runs, the controller writes it again",)))
