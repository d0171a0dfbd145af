"""The installed controller as one value: where it runs, its settings, and who delivers it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.managers import Managed, delivered
from migrations_app.inventory.objects import Delivery, HelmRelease, Tree, Workload
from migrations_app.inventory.seen import Unseen
from migrations_app.karpenter import labels
from migrations_app.karpenter.controller import is_true
from migrations_app.karpenter.releases import find
from migrations_app.karpenter.versions import Release

CHART = "karpenter"
CRD_CHART = "karpenter-crd"
FEATURE_GATES = "FEATURE_GATES"
DISABLE_WEBHOOK = "DISABLE_WEBHOOK"
ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class Values:
    """Helm values as somebody gave them: `origin` says where they were read, `tree` is what was given."""

    origin: str
    kind: str
    name: str
    namespace: str
    tree: Tree
    path: str = "config"
    """Where the tree hangs in that object, for evidence."""


@dataclass(frozen=True, slots=True)
class Installation:
    """The first Karpenter Deployment. `env` holds what has a plain value; a reference reads as empty text."""

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
        """Whether more variables are taken whole from objects that are not read (envFrom)."""
        return any(one.env_from for one in self.workload.template.spec.containers or ())

    def hides(self, variable: str) -> bool:
        """Whether an object that is not read may give this variable, by its name (valueFrom) or unnamed (envFrom)."""
        return variable in self.referred or (variable not in self.env and self.env_elsewhere)

    @property
    def webhook_disabled(self) -> bool:
        """Whether DISABLE_WEBHOOK switches webhooks off, in any spelling that the controller takes for true."""
        return is_true(self.env.get(DISABLE_WEBHOOK, ""))

    @property
    def release_name(self) -> str:
        """The Helm release as the chart's labels tell it; the chart's own name where they do not."""
        metadata = self.workload.metadata
        return metadata.annotation(labels.HELM_RELEASE_NAME) or metadata.label(labels.APP_INSTANCE) or CHART


def installation(inventory: Inventory) -> Installation | None:
    """The controller that was seen; None where there is none or Deployments could not be read."""
    workload = next(iter(inventory.controller.items), None)
    if workload is None:
        return None
    variables = [one for container in workload.template.spec.containers or () for one in container.env or ()]
    return Installation(
        workload,
        delivered(workload.metadata, inventory.deliveries.items),
        {one.name: one.value or "" for one in variables},
        frozenset(one.name for one in variables if one.value_from is not None),
    )


def webhooks_off(found: Installation | None, running: Release | None) -> bool:
    """Whether that controller runs without webhooks: what it was told, else what its release does by itself.

    Up to 0.33.7 and its siblings the charts write the variable only where webhooks are on, and off is the default.
    """
    told = found.env.get(DISABLE_WEBHOOK, "") if found else ""
    row = find(running) if running else None
    if told or row is None or running is None:
        return is_true(told)
    return row.webhook_enabled(running) is False


def helm_release(inventory: Inventory, *, chart: str = CHART) -> HelmRelease | None:
    """The deployed Helm release of that chart, where its record was seen."""
    return next((release for release in inventory.helm_releases.items if release.chart == chart), None)


def records_unread(inventory: Inventory) -> str:
    """Why Helm's records are not all known, for a sentence; empty when each namespace was read whole."""
    part = inventory.helm_releases
    if isinstance(part, Unseen):
        return part.why
    return next((f"{one.name}: {one.why}" for one in part.quarantined), "")


def given_values(inventory: Inventory, *, chart: str = CHART) -> Values | None:
    """The values that chart was given: from Helm's record, else from Flux or Argo CD; None where nothing tells."""
    release = helm_release(inventory, chart=chart)
    if release is not None:
        return Values("Helm release record", "HelmRelease", release.name, release.namespace, release.config)
    return next(
        (found for one in inventory.deliveries.items if (found := _delivered_values(one, chart)) is not None), None
    )


def _delivered_values(delivery: Delivery, chart: str) -> Values | None:
    """Only what stands in the object itself: values that it takes from elsewhere are not known to us."""
    if delivery.kind == "HelmRelease" and delivery.get("spec.chart.spec.chart") == chart:
        tree, path, elsewhere = delivery.get("spec.values", {}), "spec.values", delivery.get("spec.valuesFrom")
    elif delivery.kind == "Application" and delivery.get("spec.source.chart") == chart:
        helm = delivery.get("spec.source.helm", {})
        tree, path = helm.get("valuesObject", {}), "spec.source.helm.valuesObject"
        elsewhere = any(helm.get(name) for name in ("values", "valueFiles", "parameters", "fileParameters"))
    else:
        return None
    if elsewhere or not isinstance(tree, dict):
        return None
    return Values(delivery.kind, delivery.kind, delivery.name, delivery.namespace, tree, path)


def value_at(tree: Tree, key: str) -> Any:  # noqa: ANN401 - Helm values are free JSON
    """The value at a dotted key; ABSENT where it is not given. A key given as null is as good as absent in Helm."""
    here: Any = tree
    for step in key.split("."):
        if not isinstance(here, dict) or here.get(step) is None:
            return ABSENT
        here = here[step]
    return here
