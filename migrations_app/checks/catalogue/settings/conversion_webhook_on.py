"""Fails if DISABLE_WEBHOOK or the Helm value webhook.enabled turns the conversion webhook off."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import HelmValue
from migrations_app.checks.evidence import at_value
from migrations_app.checks.remedies.commands import helm_remedies
from migrations_app.checks.remedies.conversion_webhook import ENABLED, main_chart_fixes
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import (
    CRD_CHART,
    given_values,
    installation,
    value_at,
    why_values_unknown,
)
from migrations_app.inventory.facts.conversion_webhook import NOTHING_CONVERTED, converts_nothing
from migrations_app.karpenter.hops import ALPHA_LEFT, BETA_LEFT, CONVERTED

SWITCH = "DISABLE_WEBHOOK"

check = Check(
    __name__,
    title="The conversion webhook is on",
    phase="controller",
    severity="blocker",
    why=(
        "The CRDs of 0.33 to 1.0 ask it: without it no object is read in the version that is not stored; with strategy "
        "None node class references become empty, and no stored object is rewritten."
    ),
    how="Reads DISABLE_WEBHOOK from the Deployment, and webhook.enabled from the Helm values; at 0.33+ those alone.",
    reads=("controller",),
    says=("The conversion webhook is off", "The conversion webhook is off"),
    hops=(ALPHA_LEFT, CONVERTED, BETA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "kubernetes-sigs/karpenter@v1.0.9:pkg/controllers/controllers.go",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller, values = installation(case.inventory), given_values(case.inventory)
    if controller is None:
        return (yield NotApplicable("there is no Karpenter Deployment"))
    if converts_nothing(case.inventory, case.running.release):
        return (yield NotApplicable(NOTHING_CONVERTED))
    # The chart of the target writes the variable anew, on unless its value says otherwise.
    running_counts = case.hop.name != ALPHA_LEFT
    if controller.webhook_disabled and running_counts:
        path, (home, name) = f"spec.template.spec.containers[].env[{SWITCH}]", (controller.namespace, controller.name)
        row = Evidence(kind="Deployment", namespace=home, name=name, path=path, seen="true", wanted="false")
        return (yield row)
    if controller.hides(SWITCH) and running_counts:
        yield Unknown(f"{SWITCH} may be taken from an object that is not read")
    if controller.webhook_disabled and values is None:
        yield Unknown(
            f"whether {ENABLED} is false for {case.hop.release} too is not known: {why_values_unknown(case.inventory)}"
        )
    if values is not None and not value_at(values.tree, ENABLED):  # as a template reads it: "false" as text is true
        yield at_value(values, ENABLED, seen="false", wanted="true")


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from main_chart_fixes(case)
    if case.hop.name != ALPHA_LEFT and given_values(case.inventory, chart=CRD_CHART) is not None:
        values = (HelmValue(ENABLED, "true", "the CRDs say the same"),)
        yield from helm_remedies(case, values, when="before", chart=CRD_CHART)
