"""Fails if the running version is older than the one that this upgrade starts from."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.inventory.facts.controller import installation
from migrations_app.karpenter import labels

check = Check(
    __name__,
    title="The cluster runs the version that this upgrade starts from",
    phase="preflight",
    severity="blocker",
    why=(
        "Upgrades build on each other: a release that was left out has not converted, rewritten or served what the "
        "next one needs."
    ),
    how="Compares the running version with the one that the upgrade starts from.",
    reads=("controller",),
    says=("Take the earlier upgrades first: Karpenter {seen} is running", "Take the earlier upgrades first"),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running, controller = case.running.release, installation(case.inventory)
    if running is None or controller is None:
        yield Unknown(f"which release runs is not known: {case.running.how}")
    elif running < case.hop.start:
        yield Evidence(
            kind="Deployment",
            namespace=controller.namespace,
            name=controller.name,
            path=f"metadata.labels[{labels.APP_VERSION}]",
            seen=str(running),
            wanted=f"{case.hop.start} or later",
        )


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    reason = f"this one starts from {case.hop.start}, {evidence[0].seen} runs"
    yield in_cluster(PersonTask(what="take the earlier upgrades first", why=reason))
