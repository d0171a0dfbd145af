"""Fails if the target version does not support the cluster's Kubernetes, or the planned one."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.changes import Change, PersonTask
from migrations_app.checks.remedies.aws import upgrade_control_plane
from migrations_app.checks.remedies.commands import in_aws, in_cluster
from migrations_app.inventory.aws_facts.permissions import cluster_named
from migrations_app.karpenter.releases import kubernetes_window, newest_patch_for
from migrations_app.karpenter.versions import kubernetes_minor, minor_order

check = Check(
    __name__,
    title="The target version supports this Kubernetes",
    phase="preflight",
    severity="blocker",
    why="On an unsupported Kubernetes nodes join in a wrong way or not at all, or Karpenter's CRDs are refused.",
    how="Compares the API server's version, and a planned one, with the range that the target version supports.",
    reads=("version",),
    says=(
        "The target version does not support Kubernetes {seen}",
        "The target version does not support this Kubernetes",
    ),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:hack/docs/compatibilitymatrix_gen/compatibility.yaml",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
    ),
    remedy_tools=("kubectl", "iam"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    text = next((version.git_version for version in case.inventory.version.items), "")
    minor = kubernetes_minor(text)
    if minor is None:
        yield Unknown(f"the server's version {text[:40]!r} names no Kubernetes minor")
    elif not case.hop.kubernetes.holds(minor):
        yield _outside(case, seen=minor, minor=minor)


def _outside(case: CheckContext, *, seen: str, minor: str) -> Evidence:
    name, wanted = case.inventory.cluster, str(case.hop.kubernetes)
    return Evidence(kind="Cluster", name=name, path="gitVersion", seen=seen, wanted=wanted, data={"minor": minor})


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    seen, window = evidence[0].value("minor"), case.hop.kubernetes
    if minor_order(seen) < minor_order(window.min):
        yield in_aws(_upgrades(case, seen=seen, wanted=window.min))
        return
    highest = newest_patch_for(case.hop.release, seen)
    quickly = "pass through this upgrade quickly: no patch of it reaches higher"
    task = f"upgrade to {highest} instead" if highest else quickly
    reason = f"a control plane cannot be rolled back below {seen}"
    yield in_cluster(PersonTask(what=task, why=reason))


def _upgrades(case: CheckContext, *, seen: str, wanted: str) -> Change:
    """The upgrades of the control plane in order: EKS upgrades one minor at a time."""
    running = case.running.release
    supported = kubernetes_window(running) if running else None
    steps: list[tuple[str, str]] = []
    for minor in range(minor_order(seen)[1] + 1, minor_order(wanted)[1] + 1):
        late = supported is not None and not supported.holds(f"1.{minor}")
        condition = (
            f"{running} supports Kubernetes {supported} only: take the upgrades before this one first" if late else ""
        )
        steps.append((f"1.{minor}", condition))
        supported = None if late else supported
    return upgrade_control_plane(cluster_named(case.inventory), steps)
