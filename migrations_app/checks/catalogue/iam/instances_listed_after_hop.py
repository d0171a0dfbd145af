"""Fails for each instance without the tags by which the target version lists its instances."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.aws_nodes import instance_tag_remedies
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.observations import read_command
from migrations_app.inventory.aws_facts import instances as tags
from migrations_app.inventory.objects.aws import TaggedInstances
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import ALPHA_LEFT, BETA_LEFT, hops_between, hops_from
from migrations_app.karpenter.versions import minor_order

MACHINES = "0.28"
BEFORE = hops_between(MACHINES, "0.31")
check = Check(
    __name__,
    title="Every instance has the tags of the target version",
    phase="iam",
    severity="warning",
    why=(
        "The controller lists instances by tags. It does not see an instance without them: the instance is not "
        "terminated, its interruptions are not handled, and its NodeClaim may be removed."
    ),
    reads=("aws.instances",),
    says=("{count} instance lacks tags of the target version", "{count} instances lack tags of the target version"),
    how="Compares the tags of all Karpenter instances in EC2 with those by which the target version lists instances.",
    hops=(*BEFORE, *hops_from(ALPHA_LEFT)),
    severity_at=dict.fromkeys((*BEFORE, ALPHA_LEFT, BETA_LEFT), "blocker"),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws@v0.33.12:pkg/providers/instance/instance.go",
        "aws/karpenter-provider-aws@v1.1.10:pkg/providers/instance/instance.go",
    ),
    remedy_tools=("kubectl", "iam"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    aws, running = case.inventory.aws, case.running.release
    now = minor_order(running.minor) if running else None
    end = minor_order(case.hop.release.minor)
    keys = tags.tags_at_hop(now, start=minor_order(case.hop.start.minor), end=end)
    if not aws.instances.items:
        yield NotApplicable("there is no instance of Karpenter's")
    elif keys != tags.every_tag(end):
        yield NotApplicable(f"a tag by which {case.hop.release} lists is written or asked for at an earlier upgrade")
    if running is None:
        yield Unknown(f"which tags are still to be written is not known: {case.running.how}")
    elif minor_order(running.minor) < minor_order(MACHINES):
        yield from _without_machine(case)
    for group in aws.instances.items:
        if missing_tag := tags.first_missing_tag(group, keys, cluster=aws.place.cluster):
            yield _cause(group, missing_tag[0], seen=missing_tag[1], wanted=missing_tag[2], count=group.count)


def _without_machine(case: CheckContext) -> Iterator[JudgeResult]:
    """Instances with the managed-by tag and without a Machine, left by a rollback from a release with Machines. The
    next release with Machines terminates them."""
    claimed = tags.claimed_ids(case.inventory)
    for group in case.inventory.aws.instances.items:
        count = tags.without_claim(group, claimed)
        if count and labels.MANAGED_BY_CLUSTER in dict(group.tags):
            yield _cause(group, labels.MANAGED_BY_CLUSTER, seen="no Machine of it", wanted="absent", count=count)


def _cause(group: TaggedInstances, key: str, *, seen: str, wanted: str, count: int) -> Evidence:
    name, seen_text = tags.first_ids(group), f"{seen}; of {tags.owner_of(group)}"
    return Evidence(kind="Instance", name=name, path=f"tags[{key}]", seen=seen_text, wanted=wanted, count=count)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from instance_tag_remedies(case.inventory.aws.place, evidence)
    if any(row.path in (f"tags[{labels.NODEPOOL}]", f"tags[{labels.EC2_NODE_CLASS}]") for row in evidence):
        note = "Before the upgrade: these instances are not handed over, NodePools have to replace them"
        columns = ("-L", labels.PROVISIONER_NAME, "-L", labels.NODEPOOL)
        yield in_cluster(read_command("kubectl", "get", "nodes", *columns, notes=(note,)))
