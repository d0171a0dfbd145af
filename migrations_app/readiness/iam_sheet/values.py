"""The sheet of permissions of one cluster: needs against releases, and what to do about each. Types only."""

from typing import Any, Literal

import msgspec

SCHEMA = "karpdash/iam-sheet/v1"
CellVerdict = Literal[
    "allowed", "missing", "denied", "blocked_by_condition", "blocked_by_resource", "unknown", "not_needed"
]
Answered = Literal["yes", "no", "unknown"]
CellNeed = Literal["", "always", "conditional"]


class IamCell(msgspec.Struct, frozen=True, kw_only=True):
    """One action in one release. Where several roles count, the worst answer, each cause with its role."""

    verdict: CellVerdict = "not_needed"
    required: CellNeed = ""
    severity: str = ""
    """blocker or degraded; empty where the action is not needed."""
    when: str = ""
    resource: tuple[str, ...] = ()
    needed_for: tuple[str, ...] = ()
    effect: str = ""
    causes: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    boundary: Literal["", "refused", "unknown"] = ""
    """Whether the permissions boundary of a role refuses it, too; then it has to be extended as well."""


class IamRow(msgspec.Struct, frozen=True, kw_only=True):
    """One action; `cells` in the order of the columns. `legacy`: for capacity that Provisioners still own in 0.32."""

    action: str
    legacy: bool = False
    cells: tuple[IamCell, ...] = ()


class IamSize(msgspec.Struct, frozen=True, kw_only=True):
    """A document and its size as IAM counts it, beside the limit that holds for it."""

    name: str
    size: int
    limit: int
    document: dict[str, Any]


class IamModule(msgspec.Struct, frozen=True, kw_only=True):
    """What to set in the Karpenter submodule of the Terraform EKS module at that version."""

    version: str
    text: str


class IamRemoval(msgspec.Struct, frozen=True, kw_only=True):
    """A statement that may go after the hop, or only the named actions of it."""

    where: str
    sid: str = ""
    actions: tuple[str, ...] = ()


class IamPatch(msgspec.Struct, frozen=True, kw_only=True):
    """What one role lacks for a release, ready to use. `role` is empty for a role that is still to be made."""

    role: str = ""
    ok: Answered = "unknown"
    documents: tuple[IamSize, ...] = ()
    """The smallest documents that close the gaps; none where nothing has to be added."""
    merged: tuple[IamSize, ...] = ()
    """What is on the role and the additions together, in as few documents as fit."""
    merged_why: str = ""
    """Why there is no merged document, where it cannot be made."""
    cloudformation: str = ""
    terraform: str = ""
    modules: tuple[IamModule, ...] = ()
    remarks: tuple[str, ...] = ()
    removable: tuple[IamRemoval, ...] = ()


class IamColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A release: the running one, whose `hop` is empty, or the target of one of its hops."""

    release: str
    hop: str = ""
    ok: Answered = "unknown"
    why: str = ""
    """Why the release could not be evaluated; empty if its needs are known."""
    refused: int = 0
    """Actions that are needed with the settings of the cluster, and refused."""
    doubtful: int = 0
    """Actions that are needed with the settings of the cluster, and whose verdict is not certain."""
    conditional: int = 0
    """Actions that are refused or doubtful, and needed only with a setting that is not assumed."""
    whole: tuple[IamSize, ...] = ()
    """Everything that a role without any permission needs."""
    patches: tuple[IamPatch, ...] = ()


class IamDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A policy of a role, or its permissions boundary, as it was read; `kind` says which."""

    name: str
    kind: str
    size: int
    limit: int
    arn: str = ""
    boundary: bool = False
    text: str = ""


class IamUnread(msgspec.Struct, frozen=True, kw_only=True):
    part: str
    why: str
    detail: str = ""


class IamRole(msgspec.Struct, frozen=True, kw_only=True):
    """A role that was read. `counts`: its policies apply to the controller's requests."""

    arn: str
    found_by: str
    counts: bool
    exists: bool | None = None
    account_of: str = ""
    """Namespace and name of the service account."""
    inline_size: int = 0
    inline_limit: int = 0
    documents: tuple[IamDocument, ...] = ()
    unread: tuple[IamUnread, ...] = ()


class IamDisagreement(msgspec.Struct, frozen=True, kw_only=True):
    release: str
    role: str
    action: str
    resource: str
    ours: str
    theirs: str
    because: str = ""


class IamSimulation(msgspec.Struct, frozen=True, kw_only=True):
    """The result of SimulatePrincipalPolicy, compared with karpdash's own evaluation."""

    seen: bool = False
    why: str = ""
    detail: str = ""
    agree: int = 0
    cannot_tell: int = 0
    disagreements: tuple[IamDisagreement, ...] = ()


class IamNames(msgspec.Struct, frozen=True, kw_only=True):
    """The names in the requests."""

    cluster: str
    account: str
    region: str
    partition: str
    queue: str
    node_roles: tuple[str, ...]
    assume_role_arn: str = ""
    stand_ins: tuple[str, ...] = ()
    """Placeholders for unknown names, as text; they have to be replaced in every document of the sheet."""


class IamSetting(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    meaning: str
    on: bool


class IamProfile(msgspec.Struct, frozen=True, kw_only=True):
    """An instance profile with the name of its role, as AWS has them. `default`: that of the global settings."""

    name: str
    role: str
    default: bool = False


class IamSheet(msgspec.Struct, frozen=True, kw_only=True):
    """`seen` is False where no role could be judged, for the reason in `why`: cells then say what is needed only."""

    schema: str = SCHEMA
    seen: bool
    why: str = ""
    detail: str = ""
    names: IamNames
    settings: tuple[IamSetting, ...] = ()
    columns: tuple[IamColumn, ...] = ()
    rows: tuple[IamRow, ...] = ()
    roles: tuple[IamRole, ...] = ()
    profiles: tuple[IamProfile, ...] = ()
    simulation: IamSimulation = IamSimulation()
