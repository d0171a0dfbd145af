"""Lists the metrics and labels that end with the target version, for a person to search outside the cluster."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, ManualCheck, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import kubectl
from migrations_app.karpenter.metrics import (
    label_search_text,
    labels_between,
    outside_between,
    outside_search_text,
    renamed_between,
)
from migrations_app.karpenter.tables.metric_rows import MetricLabelRow
from migrations_app.karpenter.tables.outside_rows import OutsideRow

NAMES_SHOWN = 5

check = Check(
    __name__,
    title="Dashboards and alerts outside the cluster are current",
    phase="controller",
    severity="info",
    why=(
        "Alerts and panels with removed names stop working without an error; karpdash does not see those outside the "
        "cluster."
    ),
    how="Lists the metrics and labels that end between the two releases; a person searches for them.",
    reads=("controller",),
    says=(
        "{count} name to search for in dashboards and alerts",
        "{count} names to search for in dashboards and alerts",
    ),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    names, others, labels = _renamed(case), _others(case), _labels(case)
    if not names and not others and not labels:
        yield NotApplicable("no metric name is removed by this upgrade")
        return
    names_text = ", ".join(names[:NAMES_SHOWN]) + (
        f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    )
    labels_text = f"metric labels {', '.join(row.old for row in labels)}" if labels else ""
    renames = "; ".join(word for word in (names_text, labels_text, *map(outside_search_text, others)) if word)
    yield ManualCheck(
        f"search rules, dashboards and log queries outside of this cluster for: {renames}", tuple(advise(case, ()))
    )


def _renamed(case: CheckContext) -> tuple[str, ...]:
    return renamed_between(case.hop.start, case.hop.release)


def _others(case: CheckContext) -> tuple[OutsideRow, ...]:
    return outside_between("queries", case.hop.start, target_release=case.hop.release)


def _labels(case: CheckContext) -> tuple[MetricLabelRow, ...]:
    return labels_between(case.hop.start, case.hop.release)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    names = _renamed(case)
    grep = (f"grep -rnwE '{'|'.join(names)}' .",) if names else ()
    words = (*map(label_search_text, _labels(case)), *map(outside_search_text, _others(case)))
    yield kubectl("# in the repositories that hold them", *grep, *(f"# {word}" for word in words))
