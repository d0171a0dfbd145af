"""Small tables of facts that depend on the release: admission webhooks, image families, EventBridge rules,
irreversible steps, node replacement, how nodes of Provisioners are drained, and controller sizes.

Sources (P = aws/karpenter-provider-aws, K = kubernetes-sigs/karpenter; others are given with their rows):
- Admission webhooks: webhooks.yaml and webhooks-core.yaml below P:charts/karpenter/templates at v0.28.1, v0.31.5,
  v0.32.10, v0.33.12 and v0.37.8; both are gone at v1.0.0. Left-overs from before 0.28: P#5504.
- EventBridge rules of the interruption queue: P:getting-started-with-karpenter/cloudformation.yaml, v0.28.1 to
  v1.14.1; from 1.10 on there is a fifth rule for interruptible capacity reservations.
- Controller sizes: the first row is that of P's getting-started guide (1 CPU, 1 GiB); the guide to 0.34 says that
  disruption in batches needs more, without a figure. The later rows are karpdash's own estimate.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from migrations_app.karpenter import labels
from migrations_app.karpenter.releases import RELEASES, Table, find
from migrations_app.karpenter.versions import Release, minor_order, release, within

MUTATING = "MutatingWebhookConfiguration"
VALIDATING = "ValidatingWebhookConfiguration"


@dataclass(frozen=True, slots=True)
class AdmissionRow:
    """A webhook configuration and the last minor whose chart ships it; `last` is empty if it is older
    than the tables.
    """

    name: str
    kind: str
    last: str

    def shipped_by(self, running: Release) -> bool:
        return bool(self.last) and minor_order(running.minor) <= minor_order(self.last)


ADMISSION_WEBHOOKS: tuple[AdmissionRow, ...] = (
    AdmissionRow("defaulting.webhook.karpenter.k8s.aws", MUTATING, "0.37"),
    AdmissionRow("validation.webhook.karpenter.k8s.aws", VALIDATING, "0.37"),
    AdmissionRow("validation.webhook.karpenter.sh", VALIDATING, "0.37"),
    AdmissionRow("validation.webhook.config.karpenter.sh", VALIDATING, "0.37"),
    AdmissionRow("defaulting.webhook.karpenter.sh", MUTATING, ""),
    AdmissionRow("defaulting.webhook.provisioners.karpenter.sh", MUTATING, ""),
    AdmissionRow("validation.webhook.provisioners.karpenter.sh", VALIDATING, ""),
)


def admission_row(name: str) -> AdmissionRow | None:
    """The row of a configuration; None if no Karpenter chart ever shipped it."""
    return next((row for row in ADMISSION_WEBHOOKS if row.name == name), None)


def admits(running: Release, *, webhooks_off: bool, table: Table = RELEASES) -> bool | None:
    """Whether a controller of that release serves admission webhooks; None for a minor that is not in the table."""
    row = find(running, table=table)
    if row is None:
        return None
    if row.webhooks.admission == "removed":
        return False
    return row.webhooks.admission == "always_on" or not webhooks_off


AL2, AL2023, BOTTLEROCKET, UBUNTU, CUSTOM = "AL2", "AL2023", "Bottlerocket", "Ubuntu", "Custom"


class FamilyStart(NamedTuple):
    """The first release that supports the family, in spec.amiFamily and as an alias. A family without a row is as old
    as v1.
    """

    family: str
    release: Release
    source: str


FAMILY_STARTS: Final = (
    FamilyStart(
        "Windows2025",
        release("1.9.0"),
        "aws/karpenter-provider-aws@v1.9.0:pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml",
    ),
)


class FamilyEnd(NamedTuple):
    """From that Kubernetes minor on, EKS publishes no image of the family."""

    family: str
    kubernetes: str
    instead: str
    source: str


FAMILY_ENDS: Final = (
    FamilyEnd(
        AL2,
        "1.33",
        "AL2023 or Bottlerocket",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/concepts/nodeclasses.md",
    ),
)

UBUNTU_UNFOUND_FROM: Final = "1.29"
"""From that Kubernetes minor on the images are Ubuntu 22.04, which discovery does not find.
P@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md.
"""

NODE_PREFERENCES_RELAXED_SINCE: Final = release("1.5.0")
"""The first release that launches nodes for a pod whose preferred node affinity names a restricted label; before, it
ignores the pod. K@v1.4.0 and v1.5.0:pkg/controllers/provisioning/provisioner.go (validateAffinity)."""

DAEMON_PREFERENCES_RELAXED_SINCE: Final = release("1.2.0")
"""The first release that counts the requests of a DaemonSet whose preferred node affinity no NodePool satisfies.
K@v1.1.0 and v1.2.0:pkg/controllers/provisioning/scheduling/scheduler.go (getDaemonOverhead, isDaemonPodCompatible)."""

BOTTLEROCKET_RAID0_FROM: Final = (1, 22, 0)
"""The first Bottlerocket that supports RAID0. P@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md."""


class PatchRange(NamedTuple):
    """Patches, first to last, that reject nodes which join without the taint karpenter.sh/unregistered."""

    first: str
    last: str

    def covers(self, running: Release) -> bool:
        return within(running, first=self.first, last=self.last)


UNREGISTERED_ENFORCED: Final = (
    PatchRange("1.0.0", "1.0.8"),
    PatchRange("1.1.0", "1.1.3"),
    PatchRange("1.2.0", "1.2.1"),
)
"""Other patches only write an event. K@v1.0.0:pkg/controllers/nodeclaim/lifecycle/registration.go, K#1991."""


