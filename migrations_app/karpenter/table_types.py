"""Row types of the tables of keys and of releases, and values that several release rows share.

The release rows are in tables/release_rows_*.py and are queried by releases.py. A fact that changes within a minor
is a tuple of `Since`: each value holds from its patch until the next one, the last for every later patch, so that a
patch newer than the tables is treated like the newest known patch.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Literal, NamedTuple, TypeVar

from migrations_app.karpenter.kinds import AWS_GROUP, CORE_GROUP
from migrations_app.karpenter.versions import Release, minor_order, release, within

KeyKind = Literal["label", "annotation", "taint", "finalizer", "tag"]
KeyGeneration = Literal["alpha", "beta", "v1"]

ALL: tuple[KeyGeneration, ...] = ("alpha", "beta", "v1")
NODE_PROPERTY = ("Node", "requirements", "Pod selectors")
V1_KEYS = "aws/karpenter-provider-aws@v1.14.1:pkg/apis/v1/labels.go"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRow:
    """One key in one role; the same text may be a label and a tag. No generations: not one of Karpenter's keys.

    `first_seen` names the first release of each branch that has it; empty if it is older than the tables or not
    tied to a release. `last_seen` is the last minor in which it has an effect; empty while it has one.
    """

    key: str
    kind: KeyKind
    generations: tuple[KeyGeneration, ...]
    first_seen: tuple[str, ...] = ()
    last_seen: str = ""
    objects: tuple[str, ...]
    set_by: str
    values: tuple[str, ...] = ()
    replacement: str = ""
    note: str = ""
    source: str

    def retired_in(self, running: Release) -> bool:
        """Whether that release ignores the key."""
        return bool(self.last_seen) and minor_order(running.minor) > minor_order(self.last_seen)


ReleaseGeneration = Literal["alpha", "alpha_and_beta", "beta", "v1_with_beta_conversion", "v1"]
DriftMode = Literal["off_by_default", "on_by_default", "always_on"]
Admission = Literal["always_on", "on_by_default", "follows_value", "removed"]
ConversionMode = Literal["none", "bridge_patches_only", "follows_value", "removed"]
T = TypeVar("T")


class Patch(NamedTuple):
    """A patch release and the date of its tag."""

    version: str
    date: str


@dataclass(frozen=True, slots=True)
class Since(Generic[T]):
    """A value that holds from that patch on."""

    patch: str
    value: T


class SupportedKubernetes(NamedTuple):
    """The Kubernetes minors that a release supports, both ends included."""

    min: str
    max: str

    def holds(self, minor: str) -> bool:
        """Whether that Kubernetes minor is supported."""
        return minor_order(self.min) <= minor_order(minor) <= minor_order(self.max)

    def __str__(self) -> str:
        return f"{self.min} to {self.max}"


class Api(NamedTuple):
    """A group and version that the controller reads and writes, with its kinds."""

    group: str
    version: str
    kinds: tuple[str, ...]


class FeatureGate(NamedTuple):
    """A feature gate and its default."""

    name: str
    default: bool


class CrdChartWebhook(NamedTuple):
    """Defaults of the karpenter-crd chart. An empty namespace means the namespace of the Helm release."""

    enabled: bool
    service_namespace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhooks:
    """`enabled` and `crd_chart` are chart defaults; empty if the chart has no such value."""

    admission: Admission
    conversion: ConversionMode
    enabled: tuple[Since[bool], ...] = ()
    crd_chart: tuple[Since[CrdChartWebhook], ...] = ()
    port: int = 8443
    metrics_port: int | None = None
    note: str = ""


class BadPatch(NamedTuple):
    """Patches, first to last, at which an upgrade must not stop; `why` may be shown to users."""

    first: str
    last: str
    why: str
    fixed_in: str

    def covers(self, running: Release) -> bool:
        """Whether that release is one of them."""
        return within(running, first=self.first, last=self.last)


class RollbackTarget(NamedTuple):
    """A minor that one can roll back to, from that patch on; an empty `since` means any patch."""

    minor: str
    since: str = ""

    def accepts(self, candidate: Release) -> bool:
        """Whether one can roll back to that release."""
        return candidate.minor == self.minor and (not self.since or candidate >= release(self.since))


@dataclass(frozen=True, kw_only=True)
class MinorRelease:
    """One minor. `upgrade_from` is the oldest and the newest minor that can be upgraded to it in one step.

    It has no slots: what follows from a row alone is worked out once and kept with it.
    """

    minor: str
    generation: ReleaseGeneration
    patches: tuple[Patch, ...]
    kubernetes: tuple[Since[SupportedKubernetes], ...]
    crds: tuple[Since[str], ...]
    apis: tuple[Api, ...]
    drift: DriftMode
    drift_switch: str = ""
    gates: tuple[FeatureGate, ...] = ()
    nodepool_hash: tuple[Since[str], ...] = ()
    """Version of the hash function; empty text if hashes have no version, no row if there is no hash yet."""
    nodeclass_hash: tuple[Since[str], ...] = ()
    webhooks: Webhooks
    metrics_port: int
    upgrade_from: tuple[str, str] | None
    upgrade_note: str = ""
    upgrade_needs: tuple[str, ...] = ()
    rollback_to: tuple[RollbackTarget, ...] = ()
    rollback_caveats: tuple[str, ...] = ()
    bad: tuple[BadPatch, ...] = ()
    hook_job_patch: str = ""
    """The patch whose main chart patches the CRDs from a post-install Job."""
    leave_from: str = ""
    """The oldest patch from which the next mandatory stop can be entered and rolled back."""
    crd_chart_drops_v1_from: str = ""
    """From this patch on, karpenter-crd with webhook.enabled=false omits v1 from the CRDs."""
    tag_prefix: str = ""
    """Prefix of image tags and OCI chart versions: "v" before 0.35."""
    sources: tuple[str, ...] = ()

    @cached_property
    def order(self) -> tuple[int, int]:
        return minor_order(self.minor)

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        """The known patches, oldest first."""
        return tuple(release(patch.version) for patch in self.patches)

    @property
    def newest(self) -> Release:
        return self.releases[-1]

    @cached_property
    def good_releases(self) -> tuple[Release, ...]:
        """The known patches that are not known to be bad, oldest first."""
        return tuple(patch for patch in self.releases if not self.bad_reasons(patch))

    @property
    def newest_good(self) -> Release | None:
        """The newest patch that is not known to be bad; None if all are."""
        return self.good_releases[-1] if self.good_releases else None

    def knows(self, candidate: Release) -> bool:
        """Whether exactly that patch is in the table."""
        return candidate in self.releases

    def bad_reasons(self, running: Release) -> tuple[BadPatch, ...]:
        """Why an upgrade must not stop at that patch; empty if no reason is known."""
        matching = (tuple(row for row in rows if row.covers(running)) for rows in self._bad_patches)
        return next((bad_patches for bad_patches in matching if bad_patches), ())

    @cached_property
    def _bad_patches(self) -> tuple[tuple[BadPatch, ...], ...]:
        return self.bad, self._hook_job(), self._half_converted()

    def _hook_job(self) -> tuple[BadPatch, ...]:
        if not self.hook_job_patch:
            return ()
        affected = release(self.hook_job_patch)
        unsound = self._half_converted()
        following = next(
            patch for patch in self.releases if patch > affected and not any(row.covers(patch) for row in unsound)
        )
        return (BadPatch(self.hook_job_patch, self.hook_job_patch, HOOK_JOB, str(following)),)

    def _half_converted(self) -> tuple[BadPatch, ...]:
        """The patches whose CRDs convert by default while the controller's webhooks are off by default."""
        off = [patch for patch in self.releases if (webhook := self.crd_chart_webhook(patch)) and not webhook.enabled]
        if not off:
            return ()
        following = next(patch for patch in self.releases if patch > off[-1])
        return (BadPatch(str(off[0]), str(off[-1]), HALF_CONVERTED, str(following)),)

    def kubernetes_window(self, running: Release) -> SupportedKubernetes:
        """The Kubernetes minors that the patch supports."""
        return _at(self.kubernetes, running) or self.kubernetes[0].value

    def crd_set(self, running: Release) -> str:
        """The name of the CRD set that the patch ships."""
        return _at(self.crds, running) or self.crds[0].value

    def webhook_enabled(self, running: Release) -> bool | None:
        """The default of webhook.enabled in the patch's main chart; None if the chart has no such value."""
        return _at(self.webhooks.enabled, running)

    def crd_chart_webhook(self, running: Release) -> CrdChartWebhook | None:
        """The defaults of the patch's karpenter-crd chart; None if it has no webhook values."""
        return _at(self.webhooks.crd_chart, running)

    def hash_versions(self, running: Release) -> tuple[str | None, str | None]:
        """Hash versions of NodePool and node class; empty text means unversioned, None means no hash."""
        return _at(self.nodepool_hash, running), _at(self.nodeclass_hash, running)

    def gate_default(self, name: str) -> bool | None:
        """The default of that feature gate; None if the minor does not have it."""
        return next((gate.default for gate in self.gates if gate.name == name), None)


