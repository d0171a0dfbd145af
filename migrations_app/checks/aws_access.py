"""What is said where AWS, or a part of it, was not looked at: why the answer is open and how to give access."""

from migrations_app.checks.values import CannotTell, Reason
from migrations_app.inventory.inventory import AWS_PREFIX, PART_NAMES
from migrations_app.inventory.seen import NOT_ASKED, Unseen

POLICIES = f"{AWS_PREFIX}controller_roles"
GIVE_ACCESS = "give karpdash the cluster's ARN and a role it may assume (AWS access of the cluster), then scan again"
NOT_LOOKED_AT = f"AWS was not looked at: {GIVE_ACCESS}"
HAND_IN = "or hand in the policies of the controller's role (karpdash scan --iam-policy)"
AWS_NOT_ASKED = Reason("aws_not_asked", AWS_PREFIX.rstrip("."), NOT_ASKED.why)


def could_not_read(name: str, part: Unseen) -> CannotTell:
    """That nothing is told by what has that name, a part or what stands in one, and why."""
    if name.startswith(AWS_PREFIX) and part == NOT_ASKED:
        return CannotTell(f"{NOT_LOOKED_AT}, {HAND_IN}" if name == POLICIES else NOT_LOOKED_AT, AWS_NOT_ASKED)
    told = f"{name} could not be read: {part.why}" + (f" ({part.detail})" if part.detail else "")
    return CannotTell(told, unread_reason(name, part))


def unread_reason(name: str, part: Unseen) -> Reason | None:
    """The part behind an answer that is missing: the first of several; None where the name is not that of a part."""
    if part.behind is not None:
        return Reason("part_unread", part.behind.part, part.behind.why)
    known = name in PART_NAMES or name.startswith(AWS_PREFIX)
    return Reason("part_unread", name, part.why) if known else None
