"""Fails for each tag in a node class or global setting whose key Karpenter sets itself."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import group
from migrations_app.checks.evidence import TEXTS, at_field, split_malformed
from migrations_app.checks.remedies.aws_nodes import remove_tags
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.karpenter_objects import change_remedies, merge_patch_of
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.conversion.metadata import is_reserved_tag
from migrations_app.inventory.facts.node_pools import strings
from migrations_app.inventory.objects.karpenter import ConfigMap
from migrations_app.manifests.nesting import parse_json

check = Check(
    __name__,
    title="No node class sets a reserved EC2 tag",
    phase="resources",
    severity="blocker",
    why="Karpenter finds its instances by these tags; an object that sets one is refused at every update.",
    how="Reads the keys of spec.tags of all node classes, and of aws.tags in karpenter-global-settings.",
    reads=("ec2nodeclasses", "awsnodetemplates", "settings"),
    says=("{count} reserved EC2 tag is set", "{count} reserved EC2 tags are set"),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws@v1.14.1:pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml",
    ),
    remedy_tools=OBJECT_TOOLS,
)
TAGS, SETTING = "spec.tags", "aws.tags"
_LAST_WITH_SETTINGS = "0.32"
"""The last minor that reads the ConfigMap."""


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    inventory = case.inventory
    objects = (*inventory.ec2nodeclasses.items, *inventory.awsnodetemplates.items)
    if not objects and not inventory.settings.items:
        yield NotApplicable("there is no node class, no template and no global settings")
    malformed, objects = split_malformed(objects, {TAGS: TEXTS})
    yield from malformed
    for whole_object in objects:
        for key, value in strings(whole_object, TAGS).items():
            if is_reserved_tag(key, case.hop.release.minor):
                yield at_field(whole_object, f"{TAGS}[{key}]", seen=value, wanted="absent")
    for settings in inventory.settings.items:
        yield from _reserved_in_settings(settings)


def _reserved_in_settings(settings: ConfigMap) -> Iterator[JudgeResult]:
    tags_json = (settings.data or {}).get(SETTING) or "{}"
    try:
        tags = parse_json(tags_json)
    except ValueError:
        tags = None
    if not isinstance(tags, dict):
        yield Unknown(f"ConfigMap {settings.name}: data[{SETTING}] is no JSON object")
        return
    for key in (key for key in map(str, tags) if is_reserved_tag(key, _LAST_WITH_SETTINGS)):
        path, name, home = f"data[{SETTING}]", settings.name, settings.namespace
        yield Evidence(kind="ConfigMap", namespace=home, name=name, path=path, seen=key, wanted="absent")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    if tag_rows := [row for row in evidence if row.path.startswith(TAGS)]:
        drop = {row.path.removeprefix(f"{TAGS}[").removesuffix("]"): None for row in tag_rows}
        task = f"take {', '.join(drop)} out of {TAGS}"
        yield from change_remedies(case, tag_rows, what=task, line=merge_patch_of(TAGS, drop))
    if reserved_keys := {row.seen for row in evidence if row.kind == "ConfigMap"}:
        config_maps = (setting for setting in case.inventory.settings.items if (setting.data or {}).get(SETTING))
        yield in_cluster(group(*(remove_tags(config_map, SETTING, keys=reserved_keys) for config_map in config_maps)))
