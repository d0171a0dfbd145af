"""The controller lives where later charts expect it; a move is prepared before it is made."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import at_controller
from migrations_app.checks.remedies.commands import kubectl
from migrations_app.checks.shell import word
from migrations_app.inventory.facts.controller import installation
from migrations_app.karpenter.hops import ALPHA_LEFT

HOME = "kube-system"
check = Check(
    __name__,
    title="The controller lives in kube-system, or stays where it is",
    phase="controller",
    severity="info",
    why="Moved without its trust policy the controller loses every right in AWS, and the old one may go on beside it.",
    how="The namespace of the Deployment against the one that is recommended from 0.33 on; nothing has to move.",
    reads=("controller",),
    says=("The controller lives outside of kube-system", "{count} controllers live outside of kube-system"),
    hops=(ALPHA_LEFT,),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    found = installation(case.inventory)
    if found is None:
        yield NotApplicable("there is no Karpenter Deployment")
    elif found.namespace != HOME:
        wanted = f"{HOME} is recommended; it may stay"
        yield at_controller(found, "serviceAccountName", seen=f"in namespace {found.namespace}", wanted=wanted)


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    found = installation(case.inventory)
    if found is not None:
        account = found.workload.template.spec.service_account_name or "default"
        subject = f"system:serviceaccount:{HOME}:{account}"
        yield kubectl(
            f"# Only where it is to move: first let the role's trust policy accept {subject} as well,",
            "# then scale the old one down before the new one comes; conversion has to name the new namespace",
            f"kubectl -n {word(found.namespace)} scale deployment {word(found.name)} --replicas=0",
        )
