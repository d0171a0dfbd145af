"""Fails for each CRD whose spec.conversion would stay in part, because the tool that applies the CRD merges."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.evidence import at_crd
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.stored_versions import end_conversion
from migrations_app.inventory.facts.conversion_webhook import CONVERTED, conversion_target
from migrations_app.inventory.facts.managers import managed, replaces_whole
from migrations_app.inventory.objects.karpenter import CRD
from migrations_app.karpenter.crds import CrdSet
from migrations_app.karpenter.hops import BETA_LEFT
from migrations_app.karpenter.releases import crd_set

check = Check(
    __name__,
    title="No CRD keeps a conversion webhook after the upgrade",
    phase="crds",
    severity="warning",
    why=(
        "The CRDs of 1.1 have no conversion. Tools that merge keep what the controller wrote, and the API server "
        "refuses a webhook without its strategy."
    ),
    how=(
        "Reads spec.conversion of the three CRDs, who wrote it, and whether the tool that applies the CRDs replaces it."
    ),
    reads=("crds",),
    says=(
        "{count} CRD would keep part of its conversion settings",
        "{count} CRDs would keep part of their conversion settings",
    ),
    hops=(BETA_LEFT,),
    resolved_by=("upgrade_crds",),
    sources=("aws/karpenter-provider-aws#7619", "kubernetes-sigs/karpenter#2157"),
    remedy_tools=("kubectl", "argocd"),
)
STANZA = "spec.conversion"
WRITERS = ("karpenter", "controller", "webhook")
"""Names of the controller as a field manager: its binary, or the default of the SDK."""


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    converting = [crd for crd in case.inventory.crds.items if crd.name in CONVERTED and _converts(crd)]
    coming = crd_set(case.hop.release)
    if not converting:
        yield NotApplicable("no CRD has a conversion webhook")
    for crd in converting if coming is not None and not _is_merged(coming) else ():
        by = managed(crd.metadata)
        writers = [name for name in crd.conversion_owners if name.startswith(WRITERS)]
        if not replaces_whole(crd.metadata):
            wrote = f"; written by {', '.join(writers)}" if writers else ""
            wanted = f"strategy None together with the CRDs of {case.hop.release}"
            yield at_crd(crd, STANZA, seen=f"Webhook, applied by {_applies(by.by)}{wrote}", wanted=wanted)


def _converts(crd: CRD) -> bool:
    return (crd.spec.conversion is not None and crd.spec.conversion.strategy == "Webhook") or bool(
        conversion_target(crd)
    )


def _is_merged(coming: CrdSet) -> bool:
    return coming.crd_chart_converts


def _applies(by: str) -> str:
    return {"argocd": "Argo CD", "flux": "a Flux Kustomization", "terraform": "Terraform"}.get(by, "kubectl")


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield in_cluster(end_conversion(row.name for row in evidence))
    ignored = "{group: apiextensions.k8s.io, kind: CustomResourceDefinition, jsonPointers: [/spec/conversion]}"
    reason, what = "the CRDs do not say which Application applies them", "let Argo CD ignore /spec/conversion of CRDs"
    task = PersonTask(what=f"{what} until the upgrade is done", why=reason)
    text = f"# Application, spec, until the upgrade is done\nignoreDifferences: [{ignored}]"
    yield Remedy(how="argocd", text=text, change=task)
