"""Fails for each workload with ResourceClaims that needs nodes of Karpenter, which ignores such pods from 1.7 on."""

from collections.abc import Iterator

from msgspec.structs import replace

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.shared.replaced_nodes import NODES_PARTLY_KNOWN, claim_questions, groups_on_nodes
from migrations_app.inventory.facts.controller import VARIABLES, installation
from migrations_app.inventory.facts.workloads import POD_PARTS
from migrations_app.inventory.objects.karpenter import PodGroup
from migrations_app.karpenter.controller_settings import DEVICE_SWITCH, DEVICE_VALUE, is_false
from migrations_app.karpenter.hops import hops_from

IGNORED_FROM = "1.7"
check = Check(
    __name__,
    title="No pod with a resource claim needs a node of Karpenter",
    phase="workloads",
    severity="warning",
    why=(
        "Up to 1.6 Karpenter launches nodes for pods with ResourceClaims and does not look at the claims. From 1.7 on "
        "it launches none for them: they stay pending once their node is gone."
    ),
    reads=(*POD_PARTS, "nodes", "controller"),
    says=("{count} pod with a resource claim gets no node", "{count} pods with resource claims get no node"),
    how="Reads resourceClaims of pods on its nodes or on none, and of templates without pods, but not of DaemonSets.",
    hops=hops_from(IGNORED_FROM),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "kubernetes-sigs/karpenter@v1.7.2:pkg/controllers/provisioning/scheduling/scheduler.go",
    ),
    remedy_tools=("kubectl",),
)
RIGHTS = "From 1.13 on the variable needs rights that no chart grants: device_rights_granted"
PATH, SEEN, WANTED = "spec.resourceClaims", "present", f"absent, nodes of a node group, or {DEVICE_SWITCH}=false"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller = installation(case.inventory)
    if IGNORED_FROM not in case.hop.entered:
        yield NotApplicable(f"the upgrade does not enter {IGNORED_FROM}")
    elif not any(map(_claims, case.inventory.pods.items)) and not any(claim_questions(case)):
        yield NotApplicable("no pod names a ResourceClaim")
    elif controller and controller.hides(DEVICE_SWITCH):
        yield Unknown(f"{DEVICE_SWITCH} may be taken from an object that is not read")
    elif not (controller and is_false(controller.env.get(DEVICE_SWITCH, ""))):
        yield from _without_node(case)


def _without_node(case: CheckContext) -> Iterator[JudgeResult]:
    launched = frozenset(node.name for node in case.ownership.nodes if node.owner.startswith("karpenter_"))
    for found in groups_on_nodes(case, launched, wanted=_claims):
        yield found.evidence(path=PATH, seen=SEEN, wanted=WANTED)
        if not found.exact:
            yield NODES_PARTLY_KNOWN
    yield from (_evidence(group) for group in case.inventory.pods.items if _claims(group) and not group.nodes)
    yield from claim_questions(case)


def _evidence(group: PodGroup) -> Evidence:
    name, seen = group.owner_name or group.samples[0], f"{SEEN}, on no node yet"
    row = Evidence(kind=group.owner_kind or "Pod", name=name, path=PATH, seen=seen, wanted=WANTED, count=group.count)
    return replace(row, namespace=group.namespace)


def _claims(group: PodGroup) -> bool:
    return group.claims_devices and group.owner_kind not in ("DaemonSet", "Node")


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    names = ", ".join(dict.fromkeys(f"{row.namespace}/{row.name}" for row in evidence))[:400]
    task = f"give {names} nodes that Karpenter does not launch, or set {DEVICE_SWITCH} to 'false' in {VARIABLES}"
    why = f"which of the two is a choice; the chart writes nothing for {DEVICE_VALUE}: false. {RIGHTS}"
    yield in_cluster(PersonTask(what=task, why=why, done="no pod with a resource claim waits for a node of Karpenter"))