class OwnBootstrap(NamedTuple):
    """A call with which user data of a family starts the kubelet itself, bypassing what Karpenter adds."""

    family: str
    call: str


OWN_BOOTSTRAPS: Final = (
    OwnBootstrap(AL2, "/etc/eks/bootstrap.sh"),
    OwnBootstrap(UBUNTU, "/etc/eks/bootstrap.sh"),
    OwnBootstrap(AL2023, "nodeadm init"),
)
"""P@v1.14.1:website/content/en/preview/concepts/nodeclasses.md: user data is merged before Karpenter's own part."""

_OWN_CONFIG: Final = re.compile(
    r"nodeadm init\b(?:(?!nodeadm init\b)[^\n;&|])*?\s(?:-c|--config-source)(?:\s++|=)[\"']?+(?!imds:)\S"
)
"""nodeadm reads the instance's user data unless another source is given; only in user data does Karpenter's part add
the taint. P@v1.8.3:pkg/providers/amifamily/bootstrap/nodeadm.go (registerWithTaints)."""
_BOTTLEROCKET: Final = re.compile(r"v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:-[0-9a-f]+)?(?!\d)", re.ASCII)


def enforces_unregistered(running: Release) -> bool:
    """Whether that patch rejects nodes that join without the taint."""
    return any(row.covers(running) for row in UNREGISTERED_ENFORCED)


def starts_kubelet(family: str, user_data: str) -> str:
    """The call with which the user data starts the kubelet without Karpenter's part; empty if there is none."""
    if family == AL2023 and not _OWN_CONFIG.search(user_data):
        return ""
    return next((row.call for row in OWN_BOOTSTRAPS if row.family == family and row.call in user_data), "")


def family_start(family: str) -> Release | None:
    """The first release that supports the family; None if every release with v1 does."""
    return next((row.release for row in FAMILY_STARTS if row.family == family), None)


def family_end(family: str) -> FamilyEnd | None:
    """When EKS stops publishing images of the family; None if no end is known."""
    return next((row for row in FAMILY_ENDS if row.family == family), None)


def bottlerocket_version(image: str) -> tuple[int, int, int] | None:
    """The version in an alias ("bottlerocket@v1.21.1") or an image name; None for latest and anything else."""
    match = _BOTTLEROCKET.search(image.rpartition("@")[2] if "@" in image else image.rpartition("-v")[2])
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


class InterruptionRule(NamedTuple):
    id: str
    source: str
    detail_type: str

    @property
    def pattern(self) -> str:
        """The event pattern in EventBridge's format."""
        return json.dumps({"source": [self.source], "detail-type": [self.detail_type]})


RULES = (
    InterruptionRule("ScheduledChange", "aws.health", "AWS Health Event"),
    InterruptionRule("SpotInterruption", "aws.ec2", "EC2 Spot Instance Interruption Warning"),
    InterruptionRule("Rebalance", "aws.ec2", "EC2 Instance Rebalance Recommendation"),
    InterruptionRule("InstanceStateChange", "aws.ec2", "EC2 Instance State-change Notification"),
)


GUIDES = "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading"


class NoReturn(NamedTuple):
    """An irreversible effect: `after` is the phase, `what` is permanent from then on, `back` says what is still
    possible.
    """

    hop: str
    after: str
    what: str
    back: str
    source: str


NO_RETURN: tuple[NoReturn, ...] = (
    NoReturn(
        "0.32",
        "rollout",
        "Nodes that a NodePool launched stay nodes of a NodePool, and those they replaced are gone",
        "0.31.4 and later leave them alone and adopt none; drain and end them by hand after going back",
        f"{GUIDES}/v1beta1-migration.md",
    ),
    NoReturn(
        "1.0",
        "crds",
        "Whatever is written from now on is stored as v1",
        "Only patches that serve v1 beside v1beta1 can take over again, with their webhook switched on",
        f"{GUIDES}/v1-migration.md",
    ),
    NoReturn(
        "1.0",
        "resources",
        "Fields that only v1 has are lost once an older release writes the object",
        "Keep an export of the objects as they were before the upgrade",
        f"{GUIDES}/v1-migration.md",
    ),
    NoReturn(
        "1.1+",
        "crds",
        "v1beta1 is gone from the CRDs, and no release before 1.0 can read what is stored",
        "No rollback below 1.0; that 1.0.9 and later can take over is inferred, no guide says so",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
    ),
)


