"""Fails for each annotation in which the conversion to v1 keeps settings: 1.0 reads it, 1.1 does not."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import Change, ObjectAnnotations, PersonTask, group
from migrations_app.checks.remedies.commands import remedies_of, with_cluster_commands
from migrations_app.checks.remedies.karpenter_objects import target_of
from migrations_app.checks.remedies.object_marks import change_annotations
from migrations_app.checks.shared import kubelet_settings
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
    how="Searches NodePools and node classes for the two annotations in which the conversion keeps settings.",
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
            if value not in (None, "", "{}"):  # the conversion also writes an empty block, which holds no setting
                path = f"metadata.annotations[{key}]"
                yield Evidence(kind=kind, name=item.name, path=path, seen=str(value)[:200], wanted=wanted)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    parts = {"EC2NodeClass": case.inventory.ec2nodeclasses, "NodePool": case.inventory.nodepools}
    objects = {(kind, item.name): item for kind, part in parts.items() for item in part.items}
    kept = kubelet_settings.annotations_to_keep(case.inventory, evidence)
    steps = [_remove_annotation(case, row, of=objects[row.kind, row.name]) for row in evidence if row not in kept]
    moves = dict.fromkeys(kept[row] if row in kept else _move_content(case, row) for row in evidence)
    written = (f"write {row.seen} of {row.kind} {row.name} as {row.wanted}" for row in evidence if row not in kept)
    what = "; ".join((*dict.fromkeys(task.what for task in kept.values()), *written))
    kept_by = managed(objects[evidence[0].kind, evidence[0].name].metadata)
    remedies = remedies_of(group(*moves, *steps, what=what), kept_by)
    yield from with_cluster_commands(remedies, group(*steps)) if steps else remedies


def _move_content(case: CheckContext, row: Evidence) -> Change:
    """Moves the content of the annotation to its field; a manual task if the new value is a choice."""
    task = PersonTask(target=target_of(row), what=row.wanted, why="which image runs is a choice")
    return kubelet_settings.move_kubelet_to_class(case.inventory, row) if row.kind == "NodePool" else task


def _remove_annotation(case: CheckContext, row: Evidence, *, of: NamedObject) -> ObjectAnnotations:
    key = row.path.removeprefix("metadata.annotations[").removesuffix("]")
    removal = change_annotations(target_of(row), of.metadata.annotations, removed=(key,))
    return kubelet_settings.once_class_has_settings(case.inventory, removal)
