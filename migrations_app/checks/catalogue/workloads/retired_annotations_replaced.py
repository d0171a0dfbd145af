"""Fails for each object with do-not-evict or do-not-consolidate that lacks the annotation that replaced it."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.changes import group
from migrations_app.checks.remedies.commands import remedies_of, workload_manager
from migrations_app.checks.remedies.pod_protection import renew_protection
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.ownership import protected
from migrations_app.inventory.facts.workloads import POD_PARTS, Mention, mark_mentions
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import CONVERTED, hops_from

check = Check(
    __name__,
    title="No pod, NodePool or node relies on a removed annotation",
    phase="workloads",
    severity="warning",
    why=(
        "From 1.0 on these annotations have no effect: the pods and nodes that they protected are disrupted. On nodes "
        "do-not-disrupt stops drift too, and expiry before 1.0; do-not-consolidate stopped consolidation only."
    ),
    how="Searches pods, templates, nodes, NodeClaims and NodePools for the old keys without the new one.",
    reads=(*POD_PARTS, "nodes", "nodepools"),
    says=("{count} object relies on a removed annotation", "{count} objects rely on a removed annotation"),
    hops=("0.32", "0.33+", *hops_from(CONVERTED)),
    severity_at={"0.32": "info", "0.33+": "info", CONVERTED: "blocker"},
    resolved_by=("rename_markers",),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "kubernetes-sigs/karpenter@v0.37.7:pkg/utils/pod/scheduling.go",
    ),
    remedy_tools=OBJECT_TOOLS,
)
RETIRED, POOL_PATH = (labels.DO_NOT_EVICT, labels.DO_NOT_CONSOLIDATE), "spec.template.metadata.annotations"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    current_owners = {
        _owner(mention) for mention in mark_mentions(case.inventory, {labels.DO_NOT_DISRUPT}) if mention.value == "true"
    }
    for mention in mark_mentions(case.inventory, RETIRED):
        if mention.value == "true" and _owner(mention) not in current_owners:
            kind, name, path = mention.kind, mention.name, mention.path
            where, count = mention.namespace, mention.count
            yield _evidence(kind, name, path=path, key=mention.key, namespace=where, count=count)
    # A node has the annotations of its claim, so claims that could not be read leave nothing unknown.
    for kind, name, marks in protected(case.inventory):
        yield from _not_replaced(marks, kind=kind, name=name, path="metadata.annotations")
    for pool in case.inventory.nodepools.items:
        annotations = pool.get(POOL_PATH, {})
        yield from _not_replaced(
            annotations if isinstance(annotations, dict) else {}, kind="NodePool", name=pool.name, path=POOL_PATH
        )


def _owner(mention: Mention) -> tuple[str, str, str]:
    return mention.kind, mention.namespace, mention.name


def _not_replaced(annotations: dict[str, str], *, kind: str, name: str, path: str) -> Iterator[Evidence]:
    for key in RETIRED:
        if annotations.get(key) == "true" and annotations.get(labels.DO_NOT_DISRUPT) != "true":
            yield _evidence(kind, name, path=f"{path}[{key}]", key=key)


def _evidence(kind: str, name: str, *, path: str, key: str, namespace: str = "", count: int = 1) -> Evidence:
    wanted = f"{labels.replacement(key)}: true"
    return Evidence(kind=kind, namespace=namespace, name=name, path=path, seen="true", wanted=wanted, count=count)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    task = f"add {evidence[0].wanted} beside the old annotation, which may stay until 1.0 runs"
    steps = dict.fromkeys(map(renew_protection, evidence))
    yield from remedies_of(group(*steps, what=task), workload_manager(case.inventory, evidence[0]))
