"""The requests that the controller makes, by release. A new minor adds rows or ends a span.

An action that is asked for in one way is one row, with its reason and its grant: in describe_actions.py for EC2
Describe actions, in service_actions.py for other services. Launches, tags and instance profiles ask for the same
actions on many resources for several owners; their reasons are in needs.py, their grants, which belong to groups of
actions, in statements.py. Source of the actions: call sites of aws/karpenter-provider-aws at v0.28.1,
v0.31.4, v0.32.10, v0.33.10, v0.37.8, v1.0.14, v1.1.9, v1.4.4, v1.7.6, v1.14.1 (pkg/providers, pkg/controllers,
pkg/operator, pkg/aws/sdk.go), compared with
website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml at all 180 release
tags.
"""

from collections.abc import Iterator
from typing import NamedTuple

from migrations_app.iam.requirements.describe_actions import DESCRIBE_ACTIONS
from migrations_app.iam.requirements.features import Feature, Minor, Span
from migrations_app.iam.requirements.required_request import Mode, RequestSeverity, RequiredRequest, Tags
from migrations_app.iam.requirements.service_actions import SERVICE_ACTIONS

_OWNED = ("kubernetes.io/cluster/{cluster}", "owned")
_MANAGED_BY = ("karpenter.sh/managed-by", "{cluster}")
_EKS_NAME = ("eks:eks-cluster-name", "{cluster}")
_NODE_CLASS = ("karpenter.k8s.aws/ec2nodeclass", "default")
_PROVISIONER = ("karpenter.sh/provisioner-name", "default")
_NODE_POOL = ("karpenter.sh/nodepool", "default")
_ALPHA_NAME = ("Name", "karpenter.sh/provisioner-name/default")
_PROFILE_REGION = ("topology.kubernetes.io/region", "{region}")

# Tags that the controller sets on what it creates: up to 0.31 and, for Provisioners, 0.32; 0.32 to 0.37; from 1.0.
ALPHA_LAUNCH: Tags = (_ALPHA_NAME, _OWNED, _PROVISIONER, _MANAGED_BY)
BETA_LAUNCH: Tags = (_OWNED, _NODE_POOL, _MANAGED_BY, _NODE_CLASS)
V1_LAUNCH: Tags = (_OWNED, _NODE_POOL, _EKS_NAME, _NODE_CLASS)
# The dry run of a launch (from 1.3) sends the NodePool tag without a value: `*` matches that, `?*` does not.
V1_DRY_RUN: Tags = (_OWNED, ("karpenter.sh/nodepool", ""), _EKS_NAME, _NODE_CLASS)
BETA_PROFILE: Tags = (_OWNED, _MANAGED_BY, _NODE_CLASS, _PROFILE_REGION)
V1_PROFILE: Tags = (_OWNED, _EKS_NAME, _NODE_CLASS, _PROFILE_REGION)
ALPHA_BEFORE_MACHINES: Tags = (_ALPHA_NAME, _OWNED, _PROVISIONER)
_NAMING: Tags = (("Name", "ip-10-0-0-1.{region}.compute.internal"), ("karpenter.sh/nodeclaim", "default-abcde"))

_HERE = "arn:{partition}:ec2:{region}:{account}:"
_INSTANCE = _HERE + "instance/i-0123456789abcdef0"
_TEMPLATE = _HERE + "launch-template/lt-0123456789abcdef0"
_NEW_TEMPLATE = _HERE + "launch-template/*"
_SNAPSHOT = "arn:{partition}:ec2:{region}::snapshot/snap-0123456789abcdef0"
_SPOT_REQUEST = _HERE + "spot-instances-request/*"
_PROFILE = "arn:{partition}:iam::{account}:instance-profile/{cluster}_1234567890"
_PROFILE_IN_PATH = (
    "arn:{partition}:iam::{account}:instance-profile/karpenter/{region}/{cluster}"
    "/0f0e0d0c-0000-4000-8000-000000000000/{cluster}_1234567890"
)


class _Owner(NamedTuple):
    """The owner of launched capacity in a span of releases, and the tags with which it is launched."""

    prefix: str
    span: Span
    mode: Mode
    tags: Tags
    tags_spot: bool  # from 0.33 the spot request is tagged through the launch template


