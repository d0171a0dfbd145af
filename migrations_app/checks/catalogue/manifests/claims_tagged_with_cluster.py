"""Fails for each NodeClaim whose instance lacks the tag by which 1.1 lists instances."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.aws_nodes import cluster_tag_remedy
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.observations import read_command
from migrations_app.inventory.aws_facts.instances import all_have_cluster_name
from migrations_app.inventory.aws_facts.permissions import place_seen
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.hops import BETA_LEFT, CONVERTED

check = Check(
    __name__,
    title="Every instance has the cluster tag",
    phase="resources",
    severity="blocker",
    why=(
        "1.1 lists instances by this tag only. It does not see an instance without it: the instance is never "
        "terminated, and its NodeClaim is removed once the node is not ready."
    ),
    how="Reads the annotation of every NodeClaim that records the tag, and the tag itself where AWS was read.",
    reads=("nodeclaims",),
    says=("{count} instance has no cluster tag", "{count} instances have no cluster tag"),
    hops=(BETA_LEFT,),
    sources=(
        "aws/karpenter-provider-aws@v1.0.14:pkg/controllers/nodeclaim/tagging/controller.go",
        "aws/karpenter-provider-aws@v1.1.10:pkg/providers/instance/instance.go",
    ),
    remedy_tools=("kubectl", "iam"),
)
COLUMNS = (
    "custom-columns=NAME:.metadata.name,NODE:.status.nodeName,DELETED:.metadata.deletionTimestamp,"
    r"TAGGED:.metadata.annotations.compatibility\.karpenter\.k8s\.aws/cluster-name-tagged"
)
WAIT = (
    "Wait until TAGGED is true for all: 1.0 tags one instance a second, of claims that have a node",
    "A claim that is being deleted gets no tag: wait until it is gone",
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running = case.running.release
    if running is None:
        yield Unknown(f"which release runs is not known: {case.running.how}")
    elif running.minor != CONVERTED:
        yield NotApplicable(f"the tag is written by {CONVERTED}, and {running} runs")
    elif (named := all_have_cluster_name(case.inventory.aws)) is not True:
        # The annotation says that the controller wrote the tag; the tag in EC2 is the stronger proof.
        untagged = list(_untagged(case))
        yield from untagged
        if named is False and not untagged:
            yield Unknown("every claim says that its instance is tagged, and EC2 shows instances that are not")


def _untagged(case: CheckContext) -> Iterator[Evidence]:
    for claim in case.inventory.nodeclaims.items:
        reference = claim.spec.node_class_ref
        is_aws = not reference or reference.group in (None, "", kinds.AWS_GROUP)
        if is_aws and claim.provider_id and claim.metadata.annotation(labels.CLUSTER_NAME_TAGGED) != "true":
            yield Evidence(
                kind="NodeClaim",
                name=claim.name,
                path=f"metadata.annotations[{labels.CLUSTER_NAME_TAGGED}]",
                seen=claim.metadata.annotation(labels.CLUSTER_NAME_TAGGED) or "absent",
                wanted="true",
            ).with_data(instance="" if claim.metadata.deleting else claim.provider_id.rpartition("/")[2])


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield cluster_tag_remedy(place_seen(case.inventory), [row.value("instance") for row in evidence])
    yield in_cluster(read_command("kubectl", "get", "nodeclaims.karpenter.sh", "-o", COLUMNS, notes=WAIT))
