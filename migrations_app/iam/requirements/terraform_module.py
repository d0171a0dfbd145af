"""What to set in the Karpenter submodule of the Terraform EKS module, by the module's version.

Source: terraform-aws-modules/terraform-aws-eks, modules/karpenter at v19.16.0, v19.18.0, v20.0.0, v20.16.0,
v20.24.0, v20.37.2, v21.0.0, v21.2.0, v21.8.0 and v21.19.0.
"""

import re
from dataclasses import dataclass

from migrations_app.errors import InvalidInput
from migrations_app.iam.requirements.features import Minor
from migrations_app.iam.requirements.gaps import GapReport

ModuleVersion = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class ModuleSetting:
    """What to do about the actions in `closes`: a variable and its value, or a policy of its own (`apart`) where the
    module's version takes no statements. `after_hop` is empty for what is set before the hop; otherwise it is the
    condition under which the variable may be set at all, and `upgrade_to` the version that has the variable.
    """

    closes: tuple[str, ...]
    variable: str = ""
    value: str = ""
    apart: bool = False
    upgrade_to: str = ""
    after_hop: str = ""
    why: str


@dataclass(frozen=True, kw_only=True)
class _Row:
    """From version `since` to before `below`, the setting grants these actions, for releases from `release` on."""

    since: ModuleVersion
    below: ModuleVersion
    release: Minor
    actions: frozenset[str]
    variable: str
    value: str
    upgrade_to: str = ""
    after_hop: str = ""
    why: str


_PROFILE_ACTIONS = frozenset(
    f"iam:{name}InstanceProfile" for name in ("Get", "Create", "Delete", "Tag", "AddRoleTo", "RemoveRoleFrom")
)
_QUEUE_ACTIONS = frozenset({"sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"})
_TAKES_STATEMENTS: ModuleVersion = (20, 16)
_LATER = {
    "iam:ListInstanceProfiles": "21.2.0",
    "ec2:DescribeCapacityReservations": "21.3.1",
    "ec2:DescribePlacementGroups": "21.18.0",
    "ec2:DescribeInstanceStatus": "21.19.0",
}

# Both switches take away what the release before the hop needs: that of 19.18 deletes the instance profile of the
# module, that of 20.24 replaces the document for 0.33 to 0.37, whose launches the document of 1.0 refuses for want of
# a tag that they do not send.
# Source: terraform-aws-modules/terraform-aws-eks@v19.18.0:modules/karpenter/main.tf (aws_iam_instance_profile.this),
# v20.37.2:modules/karpenter/main.tf (source_policy_documents), v20.24.0:modules/karpenter/policy.tf
# (aws:RequestTag/eks:eks-cluster-name)
_SINCE_1_0 = "no release before 1.0 runs and no rollback to one is wanted"
_V1_SWITCH = "it replaces the document for 0.33 to 0.37 by that of 1.0, which refuses every launch of those releases"

_ROWS = (
    _Row(
        since=(19, 18), below=(20, 0), release=(0, 32), actions=_PROFILE_ACTIONS,
        variable="enable_karpenter_instance_profile_creation", value="true",
        after_hop="no release before 0.32 runs, no rollback to one is wanted, and no node uses the module's profile",
        why="it deletes the instance profile of the module",
    ),
    _Row(
        since=(20, 0), below=(20, 24), release=(1, 0), actions=frozenset({"ec2:CreateTags"}), upgrade_to="20.24.0",
        variable="enable_v1_permissions", value="true", after_hop=_SINCE_1_0, why=_V1_SWITCH,
    ),
    _Row(
        since=(20, 24), below=(21, 0), release=(1, 0), actions=frozenset({"ec2:CreateTags"}),
        variable="enable_v1_permissions", value="true", after_hop=_SINCE_1_0, why=_V1_SWITCH,
    ),
    _Row(
        since=(19, 0), below=(99, 0), release=(0, 28), actions=_QUEUE_ACTIONS,
        variable="enable_spot_termination", value="true",
        why="makes the queue Karpenter-<cluster> (variable queue_name) and grants its use",
    ),
)  # fmt: skip


def module_version(text: str) -> ModuleVersion:
    """Major and minor of a module version such as `20.24.3` or `~> 21.0`. Raises InvalidInput if there is none."""
    match = re.fullmatch(r"[~>=v ]{0,4}(\d{1,3})\.(\d{1,3})(?:\.\d{1,3})?", text.strip())
    if match is None:
        raise InvalidInput(f"{text[:40]!r} is not a version of the Terraform EKS module; write it like 20.24.0")
    return int(match[1]), int(match[2])


def module_settings(report: GapReport, version: ModuleVersion, *, crowded: bool = False) -> tuple[ModuleSetting, ...]:
    """What to do in this version of the module for the gaps of a report that statements close; last what may be set
    only after the hop.

    Nothing that is set before the hop takes away what the running release has. `crowded`: the additions do not fit
    into a managed policy beside what the role has.
    """
    gaps = (*report.gaps, *report.legacy_gaps)
    closable = (gap for gap in gaps if gap.required == "always" and gap.is_closable)
    actions = tuple(dict.fromkeys(gap.action for gap in closable))
    settings = [setting for row in _ROWS if (setting := _from_row(row, actions, minor=report.minor, version=version))]
    now = [setting for setting in settings if not setting.after_hop]
    closed = {action for setting in now for action in setting.closes}
    remaining = tuple(action for action in actions if action not in closed)
    later = [setting for setting in settings if setting.after_hop]
    return (*now, *_statements(remaining, version, crowded=crowded), *later)


def _from_row(row: _Row, actions: tuple[str, ...], *, minor: Minor, version: ModuleVersion) -> ModuleSetting | None:
    closes = tuple(sorted(row.actions & set(actions)))
    if not closes or minor < row.release or not row.since <= version < row.below:
        return None
    return ModuleSetting(
        closes=closes,
        variable=row.variable,
        value=row.value,
        upgrade_to=row.upgrade_to,
        after_hop=row.after_hop,
        why=row.why,
    )


def _statements(actions: tuple[str, ...], version: ModuleVersion, *, crowded: bool) -> tuple[ModuleSetting, ...]:
    """The additions as statements of the module's own policy, or as a policy of its own on its role."""
    if not actions:
        return ()
    later = {action: _LATER[action] for action in actions if action in _LATER and version < (21, 19)}
    later_text = f"; the module itself grants {', '.join(f'{a} from {v}' for a, v in later.items())}" if later else ""
    if version < _TAKES_STATEMENTS:
        why = f"versions before 20.16 take no statements, so a policy of its own goes on the module's role{later_text}"
        return (ModuleSetting(closes=actions, apart=True, why=why),)
    if crowded and inline_setting(version) is None:
        why = f"more than 6,144 characters in all, so a policy of its own goes on the module's role{later_text}"
        return (ModuleSetting(closes=actions, apart=True, why=why),)
    return (
        ModuleSetting(
            closes=actions,
            variable="iam_policy_statements",
            value="the statements of the closing policy",
            why=f"they are added to the document that the module makes{later_text}",
        ),
    )


def role_output(version: ModuleVersion) -> str:
    """The output of the submodule that names the controller's role."""
    return "iam_role_name" if version >= (20, 0) else "irsa_name"


def inline_setting(version: ModuleVersion) -> ModuleSetting | None:
    """The setting to use if the module's policy exceeds 6,144 characters; None before the version that has it."""
    if version < (21, 8):
        return None
    why = "an inline policy may have 10,240 characters"
    return ModuleSetting(closes=(), variable="enable_inline_policy", value="true", why=why)
