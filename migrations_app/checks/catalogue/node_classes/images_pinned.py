"""Fails for each node class that takes the newest image: an alias with @latest, or no amiSelectorTerms in v1beta1."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import Change, ObjectPatch
from migrations_app.checks.evidence import MAPS, TEXT, at_field, split_malformed
from migrations_app.checks.remedies.commands import NAMES_SHOWN
from migrations_app.checks.remedies.karpenter_objects import RESOURCES, change_remedies, edit_task, target_of
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shared.pinned_images import VERSION, pinned_alias
from migrations_app.checks.shell import no_option, pointer
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import AMI_TERMS, aliases, family, is_v1
from migrations_app.inventory.objects.karpenter import EC2NodeClass
from migrations_app.karpenter.hops import CONVERTED, hops_from
from migrations_app.karpenter.release_facts import CUSTOM

check = Check(
    __name__,
    title="Every node class pins its image version",
    phase="resources",
    severity="info",
    why="With the newest image nodes drift whenever AWS publishes one, also in the middle of an upgrade.",
    how="Reads aliases that end in @latest, and v1beta1 node classes without amiSelectorTerms.",
    reads=("ec2nodeclasses",),
    says=("{count} node class does not pin its image version", "{count} node classes do not pin their image version"),
    hops=hops_from(CONVERTED),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/tasks/managing-amis.md",
    ),
    remedy_tools=OBJECT_TOOLS,
)
LATEST, CLASSES = "@latest", RESOURCES["EC2NodeClass"][1]
LOOK = f"Look first: {VERSION} is the end of the names of the images in use; of several take the newest"
COLUMNS = "custom-columns=NAME:.metadata.name,IMAGES:.status.amis[*].name"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    part = case.inventory.ec2nodeclasses
    if not part.items:
        yield NotApplicable("there is no EC2NodeClass yet")
    malformed, classes = split_malformed(part.items, {AMI_TERMS: MAPS, "spec.amiFamily": TEXT})
    yield from malformed
    for node_class in classes:
        for place, alias in aliases(node_class):
            # Windows images cannot be pinned.
            if alias.endswith(LATEST) and not alias.lower().startswith("windows"):
                yield _evidence(node_class, f"{AMI_TERMS}[{place}].alias", seen=alias, wanted="a pinned release")
        if not is_v1(part, node_class) and node_class.get(AMI_TERMS) in (None, []) and family(node_class) != CUSTOM:
            seen = f"absent: the newest image of {family(node_class) or 'the family'}"
            yield _evidence(node_class, AMI_TERMS, seen=seen, wanted="a pinned release, once v1 is read")


def _evidence(node_class: EC2NodeClass, path: str, *, seen: str, wanted: str) -> Evidence:
    alias = pinned_alias(node_class)
    return at_field(node_class, path, seen=seen, wanted=f"{wanted}: {alias}").with_data(alias=alias)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    task, look = f"write {evidence[0].wanted}", None
    if names := list(dict.fromkeys(no_option(row.name) for row in evidence if VERSION in row.value("alias"))):
        task = f"{task}; {VERSION} stands in status.amis of the class, of several the newest"
        look = read_command("kubectl", "get", CLASSES, *names[:NAMES_SHOWN], "-o", COLUMNS, notes=(LOOK,))
    yield from change_remedies(case, evidence, what=task, line=_pin_alias, look=look)


def _pin_alias(row: Evidence) -> Change:
    """Replaces the alias; a manual task if the version is unknown or there is no alias to replace."""
    place, alias = row.path.removeprefix(f"{AMI_TERMS}[").partition("]")[0], row.value("alias")
    if VERSION in alias or "@" not in alias or not place.isdecimal():
        return edit_task(row)
    path, target = f"{pointer(AMI_TERMS)}/{place}/alias", target_of(row)
    old: dict[str, object] = {"op": "replace", "path": path, "value": row.seen}
    body = ({**old, "op": "test"}, {**old, "value": alias})
    undo = ObjectPatch(target=target, body=({**old, "op": "test", "value": alias}, old))
    return ObjectPatch(target=target, body=body, undo=undo, done=f"{path} is {alias}")
