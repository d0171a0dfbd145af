"""Fails for each node class or NodeClaim with own user data without the taint, where the target patch requires it."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import MAPS, TEXT, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, describe_remedy, edit_task
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_classes import barred_claims, untainted
from migrations_app.inventory.facts.node_pools import AMI_TERMS, USER_DATA, own_claims
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import CONVERTED, hops_from
from migrations_app.karpenter.release_facts import enforces_unregistered

check = Check(
    __name__,
    title="Nodes with custom user data register",
    phase="resources",
    severity="blocker",
    why=(
        "These releases do not register a node that joins without karpenter.sh/unregistered: it is replaced again "
        "and again."
    ),
    how=(
        "Reads userData of node classes with the family Custom, and of those that start the kubelet themselves, "
        "where the target patch requires the taint."
    ),
    reads=("ec2nodeclasses",),
    says=(
        "{count} node class or NodeClaim lacks the karpenter.sh/unregistered taint",
        "{count} node classes and NodeClaims lack the karpenter.sh/unregistered taint",
    ),
    hops=hops_from(CONVERTED),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "kubernetes-sigs/karpenter@v1.0.0:pkg/controllers/nodeclaim/lifecycle/registration.go",
        "kubernetes-sigs/karpenter#1991",
    ),
    remedy_tools=OBJECT_TOOLS,
)
WANTED = f"{labels.UNREGISTERED_TAINT}:NoExecute among the taints the kubelet registers with"
CONDITION = "status.conditions[Registered].reason"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    barred = set(barred_claims(case.inventory))
    for claim in own_claims(case.inventory):
        if claim.name in barred:
            yield at_field(claim, CONDITION, seen="UnregisteredTaintNotFound", wanted=WANTED)
    if not enforces_unregistered(case.hop.release):
        yield NotApplicable(f"{case.hop.release} does not insist on the taint")
        return
    shapes = {USER_DATA: TEXT, "spec.amiFamily": TEXT, AMI_TERMS: MAPS}
    malformed, classes = split_malformed(case.inventory.ec2nodeclasses.items, shapes)
    yield from malformed
    for untainted_node_class in untainted(classes):
        yield at_field(untainted_node_class.node_class, USER_DATA, seen=untainted_node_class.how, wanted=WANTED)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    classes = [row for row in evidence if row.kind == "EC2NodeClass"]
    claims = [row for row in evidence if row.kind == "NodeClaim"]
    if classes:
        notes = ("bootstrap.sh: --kubelet-extra-args; nodeadm: kubelet.flags; either with --register-with-taints",)
        yield from change_remedies(case, classes, what=f"add {WANTED}", line=edit_task, notes=notes)
    if claims:
        yield describe_remedy(claims)
