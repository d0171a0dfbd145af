"""Fails for each node class with own user data that lacks the taint, where the target patch only warns about it."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import MAPS, TEXT, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_classes import untainted
from migrations_app.inventory.facts.node_pools import AMI_TERMS, USER_DATA
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import CONVERTED, hops_from
from migrations_app.karpenter.release_facts import enforces_unregistered

check = Check(
    __name__,
    title="Nodes with custom user data join with the taint",
    phase="resources",
    severity="warning",
    why=(
        "Pods are scheduled to such a node before Karpenter has set its labels and taints; some patches do not "
        "register it."
    ),
    how=(
        "Reads userData of node classes with the family Custom, and of those that start the kubelet themselves, "
        "where the target patch only warns."
    ),
    reads=("ec2nodeclasses",),
    says=(
        "{count} node class starts nodes without the karpenter.sh/unregistered taint",
        "{count} node classes start nodes without the karpenter.sh/unregistered taint",
    ),
    hops=hops_from(CONVERTED),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "kubernetes-sigs/karpenter#1991",
    ),
    remedy_tools=OBJECT_TOOLS,
)
WANTED = f"{labels.UNREGISTERED_TAINT}:NoExecute among the taints the kubelet registers with"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    classes = case.inventory.ec2nodeclasses.items
    if not classes:
        yield NotApplicable("there is no EC2NodeClass yet")
    if enforces_unregistered(case.hop.release):
        yield NotApplicable(f"{case.hop.release} insists on the taint: see custom_images_register")
        return
    malformed, classes = split_malformed(classes, {USER_DATA: TEXT, "spec.amiFamily": TEXT, AMI_TERMS: MAPS})
    yield from malformed
    for untainted_node_class in untainted(classes):
        yield at_field(untainted_node_class.node_class, USER_DATA, seen=untainted_node_class.how, wanted=WANTED)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = ("bootstrap.sh: --kubelet-extra-args; nodeadm: kubelet.flags; either with --register-with-taints",)
    yield from change_remedies(case, evidence, what=f"add {WANTED}", line=edit_task, notes=notes)
