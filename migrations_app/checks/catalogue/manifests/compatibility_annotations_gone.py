"""Fails for each annotation in which the conversion to v1 keeps settings: 1.0 reads it, 1.1 does not."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import Change, ObjectAnnotations, PersonTask, group
from migrations_app.checks.remedies.commands import remedies_of, with_cluster_commands
from migrations_app.checks.remedies.karpenter_objects import move_kubelet_to_class, target_of
from migrations_app.checks.remedies.object_marks import change_annotations
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.managers import managed
from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.inventory.objects.karpenter import NamedObject
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import BETA_LEFT

check = Check(
    __name__,
    title="No setting is kept in a compatibility annotation",
    phase="resources",
    severity="blocker",
    why="1.1 ignores these annotations: new nodes lose the kubelet settings and the Ubuntu family that they hold.",
    how=(
        "Searches the annotations of NodePools and node classes for the two keys in which the conversion keeps "
        "settings."
    ),
    reads=("nodepools", "ec2nodeclasses"),
    says=(
        "{count} compatibility annotation still holds settings",
        "{count} compatibility annotations still hold settings",
    ),
    hops=(BETA_LEFT,),
    resolved_by=("convert_and_apply",),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "kubernetes-sigs/karpenter@v1.0.9:pkg/apis/v1/labels.go",
    ),
    remedy_tools=OBJECT_TOOLS,
)
CARRIERS = {
    labels.KUBELET_COMPATIBILITY: ("NodePool", "spec.kubelet of the EC2NodeClass"),
    labels.UBUNTU_COMPATIBILITY: ("EC2NodeClass", "amiFamily AL2 or Custom with amiSelectorTerms"),
}


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    pools, classes = own_pools(case.inventory), case.inventory.ec2nodeclasses.items
    if not pools and not classes:
        yield NotApplicable("there is no NodePool and no EC2NodeClass yet")
    for key, (kind, wanted) in CARRIERS.items():
        for item in pools if kind == "NodePool" else classes:
            value = item.metadata.annotation(key)
            # The conversion also writes an empty kubelet block, which holds no setting.
            if value not in (None, "", "{}"):
                path = f"metadata.annotations[{key}]"
                yield Evidence(kind=kind, name=item.name, path=path, seen=str(value)[:200], wanted=wanted)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    parts = {"EC2NodeClass": case.inventory.ec2nodeclasses, "NodePool": case.inventory.nodepools}
    inventory = {(kind, item.name): item for kind, part in parts.items() for item in part.items}
    steps = [_remove_annotation(row, inventory[row.kind, row.name]) for row in evidence]
    what = "; ".join(f"write {item.seen} of {item.kind} {item.name} as {item.wanted}" for item in evidence)
    change = group(*dict.fromkeys(_move_content(case, row) for row in evidence), *steps, what=what)
    first = inventory[evidence[0].kind, evidence[0].name]
    yield from with_cluster_commands(remedies_of(change, managed(first.metadata)), group(*steps))


def _move_content(case: CheckContext, row: Evidence) -> Change:
    """Moves the content of the annotation to its field; a manual task if the new value is a choice."""
    if row.kind == "NodePool":
        return move_kubelet_to_class(case.inventory, row, mark=labels.KUBELET_COMPATIBILITY)
    return PersonTask(target=target_of(row), what=row.wanted, why="which image runs is a choice")


def _remove_annotation(row: Evidence, named_object: NamedObject) -> ObjectAnnotations:
    key = row.path.removeprefix("metadata.annotations[").removesuffix("]")
    return change_annotations(target_of(row), named_object.metadata.annotations, removed=(key,))
