"""Fails for each GitOps object that applies the CRDs inside the controller's chart."""

import json
from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, How, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.crd_landing import crds_kept, crds_left_alone
from migrations_app.checks.render.values import yaml_of
from migrations_app.checks.shell import note
from migrations_app.inventory.facts.controller import CHART, is_karpenter_crd
from migrations_app.inventory.objects.karpenter import GitOpsDelivery
from migrations_app.karpenter.crds import MAIN_CHART_WEBHOOK_SERVICE
from migrations_app.karpenter.hops import BETA_LEFT, CONVERTED

check = Check(
    __name__,
    title="Only one source applies the CRDs",
    phase="crds",
    severity="warning",
    why=(
        "The CRDs inside the controller's chart name a fixed conversion service: each sync reverts what "
        "karpenter-crd and the controller write there."
    ),
    how="Reads whether the Flux and Argo CD objects that deliver the main chart leave its CRDs out.",
    reads=("deliveries",),
    says=(
        "{count} GitOps object applies the CRDs of the controller's chart",
        "{count} GitOps objects apply the CRDs of the controller's chart",
    ),
    hops=(CONVERTED, BETA_LEFT),
    sources=("aws/karpenter-provider-aws#6867", "aws/karpenter-provider-aws#6824", "aws/karpenter-provider-aws#7619"),
    remedy_tools=("kubectl", "flux", "argocd"),
)
FIXED = "/".join(reversed(MAIN_CHART_WEBHOOK_SERVICE[:2]))
OVERWRITES = ("Create", "CreateReplace")
GUARDED = "Once each CRD has argocd.argoproj.io/sync-options=Prune=false:"
BESIDE = f"The chart karpenter-crd beside it applies them; the static CRDs always call {FIXED}"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    every = [one for one in case.inventory.deliveries.items if _chart(one) == CHART]
    if not every:
        yield NotApplicable("no Flux HelmRelease and no Argo CD Application delivers the chart karpenter")
    for one in every:
        if one.kind == "Application":
            skips = one.get("spec.source.helm.skipCrds", False)
            path, seen, wanted, faulty = "spec.source.helm.skipCrds", str(skips).lower(), "true", skips is not True
        else:
            # Flux leaves CRDs alone on upgrades unless told otherwise.
            policy = one.get("spec.upgrade.crds", "Skip")
            path, seen, wanted, faulty = "spec.upgrade.crds", str(policy), "Skip", policy in OVERWRITES
        if faulty:
            yield Evidence(kind=one.kind, namespace=one.namespace, name=one.name, path=path, seen=seen, wanted=wanted)
    if any(_many(one) for one in case.inventory.deliveries.items):
        yield Unknown("an Argo CD Application has several sources, which are not read")


def _chart(one: GitOpsDelivery) -> str:
    chart = one.get("spec.source.chart" if one.kind == "Application" else "spec.chart.spec.chart", "")
    return chart if isinstance(chart, str) else ""


def _many(one: GitOpsDelivery) -> bool:
    return one.kind == "Application" and bool(one.get("spec.sources"))


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    for row in evidence:
        *above, last = row.path.split(".")
        edit = yaml_of({f"{above[-1]}.{last}": json.dumps(True if row.kind == "Application" else row.wanted)})
        place = f"{row.kind} {row.namespace}/{row.name}, {'.'.join(above[:-1])}"
        argo = row.kind == "Application"
        text = f"{note(f'{GUARDED} {place}') if argo else note(place)}\n{edit}\n{note(BESIDE)}"
        how: How = "argocd" if argo else "flux"
        yield Remedy(how=how, text=text, change=crds_left_alone(case.inventory, row))
    if any(row.kind == "Application" for row in evidence):
        yield crds_kept([crd for crd in case.inventory.crds.items if is_karpenter_crd(crd)])
