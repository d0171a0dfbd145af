"""The running patch has the fixes that its minor has to offer."""

from collections.abc import Iterator

from migrations_app.checks.base import Case, Check
from migrations_app.checks.causes import at_controller
from migrations_app.checks.remedies import chart_values
from migrations_app.checks.values import CannotTell, Evidence, NotApplicable, Remedy, Word
from migrations_app.inventory.installation import installation
from migrations_app.karpenter.fix_rows import KNOWN_FIXES
from migrations_app.karpenter.releases import find

check = Check(
    __name__,
    title="The running patch has the known fixes",
    phase="controller",
    severity="info",
    why="Nodes made on the way may come from subnets, groups or images that another selector has found.",
    how="The running release against the first patch of its minor that has the fix.",
    reads=("controller",),
    says=("{count} known fault is not mended in the running patch", "{count} known faults are not mended in it"),
    sources=("aws/karpenter-provider-aws#8665", "aws/karpenter-provider-aws#8664"),
)


@check.judge
def judge(case: Case) -> Iterator[Word]:
    running, found = case.running.release, installation(case.inventory)
    if found is None:
        yield NotApplicable("there is no Karpenter Deployment")
    elif running is None or find(running) is None:
        yield CannotTell(f"which fixes the running release has is not known: {case.running.how}")
    else:
        for row in KNOWN_FIXES:
            needed = row.needed_by(running)
            if needed:
                wanted = f"{needed} has it mended" if needed.startswith("no") else f"{needed} or later"
                yield at_controller(found, "containers[].image", seen=f"{running}: {row.fault}", wanted=wanted)


@check.advise
def advise(case: Case, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    row = find(case.running.release) if case.running.release else None
    better = row.newest_good if row else None
    yield from chart_values(case, {}, to=better, about=f"The newest patch of the minor; CRDs of {better} first")
