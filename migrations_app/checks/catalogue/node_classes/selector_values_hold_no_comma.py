"""Fails for each tag value of a selector with a comma, which is a list in alpha and plain text from 0.33 on."""

from collections.abc import Iterator
from typing import Any

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import MAPS, TEXTS, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import rows, strings
from migrations_app.inventory.objects.karpenter import WholeObject
from migrations_app.karpenter.hops import ALPHA_LEFT

check = Check(
    __name__,
    title="No tag value of a selector is a list",
    phase="resources",
    severity="warning",
    why="From 0.33 on a comma is an ordinary character: a list of values matches nothing, and no node is launched.",
    how=(
        "Reads commas in the values of selectors: tags of terms in node classes, and whole selectors of alpha objects."
    ),
    reads=("ec2nodeclasses", "awsnodetemplates"),
    says=("{count} selector value is a list", "{count} selector values are lists"),
    hops=("0.32", ALPHA_LEFT),
    severity_at={ALPHA_LEFT: "blocker"},
    sources=(
        "aws/karpenter-provider-aws@v0.33.0:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws#5237",
    ),
    remedy_tools=OBJECT_TOOLS,
)
TERMS = ("spec.subnetSelectorTerms", "spec.securityGroupSelectorTerms", "spec.amiSelectorTerms")
SELECTORS = ("spec.subnetSelector", "spec.securityGroupSelector", "spec.amiSelector")
WANTED = "a term for each value"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    # From 0.33 on, legacy_node_templates_gone reports templates.
    classes, templates = case.inventory.ec2nodeclasses.items, case.inventory.awsnodetemplates.items
    if not classes and not templates:
        yield NotApplicable("there is no EC2NodeClass and no AWSNodeTemplate")
    malformed, classes = split_malformed(classes, dict.fromkeys(TERMS, MAPS))
    yield from malformed
    malformed, templates = split_malformed(templates, dict.fromkeys(SELECTORS, TEXTS))
    yield from malformed
    for ec2_node_class in classes:
        for path in TERMS:
            for place, term in rows(ec2_node_class, path):
                yield from _tags(ec2_node_class, f"{path}[{place}].tags", tags=term.get("tags"))
    for template in templates if case.hop.name == "0.32" else ():
        for path in SELECTORS:
            yield from _values_with_comma(template, path, pairs=strings(template, path))


def _tags(whole_object: WholeObject, path: str, *, tags: Any) -> Iterator[JudgeResult]:  # noqa: ANN401 - the tree is the API's own JSON
    if tags is not None and not isinstance(tags, dict):
        yield Unknown(f"EC2NodeClass {whole_object.name}: {path} is no map")
    yield from _values_with_comma(whole_object, path, pairs=tags if isinstance(tags, dict) else {})


def _values_with_comma(whole_object: WholeObject, path: str, *, pairs: dict[str, Any]) -> Iterator[Evidence]:
    for key, value in pairs.items():
        if "," in str(value):
            yield at_field(whole_object, f"{path}[{key}]", seen=str(value), wanted=WANTED)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from change_remedies(
        case, evidence, what="write a term of its own for each value of the list", line=edit_task
    )
