"""Fails for each EC2NodeClass whose name is longer than the value of a label may be, and for AWSNodeTemplates that a
conversion makes such classes of."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, SeverityCap
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.evidence import at_field
from migrations_app.checks.remedies.karpenter_objects import change_remedies, target_of
from migrations_app.checks.shell import no_option
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.conversion.objects import LONGEST_NAME
from migrations_app.inventory.facts.node_pools import class_name
from migrations_app.inventory.parts import is_whole
from migrations_app.karpenter.hops import ALPHA_LEFT, BETA_LEFT, hops_from

check = Check(
    __name__,
    title="Every name of a node class can be the value of a label",
    phase="resources",
    severity="blocker",
    why=(
        "From 1.1 on NodeClaims and nodes carry the name of their node class as a label. The API server refuses values "
        f"of more than {LONGEST_NAME} characters: no node is launched, and older NodeClaims and nodes get no label."
    ),
    how=f"Counts the characters of each node class's name; up to {LONGEST_NAME} fit. A conversion keeps the name.",
    reads=("ec2nodeclasses", "awsnodetemplates"),
    says=("{count} node class has a name too long for a label", "{count} node classes have names too long for a label"),
    hops=("0.32", ALPHA_LEFT, *hops_from(BETA_LEFT)),
    severity_at={"0.32": "warning", ALPHA_LEFT: "warning"},
    sources=(
        "kubernetes-sigs/karpenter@v1.1.0:pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go",
        "kubernetes-sigs/karpenter@v1.1.0:pkg/controllers/nodeclaim/hydration/controller.go",
        "kubernetes-sigs/karpenter@v1.1.0:pkg/controllers/node/hydration/controller.go",
    ),
    remedy_tools=OBJECT_TOOLS,
)
STEPS = (
    "a name cannot be changed: create a copy of the class with a shorter name, and wait until it is ready",
    "name the copy in spec.template.spec.nodeClassRef of each NodePool: its nodes drift and are replaced",
    "delete the old class when no NodeClaim names it any more",
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    classes = (*case.inventory.ec2nodeclasses.items, *case.inventory.awsnodetemplates.items)
    if not classes:
        yield NotApplicable("there is no EC2NodeClass yet")
    long_names = [item for item in classes if len(item.name) > LONGEST_NAME]
    for item in long_names:
        wanted = f"at most {LONGEST_NAME} characters"
        yield at_field(item, "metadata.name", seen=f"{len(item.name)} characters", wanted=wanted)
    if long_names and not any(_may_be_used(case, item.name) for item in long_names):
        yield SeverityCap("warning")


def _may_be_used(case: CheckContext, name: str) -> bool:
    """Whether a NodePool or a NodeClaim names the class; True if either could not be read whole."""
    pools, claims = case.inventory.nodepools, case.inventory.nodeclaims
    if not is_whole(pools) or not is_whole(claims):
        return True
    references = (claim.spec.node_class_ref for claim in claims.items)
    return name in {*map(class_name, pools.items), *(one.name for one in references if one)}


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = STEPS if any(row.kind == "EC2NodeClass" for row in evidence) else ()
    yield from change_remedies(case, evidence, what="give the class a shorter name", line=_copy_task, notes=notes)


def _copy_task(row: Evidence) -> PersonTask:
    target = target_of(row)
    if row.kind == "AWSNodeTemplate":
        where = "what karpdash convert prints: metadata.name of the EC2NodeClass, and nodeClassRef of its NodePools"
        return PersonTask(what=f"shorten the name of {row.name}", why="the new name is a choice", where=where)
    get = ("kubectl", "get", target.resource, no_option(row.name), "-o", "yaml")
    return PersonTask(target=target, what="copy the class", pipe=(get,), why="the new name is a choice")