class _Step(NamedTuple):
    """One request of a launch or a termination. `tags`: sent with the request, on the resource, or neither."""

    name: str
    action: str
    resource: str
    tags: str = ""
    creating: str = ""
    severity: RequestSeverity = "blocker"


_OWNERS = (
    _Owner("alpha", Span((0, 28), (0, 32)), "provisioner", ALPHA_LAUNCH, False),
    _Owner("beta32", Span((0, 32), (0, 32)), "nodepool", BETA_LAUNCH, False),
    _Owner("beta", Span((0, 33), (0, 37)), "nodepool", BETA_LAUNCH, True),
    _Owner("v1", Span((1, 0)), "nodepool", V1_LAUNCH, True),
)

_STEPS = (
    _Step("create-lt", "ec2:CreateLaunchTemplate", _NEW_TEMPLATE, "sent"),
    _Step("tag-lt", "ec2:CreateTags", _NEW_TEMPLATE, "sent", "CreateLaunchTemplate"),
    _Step("fleet-fleet", "ec2:CreateFleet", _HERE + "fleet/*", "sent"),
    _Step("fleet-instance", "ec2:CreateFleet", _HERE + "instance/*", "sent"),
    _Step("fleet-volume", "ec2:CreateFleet", _HERE + "volume/*", "sent"),
    _Step("tag-fleet", "ec2:CreateTags", _HERE + "fleet/*", "sent", "CreateFleet"),
    _Step("fleet-image", "ec2:CreateFleet", "arn:{partition}:ec2:{region}::image/ami-0123456789abcdef0"),
    _Step("fleet-subnet", "ec2:CreateFleet", _HERE + "subnet/subnet-0123456789abcdef0"),
    _Step("fleet-lt", "ec2:CreateFleet", _TEMPLATE, "carried"),
    _Step("run-instance", "ec2:RunInstances", _HERE + "instance/*", "sent"),
    _Step("tag-instance", "ec2:CreateTags", _HERE + "instance/*", "sent", "RunInstances"),
    _Step("run-volume", "ec2:RunInstances", _HERE + "volume/*", "sent"),
    _Step("tag-volume", "ec2:CreateTags", _HERE + "volume/*", "sent", "RunInstances"),
    _Step("run-network-interface", "ec2:RunInstances", _HERE + "network-interface/*", "sent"),
    _Step("tag-network-interface", "ec2:CreateTags", _HERE + "network-interface/*", "sent", "RunInstances"),
    _Step("run-image", "ec2:RunInstances", "arn:{partition}:ec2:{region}::image/ami-0123456789abcdef0"),
    _Step("run-snapshot", "ec2:RunInstances", _SNAPSHOT),
    _Step("run-security-group", "ec2:RunInstances", _HERE + "security-group/sg-0123456789abcdef0"),
    _Step("run-subnet", "ec2:RunInstances", _HERE + "subnet/subnet-0123456789abcdef0"),
    _Step("run-lt", "ec2:RunInstances", _TEMPLATE, "carried"),
    _Step("run-spot", "ec2:RunInstances", _SPOT_REQUEST, "sent"),
    _Step("tag-spot", "ec2:CreateTags", _SPOT_REQUEST, "sent", "RunInstances"),
    _Step("terminate", "ec2:TerminateInstances", _INSTANCE, "carried"),
    _Step("delete-lt", "ec2:DeleteLaunchTemplate", _TEMPLATE, "carried", severity="degraded"),
)


def _capability(step: _Step) -> str:
    if step.creating:
        return "tagging"
    return "terminate" if step.name in ("terminate", "delete-lt") else "launch"


# A snapshot is authorised only if the launch template names it, and Karpenter names those of spec.blockDeviceMappings
# alone: v0.28.1, v1.14.1:pkg/providers/launchtemplate/launchtemplate.go; terraform-aws-eks#2648, #2649.
_FEATURES = {_SPOT_REQUEST: (Feature.SPOT,), _SNAPSHOT: (Feature.SNAPSHOTS,)}


