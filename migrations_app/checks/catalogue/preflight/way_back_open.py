"""Fails if the running version is not one of those that the target version can be rolled back to."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import installation
from migrations_app.karpenter.hops import NAMED
from migrations_app.karpenter.releases import find, rollback_targets

check = Check(
    __name__,
    title="A rollback of the upgrade is possible",
    phase="preflight",
    severity="info",
    why="Only certain patches can read what the newer release has written; to any other release there is no rollback.",
    how="Looks the running version up among those that the target version can be rolled back to.",
    reads=("controller",),
    # For other minors the guides describe no rollback at all, so nothing in this cluster could change that.
    severity_at=dict.fromkeys(NAMED, "warning"),
    says=(
        "A rollback from the target version to {seen} is not known to be possible",
        "A rollback from the target version is not known to be possible",
    ),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws#5621",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running, controller = case.running.release, installation(case.inventory)
    if running is None or controller is None or find(running) is None:
        yield Unknown(f"whether a rollback to the running release is possible is not known: {case.running.how}")
        return
    if running < case.hop.start:
        yield NotApplicable(f"the upgrade starts from {case.hop.start}, which does not run yet")
    elif running.minor != case.hop.release.minor and running not in rollback_targets(case.hop.release):
        yield Evidence(
            kind="Deployment",
            namespace=controller.namespace,
            name=controller.name,
            path="spec.template.spec.containers[].image",
            seen=str(running),
            wanted=", ".join(str(target) for target in case.hop.rollback_to) or "no release is known",
        )


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    running = case.running.release
    own = [target for target in case.hop.rollback_to if running and target.minor == running.minor]
    if own:
        yield from chart_values(case, {}, to=own[0], about=f"{own[0]} can be rolled back to")
