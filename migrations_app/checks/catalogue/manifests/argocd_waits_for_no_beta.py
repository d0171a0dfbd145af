"""Fails for each v1beta1 object without conditions that Argo CD tracks: such an object never becomes healthy there."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.evidence import at_object
from migrations_app.inventory.facts.node_pools import is_v1
from migrations_app.inventory.objects.karpenter import EC2NodeClass, NodePool
from migrations_app.inventory.parts import Seen
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import ALPHA_LEFT, CONVERTED

check = Check(
    __name__,
    title="No Argo CD Application waits for v1beta1 objects",
    phase="resources",
    severity="info",
    why="From 3.1 on Argo CD waits for conditions that v1beta1 objects do not have: they stay Progressing for ever.",
    how=(
        "Reads objects that Argo CD tracks, that are served as v1beta1 and that have no status.conditions. The "
        "version of Argo CD is not read."
    ),
    reads=("nodepools", "ec2nodeclasses"),
    says=(
        "{count} v1beta1 object never becomes healthy in Argo CD",
        "{count} v1beta1 objects never become healthy in Argo CD",
    ),
    hops=("0.32", ALPHA_LEFT, CONVERTED),
    sources=("argoproj/argo-cd@master:resource_customizations/karpenter.sh/NodePool/health.lua",),
    remedy_tools=("argocd",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    tracked = [*_tracked(case.inventory.nodepools), *_tracked(case.inventory.ec2nodeclasses)]
    if not tracked:
        yield NotApplicable("Argo CD tracks no v1beta1 object of Karpenter")
    for item in tracked:
        if not item.get("status.conditions"):
            app = (item.metadata.annotation(labels.ARGO_TRACKING) or "").partition(":")[0]
            seen = f"absent; tracked by {app}"
            yield at_object(
                item, "status.conditions", seen=seen, wanted="a health rule of its own with Argo CD 3.1 and later"
            )


def _tracked(part: object) -> list[NodePool | EC2NodeClass]:
    if not isinstance(part, Seen):
        return []
    return [item for item in part.items if item.metadata.annotation(labels.ARGO_TRACKING) and not is_v1(part, item)]


@check.advise
def advise(_case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    text = (
        "# ConfigMap argocd-cm, data, until the objects are v1; the same for karpenter.k8s.aws_EC2NodeClass\n"
        "resource.customizations.health.karpenter.sh_NodePool: |\n"
        "  hs = {}\n"
        '  hs.status = "Healthy"\n'
        "  return hs"
    )
    why = "where Argo CD is configured from is not read"
    task = PersonTask(what="let Argo CD take NodePools and EC2NodeClasses as healthy until they are v1", why=why)
    yield Remedy(how="argocd", text=text, change=task)
