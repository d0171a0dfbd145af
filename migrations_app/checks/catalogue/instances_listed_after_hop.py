"""Every instance carries the tags by which the release after the hop finds its instances."""

from collections.abc import Iterator

from migrations_app.checks.aws_remedies import retagged
from migrations_app.checks.base import Case, Check
from migrations_app.checks.remedies import kubectl
from migrations_app.checks.values import CannotTell, Evidence, NotApplicable, Remedy, Word
from migrations_app.inventory.aws import TaggedInstances
from migrations_app.inventory.instance_tags import claimed_ids, first_ids, unlisted_by, without_claim
from migrations_app.karpenter import labels
from migrations_app.karpenter.hop_spans import ALPHA_LEFT, BETA_LEFT, CONVERTED, hops_between, hops_from
from migrations_app.karpenter.versions import minor_order

MACHINES = "0.28"
BEFORE = hops_between(MACHINES, "0.31")
check = Check(
    __name__,
    title="Every instance is found by the release after the hop",
    phase="iam",
    severity="warning",
    why=(
        "The controller lists instances by tags. One that lacks them runs on unseen: nothing ends it, "
        "no interruption is handled, and its claim may be removed."
    ),
    reads=("aws.instances",),
    says=("{count} instance is not found by its tags", "{count} instances are not found by their tags"),
    how="The tags of all instances of Karpenter's in EC2 are compared with those that the release lists by.",
    hops=(*BEFORE, *hops_from(ALPHA_LEFT)),
    severity_at=dict.fromkeys((*BEFORE, ALPHA_LEFT, BETA_LEFT), "blocker"),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws@v0.33.12:pkg/providers/instance/instance.go",
        "aws/karpenter-provider-aws@v1.1.10:pkg/providers/instance/instance.go",
    ),
)


@check.judge
def judge(case: Case) -> Iterator[Word]:
    groups, running = case.inventory.aws.instances.items, case.running.release
    if not groups:
        yield NotApplicable("there is no instance of Karpenter's")
    if running is None:
        yield CannotTell(f"which tags are still to be written is not known: {case.running.how}")
    elif minor_order(running.minor) < minor_order(MACHINES):
        yield from _taken_for_leaks(case, groups)
    # Before 1.0 nobody has written that tag yet, and 1.0 will.
    late = running is None or minor_order(running.minor) < minor_order(CONVERTED)
    at = (case.step.release.major, case.step.release.minor_number)
    for group in groups:
        lacking = unlisted_by(group, at, cluster=case.inventory.aws.place.cluster)
        told = next((row for row in lacking if not (late and row[0] == labels.CLUSTER_NAME_TAG)), None)
        if told:
            yield _row(group, told[0], seen=told[1], wanted=told[2], count=group.count)


def _taken_for_leaks(case: Case, groups: tuple[TaggedInstances, ...]) -> Iterator[Word]:
    """Left by a way back from a release with Machines: the next one with them ends what has the tag and no Machine."""
    claimed = claimed_ids(case.inventory)
    for group in groups:
        count, tags = without_claim(group, claimed), dict(group.tags)
        if count and labels.MANAGED_BY_CLUSTER in tags:
            yield _row(group, labels.MANAGED_BY_CLUSTER, seen="no Machine behind it", wanted="absent", count=count)


def _row(group: TaggedInstances, key: str, *, seen: str, wanted: str, count: int) -> Evidence:
    name, path, tags = first_ids(group), f"tags[{key}]", dict(group.tags)
    owner = tags.get(labels.NODEPOOL) or tags.get(labels.PROVISIONER_NAME, "")
    return Evidence(kind="Instance", name=name, path=path, seen=f"{seen}; of {owner}", wanted=wanted, count=count)


@check.advise
def advise(case: Case, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from retagged(case.inventory.aws.place, evidence)
    if any(row.path in (f"tags[{labels.NODEPOOL}]", f"tags[{labels.EC2_NODE_CLASS}]") for row in evidence):
        yield kubectl(
            "# Before the hop: these instances are not handed over, NodePools have to replace them",
            f"kubectl get nodes -L {labels.PROVISIONER_NAME} -L {labels.NODEPOOL}",
        )
