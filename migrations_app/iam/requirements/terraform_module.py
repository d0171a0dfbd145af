"""What to set in the Karpenter submodule of the Terraform EKS module, by the module's version.

Source: terraform-aws-modules/terraform-aws-eks, modules/karpenter at v19.16.0, v19.18.0, v20.0.0, v20.16.0,
v20.24.0, v20.37.2, v21.0.0, v21.2.0, v21.8.0 and v21.19.0.
"""

import re
from dataclasses import dataclass

from migrations_app.errors import InvalidInput
from migrations_app.iam.requirements.features import Minor
from migrations_app.iam.requirements.gaps import Gap, GapReport

ModuleVersion = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class ModuleSetting:
    """A variable of the submodule and its value; without a variable, the module must be upgraded to `upgrade_to`."""

    closes: tuple[str, ...]
    variable: str = ""
    value: str = ""
    upgrade_to: str = ""
    why: str


@dataclass(frozen=True, kw_only=True)
class _Row:
    """From version `since` to before `below`, the setting grants these actions, for releases from `release` on."""

    since: ModuleVersion
    below: ModuleVersion
    release: Minor
    actions: frozenset[str]
    variable: str = ""
    value: str = ""
    upgrade_to: str = ""
    why: str


_PROFILE_ACTIONS = frozenset(
    f"iam:{name}InstanceProfile" for name in ("Get", "Create", "Delete", "Tag", "AddRoleTo", "RemoveRoleFrom")
)
_QUEUE_ACTIONS = frozenset({"sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"})
_LATER = {
    "iam:ListInstanceProfiles": "21.2.0",
    "ec2:DescribeCapacityReservations": "21.3.1",
    "ec2:DescribePlacementGroups": "21.18.0",
    "ec2:DescribeInstanceStatus": "21.19.0",
}

_ROWS = (
    _Row(
        since=(19, 0), below=(19, 18), release=(0, 32), actions=_PROFILE_ACTIONS, upgrade_to="19.18.0",
        why="versions before it cannot grant the instance-profile actions",
    ),
    _Row(
        since=(19, 18), below=(20, 0), release=(0, 32), actions=_PROFILE_ACTIONS,
        variable="enable_karpenter_instance_profile_creation", value="true",
        why="adds the six instance-profile actions",
    ),
    _Row(
        since=(20, 0), below=(20, 24), release=(1, 0), actions=frozenset({"ec2:CreateTags"}), upgrade_to="20.24.0",
        why="the switch enable_v1_permissions exists from there on",
    ),
    _Row(
        since=(20, 24), below=(21, 0), release=(1, 0), actions=frozenset({"ec2:CreateTags"}),
        variable="enable_v1_permissions", value="true",
        why="the default is the document for 0.33 to 0.37, which lacks eks:eks-cluster-name in tagging",
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


def module_settings(report: GapReport, version: ModuleVersion) -> tuple[ModuleSetting, ...]:
    """What to set, or to which version to upgrade, for the gaps of a report; remaining gaps become statements."""
    open_gaps = {gap.action: gap for gap in report.gaps if gap.required == "always"}
    settings = [setting for row in _ROWS if (setting := _from_row(row, open_gaps, minor=report.minor, version=version))]
    closed = {action for setting in settings for action in setting.closes}
    remaining = tuple(action for action in open_gaps if action not in closed)
    return (*settings, *_statements(remaining, version))


def _from_row(row: _Row, gaps: dict[str, Gap], *, minor: Minor, version: ModuleVersion) -> ModuleSetting | None:
    closes = tuple(sorted(row.actions & set(gaps)))
    if not closes or minor < row.release or not row.since <= version < row.below:
        return None
    return ModuleSetting(closes=closes, variable=row.variable, value=row.value, upgrade_to=row.upgrade_to, why=row.why)


def _statements(actions: tuple[str, ...], version: ModuleVersion) -> tuple[ModuleSetting, ...]:
    if not actions:
        return ()
    later = {action: _LATER[action] for action in actions if action in _LATER and version < (21, 19)}
    later_text = f"; the module itself grants {', '.join(f'{a} from {v}' for a, v in later.items())}" if later else ""
    if version < (20, 16):
        return (
            ModuleSetting(
                closes=actions, upgrade_to="20.16.0", why=f"earlier ones take no statements of yours{later_text}"
            ),
        )
    return (
        ModuleSetting(
            closes=actions,
            variable="iam_policy_statements",
            value="the statements of the closing policy",
            why=f"no switch of the module covers these{later_text}",
        ),
    )


def inline_setting(version: ModuleVersion) -> ModuleSetting | None:
    """The setting to use if the module's policy exceeds 6,144 characters; None before the version that has it."""
    if version < (21, 8):
        return None
    why = "an inline policy may have 10,240 characters"
    return ModuleSetting(closes=(), variable="enable_inline_policy", value="true", why=why)
