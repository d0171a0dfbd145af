"""The release that the hop starts from is running."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.inventory.facts.controller import installation
from migrations_app.karpenter import labels

check = Check(
    __name__,
    title="The release that the hop starts from is running",
    phase="preflight",
    severity="blocker",
    why=(
        "Hops build on each other: a release jumped over has not converted, "
        "rewritten or served what the next one needs."
    ),
    how="The running release is compared with the one that the hop starts from.",
    reads=("controller",),
    says=("The hop before this one has not been taken yet",) * 2,
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running, found = case.running.release, installation(case.inventory)
    if running is None or found is None:
        yield Unknown(f"which release runs is not known: {case.running.how}")
    elif running < case.step.start:
        yield Evidence(
            kind="Deployment",
            namespace=found.namespace,
            name=found.name,
            path=f"metadata.labels[{labels.APP_VERSION}]",
            seen=str(running),
            wanted=f"{case.step.start} or later",
        )


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    reason = f"this one starts from {case.step.start}, {evidence[0].seen} runs"
    yield in_cluster(PersonTask(what="take the earlier hops first", why=reason))
