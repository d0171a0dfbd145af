"""Fails if the controller or the nodes name another cluster than the one for which AWS was read."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.evidence import at_variable
from migrations_app.checks.remedies.aws import could_not_read
from migrations_app.checks.remedies.commands import in_aws
from migrations_app.inventory.aws_facts.names import setting
from migrations_app.inventory.aws_facts.permissions import region_of_nodes
from migrations_app.inventory.facts.controller import Installation, installation
from migrations_app.inventory.objects.cluster_arn import is_cluster_name
from migrations_app.inventory.parts import Unseen

KEY, VARIABLE = "aws.clusterName", "CLUSTER_NAME"
check = Check(
    __name__,
    title="AWS was read for the cluster of the controller",
    phase="iam",
    severity="blocker",
    why=(
        "Permissions, instances and quotas are judged with the name and region of the cluster that karpdash was given: "
        "if they are of another cluster, so are all answers from AWS."
    ),
    how="Compares the controller's cluster name, and the region in the provider ids of nodes, with those given.",
    reads=("controller", "nodes"),
    says=(
        "{count} name differs from the cluster for which AWS was read",
        "{count} names differ from the cluster for which AWS was read",
    ),
    sources=(
        "aws/karpenter-provider-aws@v0.37.8:pkg/providers/instance/instance.go",
        "aws/karpenter-provider-aws@v1.14.1:pkg/utils/utils.go",
    ),
    remedy_tools=("iam",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    place, controller = case.inventory.aws.place, installation(case.inventory)
    if isinstance(case.inventory.aws.identity, Unseen) or not place.cluster:
        yield NotApplicable("AWS was not read for a cluster")
    elif controller is None:
        yield NotApplicable("there is no Karpenter Deployment")
    else:
        yield from _named(case, controller)
        region = region_of_nodes(case.inventory)
        if region not in ("", place.region):
            name = case.inventory.nodes.items[0].name
            yield Evidence(kind="Node", name=name, path="spec.providerID", seen=region, wanted=place.region)


def _named(case: CheckContext, controller: Installation) -> Iterator[JudgeResult]:
    wanted, named = case.inventory.aws.place.cluster, setting(case.inventory, KEY)
    if isinstance(named, Unseen):
        yield could_not_read(f"which cluster the controller names ({VARIABLE})", named)
    for name in named.items:
        if not is_cluster_name(name):
            yield Unknown(f"{VARIABLE} of the controller is {name[:100]}, which is filled in or no name of a cluster")
        elif name != wanted:
            yield at_variable(controller, VARIABLE, seen=name, wanted=wanted)


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    what = "see which of both is right: give karpdash the ARN of this cluster, or correct settings.clusterName"
    yield in_aws(PersonTask(what=what, why=f"{evidence[0].seen} and {evidence[0].wanted} differ", aws=True))
