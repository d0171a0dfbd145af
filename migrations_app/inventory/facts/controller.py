"""The installed controller: which objects belong to Karpenter, its settings and feature gates, the tool that delivers
it, and the nodes on which its replicas could run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from migrations_app.conversion.chart_values.trees import steps_of
from migrations_app.inventory.facts.delivery_sources import Values, chart_deliveries, delivered_values
from migrations_app.inventory.facts.managers import UPGRADES_AT, Managed, delivered, upgrades_at
from migrations_app.inventory.facts.workloads import selects
from migrations_app.inventory.inventory import Inventory, once
from migrations_app.inventory.objects.karpenter import (
    CRD,
    HelmRelease,
    LabelSelector,
    Node,
    NodeTerm,
    Placement,
    SelectorExpression,
    ServiceReference,
    Taint,
    Toleration,
    WebhookConfiguration,
    Workload,
)
from migrations_app.inventory.parse import KARPENTER_DOMAINS, kept_on_node
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter import labels
from migrations_app.karpenter.controller_settings import is_true, parse_gates
from migrations_app.karpenter.releases import find
from migrations_app.karpenter.versions import Release
from migrations_app.manifests import JsonMap
from migrations_app.redaction import is_unredacted

CRD_GROUPS = (*KARPENTER_DOMAINS, "compute.k8s.aws", "autoscaling.x-k8s.io")
NAME_LABEL = "app.kubernetes.io/name"
CHART_LABEL = "helm.sh/chart"
HOOK_SUFFIX = "-post-install-hook"
OTHER_AUTOSCALER = "cluster-autoscaler"
_KNOWN_CRDS_ELSEWHERE = ("capacitybuffers.autoscaling.x-k8s.io",)


def is_karpenter_crd(crd: CRD) -> bool:
    """Whether the CRD belongs to one of Karpenter's groups; of the shared autoscaling group, only the CRD that
    Karpenter installs.
    """
    return crd.spec.group in CRD_GROUPS[:3] or crd.name in _KNOWN_CRDS_ELSEWHERE


def is_controller(workload: Workload) -> bool:
    """Whether it is a Karpenter controller Deployment, by the chart's label or by the image name, which mirrors
    usually keep.
    """
    if workload.metadata.label(NAME_LABEL) == "karpenter":
        return True
    images = (container.image or "" for container in workload.template.spec.containers or ())
    return any(_is_controller_image(image) for image in images)


def is_hook_job(job: Workload) -> bool:
    """Whether it is a Job of a Karpenter chart's post-install hook: by its name, and a label or name that identifies
    the chart.

    The release may have any name, and a nameOverride changes the chart's name in the labels but not in
    helm.sh/chart.
    """
    chart = job.metadata.label(CHART_LABEL) or ""
    ours = "karpenter" in job.name or job.metadata.label(NAME_LABEL) == "karpenter" or chart.startswith("karpenter-")
    return job.name.endswith(HOOK_SUFFIX) and ours


def is_other_autoscaler(workload: Workload) -> bool:
    """Whether it is the Kubernetes cluster autoscaler, by its name or its image."""
    images = (container.image or "" for container in workload.template.spec.containers or ())
    return OTHER_AUTOSCALER in workload.name or any(image_name(image) == OTHER_AUTOSCALER for image in images)


def is_karpenter_webhook(configuration: WebhookConfiguration) -> bool:
    """Whether it belongs to Karpenter: by name, by the service it calls, or by the groups it covers."""
    if "karpenter" in configuration.name:
        return True
    for webhook in configuration.webhooks or ():
        service = webhook.client_config and webhook.client_config.service
        groups = {group for rule in webhook.rules or () for group in rule.api_groups or ()}
        if (service and "karpenter" in service.name) or groups & set(KARPENTER_DOMAINS):
            return True
    return False


def webhook_services(crds: tuple[CRD, ...], webhooks: tuple[WebhookConfiguration, ...]) -> tuple[ServiceReference, ...]:
    """Every service that a conversion or admission webhook of Karpenter calls, each once."""
    references = [_conversion_service(crd) for crd in crds]
    for configuration in webhooks:
        references += [
            hook.client_config.service if hook.client_config else None for hook in configuration.webhooks or ()
        ]
    return tuple(dict.fromkeys(service for service in references if service))


def _conversion_service(crd: CRD) -> ServiceReference | None:
    webhook = crd.spec.conversion and crd.spec.conversion.webhook
    target = webhook.client_config if webhook else None
    return target.service if target else None


def image_name(image: str) -> str:
    """The last part of an image's path, without tag and digest."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


def _is_controller_image(image: str) -> bool:
    path = image.partition("@")[0].rpartition(":")[0] or image.partition("@")[0]
    pieces = path.split("/")
    return "karpenter" in pieces and pieces[-1] in ("controller", "karpenter")


