"""Fails for each Helm value that the target chart does not read."""

import json
from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import HelmValue
from migrations_app.checks.remedies.commands import helm_remedies
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import given_values, value_at, why_values_unknown
from migrations_app.karpenter.controller_settings import lost_helm_keys
from migrations_app.redaction import is_unredacted

check = Check(
    __name__,
    title="The target chart reads every Helm value",
    phase="controller",
    severity="warning",
    why="A chart ignores values that it no longer reads without an error: the setting gets its default.",
    how="Compares the values given to the chart with those that the target chart reads.",
    reads=("controller",),
    says=("{count} Helm value is no longer read", "{count} Helm values are no longer read"),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.0.14:charts/karpenter/values.yaml",
        "aws/karpenter-provider-aws#7124",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not case.inventory.controller.items:
        yield NotApplicable("there is no Karpenter Deployment")
        return
    values = given_values(case.inventory)
    if values is None:
        yield Unknown(why_values_unknown(case.inventory))
        return
    for unread in lost_helm_keys(values.tree, case.hop.release):
        yield Evidence(
            kind=values.kind,
            namespace=values.namespace,
            name=values.name,
            path=f"{values.path}.{unread.key}",
            seen=unread.fate or "not read any more",
            wanted=unread.replacement or "absent",
        )


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    values = given_values(case.inventory)
    moved: list[HelmValue] = []
    by_hand: list[HelmValue] = []
    removals: list[HelmValue] = []
    for row in lost_helm_keys(values.tree, case.hop.release) if values else ():
        value = value_at(values.tree, row.key) if values else None
        if not row.replacement or " " in row.replacement:
            removals.append(HelmValue(row.key, why=f"{case.hop.release} does not read it"))
        elif is_unredacted(value):
            moved.append(HelmValue(row.replacement, json.dumps(value, ensure_ascii=False), f"takes over {row.key}"))
            removals.append(HelmValue(row.key, why=f"{row.replacement} takes over"))
        else:
            by_hand.append(HelmValue(row.replacement, json.dumps(f"VALUE OF {row.key}"), "a secret is not shown here"))
    if removals:
        yield from helm_remedies(case, (*removals, *moved))
    if by_hand:
        yield from helm_remedies(case, tuple(by_hand), when="person")
