"""Statements that allow the requests of requests.py and as little else as IAM can express.

They follow the scopes of the official policies (Sids AllowScoped..., at the tags named in requests.py): new
resources only with this cluster's tags, existing resources only if they carry them.
"""

from dataclasses import dataclass
from itertools import product

from migrations_app.iam.requirements.describe_actions import DESCRIBE_ACTIONS
from migrations_app.iam.requirements.features import Span
from migrations_app.iam.requirements.required_request import Mode
from migrations_app.iam.requirements.service_actions import service_grants
from migrations_app.iam.requirements.statement_grant import GrantLine, StatementGrant


@dataclass(frozen=True)
class _CapacityOwner:
    """The owner of capacity in a span of releases, identified by tags."""

    span: Span
    mode: Mode
    pool_key: str
    named: bool  # requests carry eks:eks-cluster-name


_CAPACITY_OWNERS = (
    _CapacityOwner(Span((0, 28), (0, 32)), "provisioner", "karpenter.sh/provisioner-name", False),
    _CapacityOwner(Span((0, 32), (0, 37)), "nodepool", "karpenter.sh/nodepool", False),
    _CapacityOwner(Span((1, 0)), "nodepool", "karpenter.sh/nodepool", True),
)

_LAUNCH = ("ec2:RunInstances", "ec2:CreateFleet")
_MADE = ("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")
_FOUND = ("image", "snapshot", "security-group", "subnet", "capacity-reservation", "placement-group")


def _owned(prefix: str) -> GrantLine:
    return ("StringEquals", f"aws:{prefix}Tag/kubernetes.io/cluster/{{cluster}}", ("owned",))


def _named() -> GrantLine:
    return ("StringEquals", "aws:RequestTag/eks:eks-cluster-name", ("{cluster}",))


def _any(prefix: str, tag: str) -> GrantLine:
    return ("StringLike", f"aws:{prefix}Tag/{tag}", ("*",))


def _of_capacity(owner: _CapacityOwner) -> tuple[StatementGrant, ...]:
    sent = (_owned("Request"), *((_named(),) if owner.named else ()), _any("Request", owner.pool_key))
    carried = (_owned("Resource"), _any("Resource", owner.pool_key))
    creating = ("StringEquals", "ec2:CreateAction", ("RunInstances", "CreateFleet", "CreateLaunchTemplate"))

    def grant(
        sid: str, actions: tuple[str, ...], *, kinds: tuple[str, ...], lines: tuple[GrantLine, ...]
    ) -> StatementGrant:
        return StatementGrant(sid=sid, span=owner.span, mode=owner.mode, actions=actions, kinds=kinds, lines=lines)

    create_actions = (*_LAUNCH, "ec2:CreateLaunchTemplate")
    ended = ("ec2:TerminateInstances", "ec2:DeleteLaunchTemplate")
    suffix = "Provisioner" if owner.mode == "provisioner" else ""
    return (
        grant(f"LaunchTagged{suffix}", create_actions, kinds=_MADE, lines=sent),
        grant(f"LaunchFromOwnTemplates{suffix}", _LAUNCH, kinds=("launch-template",), lines=carried),
        grant(f"TagAtCreation{suffix}", ("ec2:CreateTags",), kinds=_MADE, lines=(*sent, creating)),
        grant(f"TagOwnInstances{suffix}", ("ec2:CreateTags",), kinds=("instance",), lines=_tagging(owner)),
        grant(f"EndOwnCapacity{suffix}", ended, kinds=("instance", "launch-template"), lines=carried),
    )


def _tagging(owner: _CapacityOwner) -> tuple[GrantLine, ...]:
    """The tags that may be written to running instances: names, and the owner tag while instances change owners."""
    if owner.mode == "provisioner":
        keys = ("karpenter.sh/provisioner-name", "karpenter.sh/managed-by")
        linked = ("StringEquals", "aws:RequestTag/karpenter.sh/managed-by", ("{cluster}",))
        return (_owned("Resource"), linked, ("ForAllValues:StringEquals", "aws:TagKeys", keys))
    keys = ("karpenter.sh/nodeclaim", "Name", *(("eks:eks-cluster-name",) if owner.named else ()))
    operator, key, values = _named()
    named = ((f"{operator}IfExists", key, values),) if owner.named else ()
    carried = (_owned("Resource"), _any("Resource", owner.pool_key))
    return (*carried, *named, ("ForAllValues:StringEquals", "aws:TagKeys", keys))


def _of_profiles(owner: _CapacityOwner) -> tuple[StatementGrant, ...]:
    if owner.mode == "provisioner":
        return ()

    def scope(prefix: str) -> tuple[GrantLine, ...]:
        region = ("StringEquals", f"aws:{prefix}Tag/topology.kubernetes.io/region", ("{region}",))
        return (_owned(prefix), region, _any(prefix, "karpenter.k8s.aws/ec2nodeclass"))

    named = (_named(),) if owner.named else ()
    rows = (
        ("CreateProfiles", ("iam:CreateInstanceProfile",), (*scope("Request"), *named)),
        ("TagProfiles", ("iam:TagInstanceProfile",), (*scope("Resource"), *scope("Request"), *named)),
        (
            "ChangeProfiles",
            ("iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"),
            scope("Resource"),
        ),
    )
    return tuple(
        StatementGrant(sid=sid, span=owner.span, actions=actions, kinds=("instance-profile",), lines=lines)
        for sid, actions, lines in rows
    )


_SIMPLE = (
    StatementGrant(sid="LaunchFrom", actions=_LAUNCH, kinds=_FOUND),
    StatementGrant(sid="LaunchSpot", span=Span((0, 28), (0, 32)), actions=_LAUNCH, kinds=("spot-instances-request",)),
    StatementGrant(
        sid="ReadRegion",
        actions=tuple(sorted((row.action for row in DESCRIBE_ACTIONS), key=str.lower)),
        kinds=("*",),
        lines=(("StringEquals", "aws:RequestedRegion", ("{region}",)),),
    ),
    StatementGrant(sid="ReadProfiles", actions=("iam:GetInstanceProfile",), kinds=("instance-profile",)),
    StatementGrant(sid="ListProfiles", actions=("iam:ListInstanceProfiles",), kinds=("*",)),
    *service_grants(),
)

GRANTS: tuple[StatementGrant, ...] = (
    *(grant for family, owner in product((_of_capacity, _of_profiles), _CAPACITY_OWNERS) for grant in family(owner)),
    *_SIMPLE,
)