HALF_CONVERTED = (
    "its CRDs ask a conversion webhook that is off by default: objects cannot be read in the version that is not stored"
)
HOOK_JOB = (
    "the main chart patches the CRDs from a post-install hook Job: Argo CD never finishes syncing it, "
    "and its kubectl image is built for x86_64 only"
)


def _at(rows: tuple[Since[T], ...], running: Release) -> T | None:
    """The value in force at that patch. A pre-release counts as its release."""
    place = (running.major, running.minor_number, running.patch)
    return next((row.value for row in reversed(rows) if release(row.patch).order[:3] <= place), None)


GUIDE = "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md"

ALPHA_APIS = (
    Api(CORE_GROUP, "v1alpha5", ("Provisioner", "Machine")),
    Api(AWS_GROUP, "v1alpha1", ("AWSNodeTemplate",)),
)
BETA_APIS = (
    Api(CORE_GROUP, "v1beta1", ("NodePool", "NodeClaim")),
    Api(AWS_GROUP, "v1beta1", ("EC2NodeClass",)),
)
V1_APIS = (
    Api(CORE_GROUP, "v1", ("NodePool", "NodeClaim")),
    Api(AWS_GROUP, "v1", ("EC2NodeClass",)),
)

CONFIG_MAP_SWITCH = "settings.featureGates.driftEnabled (ConfigMap karpenter-global-settings)"
BOTH_SWITCHES = "settings.featureGates.drift (env FEATURE_GATES), settings.featureGates.driftEnabled still honoured"
GATE_SWITCH = "settings.featureGates.drift (env FEATURE_GATES; a value that leaves Drift out turns it off)"

ALWAYS_ADMITTED = Webhooks(admission="always_on", conversion="none")
NO_WEBHOOKS = Webhooks(admission="removed", conversion="removed")

UNGUIDED = "The upgrade guides do not describe this rollback"
NEVER_REGISTERED = "a node that joins without the taint karpenter.sh/unregistered is never registered"
RESERVATION_PANIC = (
    "the controller panics over a node class that selects a capacity reservation of which EC2 does not say whether it "
    "may be interrupted (aws/karpenter-provider-aws#9079)"
)
