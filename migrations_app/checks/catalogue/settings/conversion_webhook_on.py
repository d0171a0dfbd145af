"""Fails if DISABLE_WEBHOOK or the Helm value webhook.enabled turns the conversion webhook off."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import HelmValue
from migrations_app.checks.remedies.commands import chart_values, helm_remedies
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import CRD_CHART, given_values, installation, value_at
from migrations_app.inventory.facts.conversion_webhook import NOTHING_CONVERTED, converts_nothing
from migrations_app.karpenter.hops import BETA_LEFT, CONVERTED

SWITCH = "DISABLE_WEBHOOK"
VALUE = "webhook.enabled"

check = Check(
    __name__,
    title="The conversion webhook is on",
    phase="controller",
    severity="blocker",
    why=(
        "Without the webhook the API server only changes the version: node class references become empty, and no "
        "stored object is rewritten."
    ),
    how="Reads DISABLE_WEBHOOK from the Deployment, and webhook.enabled from the Helm values.",
    reads=("controller",),
    says=("The conversion webhook is off", "The conversion webhook is off"),
    hops=(CONVERTED, BETA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "kubernetes-sigs/karpenter@v1.0.9:pkg/controllers/controllers.go",
    ),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller = installation(case.inventory)
    if controller is None:
        yield NotApplicable("there is no Karpenter Deployment")
        return
    if converts_nothing(case.inventory, case.running.release):
        yield NotApplicable(NOTHING_CONVERTED)
        return
    if controller.webhook_disabled:
        yield Evidence(
            kind="Deployment",
            namespace=controller.namespace,
            name=controller.name,
            path=f"spec.template.spec.containers[].env[{SWITCH}]",
            seen="true",
            wanted="false",
        )
        return
    if controller.hides(SWITCH):
        yield Unknown(f"{SWITCH} may be taken from an object that is not read")
    values = given_values(case.inventory)
    if values is not None and not value_at(values.tree, VALUE):  # as a template reads it: "false" as text is true
        yield Evidence(
            kind=values.kind,
            namespace=values.namespace,
            name=values.name,
            path=f"{values.path}.{VALUE}",
            seen="false",
            wanted="true",
        )


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from chart_values(case, {VALUE: "true"}, about="the API server converts through it", when="before")
    if given_values(case.inventory, chart=CRD_CHART) is not None:
        values = (HelmValue(VALUE, "true", "the CRDs say the same"),)
        yield from helm_remedies(case, values, when="before", chart=CRD_CHART)
