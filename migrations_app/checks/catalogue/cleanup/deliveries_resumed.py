"""Fails for each GitOps delivery with the annotation karpdash.io/paused, which karpdash sets for a rollout."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import ChangeTarget, DeliveryResume
from migrations_app.checks.evidence import at_object
from migrations_app.checks.remedies.commands import remedies_of
from migrations_app.inventory.facts.delivery_sources import PAUSED, is_paused_by_us
from migrations_app.inventory.facts.managers import BY_HAND
from migrations_app.manifests.nesting import parse_json

check = Check(
    __name__,
    title="No GitOps delivery is still paused by karpdash",
    phase="cleanup",
    severity="warning",
    why="A paused delivery applies neither upgrades nor corrections, and its tool does not report that.",
    how=(
        "Reads the annotation karpdash.io/paused, which karpdash sets when it pauses a delivery and removes when it "
        "resumes it."
    ),
    reads=("deliveries",),
    says=("{count} GitOps delivery is still paused", "{count} GitOps deliveries are still paused"),
    sources=("argoproj/argo-cd@master:docs/user-guide/auto_sync.md",),
    remedy_tools=("flux", "argocd"),
    resolved_by=("resume_deliveries",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    deliveries = case.inventory.deliveries.items
    if not deliveries:
        yield NotApplicable("neither Flux nor Argo CD delivers Karpenter")
    for delivery in deliveries:
        if is_paused_by_us(delivery):
            before = delivery.metadata.annotation(PAUSED) or ""
            yield at_object(delivery, "metadata.annotations", seen=PAUSED, wanted="resumed as it was").with_data(
                before=before
            )


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    for row in evidence:
        automated = _automated(row.value("before"))
        target = ChangeTarget(row.kind, row.name, row.namespace)
        again = DeliveryResume(
            target=target,
            prune=automated.get("prune") is True,
            self_heal=automated.get("selfHeal") is True,
            when="after",
        )
        yield from remedies_of(again, BY_HAND)


def _automated(text: str) -> dict[str, object]:
    try:
        policy = parse_json(text)
    except ValueError:
        return {}
    return policy if isinstance(policy, dict) else {}
