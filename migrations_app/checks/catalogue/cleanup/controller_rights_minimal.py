"""Fails for each Kubernetes permission of the controller that no release from the target version on needs."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import group
from migrations_app.checks.evidence import at_object
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.surplus_rights import remove_permissions
from migrations_app.inventory.facts.rbac import grants, kept_by_chart, per_target
from migrations_app.inventory.objects.cluster import ClusterRole
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from
from migrations_app.karpenter.tables.rbac_rows import RbacRight, outlived

check = Check(
    __name__,
    title="The controller has no outdated Kubernetes permission",
    phase="cleanup",
    severity="info",
    why=(
        "A permission that is not needed helps only an attacker. The chart removes its own; hand-written roles keep "
        "them."
    ),
    how=(
        "Compares the rules of ClusterRoles that the chart does not write with the permissions that ended before the "
        "target version."
    ),
    reads=("controller_rbac",),
    says=(
        "{count} Kubernetes permission of the controller is no longer needed",
        "{count} Kubernetes permissions of the controller are no longer needed",
    ),
    hops=hops_from(ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v0.34.0:charts/karpenter/templates/clusterrole-core.yaml",
        "aws/karpenter-provider-aws@v1.1.10:charts/karpenter/templates/clusterrole-core.yaml",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    roles = [role for role in case.inventory.controller_rbac.items if not kept_by_chart(role)]
    if not case.inventory.controller_rbac.items:
        yield Unknown("no ClusterRole is bound to the controller's service account by a ClusterRoleBinding")
    elif not roles:
        yield NotApplicable("the chart writes every ClusterRole of the controller")
    for role in roles:
        for target, rights in per_target(_outgrown(role, case)).items():
            verbs = ", ".join(dict.fromkeys(right.verb for right in rights))
            yield at_object(role, f"rules[{target}]", seen=verbs, wanted=f"absent: {rights[0].why}")


def _outgrown(role: ClusterRole, case: CheckContext) -> Iterator[RbacRight]:
    """The permissions that no release needs any more and a rule grants by name. A rule with `*` is left out, because it
    is a decision of its owner."""
    for right in outlived(case.hop.release):
        rules = [
            rule for rule in role.rules or () if "*" not in (rule.resources or ()) and "*" not in (rule.verbs or ())
        ]
        if any(grants(rule, RbacRight(right.group, right.resource, right.verb, named=True)) for rule in rules):
            yield right


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    named = {row.name for row in evidence}
    roles = [role for role in case.inventory.controller_rbac.items if role.name in named]
    steps = (remove_permissions(role, frozenset(_outgrown(role, case))) for role in roles)
    note = "Once the upgrade is done and nobody means to go back; a rule for several resources is written anew by hand"
    yield in_cluster(group(*(step for role_steps in steps for step in role_steps), notes=(note,)))
