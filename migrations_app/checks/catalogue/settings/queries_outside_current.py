"""Rules, dashboards and log queries that no cluster shows name what the hop's release still has."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, ManualCheck, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import kubectl
from migrations_app.karpenter.metrics import outside_between, renamed_between, spoken_row
from migrations_app.karpenter.tables.outside_rows import OutsideRow

NAMES_SHOWN = 5

check = Check(
    __name__,
    title="Queries kept outside the cluster are current",
    phase="controller",
    severity="info",
    why="Alerts and panels on names that are gone fall silent; what lies outside the cluster is not seen from here.",
    how="The metrics and labels that go between the two releases are listed; a person searches for them.",
    reads=("controller",),
    says=("{count} word to search for", "{count} words to search for"),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    names, others = _renamed(case), _others(case)
    if not names and not others:
        yield NotApplicable("no name of a metric goes on this hop")
        return
    shown = ", ".join(names[:NAMES_SHOWN]) + (
        f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    )
    renames = "; ".join(word for word in (shown, *map(spoken_row, others)) if word)
    yield ManualCheck(
        f"search rules, dashboards and log queries outside this cluster for: {renames}", tuple(advise(case, ()))
    )


def _renamed(case: CheckContext) -> tuple[str, ...]:
    return renamed_between(case.step.start, case.step.release)


def _others(case: CheckContext) -> tuple[OutsideRow, ...]:
    return outside_between("queries", case.step.start, landing=case.step.release)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    names = _renamed(case)
    grep = (f"grep -rnwE '{'|'.join(names)}' .",) if names else ()
    yield kubectl("# in the repositories that hold them", *grep, *(f"# {spoken_row(row)}" for row in _others(case)))
