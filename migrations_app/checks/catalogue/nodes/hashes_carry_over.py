"""Fails for each node that drifts with the upgrade because its drift hash is not carried over, or may not be."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import group
from migrations_app.checks.remedies.commands import in_cluster, remedies_of
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shared.drift_hold import drift_hold
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.managers import managed
from migrations_app.inventory.facts.node_claims import DriftHashes, drift_hashes
from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.karpenter import kinds
from migrations_app.karpenter.hops import hops_from
from migrations_app.karpenter.releases import change_to, find
from migrations_app.karpenter.versions import Release

check = Check(
    __name__,
    title="No node drifts because its hash version changes",
    phase="rollout",
    severity="info",
    why="Nodes that have not drifted get the new hash, drifted ones keep theirs, and some versions drift every node.",
    how="Compares the hash versions of NodePools, node classes and NodeClaims with those that both releases write.",
    reads=("nodepools", "ec2nodeclasses", "nodeclaims", "controller"),
    says=("{count} node would drift, or its hash is unknown", "{count} nodes would drift, or their hash is unknown"),
    severity_at=dict.fromkeys(hops_from("1.12"), "warning"),
    sources=(
        "kubernetes-sigs/karpenter@v1.0.9:pkg/controllers/nodepool/hash/controller.go",
        "aws/karpenter-provider-aws@v1.0.14:pkg/controllers/nodeclass/hash/controller.go",
        "aws/karpenter-provider-aws#9083",
    ),
    remedy_tools=OBJECT_TOOLS,
)
PACED = "a window, and budgets that pace it"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    all_hashes, now = drift_hashes(case.inventory), _versions(case.running.release)
    if not all_hashes:
        return (yield NotApplicable("there is no NodePool and no EC2NodeClass yet"))
    if now is None:
        yield Unknown(f"which hashes the running release writes is not known: {case.running.how}")
        return
    after = _versions(case.hop.release) or now
    for hashes in all_hashes:
        yield from _claim_results(hashes, expected=now[hashes.kind])
        change = change_to(hashes.annotation, after[hashes.kind]) if after[hashes.kind] != now[hashes.kind] else None
        if change is not None and not change.carried and hashes.claims:
            yield _evidence(hashes, seen=change.what, wanted=PACED, count=len(hashes.claims))
        elif hashes.drifted and hashes.kind == "NodePool" and after != now:
            seen = "have drifted: replaced whatever the new hash says"
            yield _evidence(hashes, seen=seen, wanted="replaced before the upgrade", count=hashes.drifted)


def _versions(release: Release | None) -> dict[str, str | None] | None:
    row = find(release) if release else None
    return dict(zip(("NodePool", "EC2NodeClass"), row.hash_versions(release), strict=True)) if row and release else None


def _claim_results(row: DriftHashes, *, expected: str | None) -> Iterator[JudgeResult]:
    if row.version is None and expected:
        yield Unknown(f"{row.kind} {row.name}: metadata.annotations[{row.annotation}] is absent")
    for version, count in row.behind.items():
        seen = f"claims at {version}: drift is not judged until they agree"
        yield _evidence(row, seen=seen, wanted=f"all at {row.version}", count=count)


def _evidence(row: DriftHashes, *, seen: str, wanted: str, count: int) -> Evidence:
    path = f"metadata.annotations[{row.annotation}]"
    return Evidence(kind=row.kind, name=row.name, path=path, seen=seen, wanted=wanted, count=count)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    pools, look = own_pools(case.inventory), read_command("kubectl", "get", kinds.NODE_CLAIM.crd_name, "-o", "wide")
    hold = drift_hold(pools, case.running.release)
    yield from remedies_of(group(hold, look), managed(pools[0].metadata)) if hold else (in_cluster(look),)
