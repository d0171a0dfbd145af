"""The rows of the files of this folder. A release without a leading v; a minor is "0.37", a patch "0.37.8"."""

from typing import Any, Literal

import msgspec


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A field too many or too few is an error of the file."""


class Patch(_Row, frozen=True):
    """A patch release and the day of its tag."""

    version: str
    date: str


class NewestKubernetes(_Row, frozen=True):
    """Another newest Kubernetes minor, for the patches `first` to `last`."""

    first: str
    last: str
    max: str


class Kubernetes(_Row, frozen=True):
    """The oldest and the newest minor of Kubernetes that the release supports."""

    min: str
    max: str
    special: tuple[NewestKubernetes, ...]


class ShippedSet(_Row, frozen=True):
    """The set of CRDs that the charts of the patches `first` to `last` ship."""

    first: str
    last: str
    set: str


class Api(_Row, frozen=True):
    """An API version that the controller reads and writes."""

    group: str
    version: str
    kinds: tuple[str, ...]


class HashVersion(_Row, frozen=True):
    """The version that drift hashes carry from that patch on; "" for hashes without one."""

    first: str
    version: str


class Hashes(_Row, frozen=True):
    """Empty where the release writes no hash."""

    nodepool: tuple[HashVersion, ...]
    nodeclass: tuple[HashVersion, ...]


class WebhookDefault(_Row, frozen=True):
    """What `webhook.enabled` of the main chart is by default."""

    first: str
    last: str
    value: bool


class CrdChartDefault(_Row, frozen=True):
    """`webhook.enabled` and `webhook.serviceNamespace` of karpenter-crd by default."""

    first: str
    last: str
    enabled: bool
    namespace: str


class Webhooks(_Row, frozen=True):
    """`v1_left_out_from`: the patch whose karpenter-crd leaves v1 out where its webhook is disabled, or ""."""

    admission: Literal["always_on", "on_by_default", "follows_value", "removed"]
    conversion: Literal["none", "bridge_patches_only", "follows_value", "removed"]
    enabled: tuple[WebhookDefault, ...]
    crd_chart: tuple[CrdChartDefault, ...]
    hook_job_patches: tuple[str, ...]
    v1_left_out_from: str


class Predecessors(_Row, frozen=True):
    """The oldest and the newest minor that may be upgraded from."""

    oldest: str
    newest: str


class Bad(_Row, frozen=True):
    """Patches to stay away from."""

    patches: tuple[str, ...]
    fixed_in: str


class Release(_Row, frozen=True):
    """One minor.

    `rollback_to` holds minors ("0.36"), patches ("0.33.12") and patches with all later ones ("0.35.4+").
    """

    minor: str
    generation: str
    tag_prefix: str
    metrics_port: int
    drift: str
    gates: dict[str, bool]
    patches: tuple[Patch, ...]
    kubernetes: Kubernetes
    crd_sets: tuple[ShippedSet, ...]
    apis: tuple[Api, ...]
    hashes: Hashes
    webhooks: Webhooks
    upgrade_from: Predecessors | None
    rollback_to: tuple[str, ...]
    bad: tuple[Bad, ...]
    sources: tuple[str, ...]


class LastStop(_Row, frozen=True):
    """By minor: the patch from which 1.0 can be left again, and the newest patch."""

    minimum: dict[str, str]
    newest: dict[str, str]


class Releases(_Row, frozen=True):
    """`version_detection`: what tells the running version, the most reliable first."""

    version_detection: tuple[str, ...]
    last_stop_before_1_0: LastStop
    releases: tuple[Release, ...]


class CrdVersion(_Row, frozen=True):
    """A version of a kind."""

    name: str
    served: bool
    storage: bool


class Crd(_Row, frozen=True):
    """What a scan can tell of a CRD."""

    name: str
    group: str
    kind: str
    plural: str
    scope: str
    short_names: tuple[str, ...]
    versions: tuple[CrdVersion, ...]


class CrdSet(_Row, frozen=True):
    """Whether the main chart converts between versions, and karpenter-crd with its webhook enabled."""

    main_chart_converts: bool
    crd_chart_converts: bool
    crds: tuple[Crd, ...]


class WebhookService(_Row, frozen=True):
    """Where the main chart's CRDs look for the conversion webhook."""

    name: str
    namespace: str
    port: int


class CrdSets(_Row, frozen=True):
    """The sets by name."""

    webhook_service: WebhookService
    review_versions: tuple[str, ...]
    sets: dict[str, CrdSet]


class Change(_Row, frozen=True):
    """A change from `introduced_in` on."""

    id: str
    introduced_in: str
    severity: Literal["blocker", "warning", "info"]
    area: str
    seen_in: tuple[Literal["cluster", "helm", "aws", "external"], ...]
    sources: tuple[str, ...]


class Changes(_Row, frozen=True):
    """All of them, in the order of the road."""

    changes: tuple[Change, ...]


class Pain(_Row, frozen=True):
    """Something that went wrong."""

    id: str
    severity: Literal["block", "high", "medium"]


class Pains(_Row, frozen=True):
    """All of them."""

    pains: tuple[Pain, ...]


class Asvs(_Row, frozen=True):
    """The numbers of OWASP's requirements, `6.2.1` for instance, by level."""

    levels: dict[int, tuple[str, ...]]


class Key(_Row, frozen=True):
    """A label, annotation, taint, finalizer or tag."""

    key: str
    kind: str
    generations: tuple[str, ...]
    first_seen: tuple[str, ...]
    last_seen: str
    objects: tuple[str, ...]
    set_by: str
    values: tuple[str, ...]
    replacement: str
    source: str


class Keys(_Row, frozen=True):
    """All of them."""

    keys: tuple[Key, ...]


class AwsRequest(_Row, frozen=True):
    """A request to AWS. Tags are the name of a tag set, or stated; `conditional`: only some installations make it."""

    id: str
    since: str
    until: str | None
    mode: str
    capability: str
    action: str
    resource: str
    severity: str
    conditional: bool
    request_tags: str | dict[str, str] | None = None
    resource_tags: str | dict[str, str] | None = None
    context: dict[str, str] = {}


class Statement(_Row, frozen=True):
    """A statement of the official policies from `since` to `until`; `policy`: in which of the several since 1.9."""

    sid: str
    since: str
    until: str | None
    effect: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    conditions: dict[str, dict[str, Any]] = {}
    policy: str = ""


class Action(_Row, frozen=True):
    """An action that an official policy allows, and whether a release in question calls it."""

    action: str
    since: str
    until: str | None
    called: bool


class NodePolicy(_Row, frozen=True):
    """A managed policy of node roles; `required` is null where something else can take its place."""

    name: str
    required: bool | None


class EventRule(_Row, frozen=True):
    """A rule of EventBridge for the interruption queue; `always`: every installation wants it."""

    source: str
    detail_type: str
    always: bool


class Interruption(_Row, frozen=True):
    """The rules, and the services that may send to the queue."""

    rules: tuple[EventRule, ...]
    senders: tuple[str, ...]


class Permissions(_Row, frozen=True):
    """Placeholders are those of the official template: ${ClusterName}, ${Region} and so on."""

    releases: tuple[str, ...]
    tag_sets: dict[str, dict[str, str]]
    requests: tuple[AwsRequest, ...]
    statements: tuple[Statement, ...]
    actions: tuple[Action, ...]
    node_policies: tuple[NodePolicy, ...]
    interruption: Interruption