CHART = "karpenter"
CRD_CHART = "karpenter-crd"
FEATURE_GATES = "FEATURE_GATES"
DISABLE_WEBHOOK = "DISABLE_WEBHOOK"
ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class Installation:
    """The first Karpenter Deployment. `env` holds plain values; a reference to another object reads as empty text."""

    workload: Workload
    managed: Managed
    env: Mapping[str, str] = field(default_factory=dict)
    referred: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self.workload.name

    @property
    def namespace(self) -> str:
        return self.workload.namespace

    @property
    def env_elsewhere(self) -> bool:
        """Whether further variables come from objects that are not read (envFrom)."""
        return any(container.env_from for container in self.workload.template.spec.containers or ())

    def hides(self, variable: str) -> bool:
        """Whether an object that is not read may set this variable, by name (valueFrom) or as a whole (envFrom)."""
        return variable in self.referred or (variable not in self.env and self.env_elsewhere)

    @property
    def webhook_disabled(self) -> bool:
        """Whether DISABLE_WEBHOOK turns webhooks off, in any spelling that the controller reads as true."""
        return is_true(self.env.get(DISABLE_WEBHOOK, ""))

    @property
    def release_name(self) -> str:
        """The Helm release named by the chart's labels; the chart's own name if they do not name one."""
        metadata = self.workload.metadata
        return metadata.annotation(labels.HELM_RELEASE_NAME) or metadata.label(labels.APP_INSTANCE) or CHART


def service_of(release_name: str) -> str:
    """The name that the chart gives to Deployment and Service of that Helm release, unless values override it."""
    name = release_name if CHART in release_name else f"{release_name}-{CHART}"
    return name[:63].removesuffix("-")


def installation(inventory: Inventory) -> Installation | None:
    """The controller as read; None if there is none or Deployments could not be read."""
    workload = next(iter(inventory.controller.items), None)
    if workload is None:
        return None
    variables = [variable for container in workload.template.spec.containers or () for variable in container.env or ()]
    return Installation(
        workload,
        delivered(workload.metadata, inventory.deliveries.items, charts=(CHART,)),
        {variable.name: variable.value or "" for variable in variables},
        frozenset(variable.name for variable in variables if variable.value_from is not None),
    )


def webhooks_off(controller: Installation | None, running: Release | None) -> bool:
    """Whether that controller runs without webhooks, by its setting or else by the default of its release.

    Up to 0.33.7 and its sibling patches the charts write the variable only if webhooks are on, and off is the
    default.
    """
    setting = controller.env.get(DISABLE_WEBHOOK, "") if controller else ""
    row = find(running) if running else None
    if setting or row is None or running is None:
        return is_true(setting)
    return row.webhook_enabled(running) is False


def helm_release(inventory: Inventory, *, chart: str = CHART) -> HelmRelease | None:
    """The deployed Helm release of that chart; None if its record was not seen. Of several, as a controller that moved
    to another namespace leaves one, that of the controller, or else one in its namespace."""
    records = [record for record in inventory.helm_releases.items if record.chart == chart]
    controller = installation(inventory) if len(records) > 1 else None
    if controller is None:
        return next(iter(records), None)
    beside = [record for record in records if record.namespace == controller.namespace]
    own = [record for record in beside if record.name == controller.release_name]
    return (own or beside or records)[0]


def upgrade_is_refused(inventory: Inventory, release: HelmRelease) -> bool:
    """Whether a tool that upgrades the release refuses to, after its last run: one of the deliveries of its chart, or
    Helm if there is none. False for a release that is not the one of the controller or the CRDs.
    """
    if not release.unfinished or release != helm_release(inventory, chart=release.chart):
        return False
    deliveries = [found.delivery for found in chart_deliveries(inventory, release.chart)]
    return any(release.unfinished not in accepted for accepted in map(upgrades_at, deliveries)) or (
        not deliveries and release.unfinished not in UPGRADES_AT["helm"]
    )


def records_unread(inventory: Inventory) -> str:
    """Why Helm's records are not completely known, for use in a sentence; empty if every namespace was read."""
    part = inventory.helm_releases
    if isinstance(part, Unseen):
        return part.why
    return next((f"{unparsable.name}: {unparsable.why}" for unparsable in part.quarantined), "")


def given_values(inventory: Inventory, *, chart: str = CHART) -> Values | None:
    """The values given to that chart: from Helm's record, otherwise from Flux or Argo CD; None if
    neither shows them.
    """
    release = helm_release(inventory, chart=chart)
    if release is not None:
        origin, home = "Helm release record", release.namespace
        return Values(origin, "HelmRelease", release.name, home, release.config, release_namespace=home)
    return next(delivered_values(inventory, chart), None)


def why_values_unknown(inventory: Inventory) -> str:
    """Why `given_values` of the chart karpenter is None, as a sentence."""
    if unread := records_unread(inventory):
        return f"Helm's records could not be read ({unread}), so the values are not known"
    return "Helm values of chart karpenter not found: no Helm record and no Flux or Argo CD object has them"


def value_at(tree: JsonMap, key: str) -> Any:  # noqa: ANN401 - Helm values are free JSON
    """The value at a dotted key; ABSENT if it is not given. Helm treats a null value as absent."""
    node: Any = tree
    for step in steps_of(key):
        if not isinstance(node, dict) or node.get(step) is None:
            return ABSENT
        node = node[step]
    return node


