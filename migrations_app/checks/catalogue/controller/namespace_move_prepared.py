"""Fails if the controller runs outside of kube-system, which is recommended from 0.33 on."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.evidence import at_controller
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.inventory.facts.controller import installation
from migrations_app.karpenter.hops import ALPHA_LEFT

HOME = "kube-system"
check = Check(
    __name__,
    title="The controller runs in kube-system",
    phase="controller",
    severity="info",
    why=(
        "If it moves without a new trust policy the controller loses its access to AWS, and the old controller may "
        "keep running."
    ),
    how=(
        "Compares the namespace of the Deployment with the one that is recommended from 0.33 on; it does not have to "
        "move."
    ),
    reads=("controller",),
    says=("The controller runs outside of kube-system", "{count} controllers run outside of kube-system"),
    hops=(ALPHA_LEFT,),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller = installation(case.inventory)
    if controller is None:
        yield NotApplicable("there is no Karpenter Deployment")
    elif controller.namespace != HOME:
        wanted = f"{HOME} is recommended; it may stay"
        yield at_controller(
            controller, "serviceAccountName", seen=f"in namespace {controller.namespace}", wanted=wanted
        )


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    controller = installation(case.inventory)
    if controller is not None:
        account = controller.workload.template.spec.service_account_name or "default"
        task = PersonTask(
            what=f"leave the controller where it is; or let the role trust system:serviceaccount:{HOME}:{account} as "
            f"well, stop Deployment {controller.namespace}/{controller.name}, then install it in {HOME} and let the "
            f"conversion of the CRDs call {HOME}",
            why="whether it moves is a choice, and while no controller runs no node is made or replaced",
            where="the trust policy of the controller's role, and the values of both charts",
        )
        yield in_cluster(task)