def after(hop: str, phase: str) -> tuple[NoReturn, ...]:
    """The effects that are irreversible once that phase of that hop is done."""
    return tuple(row for row in NO_RETURN if (row.hop, row.after) == (hop, phase))


class DestructiveFix(NamedTuple):
    """What is gone for good once the fix of one of `checks` is made, in any hop, and what is still possible then."""

    checks: tuple[str, ...]
    what: str
    back: str
    source: str


DESTRUCTIVE_FIXES: tuple[DestructiveFix, ...] = (
    DestructiveFix(
        ("legacy_provisioners_gone", "legacy_node_templates_gone"),
        "Provisioners and AWSNodeTemplates are deleted, and with a Provisioner every node that it still holds",
        "Objects come back from an export only; their nodes do not",
        f"{GUIDES}/v1beta1-migration.md",
    ),
    DestructiveFix(
        ("alpha_crds_gone",),
        "Deleting an alpha CRD deletes every object of its kind",
        "0.32 needs those CRDs: apply them again, and the objects from an export",
        "aws/karpenter-provider-aws@v0.37.8:website/content/en/v0.32/upgrading/v1beta1-migration.md",
    ),
)


def destroyed_by_fixes(checks: Iterable[str]) -> tuple[DestructiveFix, ...]:
    """The effects that are irreversible once these checks are fixed."""
    fixed = set(checks)
    return tuple(row for row in DESTRUCTIVE_FIXES if fixed.intersection(row.checks))


class NodeReplacement(NamedTuple):
    """Upgrading to `minor` replaces nodes of these owners; `why` may be shown to users."""

    minor: str
    owners: tuple[str, ...]
    why: str
    source: str


REPLACEMENTS: tuple[NodeReplacement, ...] = (
    NodeReplacement(
        "0.33",
        ("karpenter_alpha",),
        "every node behind a Machine has to be replaced before it",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
    ),
    NodeReplacement(
        "1.0",
        ("karpenter_beta", "karpenter_v1"),
        "expired nodes are drained at once and drift cannot be switched off any more",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
    ),
    NodeReplacement(
        "1.12",
        ("karpenter_v1",),
        "the cluster's CA bundle becomes part of the node class hash, which may mark every node as drifted",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
    ),
)


def replacements(entered: tuple[str, ...]) -> tuple[NodeReplacement, ...]:
    """What upgrading to these minors replaces."""
    return tuple(row for row in REPLACEMENTS if row.minor in entered)


class DrainTaint(NamedTuple):
    """A taint that keeps new pods off a Provisioner's nodes."""

    key: str
    value: str
    effect: str
    source: str

    @property
    def taint(self) -> dict[str, str]:
        """The taint in the format of spec.taints."""
        return {"key": self.key, "value": self.value, "effect": self.effect}


class ShortLife(NamedTuple):
    """Lifetime in seconds for nodes that expiry is to replace; values below `least` or above `most` are refused."""

    seconds: int
    least: int
    most: int
    source: str


class RollsOn(NamedTuple):
    """The minor that supports Provisioners and NodePools side by side; only there can one take over from the other."""

    minor: str
    source: str


DRAIN_TAINT: Final = DrainTaint(
    key=labels.LEGACY_TAINT,
    value="true",
    effect="NoSchedule",
    source="aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
)
SHORT_LIFE: Final = ShortLife(
    seconds=300,
    least=60,
    most=86_400,
    source="aws/karpenter-provider-aws@v0.37.8:website/content/en/v0.32/upgrading/v1beta1-migration.md (2023-12-19)",
)
ROLLS_ON: Final = RollsOn(
    minor="0.32",
    source="aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
)


class Size(NamedTuple):
    """Limits for a cluster of up to that many nodes; `nodes` is 0 in the last row, which has no upper bound."""

    nodes: int
    memory: str
    cpu: str


SIZES: tuple[Size, ...] = (
    Size(100, "1Gi", "1"),
    Size(500, "2Gi", "1"),
    Size(1000, "4Gi", "2"),
    Size(0, "8Gi", "4"),
)


def size_for(nodes: int) -> Size:
    """The row for a cluster with that many nodes."""
    return next((row for row in SIZES if nodes <= row.nodes), SIZES[-1])
