"""Fails for each v1 node class whose amiSelectorTerms v1 refuses."""

from collections.abc import Iterator
from typing import Any

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import MAPS, TEXT, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
from migrations_app.checks.shared.node_pools import alias_flaw, family_flaw
from migrations_app.checks.shared.pinned_images import pinned_alias
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import AMI_TERMS, is_v1, rows, text
from migrations_app.inventory.objects.karpenter import EC2NodeClass
from migrations_app.karpenter.hops import CONVERTED, hops_from
from migrations_app.karpenter.versions import Release

check = Check(
    __name__,
    title="Every node class selects its images as v1 requires",
    phase="resources",
    severity="blocker",
    why="v1 requires terms, and an alias must be the only term and match amiFamily: else no node is launched.",
    how="Reads amiSelectorTerms of each EC2NodeClass as v1; compares its alias with amiFamily and the target version.",
    reads=("ec2nodeclasses",),
    says=("{count} image selection is not valid in v1", "{count} image selections are not valid in v1"),
    hops=hops_from(CONVERTED),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml",
    ),
    remedy_tools=OBJECT_TOOLS,
)
ALONE, NO_ID = "an alias alone", "the id of an image, in one edit without the annotation v1beta1-ubuntu, which drops it"
FAMILY, PLACEHOLDER = "spec.amiFamily", "ami-placeholder"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    part = case.inventory.ec2nodeclasses
    classes = tuple(node_class for node_class in part.items if is_v1(part, node_class))
    if not classes:
        yield NotApplicable("no EC2NodeClass is read as v1 yet")
    malformed, classes = split_malformed(classes, {AMI_TERMS: MAPS, FAMILY: TEXT})
    yield from malformed
    for node_class in classes:
        terms = rows(node_class, AMI_TERMS)
        if node_class.get(AMI_TERMS) in (None, []):
            wanted = f"at least one term: {pinned_alias(node_class)}"
            yield at_field(node_class, AMI_TERMS, seen="absent", wanted=wanted)
        elif terms and not text(node_class, FAMILY) and not any(_names_family(term) for _, term in terms):
            yield at_field(node_class, FAMILY, seen="absent", wanted="a family, as no term is an alias")
        elif flaw_pair := family_flaw(text(node_class, FAMILY), case.hop.release):
            yield at_field(node_class, FAMILY, seen=flaw_pair[0], wanted=flaw_pair[1])
        for place, term in terms:
            path = f"{AMI_TERMS}[{place}]"
            yield from _term(node_class, path, term=term, alone=len(terms) == 1)
            yield from _alias(node_class, f"{path}.alias", alias=term.get("alias"), target=case.hop.release)


def _names_family(term: dict[str, Any]) -> bool:
    return "alias" in term or term.get("id") == PLACEHOLDER


def _term(node_class: EC2NodeClass, path: str, *, term: dict[str, Any], alone: bool) -> Iterator[JudgeResult]:
    if term.get("id") == PLACEHOLDER:
        yield at_field(node_class, f"{path}.id", seen=PLACEHOLDER, wanted=NO_ID)
    if isinstance(term.get("alias"), str) and (not alone or len(term) > 1):
        yield at_field(node_class, f"{path}.alias", seen=f"{term['alias']} beside other filters", wanted=ALONE)


def _alias(node_class: EC2NodeClass, path: str, *, alias: object, target: Release) -> Iterator[JudgeResult]:
    if alias is not None and not isinstance(alias, str):
        yield Unknown(f"EC2NodeClass {node_class.name}: {path} is not {TEXT}")
    elif alias is not None and (flaw_pair := alias_flaw(alias, beside=text(node_class, FAMILY), target_release=target)):
        yield at_field(node_class, path, seen=flaw_pair[0], wanted=flaw_pair[1])


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from change_remedies(case, evidence, what=f"write {evidence[0].wanted} at {evidence[0].path}", line=edit_task)
