"""Fails for each setting of an alpha object that v1beta1 drops or reads in another way."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import at_field
from migrations_app.checks.remedies.karpenter_objects import change_remedies, conversion_task
from migrations_app.checks.shared.conversion_findings import conversion_losses
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.karpenter.hops import ALPHA_LEFT

check = Check(
    __name__,
    title="Every alpha setting keeps its meaning in v1beta1",
    phase="resources",
    severity="warning",
    why="v1beta1 drops these settings or reads them in another way: a NodePool copied by hand behaves differently.",
    how=(
        "Converts each object as `karpdash convert` does; each setting that is lost or has to be written out is one "
        "result."
    ),
    reads=("provisioners", "awsnodetemplates"),
    says=("{count} setting changes its meaning in v1beta1", "{count} settings change their meaning in v1beta1"),
    hops=("0.32", ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws@v0.32.10:pkg/apis/crds/karpenter.sh_nodepools.yaml",
    ),
    remedy_tools=OBJECT_TOOLS,
)
FAMILY = "spec.amiFamily"
CODES = frozenset(
    {
        "ami-tag-requirements-lost",
        "consolidation-and-ttl",
        "consolidation-was-off",
        "container-runtime-dropped",
        "imds-ipv6",
        "label-pins-default",
        "metadata-options-completed",
        "provider-and-ref",
        "provider-ref-foreign",
        "restricted-key-dropped",
        "selector-empty-value",
        "selector-id-exclusive",
        "unknown-field",
    }
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    inventory = case.inventory
    if not (inventory.provisioners.items or inventory.awsnodetemplates.items):
        yield NotApplicable("there is no Provisioner and no AWSNodeTemplate")
    yield from conversion_losses(inventory, generation="alpha", codes=CODES)
    for template in inventory.awsnodetemplates.items:
        if template.get(FAMILY) in (None, ""):
            yield at_field(
                template, FAMILY, seen="absent", wanted="AL2, which v1beta1 no longer assumes, or another family"
            )


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = ("Prints the successors with the old behaviour written out; changes nothing in the cluster",)
    yield from change_remedies(
        case, evidence, what="use what `karpdash convert` prints", line=conversion_task, notes=notes
    )
