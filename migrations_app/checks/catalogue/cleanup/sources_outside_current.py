"""Lists the words that end with the target version, for a person to search in Git and pipelines."""

import re
from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, ManualCheck, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import kubectl
from migrations_app.karpenter.metrics import outside_between, outside_search_text
from migrations_app.karpenter.tables.outside_rows import OutsideRow

check = Check(
    __name__,
    title="Manifests, policies and scripts outside the cluster are current",
    phase="cleanup",
    severity="info",
    why="A pipeline that applies what the target version refuses fails later, when nobody thinks of the upgrade.",
    how="Lists the words that end between the two releases; a person searches for them.",
    reads=("controller",),
    says=("{count} name to search for in Git and pipelines", "{count} names to search for in Git and pipelines"),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    rows = _rows(case)
    if rows:
        yield ManualCheck(
            f"search outside this cluster for: {'; '.join(map(outside_search_text, rows))}", tuple(advise(case, ()))
        )
    else:
        yield NotApplicable("nothing outside the cluster loses its meaning on this upgrade")


def _rows(case: CheckContext) -> tuple[OutsideRow, ...]:
    return outside_between("sources", case.hop.start, target_release=case.hop.release)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    rows = _rows(case)
    words = "|".join(re.escape(word).replace("\\ ", " ") for row in rows for word in row.search.split(", "))
    yield kubectl(
        "# in the repositories that hold them",
        f"grep -rnE '{words}' .",
        *(f"# {outside_search_text(row)}" for row in rows),
    )
