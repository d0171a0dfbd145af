"""Fails for each GitOps delivery of Karpenter that reverts or prunes automatically."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import ChangeTarget, DeliveryPause, DeliveryResume
from migrations_app.checks.evidence import at_object
from migrations_app.checks.remedies.commands import remedies_of
from migrations_app.inventory.facts.delivery_sources import syncs_by_itself
from migrations_app.inventory.facts.managers import BY_HAND
from migrations_app.inventory.objects.karpenter import GitOpsDelivery

check = Check(
    __name__,
    title="No GitOps tool reverts or prunes during the upgrade",
    phase="preflight",
    severity="info",
    why=(
        "Flux and Argo CD revert changes made outside of Git and may delete what is no longer in Git: an upgrade by "
        "hand lasts until their next sync."
    ),
    how=(
        "Reads Argo CD's syncPolicy.automated, and prune and suspend of Flux, of every object that delivers Karpenter."
    ),
    reads=("deliveries",),
    says=(
        "{count} GitOps delivery reverts or prunes automatically",
        "{count} GitOps deliveries revert or prune automatically",
    ),
    sources=(
        "argoproj/argo-cd@master:docs/user-guide/auto_sync.md",
        "fluxcd/kustomize-controller@main:docs/spec/v1/kustomizations.md",
    ),
    remedy_tools=("flux", "argocd"),
    resolved_by=("pause_deliveries",),
)
WANTED = "paused during manual changes, or the upgrade made in its source"
STOPS_SYNC = "Stops syncing by itself until it is switched on again"
STOPS = "Stops reconciling; afterwards the same with resume"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    deliveries = case.inventory.deliveries.items
    if not deliveries:
        yield NotApplicable("neither Flux nor Argo CD delivers Karpenter")
    for delivery in deliveries:
        path, seen = _automation(delivery)
        if path:
            yield at_object(delivery, path, seen=seen, wanted=WANTED)


def _automation(delivery: GitOpsDelivery) -> tuple[str, str]:
    """The path of the field that turns on automatic changes, and what they do; empty texts if there are none."""
    if not syncs_by_itself(delivery):
        return "", ""
    if delivery.kind == "Application":
        names = [name for name in ("selfHeal", "prune") if delivery.get(f"spec.syncPolicy.automated.{name}") is True]
        return "spec.syncPolicy.automated", ", ".join(names) or "syncs by itself"
    if delivery.kind == "Kustomization":
        return "spec.prune", "prunes and reverts" if delivery.get("spec.prune") is True else "reverts"
    return "spec.suspend", "reverts what it installed at its next upgrade"


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    deliveries = {(item.kind, item.namespace, item.name): item for item in case.inventory.deliveries.items}
    for row in evidence:
        target = ChangeTarget(row.kind, row.name, row.namespace)
        delivery = deliveries.get((row.kind, row.namespace, row.name))
        note = STOPS_SYNC if row.kind == "Application" else STOPS
        pause = DeliveryPause(target=target, notes=(note,), undo=_resume_change(target, delivery))
        yield from remedies_of(pause, BY_HAND)


def _resume_change(target: ChangeTarget, delivery: GitOpsDelivery | None) -> DeliveryResume:
    automated = delivery.get("spec.syncPolicy.automated") if delivery else None
    settings = automated if isinstance(automated, dict) else {}
    prune, heals = settings.get("prune") is True, settings.get("selfHeal") is True
    return DeliveryResume(target=target, prune=prune, self_heal=heals, when="after")
