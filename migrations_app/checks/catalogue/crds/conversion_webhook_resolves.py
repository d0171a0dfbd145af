"""The conversion webhook of every CRD that converts calls a Service that is there and answers."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_crd
from migrations_app.checks.remedies.aws import could_not_read
from migrations_app.checks.remedies.commands import ordered
from migrations_app.checks.remedies.conversion_webhook import SERVICE, by_chart, by_patch
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts import conversion_webhook as facts
from migrations_app.inventory.facts.controller import installation, webhooks_off
from migrations_app.inventory.facts.managers import managed
from migrations_app.inventory.objects.karpenter import CRD, Service
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter.hops import ALPHA_LEFT

check = Check(
    __name__,
    title="The conversion webhook answers",
    phase="crds",
    severity="blocker",
    why="While it does not, every read of an object stored in the other version fails, the controller's too.",
    how="Service and port in spec.conversion of each CRD: there, with ready endpoints, and these of the controller.",
    reads=("crds", "services", "controller"),
    says=(
        "{count} CRD converts through a webhook that cannot answer",
        "{count} CRDs convert through a webhook that cannot answer",
    ),
    # Within 0.33 to 0.37 the hop to the latest patch is itself what puts the webhook right.
    severity_at={ALPHA_LEFT: "warning"},
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws#6818",
        "aws/karpenter-provider-aws#6981",
    ),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    found = facts.conversion_crds(case.inventory)
    if not found:
        yield NotApplicable("no CRD converts between versions")
    elif facts.converts_nothing(case.inventory, case.running.release):
        yield NotApplicable(facts.NOTHING_CONVERTED)
        return
    real = facts.webhook_service(case.inventory)
    for crd in found:
        yield from _judge(case, crd, real=real)


def _judge(case: CheckContext, crd: CRD, *, real: Service | None) -> Iterator[JudgeResult]:
    target, strategy = facts.conversion_target(crd), facts.strategy_of(crd)
    if strategy != "Webhook":
        # A controller with webhooks on insists on its place in the CRD, whatever is stored.
        if crd.stored != ("v1",) or not webhooks_off(installation(case.inventory), case.running.release):
            yield at_crd(crd, "spec.conversion.strategy", seen=strategy, wanted="Webhook")
    elif target is None:
        yield Unknown(f"{crd.name}: its conversion webhook names no Service in the cluster")
    elif isinstance(problem := facts.ready_port(case.inventory, target), Unseen):
        yield could_not_read(f"whether {target.namespace}/{target.name} answers", problem)
    elif problem:
        wanted = f"{real.namespace}/{real.name}" if real else "a Service with that port and a ready endpoint"
        seen = f"{target.namespace}/{target.name}:{target.port or 443}: {problem}"
        yield at_crd(crd, SERVICE, seen=seen, wanted=wanted)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    real, first = facts.webhook_service(case.inventory), facts.conversion_crds(case.inventory)[0]
    remedies = (*by_chart(case, real), *by_patch(evidence, real))
    yield from ordered(managed(first.metadata), remedies)
