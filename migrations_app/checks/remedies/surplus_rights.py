"""Remedies that remove permissions from a ClusterRole that no release needs any more."""

from collections.abc import Iterator

from migrations_app.checks.changes import Change, ChangeTarget, ObjectPatch, PersonTask
from migrations_app.inventory.facts.rbac import grants
from migrations_app.inventory.objects.cluster import ClusterRole, PolicyRule
from migrations_app.karpenter.tables.rbac_rows import RbacRight
from migrations_app.manifests import JsonMap


def remove_permissions(role: ClusterRole, outgrown: frozenset[RbacRight]) -> Iterator[Change]:
    """A patch that removes the outgrown verbs from rules that grant only those permissions, and a manual task for every
    other rule. The patch is refused if the rules have changed since the scan."""
    target = ChangeTarget("ClusterRole", role.name)
    steps: list[JsonMap] = []
    undo_body: list[JsonMap] = []
    for at, rule in enumerate(role.rules or ()):
        rule_rights = {
            right for right in outgrown if grants(rule, RbacRight(right.group, right.resource, right.verb, named=True))
        }
        outgrown_verbs = {right.verb for right in rule_rights}
        if not outgrown_verbs or "*" in (rule.resources or ()) or "*" in (rule.verbs or ()):
            continue
        remaining = [verb for verb in rule.verbs or () if verb not in outgrown_verbs]
        if not remaining or not _all_outgrown(rule, rule_rights, verbs=outgrown_verbs):
            yield _manual_removal(target, at, verbs=outgrown_verbs)
            continue
        path = f"/rules/{at}/verbs"
        steps += [
            {"op": "test", "path": path, "value": rule.verbs},
            {"op": "replace", "path": path, "value": remaining},
        ]
        undo_body += [
            {"op": "test", "path": path, "value": remaining},
            {"op": "replace", "path": path, "value": rule.verbs},
        ]
    if steps:
        undo = ObjectPatch(target=target, body=tuple(undo_body), when="after")
        done = f"ClusterRole {role.name} grants none of them"
        yield ObjectPatch(target=target, body=tuple(steps), undo=undo, when="after", done=done)


def _all_outgrown(rule: PolicyRule, rule_rights: set[RbacRight], *, verbs: set[str]) -> bool:
    """Whether these verbs are outgrown for every resource of the rule."""
    groups, resources = rule.api_groups or (), rule.resources or ()
    covered = {(right.group, right.resource, right.verb) for right in rule_rights}
    return all((api, name, verb) in covered for api in groups for name in resources for verb in verbs)


def _manual_removal(target: ChangeTarget, at: int, *, verbs: set[str]) -> PersonTask:
    return PersonTask(
        target=ChangeTarget(target.kind, target.name, resource="clusterrole"),
        what=f"rules[{at}]: without {', '.join(sorted(verbs))}, or the whole rule out",
        why="the rule is about more than the rights that nobody asks for any more, or about nothing else",
        when="after",
    )
