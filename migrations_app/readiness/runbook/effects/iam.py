"""Computes the inventory after a policy was attached to a role of the controller, or detached from one."""

from dataclasses import replace

from migrations_app.checks.changes import IamStatements
from migrations_app.checks.render.aws_cli import compact
from migrations_app.iam.policy import WITH_VARIABLES
from migrations_app.iam.requirements.remedies import size_of
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.aws import ControllerRole, PolicyDocument, PolicyKind
from migrations_app.inventory.objects.cluster_arn import read_role_arn
from migrations_app.inventory.parts import Seen
from migrations_app.readiness.runbook.effects.object_lookup import with_items
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown


def with_policy(inventory: Inventory, change: IamStatements) -> Inventory | NotShown:
    """The inventory after the policy was attached to the role, or detached from it. Only roles of the controller are
    read with their policies. A role may have no ARN if a person gave its policies."""
    part = inventory.aws.controller_roles
    if change.role and read_role_arn(change.role) is None:
        return NotShown("refused", change.role)
    if not isinstance(part, Seen):
        return NotShown("part_not_read", change.role)
    if not any(role.arn == change.role for role in part.items):
        return NotShown("target_gone", change.role)
    policy = _document(change)
    roles = [
        _with_policy_changed(role, change, changed_policy=policy) if role.arn == change.role else role
        for role in part.items
    ]
    failure = next((role for role in roles if isinstance(role, NotShown)), None)
    if failure:
        return failure
    changed_roles = tuple(role for role in roles if isinstance(role, ControllerRole))
    return replace(inventory, aws=replace(inventory.aws, controller_roles=with_items(part, changed_roles)))


def _document(change: IamStatements) -> PolicyDocument:
    """The policy as a scan reads it; without an ARN for an inline policy, or if the account is not known."""
    document = {"Version": WITH_VARIABLES, "Statement": list(change.statements)}
    text, size = compact(document), size_of(document)
    role_arn = read_role_arn(change.role)
    if change.inline or role_arn is None:
        kind: PolicyKind = "inline" if change.inline else "customer_managed"
        return PolicyDocument(name=change.policy, kind=kind, text=text, size=size)
    arn = f"arn:{role_arn.partition}:iam::{role_arn.account}:policy/{change.policy}"
    return PolicyDocument(name=change.policy, kind="customer_managed", text=text, size=size, arn=arn, version="v1")


def _with_policy_changed(
    role: ControllerRole, change: IamStatements, *, changed_policy: PolicyDocument
) -> ControllerRole | NotShown:
    policies = role.policies
    if not isinstance(policies, Seen):
        return NotShown("part_not_read", change.role)
    is_attached = any(_is_same_policy(policy, changed_policy) for policy in policies.items)
    if is_attached != change.removed:
        return NotShown("refused" if is_attached else "target_gone", changed_policy.arn or changed_policy.name)
    if change.removed:
        remaining = tuple(policy for policy in policies.items if not _is_same_policy(policy, changed_policy))
        return replace(role, policies=with_items(policies, remaining))
    return replace(role, policies=with_items(policies, (*policies.items, changed_policy)))


def _is_same_policy(document: PolicyDocument, other: PolicyDocument) -> bool:
    """Compares the ARN, or else the name: policies of the same name differ in path or account."""
    return document.arn == other.arn and (bool(document.arn) or document.name == other.name)
