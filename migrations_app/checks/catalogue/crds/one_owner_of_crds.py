"""Fails for each GitOps object that applies the CRDs inside the controller's chart."""

import json
from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, RemedyTool
from migrations_app.checks.remedies.crd_upgrade import keep_crds, skip_crds
from migrations_app.checks.render.values import yaml_of
from migrations_app.checks.shell import note
from migrations_app.inventory.facts.controller import CHART, is_karpenter_crd
from migrations_app.inventory.facts.delivery_sources import APPLICATION, below, chart_deliveries, field_path
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
    reads=("deliveries", "sources"),
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
    deliveries = chart_deliveries(case.inventory, CHART)
    if not deliveries:
        yield NotApplicable("no Flux HelmRelease and no Argo CD Application delivers the chart karpenter")
    for chart_delivery in deliveries:
        delivery = chart_delivery.delivery
        if delivery.kind == APPLICATION and chart_delivery.place:
            fields = (*chart_delivery.place.at, "helm", "skipCrds")
            skips = below(delivery.spec or {}, fields) or False
            path, seen, wanted, faulty = field_path(fields), str(skips).lower(), "true", skips is not True
        else:
            # Flux leaves CRDs alone on upgrades unless told otherwise.
            policy = delivery.get("spec.upgrade.crds", "Skip")
            path, seen, wanted, faulty = "spec.upgrade.crds", str(policy), "Skip", policy in OVERWRITES
        if faulty:
            kind, name, namespace = delivery.kind, delivery.name, delivery.namespace
            yield Evidence(kind=kind, namespace=namespace, name=name, path=path, seen=seen, wanted=wanted)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    for row in evidence:
        *above, last = row.path.split(".")
        edit = yaml_of({f"{above[-1]}.{last}": json.dumps(True if row.kind == APPLICATION else row.wanted)})
        place = f"{row.kind} {row.namespace}/{row.name}, {'.'.join(above[:-1])}"
        argo = row.kind == APPLICATION
        text = f"{note(f'{GUARDED} {place}') if argo else note(place)}\n{edit}\n{note(BESIDE)}"
        how: RemedyTool = "argocd" if argo else "flux"
        yield Remedy(how=how, text=text, change=skip_crds(case.inventory, row))
    if any(row.kind == APPLICATION for row in evidence):
        yield keep_crds([crd for crd in case.inventory.crds.items if is_karpenter_crd(crd)])
