"""Fails for each NodePool with kubelet settings in its spec, or that differ within its node class."""

from collections import defaultdict
from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_field
from migrations_app.checks.remedies.karpenter_objects import change_remedies, conversion_task
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_classes import PATH, kubelet_of, same_meaning
from migrations_app.inventory.facts.node_pools import class_name, own_pools
from migrations_app.inventory.inventory import Inventory
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
    split = _classes_to_split(case.inventory)
    for pool in pools:
        path, kubelet = kubelet_of(pool)
        shared = class_name(pool) in split
        if kubelet is None:
            yield Unknown(f"NodePool {pool.name}: {path} cannot be read")
        elif kubelet and (path == PATH or shared):
            # compatibility_annotations_gone reports settings that are only in the annotation.
            wanted = f"spec.kubelet of {'a copy of ' if shared else ''}{class_name(pool)}"
            seen = f"{same_meaning(kubelet)}{', unlike other pools of the class' if shared else ''}"
            yield at_field(pool, path, seen=seen, wanted=wanted)


def _classes_to_split(inventory: Inventory) -> set[str]:
    """Classes whose NodePools need different settings; a pool without settings uses those of its class."""
    class_settings = {
        ec2nodeclass.name: same_meaning(ec2nodeclass.get("spec.kubelet"))
        for ec2nodeclass in inventory.ec2nodeclasses.items
    }
    settings_by_class: dict[str, set[str]] = defaultdict(set)
    for pool in own_pools(inventory):
        name, settings = class_name(pool), same_meaning(kubelet_of(pool)[1])
        settings_by_class[name].add(settings or class_settings.get(name, ""))
    return {name for name, meanings in settings_by_class.items() if len(meanings) > 1}


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = (
        "Prints pools and classes with the settings moved; nodes of a pool whose class changes are replaced",
        "kubectl get nodepools.karpenter.sh,ec2nodeclasses.karpenter.k8s.aws -o yaml | karpdash convert -f -",
    )
    task = f"move {evidence[0].path} to {evidence[0].wanted}"
    yield from change_remedies(case, evidence, what=task, line=conversion_task, notes=notes)
