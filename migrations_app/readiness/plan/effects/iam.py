"""What becomes of an inventory when a role of the controller gets or loses a policy."""

from dataclasses import replace

from migrations_app.checks.changes import IamStatements
from migrations_app.checks.render.aws_cli import compact
from migrations_app.iam.policy import WITH_VARIABLES
from migrations_app.iam.requirements.remedies import size_of
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.aws import ControllerRole, PolicyDocument
from migrations_app.inventory.objects.cluster_arn import read_role_arn
from migrations_app.inventory.parts import Seen
from migrations_app.readiness.plan.effects.not_shown import NotShown
from migrations_app.readiness.plan.effects.places import with_items


def permitted(inventory: Inventory, change: IamStatements) -> Inventory | NotShown:
    """After the policy was attached to the role, or detached from it. Only roles of the controller are read whole."""
    part, named = inventory.aws.controller_roles, read_role_arn(change.role)
    if named is None or not isinstance(part, Seen):
        return NotShown("refused" if named is None else "part_not_read", change.role)
    if not any(one.arn == change.role for one in part.items):
        return NotShown("target_gone", change.role)
    arn = f"arn:{named.partition}:iam::{named.account}:policy/{change.policy}"
    roles = [_changed(one, change, arn=arn) if one.arn == change.role else one for one in part.items]
    wrong = next((one for one in roles if isinstance(one, NotShown)), None)
    if wrong:
        return wrong
    kept = tuple(one for one in roles if isinstance(one, ControllerRole))
    return replace(inventory, aws=replace(inventory.aws, controller_roles=with_items(part, kept)))


def _changed(role: ControllerRole, change: IamStatements, *, arn: str) -> ControllerRole | NotShown:
    policies = role.policies
    if not isinstance(policies, Seen):
        return NotShown("part_not_read", change.role)
    there = any(one.arn == arn for one in policies.items)
    if there != change.removed:
        return NotShown("refused" if there else "target_gone", arn)
    if change.removed:
        left = tuple(one for one in policies.items if one.arn != arn)
        return replace(role, policies=with_items(policies, left))
    document = {"Version": WITH_VARIABLES, "Statement": list(change.statements)}
    text = compact(document)
    new = PolicyDocument(
        name=change.policy, kind="customer_managed", text=text, size=size_of(document), arn=arn, version="v1"
    )
    return replace(role, policies=with_items(policies, (*policies.items, new)))