VARIABLES = "controller.env"


def variables_without(inventory: Inventory, old: frozenset[str]) -> list[object] | None:
    """The environment variables in the chart's values, without those in `old`; None if the values set none of these, or
    hold a variable that was not read completely.
    """
    values = given_values(inventory)
    chart_rows = value_at(values.tree, VARIABLES) if values else None
    rows = [row for row in chart_rows if isinstance(row, dict)] if isinstance(chart_rows, list) else []
    kept_variables: list[object] = [row for row in rows if row.get("name") not in old]
    plain = all(
        isinstance(row, dict) and set(row) == {"name", "value"} and is_unredacted(row) for row in kept_variables
    )
    return kept_variables if plain and len(kept_variables) < len(rows) else None


ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
ALWAYS = ("kubernetes.io/os", "beta.kubernetes.io/os", HOSTNAME)
"""Keys that every node has; a Linux pod that requires Linux excludes none of the relevant nodes."""
KEEPS_OFF = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Places:
    """`nodes` are the nodes on which a replica could run. `unknown`: keys of node labels that the pod requires but
    that an inventory does not keep.
    """

    nodes: tuple[Node, ...]
    unknown: tuple[str, ...]

    @property
    def zones(self) -> tuple[str, ...]:
        return tuple(sorted({zone for node in self.nodes if (zone := node.metadata.label(ZONE))}))


def places(inventory: Inventory, spec: Placement) -> Places:
    """The ready nodes that the controller's node selector, required affinity and tolerations allow."""
    terms = _terms(spec)
    keys = {*(spec.node_selector or {}), *(row.key for term in terms for row in term.match_expressions or ())}
    unknown = tuple(sorted(key for key in keys if key not in ALWAYS and not kept_on_node(key)))
    choices = [LabelSelector(match_expressions=_relevant_expressions(term)) for term in terms]
    return Places(tuple(node for node in inventory.nodes.items if _can_run(node, spec, choices=choices)), unknown)


@once
def controller_places(inventory: Inventory) -> Places | None:
    """The nodes on which the installed controller could run; None if there is no controller."""
    controller = installation(inventory)
    return places(inventory, controller.workload.template.spec) if controller else None


def _terms(spec: Placement) -> list[NodeTerm]:
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return (required.node_selector_terms if required else None) or []


def _relevant_expressions(term: NodeTerm) -> list[SelectorExpression]:
    return [row for row in term.match_expressions or () if row.key not in ALWAYS]


def _can_run(node: Node, spec: Placement, *, choices: list[LabelSelector]) -> bool:
    labels = node.metadata.labels or {}
    chosen = all(labels.get(key) == value for key, value in (spec.node_selector or {}).items() if key not in ALWAYS)
    return chosen and _fits(choices, labels) and _ready(node) and not any(_repelling(node, spec.tolerations or []))


def _fits(choices: list[LabelSelector], labels: dict[str, str]) -> bool:
    return not choices or any(selects(choice, labels) for choice in choices)


def _ready(node: Node) -> bool:
    conditions = (node.status.conditions if node.status else None) or ()
    down = any(condition.type == "Ready" and condition.status != "True" for condition in conditions)
    return not down and not node.spec.unschedulable and not node.metadata.deleting


def _repelling(node: Node, tolerations: list[Toleration]) -> Iterator[Taint]:
    for taint in node.spec.taints or ():
        if taint.effect in KEEPS_OFF and not any(_tolerates(toleration, taint) for toleration in tolerations):
            yield taint


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return not toleration.key or toleration.key == taint.key
    return toleration.key == taint.key and (toleration.value or "") == (taint.value or "")


FLAG = "--feature-gates"


@dataclass(frozen=True, slots=True)
class GivenGates:
    """`path` starts at the pod's spec; `text` is empty if it comes from an object that is not read."""

    path: str
    text: str

    @property
    def malformed(self) -> tuple[str, ...]:
        """Parts that the controller cannot parse, which prevents it from starting."""
        parts = (part for part in self.text.split(",") if part)
        return tuple(part for part in parts if part.partition("=")[2].strip() not in _WORDS)


def parsed_gates(controller: Installation) -> dict[str, bool]:
    """The feature gates given to the controller, as the controller parses them; empty if none were given."""
    gates = given_gates(controller)
    return parse_gates(gates.text) if gates else {}


_WORDS = frozenset(["1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False"])


def given_gates(controller: Installation) -> GivenGates | None:
    """The feature gate text that takes effect: the flag wins over the variable, and both win over a possible envFrom;
    None if there is none.
    """
    for container in controller.workload.template.spec.containers or ():
        args = container.args or []
        for place, arg in enumerate(args):
            name, equals, text = arg.partition("=")
            if name == FLAG:
                following = args[place + 1] if place + 1 < len(args) else ""
                return GivenGates(f"containers[{container.name}].args[{place}]", text if equals else following)
    if FEATURE_GATES in controller.env:
        return GivenGates(f"containers[].env[{FEATURE_GATES}]", controller.env[FEATURE_GATES])
    return GivenGates("containers[].envFrom", "") if controller.env_elsewhere else None
