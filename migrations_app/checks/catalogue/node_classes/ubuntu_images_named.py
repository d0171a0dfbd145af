"""Fails for each node class with amiFamily Ubuntu and without amiSelectorTerms."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import MAPS, TEXT, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
from migrations_app.checks.shared.planned_kubernetes import reaches_kubernetes
from migrations_app.checks.shell import word
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import AMI_TERMS, rows, text
from migrations_app.inventory.objects.karpenter import EC2NodeClass
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import ALPHA_LEFT, BETA_LEFT, CONVERTED
from migrations_app.karpenter.release_facts import UBUNTU, UBUNTU_UNFOUND_FROM

check = Check(
    __name__,
    title="Node classes with Ubuntu select their images",
    phase="resources",
    severity="blocker",
    why=(
        "v1 has no family Ubuntu: without terms the node class gets a placeholder image and its NodePools are not "
        "used; from Kubernetes 1.29 on Karpenter does not find these images."
    ),
    how=(
        "Reads amiFamily Ubuntu without amiSelectorTerms, the mark of the conversion that says incompatible, and the "
        "cluster's Kubernetes or a planned one."
    ),
    reads=("ec2nodeclasses", "version"),
    says=(
        "{count} node class relies on the removed family Ubuntu",
        "{count} node classes rely on the removed family Ubuntu",
    ),
    hops=(ALPHA_LEFT, CONVERTED, BETA_LEFT),
    kubernetes_limits=(UBUNTU_UNFOUND_FROM,),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws@v1.0.8:pkg/apis/v1/ec2nodeclass_conversion.go",
    ),
    remedy_tools=OBJECT_TOOLS,
)
FAMILY = "spec.amiFamily"
WANTED = "amiFamily AL2 or Custom, with amiSelectorTerms that name the images"
MARK = f"metadata.annotations[{labels.UBUNTU_COMPATIBILITY}]"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    classes = case.inventory.ec2nodeclasses.items
    if not classes:
        yield NotApplicable("there is no EC2NodeClass yet")
    malformed, classes = split_malformed(classes, {FAMILY: TEXT, AMI_TERMS: MAPS})
    yield from malformed
    for ec2_node_class in classes:
        mark = ec2_node_class.metadata.annotation(labels.UBUNTU_COMPATIBILITY) or ""
        if "incompatible" in mark:
            yield at_field(ec2_node_class, MARK, seen=mark, wanted=f"absent, in one edit with {WANTED}")
        elif text(ec2_node_class, FAMILY) == UBUNTU and _loses_images(ec2_node_class, case):
            terms = f"{len(rows(ec2_node_class, AMI_TERMS)) or 'no'} amiSelectorTerms"
            yield at_field(ec2_node_class, FAMILY, seen=f"{UBUNTU} with {terms}", wanted=WANTED)


def _loses_images(ec2_node_class: EC2NodeClass, case: CheckContext) -> bool:
    """Whether the class loses its images at the hop. At 1.0 a class with amiSelectorTerms keeps them; 1.1 ignores the
    annotation that kept them."""
    if case.hop.name == BETA_LEFT:
        return True
    if rows(ec2_node_class, AMI_TERMS):
        return False
    return case.hop.name == CONVERTED or reaches_kubernetes(case, UBUNTU_UNFOUND_FROM) is not False


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    name = word(evidence[0].name)
    images = f"kubectl get ec2nodeclasses.karpenter.k8s.aws {name} -o jsonpath='{{.status.amis[*].id}}'"
    notes = (f"The images in use today: {images}",)
    yield from change_remedies(case, evidence, what=f"write {WANTED}", line=edit_task, notes=notes)
