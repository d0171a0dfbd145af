"""Fails for each setting that makes the controller assume another IAM role: 1.0 ignores it."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.remedies.iam_trust import permitted_first
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import ABSENT, given_values, installation, value_at
from migrations_app.karpenter.controller_settings import setting_row
from migrations_app.karpenter.hops import CONVERTED, hops_from

ROLE = setting_row("aws.assumeRoleARN")
ENV, VALUE = (ROLE.env, ROLE.value) if ROLE else ("", "")
OLD_VALUE = "settings.aws.assumeRoleARN"

check = Check(
    __name__,
    title="The controller assumes no second IAM role",
    phase="iam",
    severity="warning",
    why=(
        "From 1.0 on the setting is ignored: the controller uses its own account, and finds none of its instances "
        "there."
    ),
    how="Reads ASSUME_ROLE_ARN from the Deployment, and its value from the Helm values.",
    reads=("controller",),
    says=(
        "{count} setting makes the controller assume another IAM role",
        "{count} settings make the controller assume another IAM role",
    ),
    hops=hops_from(CONVERTED),
    severity_at={CONVERTED: "blocker"},
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller = installation(case.inventory)
    if controller is None:
        yield NotApplicable("there is no Karpenter Deployment")
        return
    if role := controller.env.get(ENV):
        path = f"spec.template.spec.containers[].env[{ENV}]"
        yield Evidence(
            kind="Deployment",
            namespace=controller.namespace,
            name=controller.name,
            path=path,
            seen=role,
            wanted="absent",
        )
        return
    if controller.hides(ENV):
        yield Unknown(f"{ENV} may be taken from an object that is not read")
    values = given_values(case.inventory)
    for key in (VALUE, OLD_VALUE) if values else ():
        if values and value_at(values.tree, key) not in (ABSENT, ""):
            yield Evidence(
                kind=values.kind,
                namespace=values.namespace,
                name=values.name,
                path=f"{values.path}.{key}",
                seen=str(value_at(values.tree, key))[:200],
                wanted="absent",
            )


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    if case.hop.name != CONVERTED:
        yield from chart_values(case, {VALUE: ""}, about="the running release ignores it")
        return
    removal = chart_values(case, {VALUE: ""}, about="once the controller has the permissions without it")
    yield from permitted_first(case, removal, assumed=evidence[0].seen)
