"""Fails for each NodePool with kubelet settings in its spec, or that differ within its node class."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_field
from migrations_app.checks.remedies.karpenter_objects import change_remedies
from migrations_app.checks.shared.kubelet_settings import conversion_of_all
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_classes import PATH, kubelet_meanings, kubelet_of, kubelet_text, same_meaning
from migrations_app.inventory.facts.node_pools import class_name, own_pools
from migrations_app.karpenter.hops import BETA_LEFT, CONVERTED

check = Check(
    __name__,
    title="Kubelet settings are in node classes",
    phase="resources",
    severity="warning",
    why=(
        "v1 has kubelet settings in the node class: 1.0 moves those of a NodePool into an annotation, which 1.1 "
        "ignores."
    ),
    how=(
        "Compares the kubelet settings of NodePools, in the spec or in the annotation, among the NodePools of each "
        "node class."
    ),
    reads=("nodepools", "ec2nodeclasses"),
    says=("{count} NodePool has its own kubelet settings", "{count} NodePools have their own kubelet settings"),
    hops=(CONVERTED, BETA_LEFT),
    severity_at={BETA_LEFT: "blocker"},
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws#6987",
        "kubernetes-sigs/karpenter#1667",
    ),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    pools = own_pools(case.inventory)
    if not pools:
        yield NotApplicable("there is no NodePool of Karpenter's own yet")
    meanings = kubelet_meanings(case.inventory)
    for pool in pools:
        path, kubelet = kubelet_of(pool)
        shared = len(meanings.get(class_name(pool), set()) - {None}) > 1
        if kubelet is None:
            yield Unknown(f"NodePool {pool.name}: {path} cannot be read")
        elif same_meaning(kubelet) and (path == PATH or shared):
            # compatibility_annotations_gone reports settings that are only in the annotation.
            wanted = f"spec.kubelet of {'a copy of ' if shared else ''}{class_name(pool)}"
            seen = f"{kubelet_text(kubelet)}{', unlike other pools of the class' if shared else ''}"
            yield at_field(pool, path, seen=seen, wanted=wanted)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    beta = any(row.path == PATH for row in evidence)
    notes = (
        "Prints classes and pools with the settings moved, and a copy of a class for each other kubelet configuration",
        "Apply what it prints: classes first, then the pools; nodes of a pool whose class changes are replaced",
        "It prints v1 objects: apply them once 1.0 runs" if beta else "Remove the annotations only after that",
    )
    task = f"move {evidence[0].path} to {evidence[0].wanted}; split a class whose NodePools differ"
    step = conversion_of_all(evidence[0])
    yield from change_remedies(case, evidence, what=task, line=lambda _: step, notes=notes)
