"""Fails if the running version does not support the Kubernetes that the cluster runs."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.karpenter.releases import find
from migrations_app.karpenter.versions import Release, kubernetes_minor

check = Check(
    __name__,
    title="The running version supports this Kubernetes",
    phase="preflight",
    severity="warning",
    why=(
        "Until the upgrade the running version keeps working: on a Kubernetes that it does not support nodes join in "
        "a wrong way or not at all."
    ),
    how="Compares the API server's version with the range that the running version supports.",
    reads=("version", "controller"),
    says=(
        "The running version does not support Kubernetes {seen}",
        "The running version does not support this Kubernetes",
    ),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:hack/docs/compatibilitymatrix_gen/compatibility.yaml",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/compatibility.md",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    text = next((version.git_version for version in case.inventory.version.items), "")
    minor, running = kubernetes_minor(text), case.running.release
    row = find(running) if running else None
    if case.hop.start == case.hop.release:
        yield NotApplicable("without an upgrade kubernetes_inside_window checks the running version")
    elif running is None or row is None:
        yield Unknown(f"which Kubernetes the running release supports is not known: {running or case.running.how}")
    elif minor is None:
        yield Unknown(f"the server's version {text[:40]!r} names no Kubernetes minor")
    elif not row.kubernetes_window(running).holds(minor):
        fitting = _supporting_patch(running, minor)
        yield Evidence(
            kind="Cluster",
            name=case.inventory.cluster,
            path="gitVersion",
            seen=f"{minor}; {running} supports {row.kubernetes_window(running)}",
            wanted=f"Karpenter {fitting} or later" if fitting else "a release of a later minor",
            data={"fitting": str(fitting or "")},
        )


def _supporting_patch(running: Release, minor: str) -> Release | None:
    """The first later patch of the running minor that supports that Kubernetes and is not known to be bad."""
    row = find(running)
    later = (patch for patch in row.releases if patch > running and not row.bad_reasons(patch)) if row else ()
    return next((patch for patch in later if row and row.kubernetes_window(patch).holds(minor)), None)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    fitting = evidence[0].value("fitting")
    reason = f"the target version {case.hop.release} is judged on its own"
    if fitting:
        task = PersonTask(what=f"upgrade to {fitting} first where the upgrade has to wait", why=reason)
    else:
        task = PersonTask(what="take the upgrade: no patch of the running minor fits", why=reason)
    yield in_cluster(task)
