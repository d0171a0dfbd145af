"""Objects of kinds that no scan reads say what the hop's release still heeds."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, ManualCheck, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import kubectl
from migrations_app.karpenter.metrics import outside_between, spoken_row
from migrations_app.karpenter.tables.outside_rows import UNREAD_KINDS, OutsideRow

check = Check(
    __name__,
    title="Policies, volumes and Rollouts are current",
    phase="workloads",
    severity="info",
    why="What a policy or a Rollout writes into new pods, or a volume asks of nodes, is not seen where pods are read.",
    how="The words that lose their meaning between the two releases are listed; a person searches for them.",
    reads=("controller",),
    says=("{count} word to search for", "{count} words to search for"),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    rows = _rows(case)
    if rows:
        yield ManualCheck(f"not read; search for: {'; '.join(map(spoken_row, rows))}", tuple(advise(case, ())))
    else:
        yield NotApplicable("nothing in these objects loses its meaning on this hop")


def _rows(case: CheckContext) -> tuple[OutsideRow, ...]:
    return outside_between("unread", case.step.start, landing=case.step.release)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    words = "|".join(word.replace(".", "\\.") for row in _rows(case) for word in row.search.split(", "))
    yield kubectl(
        "# a kind that the cluster does not serve is an error that tells nothing",
        *(f"kubectl get {kind} -A -o yaml | grep -nE '{words}'" for kind in UNREAD_KINDS),
    )
