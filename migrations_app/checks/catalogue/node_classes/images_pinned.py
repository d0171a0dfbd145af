"""Every node class names the release of its images, so that nodes are replaced when somebody decides it."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import MAPS, TEXT, apart, cause
from migrations_app.checks.remedies.commands import kubectl, names
from migrations_app.checks.remedies.karpenter_objects import changed, edited
from migrations_app.checks.shared.pinned_images import VERSION, pinned
from migrations_app.checks.shell import quoted
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import AMI_TERMS, aliases, family, is_v1
from migrations_app.inventory.objects.karpenter import EC2NodeClass
from migrations_app.karpenter.hops import CONVERTED, hops_from
from migrations_app.karpenter.release_facts import CUSTOM

check = Check(
    __name__,
    title="Every node class pins its images",
    phase="resources",
    severity="info",
    why="With the newest image nodes drift whenever AWS publishes one, in the middle of an upgrade as well.",
    how="Aliases that end in @latest, and v1beta1 classes without amiSelectorTerms.",
    reads=("ec2nodeclasses",),
    says=("{count} node class takes the newest image", "{count} node classes take the newest image"),
    hops=hops_from(CONVERTED),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/tasks/managing-amis.md",
    ),
    remedy_tools=OBJECT_TOOLS,
)
LATEST = "@latest"
COLUMNS = quoted("custom-columns=NAME:.metadata.name,IMAGES:.status.amis[*].name")


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    part = case.inventory.ec2nodeclasses
    if not part.items:
        yield NotApplicable("there is no EC2NodeClass yet")
    strange, classes = apart(part.items, {AMI_TERMS: MAPS, "spec.amiFamily": TEXT})
    yield from strange
    for one in classes:
        for place, alias in aliases(one):
            # Windows images cannot be pinned.
            if alias.endswith(LATEST) and not alias.lower().startswith("windows"):
                wanted = f"a pinned release: {pinned(one)}"
                yield _open(one, cause(one, f"{AMI_TERMS}[{place}].alias", seen=alias, wanted=wanted))
        if not is_v1(part, one) and one.get(AMI_TERMS) in (None, []) and family(one) != CUSTOM:
            seen = f"absent: the newest image of {family(one) or 'the family'}"
            wanted = f"a pinned release, once v1 is read: {pinned(one)}"
            yield _open(one, cause(one, AMI_TERMS, seen=seen, wanted=wanted))


def _open(one: EC2NodeClass, row: Evidence) -> Evidence:
    """The row, marked where the images in use name no single release."""
    return row.with_data(version=VERSION) if VERSION in pinned(one) else row


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from changed(case, evidence, what=f"write {evidence[0].wanted}", line=edited)
    if open_ones := [row for row in evidence if row.data]:
        yield kubectl(
            f"# {VERSION} is the end of the names of the images in use; of several take the newest",
            f"kubectl get ec2nodeclasses.karpenter.k8s.aws {names(open_ones)} -o {COLUMNS}",
        )
