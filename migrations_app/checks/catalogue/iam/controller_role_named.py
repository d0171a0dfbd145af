"""Fails for each controller whose service account has no annotation with a usable IAM role."""

import re
from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, ManualCheck, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import chart_values, in_aws
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.aws_facts.permissions import cluster_named
from migrations_app.inventory.facts.controller import installation
from migrations_app.karpenter import labels

SHAPE = "arn:aws:iam::<account>:role/<name>"
ROLE_ARN = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]{1,576}", re.ASCII)

check = Check(
    __name__,
    title="The controller's service account has an IAM role",
    phase="iam",
    severity="warning",
    why=(
        "Each release needs permissions of its own; they have to be added to this role before the controller is "
        "upgraded."
    ),
    how="Reads the annotation with the role's ARN from the service account that the Deployment names.",
    reads=("controller", "controller_accounts"),
    says=("{count} service account has no usable IAM role", "{count} service accounts have no usable IAM role"),
    sources=(
        "AWS EKS User Guide, IAM roles for service accounts",
        "AWS EKS User Guide, EKS Pod Identity",
    ),
    remedy_tools=(*CHART_TOOLS, "iam"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not case.inventory.controller.items:
        yield NotApplicable("there is no Karpenter Deployment")
        return
    accounts = case.inventory.controller_accounts.items
    for account in accounts:
        arn = account.metadata.annotation(labels.ROLE_ARN)
        if arn is not None and not ROLE_ARN.fullmatch(arn):
            yield Evidence(
                kind="ServiceAccount",
                namespace=account.namespace,
                name=account.name,
                path=f"metadata.annotations[{labels.ROLE_ARN}]",
                seen=arn[:200],
                wanted=SHAPE,
            )
    if not any(account.metadata.annotation(labels.ROLE_ARN) for account in accounts):
        # Pod Identity associations live in EKS and node roles in EC2: neither can be seen from the cluster.
        task = "no service account names a role: look for a Pod Identity association of the controller in EKS"
        yield ManualCheck(task, tuple(_list_associations(case)))


def _list_associations(case: CheckContext) -> Iterator[Remedy]:
    """The command that lists the Pod Identity associations of the controller, if the cluster's name is known."""
    cluster, controller = cluster_named(case.inventory), installation(case.inventory)
    if cluster and controller:
        account = controller.workload.template.spec.service_account_name or "default"
        where = ("--cluster-name", cluster, "--namespace", controller.namespace, "--service-account", account)
        notes = ("There has to be one, and its role is the one to give permissions to",)
        yield in_aws(read_command("aws", "eks", "list-pod-identity-associations", *where, notes=notes))


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    key = "serviceAccount.annotations.eks\\.amazonaws\\.com/role-arn"
    yield from chart_values(case, {key: SHAPE}, when="person")
    yield from _list_associations(case)
