"""No tool prunes or reverts on its own what the hop changes."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import at
from migrations_app.checks.shell import word
from migrations_app.inventory.objects.karpenter import GitOpsDelivery

check = Check(
    __name__,
    title="No tool reverts or prunes during the hop",
    phase="preflight",
    severity="info",
    why=(
        "Flux and Argo CD take back what is changed beside them and may delete what is no longer in their source: a "
        "hop by hand lasts until their next look."
    ),
    how="Argo CD's syncPolicy.automated, and prune and suspend of Flux, of every object that delivers Karpenter.",
    reads=("deliveries",),
    says=("{count} tool reverts or prunes by itself", "{count} tools revert or prune by themselves"),
    sources=(
        "argoproj/argo-cd@master:docs/user-guide/auto_sync.md",
        "fluxcd/kustomize-controller@main:docs/spec/v1/kustomizations.md",
    ),
    remedy_tools=("flux", "argocd"),
)
PAUSE = {"HelmRelease": "flux suspend helmrelease", "Kustomization": "flux suspend kustomization"}


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    every = case.inventory.deliveries.items
    if not every:
        yield NotApplicable("neither Flux nor Argo CD delivers Karpenter")
    for one in every:
        path, seen = _acts(one)
        if path:
            yield at(one, path, seen=seen, wanted="paused for changes made by hand, or the hop made in its source")


def _acts(one: GitOpsDelivery) -> tuple[str, str]:
    """Where it says that it acts by itself, and how; two empty texts where it does not."""
    if one.kind == "Application":
        automated = one.get("spec.syncPolicy.automated")
        if not isinstance(automated, dict) or automated.get("enabled") is False:
            return "", ""
        words = [word for word in ("selfHeal", "prune") if automated.get(word) is True]
        return "spec.syncPolicy.automated", ", ".join(words) or "syncs by itself"
    if one.get("spec.suspend") is True:
        return "", ""
    if one.kind == "Kustomization":
        return "spec.prune", "prunes and reverts" if one.get("spec.prune") is True else "reverts"
    return "spec.suspend", "reverts what it installed at its next upgrade"


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    for row in evidence:
        where = f"{word(row.name)} --namespace {word(row.namespace)}"
        if row.kind == "Application":
            lines = f"argocd app set {word(row.namespace)}/{word(row.name)} --sync-policy none"
            yield Remedy(how="argocd", text=f"# Stops syncing by itself until it is switched on again\n{lines}")
        else:
            pause = f"{PAUSE[row.kind]} {where}"
            text = f"# Stops reconciling; afterwards the same with resume\n{pause}"
            yield Remedy(how="flux", text=text)
