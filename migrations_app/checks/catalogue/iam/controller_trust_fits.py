"""Fails for each IAM role of the controller whose trust policy refuses the controller's service account."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.remedies.aws import AWS_NOT_ASKED, NOT_LOOKED_AT
from migrations_app.checks.remedies.iam_trust import trust_remedies
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.aws_facts.trust import TrustFit, role_fits
from migrations_app.inventory.parts import NOT_ASKED

EITHER = frozenset({"irsa", "pod_identity"})

check = Check(
    __name__,
    title="The controller can assume its IAM role",
    phase="iam",
    severity="blocker",
    why=(
        "Without this trust the controller has no credentials. The trust policy names the namespace: change it first "
        "if Karpenter moves to kube-system, as recommended from 0.33 on."
    ),
    reads=("aws.controller_roles",),
    says=("{count} IAM role does not trust the controller", "{count} IAM roles do not trust the controller"),
    how=(
        "Evaluates the call by which the pods get the role against its trust policy: the token's provider, sub and aud "
        "(annotation eks.amazonaws.com/audience), or pods.eks.amazonaws.com with both its calls."
    ),
    sources=(
        "AWS EKS User Guide, IAM roles for service accounts and EKS Pod Identity",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
    ),
    remedy_tools=(*CHART_TOOLS, "iam"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    fits = role_fits(case.inventory)
    if not fits:
        aws = case.inventory.aws
        # If AWS was read and names no role, more access would not help, so the unknown result blocks.
        handed_in = aws.identity == NOT_ASKED and aws.controller_roles.items
        reason = f". {NOT_LOOKED_AT}" if handed_in else ", so its trust policy was not either"
        yield Unknown(f"no role of the controller was seen{reason}", AWS_NOT_ASKED if handed_in else None)
    spare = any(fit.state == "fits" for fit in fits if fit.role.found_by in EITHER)
    for fit in fits:
        if fit.state == "unknown":
            yield Unknown(fit.seen)
        elif fit.state == "refused" and spare and fit.role.found_by in EITHER:
            # Which of the two roles the controller uses depends on the SDK of its release, which is not known here.
            yield Unknown(f"{fit.role.arn} does not let the controller in and another role does: {fit.seen}")
        elif fit.state == "refused":
            yield _evidence(fit)


def _evidence(fit: TrustFit) -> Evidence:
    account = f"{fit.role.namespace}/{fit.role.service_account}" if fit.role.service_account else "the controller"
    return Evidence(
        kind="IAM role",
        name=fit.role.arn.rpartition("/")[2],
        path=f"trust policy, for {account}",
        seen=fit.seen[:400],
        wanted=fit.wanted,
    )


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    for fit in role_fits(case.inventory):
        if fit.state == "refused":
            yield from trust_remedies(case, fit)
