"""Fails for each setting that stops the rewrite of stored objects to v1, and each object not rewritten yet."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import at_controller, at_crd, at_variable
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import Installation, installation
from migrations_app.inventory.facts.conversion_webhook import CONVERTED
from migrations_app.inventory.objects.karpenter import NamedObject
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import BETA_LEFT
from migrations_app.karpenter.versions import Release, minor_order, release, within

SINCE = "1.0.6"
SWITCH = "DISABLE_WEBHOOK"
check = Check(
    __name__,
    title="The controller rewrites all stored objects to v1",
    phase="crds",
    severity="warning",
    why="Only 1.0.6 and later rewrite stored objects, with webhooks on and v1 as the storage version of the CRDs.",
    how="Reads the release, DISABLE_WEBHOOK, the storage version of the CRDs, and stored-version-migrated on objects.",
    reads=("controller", "crds", "nodepools", "ec2nodeclasses", "nodeclaims"),
    says=("{count} obstacle to storing all objects as v1", "{count} obstacles to storing all objects as v1"),
    hops=(BETA_LEFT,),
    sources=(
        "kubernetes-sigs/karpenter@v1.0.9:pkg/controllers/migration/crd/controller.go",
        "aws/karpenter-provider-aws#7734",
    ),
    remedy_tools=CHART_TOOLS,
)
PARTS = {"NodePool": "nodepools", "EC2NodeClass": "ec2nodeclasses", "NodeClaim": "nodeclaims"}


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    crds = [crd for crd in case.inventory.crds.items if crd.name in CONVERTED]
    running, controller = case.running.release, installation(case.inventory)
    if not crds or all(crd.stored == ("v1",) for crd in crds):
        yield NotApplicable("nothing but v1 is stored")
        return
    if running is None or controller is None:
        yield Unknown(f"which release would rewrite them is not known: {case.running.how}")
        return
    if minor_order(running.minor) < (1, 0):
        yield NotApplicable(f"{case.hop.start} will rewrite them, which does not run yet")
        return
    yield from _obstacles(controller, running)
    for crd in crds:
        if crd.storage != "v1":
            yield at_crd(crd, "spec.versions[].storage", seen=f"{crd.storage or 'none'} is stored", wanted="v1")
    for kind, part in PARTS.items() if within(running, first=SINCE, last="1.0") else ():
        objects = [item for item in case.inventory.part(part).items if isinstance(item, NamedObject)]
        if remaining := [item for item in objects if _not_rewritten(item)]:
            path, count = f"metadata.annotations[{labels.STORED_VERSION_DONE}]", len(remaining)
            seen = f"{count} of {case.inventory.part(part).count} not rewritten yet"
            name, wanted = remaining[0].name, "true on all"
            yield Evidence(kind=kind, name=name, path=path, seen=seen, wanted=wanted, count=count)


def _not_rewritten(named_object: NamedObject) -> bool:
    return named_object.metadata.annotation(labels.STORED_VERSION_DONE) != "true"


def _obstacles(controller: Installation, running: Release) -> Iterator[JudgeResult]:
    if running < release(SINCE):
        yield at_controller(
            controller, "containers[].image", seen=str(running), wanted=f"{SINCE} or a later patch of 1.0"
        )
    if controller.webhook_disabled:
        yield at_variable(controller, SWITCH, seen="true", wanted="false")


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    about = "wait until every object carries the annotation of the rewriting"
    yield from chart_values(case, {"webhook.enabled": "true"}, to=case.hop.start, about=about)
