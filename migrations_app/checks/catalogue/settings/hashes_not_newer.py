"""Fails for each NodePool or node class with a hash version that is newer than the running version."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import Observation
from migrations_app.checks.remedies.commands import chart_values, in_cluster
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.node_claims import drift_hashes
from migrations_app.karpenter.releases import find, number, serves

check = Check(
    __name__,
    title="No drift hash is newer than the running version",
    phase="controller",
    severity="warning",
    why=(
        "After a rollback to a release without hash versions every node may drift at once: its hash is of another kind."
    ),
    how="Compares the hash version of each NodePool and node class with the version that the running version writes.",
    reads=("nodepools", "ec2nodeclasses", "nodeclaims", "controller"),
    says=(
        "{count} object has a drift hash that the running version does not know",
        "{count} objects have drift hashes that the running version does not know",
    ),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
    remedy_tools=("kubectl", *CHART_TOOLS),
)


KINDS = "nodepools.karpenter.sh,ec2nodeclasses.karpenter.k8s.aws"
HOLD = "hold nodes by budgets until then"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running, all_hashes = case.running.release, drift_hashes(case.inventory)
    row = find(running) if running else None
    if not all_hashes:
        yield NotApplicable("there is no NodePool and no EC2NodeClass yet")
        return
    if running is None or row is None:
        yield Unknown(f"which hashes the running release writes is not known: {case.running.how}")
        return
    if not any(serves(running, generation) for generation in ("beta", "v1")):
        yield NotApplicable(f"{running} acts on no NodePool, and hashes none")
        return
    versions = dict(zip(("NodePool", "EC2NodeClass"), row.hash_versions(running), strict=True))
    for hashes in all_hashes:
        version, newest = number(hashes.version), number(versions[hashes.kind]) or 0
        path = f"metadata.annotations[{hashes.annotation}]"
        if version is None:
            yield Unknown(f"{hashes.kind} {hashes.name}: {path} is no version")
        elif version > newest:
            wanted = f"{versions[hashes.kind] or 'no version'}, as {running} writes it"
            yield Evidence(kind=hashes.kind, name=hashes.name, path=path, seen=hashes.version or "", wanted=wanted)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    row = find(case.running.release) if case.running.release else None
    better, running = row.newest_good if row else None, case.running.release
    if row and running and better and better <= running and all(row.hash_versions(running)):
        look = ("kubectl", "get", KINDS, "-o", "custom-columns=NAME:.metadata.name,NOTES:.metadata.annotations")
        yield in_cluster(Observation(pipe=(look,), notes=(f"{running} writes its own versions: wait", HOLD)))
        return
    yield from chart_values(case, {}, to=better, about=f"{better} knows hash versions; {HOLD}", when="before")
