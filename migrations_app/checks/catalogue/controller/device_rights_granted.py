"""Fails where the controller is set to allocate devices and cannot read their objects."""

from collections.abc import Iterator

from msgspec.structs import replace

from migrations_app.checks import base
from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Unknown
from migrations_app.checks.evidence import at_variable
from migrations_app.checks.remedies.commands import grant_permissions, variable_remedies
from migrations_app.checks.shared.planned_kubernetes import reaches_kubernetes
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import installation
from migrations_app.inventory.facts.rbac import missing_rights, per_target
from migrations_app.karpenter.controller_settings import DEVICE_SWITCH, DEVICE_VALUE, is_false
from migrations_app.karpenter.hops import hops_from
from migrations_app.karpenter.tables.rbac_rows import DEVICES, RbacRight, device_rights

FIRST, SERVED_FROM = "1.13", "1.34"
"""The first minor of Karpenter that reads devices, and of Kubernetes that serves them as v1."""
ROLE = "karpenter-devices"
check = Check(
    __name__,
    title="A controller that allocates devices may read them",
    phase="controller",
    severity="blocker",
    why=(
        "From 1.13 on a controller that does not ignore ResourceClaims reads them at its start. No chart grants that: "
        "without the rights, or on a Kubernetes without resource.k8s.io/v1, it does not start."
    ),
    how=f"Reads {DEVICE_SWITCH} of the Deployment, the ClusterRoles of the controller, and the version of Kubernetes.",
    reads=("controller", "controller_rbac", "version"),
    says=("The controller cannot read devices: {seen}", "The controller cannot read {count} kinds of devices"),
    hops=hops_from(FIRST),
    sources=(
        "kubernetes-sigs/karpenter@v1.13.0:pkg/controllers/dynamicresources/deviceallocation/controller.go",
        "kubernetes-sigs/karpenter@v1.14.1:pkg/controllers/provisioning/dra.go",
    ),
    remedy_tools=("kubectl", *CHART_TOOLS),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller = installation(case.inventory)
    if controller is None:
        yield base.NotApplicable("there is no Karpenter Deployment")
    elif controller.hides(DEVICE_SWITCH):
        yield Unknown(f"{DEVICE_SWITCH} may be taken from an object that is not read")
        yield base.SeverityCap("info")  # it is true unless somebody sets it
    elif not is_false(controller.env.get(DEVICE_SWITCH, "")):
        yield base.NotApplicable(f"{DEVICE_SWITCH} is not false, so the controller reads no devices")
    elif not case.inventory.controller_rbac.items:
        yield Unknown("no ClusterRole is bound to the controller's service account by a ClusterRoleBinding")
    else:
        if reaches_kubernetes(case, SERVED_FROM) is False:
            wanted = f"true: Kubernetes serves {DEVICES}/v1 from {SERVED_FROM} on"
            yield at_variable(controller, DEVICE_SWITCH, seen="false", wanted=wanted).with_data(about="kubernetes")
        for target, rights in per_target(_missing(case)).items():
            seen = f"{', '.join(right.verb for right in rights)} of {target} not granted"
            row = Evidence(kind="ClusterRole", name="bound to the controller", path=f"rules[{target}]", seen=seen)
            yield replace(row, wanted=rights[0].why).with_data(about="rights")


def _missing(case: CheckContext) -> tuple[RbacRight, ...]:
    return missing_rights(case.inventory.controller_rbac.items, device_rights(case.hop.release))


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[base.Remedy]:
    abouts = {row.value("about") for row in evidence}
    if "rights" in abouts:
        yield grant_permissions(case, device_rights(case.hop.release), name=ROLE)
    if "kubernetes" in abouts:
        yield from variable_remedies(case, DEVICE_SWITCH, setting=DEVICE_VALUE, value="true", when="before")