def _step_of(owner: _Owner, step: _Step) -> RequiredRequest:
    spot = step.resource is _SPOT_REQUEST
    sent = step.tags == "sent" and (owner.tags_spot or not spot)
    return RequiredRequest(
        id=f"{owner.prefix}-{step.name}",
        span=owner.span,
        action=step.action,
        resource=step.resource,
        mode=owner.mode,
        capability=_capability(step),
        severity=step.severity,
        features=_FEATURES.get(step.resource, ()),
        request_tags=owner.tags if sent else None,
        resource_tags=owner.tags if step.tags == "carried" else () if spot and not sent else None,
        context=(("ec2:CreateAction", step.creating),) if step.creating else (),
        spec_tags=True,
    )


def _launches() -> Iterator[RequiredRequest]:
    for owner in _OWNERS:
        for step in _STEPS:
            if step.name != "tag-spot" or owner.tags_spot:
                yield _step_of(owner, step)


_REHEARSAL_IDS = {"fleet-fleet": "dry-run-fleet", "run-instance": "dry-run-instances"}


def _rehearsals() -> Iterator[RequiredRequest]:
    """The creations of an on-demand launch, each with its tags, as the validation of a node class makes them from 1.3.

    Source: v1.3.0, v1.14.1:pkg/controllers/nodeclass/validation.go (CreateFleet, CreateLaunchTemplate, RunInstances)
    """
    for step in _STEPS:
        if step.tags == "sent" and step.resource is not _SPOT_REQUEST:
            yield RequiredRequest(
                id=_REHEARSAL_IDS.get(step.name, f"dry-run-{step.name}"),
                span=Span((1, 3)),
                action=step.action,
                resource=step.resource,
                mode="nodepool",
                capability="validation",
                features=(Feature.DRY_RUN,),
                request_tags=V1_DRY_RUN,
                context=(("ec2:CreateAction", step.creating),) if step.creating else (),
                spec_tags=True,
            )


def _rare_launches() -> Iterator[RequiredRequest]:
    reservation, group = _HERE + "capacity-reservation/cr-0123456789abcdef0", _HERE + "placement-group/pg"
    run, fleet = "ec2:RunInstances", "ec2:CreateFleet"
    rare = (
        ("run-reservation", (1, 3), "capacity-reservation", run, reservation, Feature.RESERVATIONS),
        ("run-placement-group", (1, 11), "placement-group", run, group, Feature.PLACEMENT_GROUPS),
        ("fleet-placement-group", (1, 11), "placement-group", fleet, group, Feature.PLACEMENT_GROUPS),
    )
    for name, since, capability, action, resource, feature in rare:
        yield RequiredRequest(
            id=name,
            span=Span(since),
            action=action,
            resource=resource,
            mode="nodepool",
            capability=capability,
            features=(feature,),
        )


def _on_existing_instances() -> Iterator[RequiredRequest]:
    rows: tuple[tuple[str, Span, Mode, Tags, Tags, RequestSeverity, tuple[Feature, ...]], ...] = (
        (
            "alpha-link",
            Span((0, 29), (0, 32)),
            "provisioner",
            (_MANAGED_BY, _PROVISIONER),
            ALPHA_BEFORE_MACHINES,
            "blocker",
            (Feature.BEFORE_MACHINES,),
        ),
        ("beta-name", Span((0, 32), (0, 37)), "nodepool", _NAMING, BETA_LAUNCH, "degraded", ()),
        ("v1-name", Span((1, 0)), "nodepool", _NAMING, V1_LAUNCH, "degraded", ()),
        ("v1-adopt", Span((1, 0)), "nodepool", (_EKS_NAME,), BETA_LAUNCH, "blocker", (Feature.IN_PLACE,)),
    )
    for name, span, mode, sent, carried, severity, features in rows:
        yield RequiredRequest(
            id=name,
            span=span,
            action="ec2:CreateTags",
            resource=_INSTANCE,
            mode=mode,
            capability="tagging",
            severity=severity,
            features=features,
            request_tags=sent,
            resource_tags=carried,
        )
    yield RequiredRequest(
        id="v1-terminate-old",
        span=Span((1, 0)),
        action="ec2:TerminateInstances",
        resource=_INSTANCE,
        mode="nodepool",
        capability="terminate",
        features=(Feature.IN_PLACE,),
        resource_tags=BETA_LAUNCH,
    )


