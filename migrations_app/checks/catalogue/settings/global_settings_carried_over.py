"""Fails for each key of the ConfigMap karpenter-global-settings that is not set as a variable of the controller."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import ABSENT, given_values, installation, value_at
from migrations_app.inventory.objects.karpenter import ConfigMap
from migrations_app.karpenter.controller_settings import LAST_READ, SettingRow, setting_row
from migrations_app.karpenter.hops import ALPHA_LEFT
from migrations_app.karpenter.versions import minor_order

check = Check(
    __name__,
    title="Every global setting is set on the controller",
    phase="controller",
    severity="blocker",
    why=(
        "From 0.33 on the ConfigMap is not read: without a cluster name the controller exits, all other settings get "
        "their defaults."
    ),
    how="Looks every key of karpenter-global-settings up among the controller's variables.",
    reads=("settings", "controller"),
    says=(
        "{count} global setting is missing on the controller",
        "{count} global settings are missing on the controller",
    ),
    hops=(ALPHA_LEFT,),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws@v0.33.12:pkg/operator/options/options_validation.go",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    for config in case.inventory.settings.items:
        for key, value in (config.data or {}).items():
            row = setting_row(key)
            if row and row.env and value not in ("", row.default):
                yield from _setting_results(case, config, row=row, value=value)


def _setting_results(case: CheckContext, config: ConfigMap, *, row: SettingRow, value: str) -> Iterator[JudgeResult]:
    values, running, controller = given_values(case.inventory), case.running.release, installation(case.inventory)
    if values is not None:
        missing = value_at(values.tree, row.value) is ABSENT
    elif controller is None or running is None or minor_order(running.minor) <= minor_order(LAST_READ):
        # Until 0.32 the chart fills the variable from the old value too, so the variable proves nothing.
        yield Unknown(f"the Helm values are not known, so neither is whether {row.value} is given")
        return
    elif controller.hides(row.env):
        yield Unknown(f"{row.env} may be taken from an object that is not read")
        return
    else:
        missing = not controller.env.get(row.env)
    if missing:
        yield Evidence(
            kind="ConfigMap",
            namespace=config.namespace,
            name=config.name,
            path=f"data[{row.key}]",
            seen=value[:200],
            wanted=f"{row.value} in the Helm values",
            data={"key": row.value, "value": value},
        )


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    settings = {row.value("key"): row.value("value") for row in evidence}
    yield from chart_values(case, settings, about="carried over from karpenter-global-settings")
