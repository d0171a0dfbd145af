"""What is said where AWS, or a part of it, was not looked at: why the answer is open and how to give access."""

from migrations_app.inventory.inventory import AWS_PREFIX
from migrations_app.inventory.seen import NOT_ASKED, Unseen

POLICIES = f"{AWS_PREFIX}controller_roles"
GIVE_ACCESS = "give karpdash the cluster's ARN and a role it may assume (AWS access of the cluster), then scan again"
NOT_LOOKED_AT = f"AWS was not looked at: {GIVE_ACCESS}"
HAND_IN = "or hand in the policies of the controller's role (karpdash scan --iam-policy)"


def could_not_read(name: str, part: Unseen) -> str:
    """Why the part of that name answers nothing, as the summary of a finding."""
    if name.startswith(AWS_PREFIX) and part == NOT_ASKED:
        return f"{NOT_LOOKED_AT}, {HAND_IN}" if name == POLICIES else NOT_LOOKED_AT
    return f"{name} could not be read: {part.why}" + (f" ({part.detail})" if part.detail else "")