def _profile(
    name: str,
    span: Span,
    *,
    action: str,
    severity: RequestSeverity = "blocker",
    sent: Tags | None = None,
    carried: Tags | None = None,
    features: tuple[Feature, ...] = (Feature.SPEC_ROLE,),
) -> RequiredRequest:
    return RequiredRequest(
        id=name,
        span=span,
        action=f"iam:{action}",
        resource=_PROFILE_IN_PATH if span.since >= (1, 7) else _PROFILE,
        mode="nodepool",
        capability="instance-profile",
        severity=severity,
        features=features,
        request_tags=sent,
        resource_tags=carried,
        spec_tags=True,
    )


def _profiles() -> Iterator[RequiredRequest]:
    """Instance profiles: created by the controller from 0.32, tagged with the cluster from 1.0, with a
    path from 1.7. AWS authorises the tags of a creation call as iam:TagInstanceProfile, too, and refuses the creation
    without it. From 1.7 profiles are read without a path, too: those that 1.6 or older made, and a new name before
    the profile is made, which AWS knows by its name alone. Each refusal but NoSuchEntity ends the reconciliation.

    Sources: CreateInstanceProfileInput with Tags in pkg/providers/instanceprofile/instanceprofile.go at v0.32.0,
    v0.37.8, v1.0.14, v1.1.9, v1.6.8, v1.7.0, v1.14.1; openshift/installer#7843; for reading, Create and Get there and
    pkg/controllers/nodeclass/instanceprofile.go at v1.7.0, v1.14.1.
    """
    yield _profile("ip-get", Span((0, 32)), action="GetInstanceProfile")
    yield _profile("ip-get-path", Span((1, 7)), action="GetInstanceProfile")
    eras = (
        ("beta", "create-beta", Span((0, 32), (0, 37)), BETA_PROFILE),
        ("v1", "create-v1", Span((1, 0), (1, 6)), V1_PROFILE),
        ("path", "create-path", Span((1, 7)), V1_PROFILE),
    )
    changes: tuple[tuple[str, RequestSeverity], ...] = (
        ("AddRoleToInstanceProfile", "blocker"),
        ("RemoveRoleFromInstanceProfile", "degraded"),
        ("DeleteInstanceProfile", "degraded"),
    )
    for era, creation, span, tags in eras:
        yield _profile(f"ip-{creation}", span, action="CreateInstanceProfile", sent=tags)
        yield _profile(f"ip-tag-{creation}", span, action="TagInstanceProfile", sent=tags, carried=tags)
        for action, severity in changes:
            yield _profile(f"ip-{era}-{action}", span, action=action, severity=severity, carried=tags)
    yield _profile(
        "ip-tag-adopt",
        Span((1, 0), (1, 0)),
        action="TagInstanceProfile",
        sent=V1_PROFILE,
        carried=BETA_PROFILE,
        features=(Feature.IN_PLACE, Feature.SPEC_ROLE),
    )
    # 1.7 always lists them; from 1.8 not in isolated-VPC mode.
    for name, span, features in (
        ("ip-list-always", Span((1, 7), (1, 7)), ()),
        ("ip-list", Span((1, 8)), (Feature.OPEN_NETWORK,)),
    ):
        yield RequiredRequest(
            id=name,
            span=span,
            action="iam:ListInstanceProfiles",
            resource="*",
            capability="instance-profile",
            severity="degraded",
            features=features,
        )


PROBES: tuple[RequiredRequest, ...] = (
    *_launches(),
    *_rehearsals(),
    *_rare_launches(),
    *_on_existing_instances(),
    *(row.probe for row in DESCRIBE_ACTIONS),
    *(row.probe for row in SERVICE_ACTIONS),
    *_profiles(),
)


def probes_for(minor: Minor, *, table: tuple[RequiredRequest, ...] = PROBES) -> tuple[RequiredRequest, ...]:
    """Every request of a release, in the order of a launch."""
    return tuple(probe for probe in table if minor in probe.span)
