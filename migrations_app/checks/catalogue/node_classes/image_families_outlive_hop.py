"""Fails for each node class with an image family that EKS does not publish for the cluster's Kubernetes."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import MAPS, TEXT, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
from migrations_app.checks.shared.planned_kubernetes import reaches_kubernetes
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import AMI_TERMS, aliases, family, rows
from migrations_app.inventory.objects.karpenter import EC2NodeClass
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from
from migrations_app.karpenter.release_facts import FAMILY_ENDS, family_end

check = Check(
    __name__,
    title="Every image family is published for this Kubernetes",
    phase="resources",
    severity="blocker",
    why=(
        "EKS publishes no AL2 image from Kubernetes 1.33 on: no image is found, the node class is not ready, and no "
        "node is launched."
    ),
    how=(
        "Compares amiFamily or alias of each node class with the cluster's Kubernetes, the one that the target "
        "version requires, and a planned one."
    ),
    reads=("ec2nodeclasses", "version"),
    says=(
        "{count} node class uses a discontinued image family",
        "{count} node classes use a discontinued image family",
    ),
    hops=hops_from(ALPHA_LEFT),
    kubernetes_limits=tuple(row.kubernetes for row in FAMILY_ENDS),
    sources=tuple(row.source for row in FAMILY_ENDS),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    classes = case.inventory.ec2nodeclasses.items
    if not classes:
        yield NotApplicable("there is no EC2NodeClass yet")
    malformed, classes = split_malformed(classes, {AMI_TERMS: MAPS, "spec.amiFamily": TEXT})
    yield from malformed
    for ec2_node_class in classes:
        end = family_end(family(ec2_node_class))
        # Terms without an alias select images directly; the family then only decides about user data.
        named = bool(rows(ec2_node_class, AMI_TERMS)) and not any(aliases(ec2_node_class))
        if end is None or named:
            continue
        ended = reaches_kubernetes(case, end.kubernetes)
        if ended is None:
            yield Unknown(
                f"EC2NodeClass {ec2_node_class.name}: {end.family} ends with {end.kubernetes}; Kubernetes is unknown"
            )
        elif ended:
            seen = f"{end.family}, which ends before Kubernetes {end.kubernetes}"
            yield at_field(ec2_node_class, _family_path(ec2_node_class), seen=seen, wanted=end.instead)


def _family_path(ec2_node_class: EC2NodeClass) -> str:
    """The path of the field that names the family: an alias names it as well."""
    if ec2_node_class.get("spec.amiFamily"):
        return "spec.amiFamily"
    return next((f"{AMI_TERMS}[{place}].alias" for place, _ in aliases(ec2_node_class)), "spec.amiFamily")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = ("User data of AL2 does not work in the other families; nodes of the class drift",)
    yield from change_remedies(case, evidence, what=f"move to {evidence[0].wanted}", line=edit_task, notes=notes)
