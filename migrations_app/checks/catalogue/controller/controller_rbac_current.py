"""Fails for each resource on which the controller's ClusterRoles lack a permission that its version needs."""

from collections.abc import Iterable, Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.commands import chart_values, grant_permissions
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.controller import installation, webhooks_off
from migrations_app.inventory.facts.rbac import kept_by_chart, missing_rights, per_target
from migrations_app.karpenter.hops import BETA_LEFT, CONVERTED
from migrations_app.karpenter.releases import find
from migrations_app.karpenter.tables.rbac_rows import RbacRight, rights_needed
from migrations_app.karpenter.versions import Release

ROLES = "bound to the controller"
check = Check(
    __name__,
    title="The controller has every Kubernetes permission of its version",
    phase="controller",
    severity="warning",
    why="A controller without a permission it needs stops half-way: nodes stay, stored versions are not rewritten.",
    how="Compares the ClusterRoles of the controller's service account with what the charts of both releases grant.",
    reads=("controller", "controller_rbac"),
    says=(
        "The controller lacks permissions on {count} resource",
        "The controller lacks permissions on {count} resources",
    ),
    severity_at={CONVERTED: "blocker", BETA_LEFT: "blocker"},
    sources=(
        "aws/karpenter-provider-aws@v1.0.14:charts/karpenter/templates/clusterrole-core.yaml",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
    ),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller, running, roles = (
        installation(case.inventory),
        case.running.release,
        case.inventory.controller_rbac.items,
    )
    if controller is None:
        yield NotApplicable("there is no Karpenter Deployment")
    elif not roles:
        yield Unknown("no ClusterRole is bound to the controller's service account by a ClusterRoleBinding")
    elif running is None or find(running) is None:
        yield Unknown(f"what the running release needs is not known: {case.running.how}")
    else:
        yield from _evidence(missing(case, running), wanted=f"what {running} needs")
        if not any(map(kept_by_chart, roles)):
            coming = missing(case, case.hop.release, but=missing(case, running))
            yield from _evidence(coming, wanted=f"what {case.hop.release} needs; no chart writes these roles")


def missing(case: CheckContext, release: Release, *, but: tuple[RbacRight, ...] = ()) -> tuple[RbacRight, ...]:
    """The permissions that the release needs and no role grants."""
    controller = installation(case.inventory)
    webhooks = controller is not None and not webhooks_off(controller, case.running.release)
    not_granted = missing_rights(case.inventory.controller_rbac.items, rights_needed(release, webhooks=webhooks))
    return tuple(right for right in not_granted if right not in but)


def _evidence(rights: Iterable[RbacRight], *, wanted: str) -> Iterator[JudgeResult]:
    for target, rights_of_target in per_target(rights).items():
        seen = f"not granted: {', '.join(dict.fromkeys(right.verb for right in rights_of_target))}"
        wanted_text = f"{wanted}: {rights_of_target[0].why}"
        yield Evidence(kind="ClusterRole", name=ROLES, path=f"rules[{target}]", seen=seen, wanted=wanted_text)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    roles, running = case.inventory.controller_rbac.items, case.running.release
    if any(map(kept_by_chart, roles)):  # its next upgrade restores the rules; no extra ClusterRole is needed
        yield from chart_values(case, {}, about="The chart writes its ClusterRoles again")
        return
    rights = (*(missing(case, running) if running else ()), *missing(case, case.hop.release))
    yield grant_permissions(case, dict.fromkeys(rights))
