"""Fails for each admission webhook of Karpenter that the running version does not serve, or without an endpoint."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.changes import ChangeTarget
from migrations_app.checks.remedies.aws import could_not_read
from migrations_app.checks.remedies.commands import deletion_remedies
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.controller import installation, webhooks_off
from migrations_app.inventory.facts.conversion_webhook import service_problem
from migrations_app.inventory.objects.karpenter import WebhookConfiguration
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter.release_facts import admission_row, admits

check = Check(
    __name__,
    title="Every admission webhook has a running backend",
    phase="cleanup",
    severity="blocker",
    why=(
        "These webhooks fail closed: without a backend the API server refuses every write to NodePools, NodeClaims "
        "and node classes."
    ),
    how=(
        "Compares each admission webhook of Karpenter with those that the running version serves, and its Service "
        "with its ready endpoints."
    ),
    reads=("webhooks", "controller", "services"),
    says=(
        "{count} admission webhook has no backend and refuses writes",
        "{count} admission webhooks have no backend and refuse writes",
    ),
    resolved_by=("remove_stale_webhooks",),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws#5504",
        "aws/karpenter-provider-aws#6982",
    ),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running, controller = case.running.release, installation(case.inventory)
    off = webhooks_off(controller, running)
    for configuration in case.inventory.webhooks.items:
        row = admission_row(configuration.name)
        if row is None:
            problem = _without_endpoint(case, configuration)
        elif running is None or admits(running, webhooks_off=off) is None:
            yield Unknown(f"{configuration.name}: whether the running release answers it is not known")
            continue
        elif not row.shipped_by(running) or not admits(running, webhooks_off=off):
            problem = f"{running} does not answer it" + (" with webhooks off" if off else "")
        else:
            problem = _without_endpoint(case, configuration)
        if isinstance(problem, Unseen):
            yield could_not_read(f"whether {configuration.name} is answered", problem)
        elif problem:
            yield Evidence(kind=configuration.kind, name=configuration.name, seen=problem, wanted="absent")


def _without_endpoint(case: CheckContext, configuration: WebhookConfiguration) -> str | Unseen:
    for webhook in configuration.webhooks or ():
        target = webhook.client_config.service if webhook.client_config else None
        if target is not None and (problem := service_problem(case.inventory, target)):
            return problem if isinstance(problem, Unseen) else f"{target.namespace}/{target.name}: {problem}"
    return ""


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    names = {row.name for row in evidence}
    stale = [webhook for webhook in case.inventory.webhooks.items if webhook.name in names]
    for kind in dict.fromkeys(configuration.kind for configuration in stale):
        target = ChangeTarget(kind, "", resource=f"{kind.lower()}s")
        yield from deletion_remedies(target, [configuration for configuration in stale if configuration.kind == kind])
