"""Fails for each CRD whose conversion webhook calls a Service that is missing, not ready or not the controller's."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_crd
from migrations_app.checks.remedies.aws import could_not_read
from migrations_app.checks.remedies.commands import ordered
from migrations_app.checks.remedies.conversion_webhook import SERVICE, chart_fixes, diagnosis, is_fixable, patch_fixes
from migrations_app.checks.shared.pod_network import network_doubts
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts import conversion_webhook as facts
from migrations_app.inventory.facts.managers import managed
from migrations_app.inventory.objects.karpenter import CRD, Service
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter.hops import ALPHA_LEFT

check = Check(
    __name__,
    title="The conversion webhook can be reached",
    phase="crds",
    severity="blocker",
    why="Until it answers, every read of an object stored in another version fails, the controller's reads too.",
    how="Reads Service, port, path in spec.conversion of each CRD: there, ready, the controller's; lists; overlay.",
    reads=("crds", "services", "controller"),
    says=("{count} CRD has an unreachable conversion webhook", "{count} CRDs have an unreachable conversion webhook"),
    severity_at={ALPHA_LEFT: "warning"},  # the hop to the latest patch of 0.33 to 0.37 itself puts it right
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws#6818",
        "aws/karpenter-provider-aws#6981",
    ),
    resolved_by=("mend_conversion",),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    crds, real = facts.conversion_crds(case.inventory), facts.webhook_service(case.inventory)
    if not crds or facts.converts_nothing(case.inventory, case.running.release):
        return (yield NotApplicable(facts.NOTHING_CONVERTED if crds else "no CRD converts between versions"))
    yield from [row for crd in crds for row in _crd_results(case, crd, real=real)] or network_doubts(case, "info")


def _crd_results(case: CheckContext, crd: CRD, *, real: Service | None) -> Iterator[JudgeResult]:
    strategy = facts.strategy_of(crd)
    if strategy == "Webhook":
        yield from _webhook_results(case, crd, real=real)
    elif facts.strategy_is_missing(crd, inventory=case.inventory, running=case.running.release):
        seen = facts.mislabelled_objects(case.inventory).get(crd.name, "")
        yield at_crd(crd, "spec.conversion.strategy", seen=f"{strategy}; {seen}".strip("; "), wanted="Webhook")


def _webhook_results(case: CheckContext, crd: CRD, *, real: Service | None) -> Iterator[JudgeResult]:
    target, failed = facts.conversion_target(crd), facts.failed_conversions(case.inventory).get(crd.name)
    problem = facts.service_problem(case.inventory, target) if target else ""
    place = f"{target.namespace}/{target.name}" if target else ""
    if target and isinstance(problem, str) and problem:
        right = f"{real.namespace}/{real.name}" if real else "a Service with that port and a ready endpoint"
        yield at_crd(crd, SERVICE, seen=f"{place}:{target.port or 443}: {problem}", wanted=right)
    elif target and target.path and target.path != facts.webhook_path(crd):
        yield at_crd(crd, f"{SERVICE}.path", seen=target.path, wanted=facts.webhook_path(crd))
    elif failed is not None:
        yield at_crd(crd, "spec.conversion.webhook", seen=f"the API server's call fails: {failed}", wanted="an answer")
    elif isinstance(problem, Unseen):
        yield could_not_read(f"whether {place} answers", problem)
    elif not target:
        yield Unknown(f"{crd.name}: its conversion webhook names no Service in the cluster")


check.fixable(is_fixable)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    real = facts.webhook_service(case.inventory)
    remedies = diagnosis(case, evidence, real=real)
    remedies = remedies or (*chart_fixes(case, real), *patch_fixes(case, evidence, real=real))
    yield from ordered(managed(facts.conversion_crds(case.inventory)[0].metadata), remedies)
