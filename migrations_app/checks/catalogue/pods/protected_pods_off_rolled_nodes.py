"""Fails for each pod or node protected by do-not-evict, do-not-disrupt or do-not-consolidate on a replaced node."""

from collections.abc import Iterator, Mapping

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import group
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.pod_protection import remove_protection
from migrations_app.checks.shared.replaced_nodes import (
    NODES_PARTLY_KNOWN,
    NOTHING_REPLACED,
    groups_on_nodes,
    protection,
    replaced_nodes,
)
from migrations_app.inventory.objects.karpenter import PodGroup
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="No protected pod runs on a node that is replaced",
    phase="rollout",
    severity="info",
    why=(
        "Karpenter does not replace a node with such a pod, so the rollout waits for it. From 1.0 on an expired node "
        "starts to drain and stays until the pod ends."
    ),
    reads=("pods", "nodes"),
    says=("{count} protected pod or node blocks the rollout", "{count} protected pods or nodes block the rollout"),
    how=(
        "Reads the annotations do-not-evict and do-not-disrupt of pods and nodes, and do-not-consolidate of nodes, "
        "where the upgrade replaces the node."
    ),
    hops=hops_from(ALPHA_LEFT),
    severity_at={ALPHA_LEFT: "warning"},
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "kubernetes-sigs/karpenter@v1.12.0:pkg/utils/pod/scheduling.go",
    ),
    remedy_tools=("kubectl",),
)
OLD_KEYS = (labels.DO_NOT_EVICT, labels.DO_NOT_CONSOLIDATE)
PATH = "metadata.annotations[{key}]"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    nodes = replaced_nodes(case)
    if not nodes:
        yield NotApplicable(NOTHING_REPLACED)
        return
    # 1.0 ignores the old annotations; another check reports that pods lose their protection.
    on_pods, on_nodes = OLD_KEYS if case.hop.name == ALPHA_LEFT else ("", "")
    for situation in groups_on_nodes(case, nodes, wanted=lambda pods: _pod_key(case, pods, old_key=on_pods)):
        key, markers = _pod_key(case, situation.group, old_key=on_pods), situation.group.markers
        yield situation.evidence(path=PATH.format(key=key), seen=markers[key], wanted="done, or free to move")
        if not situation.exact:
            yield NODES_PARTLY_KNOWN
    for node in case.inventory.nodes.items:
        key = _protecting_key(node.metadata.annotations or {}, on_nodes)
        if key and node.name in nodes:
            path = PATH.format(key=key)
            yield Evidence(kind="Node", name=node.name, path=path, seen="true", wanted="free to go")


def _pod_key(case: CheckContext, pods: PodGroup, *, old_key: str) -> str:
    return labels.DO_NOT_DISRUPT if protection(case, pods) else _protecting_key(pods.markers, old_key)


def _protecting_key(annotations: Mapping[str, str], old_key: str) -> str:
    return next((key for key in (labels.DO_NOT_DISRUPT, old_key) if annotations.get(key) == "true"), "")


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    note = "Let such work finish first; where its owners agree, take the protection off for the rollout"
    yield in_cluster(group(*map(remove_protection, evidence), notes=(note,)))
