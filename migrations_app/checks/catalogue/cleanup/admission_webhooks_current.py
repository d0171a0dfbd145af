"""Fails for each admission webhook of Karpenter that the running version does not serve, or without an endpoint."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.changes import ChangeTarget
from migrations_app.checks.remedies.aws import could_not_read
from migrations_app.checks.remedies.commands import deletion_remedies
from migrations_app.checks.remedies.conversion_webhook import look_behind
from migrations_app.checks.shared.admission_backends import backend_problem, waits_for_controller
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.controller import installation, webhooks_off
from migrations_app.inventory.facts.conversion_webhook import webhook_service
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter.release_facts import admission_row, admits

check = Check(
    __name__,
    title="Every admission webhook has a running backend",
    phase="cleanup",
    severity="blocker",
    why="These webhooks fail closed: without a backend the API server refuses every write to Karpenter's objects.",
    how="Compares each of Karpenter's with those that the running version serves, and its Service with its endpoints.",
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
            problem = backend_problem(case.inventory, configuration)
        elif running is None or admits(running, webhooks_off=off) is None:
            yield Unknown(f"{configuration.name}: whether the running release answers it is not known")
            continue
        elif not row.shipped_by(running) or not admits(running, webhooks_off=off):
            problem = f"{running} does not answer it" + (" with webhooks off" if off else "")
        else:
            problem = backend_problem(case.inventory, configuration)
        if isinstance(problem, Unseen):
            yield could_not_read(f"whether {configuration.name} is answered", problem)
        elif problem:
            waits = waits_for_controller(case, configuration)
            wanted = "a ready endpoint" if waits else "absent"
            found = Evidence(kind=configuration.kind, name=configuration.name, seen=problem, wanted=wanted)
            yield found.with_data(waits="yes" if waits else "")


@check.fixable
def fixable(_case: CheckContext, evidence: tuple[Evidence, ...]) -> bool:
    return not all(row.value("waits") for row in evidence)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    names, real = {row.name for row in evidence if not row.value("waits")}, webhook_service(case.inventory)
    if real is not None and len(names) < len(evidence):
        yield look_behind(real)
    stale = [webhook for webhook in case.inventory.webhooks.items if webhook.name in names]
    for kind in dict.fromkeys(configuration.kind for configuration in stale):
        target = ChangeTarget(kind, "", resource=f"{kind.lower()}s")
        yield from deletion_remedies(target, [configuration for configuration in stale if configuration.kind == kind])
