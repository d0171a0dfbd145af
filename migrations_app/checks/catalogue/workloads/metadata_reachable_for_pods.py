"""Fails for each workload known to read instance metadata on v1 node classes with a hop limit of 1."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, ManualCheck, NotApplicable, Remedy
from migrations_app.checks.changes import group
from migrations_app.checks.evidence import MAP, WHOLE, at_field, split_malformed
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.karpenter_objects import merge_patch_of, with_undo
from migrations_app.inventory.facts.node_pools import is_v1
from migrations_app.inventory.facts.workloads import KnownMetadataUser, metadata_users
from migrations_app.karpenter.hops import BETA_LEFT, CONVERTED

check = Check(
    __name__,
    title="Pods reach instance metadata where they need it",
    phase="workloads",
    severity="warning",
    why=(
        "The default httpPutResponseHopLimit is 1 in v1 and was 2 in v1beta1: pods without host network no longer "
        "reach instance metadata."
    ),
    how="Reads httpPutResponseHopLimit of v1 node classes, and workloads that are known to read instance metadata.",
    reads=("ec2nodeclasses", "deployments", "daemonsets"),
    says=(
        "{count} workload no longer reaches instance metadata",
        "{count} workloads no longer reach instance metadata",
    ),
    hops=(CONVERTED, BETA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml",
    ),
    remedy_tools=("kubectl",),
)
OPTIONS = "spec.metadataOptions"
LIMIT = f"{OPTIONS}.httpPutResponseHopLimit"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    part = case.inventory.ec2nodeclasses
    malformed, classes = split_malformed(part.items, {OPTIONS: MAP, LIMIT: WHOLE})
    yield from malformed
    # Stored v1beta1 classes keep their hop limit: the API server wrote the old default into them.
    near = [node_class for node_class in classes if is_v1(part, node_class) and node_class.get(LIMIT, 1) == 1]
    if not any(is_v1(part, node_class) for node_class in part.items):
        yield NotApplicable("no EC2NodeClass is read as v1 yet; stored classes keep their hop limit")
    for user in metadata_users(case.inventory) if near else ():
        yield _evidence(user)
    for node_class in near:
        yield ManualCheck(
            f"EC2NodeClass {node_class.name}: {LIMIT} is 1; look for pods without host network that have neither "
            "a role by annotation nor Pod Identity and ask instance metadata"
        )


def _evidence(user: KnownMetadataUser) -> Evidence:
    return Evidence(
        kind=user.kind,
        namespace=user.workload.namespace,
        name=user.workload.name,
        path="spec.template.spec.containers",
        seen=user.image,
        wanted=f"{' and '.join(user.row.spared_by)}, or hostNetwork",
    )


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    part = case.inventory.ec2nodeclasses
    near = [
        at_field(node_class, LIMIT, seen=1, wanted="2")
        for node_class in part.items
        if is_v1(part, node_class) and node_class.get(LIMIT, 1) == 1
    ]
    edits = [f"{row.kind} {row.namespace}/{row.name}: {row.wanted}" for row in evidence]
    notes = (*edits, "or, for all pods of these classes; their nodes drift:")
    patches = (with_undo(merge_patch_of(LIMIT, 2)(row), row, inventory=case.inventory) for row in near)
    yield in_cluster(group(*patches, notes=notes))
