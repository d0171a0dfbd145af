"""The source of a delivery of Flux or Argo CD: the repository with its branch or version.

Also which deliveries bring a chart of Karpenter to this cluster, the values that they give to it, and who writes these
delivery objects: what a repository or another controller writes has to be changed there.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from migrations_app.errors import InvalidInput
from migrations_app.inventory.facts.managers import DELIVERERS, REVERTS, Managed, managed
from migrations_app.inventory.facts.node_pools import text
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.cluster import GitOpsSource
from migrations_app.inventory.objects.karpenter import GitOpsDelivery
from migrations_app.manifests import JsonMap
from migrations_app.manifests.yaml_reader import MANIFESTS, read_document

REFERENCES = ("spec.sourceRef", "spec.chartRef", "spec.chart.spec.sourceRef")
"""Fields in which a Kustomization and a HelmRelease of Flux name their source."""
SourceName = tuple[str, str, str]
"""Kind, namespace and name."""


def source_names(delivery: GitOpsDelivery) -> Iterator[SourceName]:
    """The sources that a delivery of Flux names."""
    for path in REFERENCES:
        reference = delivery.get(path)
        if isinstance(reference, dict):
            yield (
                str(reference.get("kind")),
                str(reference.get("namespace") or delivery.namespace),
                str(reference.get("name")),
            )


def source_of(inventory: Inventory, delivery: GitOpsDelivery) -> GitOpsSource | None:
    """The source of a delivery of Flux; None if it was not seen, or the delivery names none."""
    names = set(source_names(delivery))
    return next(
        (source for source in inventory.sources.items if (source.kind, source.namespace, source.name) in names), None
    )


def comes_from(inventory: Inventory, delivery: GitOpsDelivery) -> str:
    """The repository behind a delivery, with its branch or version; empty if it is not known."""
    if delivery.kind == "Application":
        at = text(delivery, "spec.source.targetRevision")
        return f"{text(delivery, 'spec.source.repoURL')} {at}".strip()
    source = source_of(inventory, delivery)
    return f"{source.kind} {source.namespace}/{source.name}, {source.where}".strip(", ") if source else ""


APPLICATION, HELM_RELEASE, KUSTOMIZATION = "Application", "HelmRelease", "Kustomization"
IN_CLUSTER = ("", "in-cluster", "https://kubernetes.default.svc")
"""Destinations of an Application that mean this cluster."""
PAUSED = "karpdash.io/paused"
"""Annotation of a delivery that karpdash paused: its former setting, as JSON."""
OWN_WRITERS: Mapping[str, tuple[str, ...]] = {
    APPLICATION: ("argocd-application-controller", "argocd-server"),
    HELM_RELEASE: ("helm-controller",),
    KUSTOMIZATION: ("kustomize-controller",),
}
"""Field managers that write status and finalizers of a delivery, or that stand for a person (argocd-server)."""
Spec = Mapping[str, Any]


class ChartPlace(NamedTuple):
    """Where the spec of a delivery names its chart: the fields down to the source, and the field of the version."""

    at: tuple[str, ...]
    version: str


@dataclass(frozen=True, slots=True)
class ChartDelivery:
    """A delivery that brings a chart to this cluster. `place` is None if another object names the version. `elsewhere`
    names that object, or the tool or object that writes the delivery; empty otherwise."""

    delivery: GitOpsDelivery
    chart: str
    place: ChartPlace | None
    elsewhere: str = ""

    @property
    def version(self) -> str:
        """The requested version, or range of versions; empty if another object names it."""
        if self.place is None:
            return ""
        return str(below(self.delivery.spec or {}, (*self.place.at, self.place.version)) or "")

    @property
    def display_name(self) -> str:
        return display_name_of(self.delivery)


def display_name_of(delivery: GitOpsDelivery) -> str:
    """The display name, such as `HelmRelease flux-system/karpenter`."""
    return f"{delivery.kind} {delivery.namespace}/{delivery.name}"


def below(tree: Any, fields: tuple[str, ...]) -> Any:  # noqa: ANN401 - plain JSON
    """The value below these fields; a number is an index of a list. None if it is absent."""
    for field in fields:
        if isinstance(tree, list):
            tree = tree[int(field)] if field.isdecimal() and int(field) < len(tree) else None
        else:
            tree = tree.get(field) if isinstance(tree, Mapping) else None
    return tree


def field_path(fields: tuple[str, ...]) -> str:
    """The fields below spec as a path: `spec.sources[0].targetRevision`."""
    return "spec" + "".join(f"[{field}]" if field.isdecimal() else f".{field}" for field in fields)


def syncs_by_itself(delivery: GitOpsDelivery) -> bool:
    """Whether the delivery applies its source by itself."""
    if delivery.kind == APPLICATION:
        automated = delivery.get("spec.syncPolicy.automated")
        return isinstance(automated, dict) and automated.get("enabled") is not False
    return delivery.get("spec.suspend") is not True


def is_paused_by_us(delivery: GitOpsDelivery) -> bool:
    """Whether the delivery has the annotation that karpdash writes when it pauses a delivery."""
    return delivery.metadata.annotation(PAUSED) is not None


def delivers_to_this_cluster(delivery: GitOpsDelivery) -> bool:
    """Whether the delivery applies to the cluster that it is an object of."""
    if delivery.kind != APPLICATION:
        return not delivery.get("spec.kubeConfig")
    destinations = (text(delivery, "spec.destination.server"), text(delivery, "spec.destination.name"))
    return all(destination.rstrip("/") in IN_CLUSTER for destination in destinations)


def writer_of(delivery: GitOpsDelivery) -> str:
    """The tool or object that writes the delivery itself and would revert a change of it; empty if none is seen."""
    metadata = delivery.metadata
    owner = next(iter(metadata.owner_references or ()), None)
    if owner is not None:
        return f"{owner.kind} {owner.name}"
    own = OWN_WRITERS.get(delivery.kind, ())
    fields = [
        managed_field
        for managed_field in metadata.managed_fields or ()
        if not (managed_field.manager or "").startswith(own)
    ]
    managed_by = managed(msgspec.structs.replace(metadata, managed_fields=fields))
    by = "Helm" if managed_by.by == "helm" else REVERTS.get(managed_by.by, "")
    return f"{by} {_full_name(managed_by)}".strip() if by else ""


def _full_name(manager: Managed) -> str:
    return "/".join(part for part in (manager.namespace, manager.name) if part)


def chart_place(kind: str, spec: Spec, *, chart: str) -> ChartPlace | None:
    """Where that spec names the chart and its version; None if it does not."""
    if kind == HELM_RELEASE:
        chart_spec = below(spec, ("chart", "spec"))
        of = (below(chart_spec, ("sourceRef", "kind")) or "HelmRepository") == "HelmRepository"
        return ChartPlace(("chart", "spec"), "version") if of and _names(below(chart_spec, ("chart",)), chart) else None
    if kind != APPLICATION:
        return None
    if _names_chart_source(spec.get("source"), chart):
        return ChartPlace(("source",), "targetRevision")
    several = spec.get("sources")
    places = enumerate(several) if isinstance(several, list) else ()
    numbers = (number for number, source in places if _names_chart_source(source, chart))
    return next((ChartPlace(("sources", str(number)), "targetRevision") for number in numbers), None)


def _names_chart_source(source: Any, chart: str) -> bool:  # noqa: ANN401 - plain JSON
    if below(source, ("chart",)) is not None:
        return _names(below(source, ("chart",)), chart)
    address = str(below(source, ("repoURL",)) or "")
    return address.startswith("oci://") and _names(address, chart)


def _names(chart_name: Any, chart: str) -> bool:  # noqa: ANN401 - plain JSON
    return isinstance(chart_name, str) and chart_name.rstrip("/").rpartition("/")[2] == chart


def chart_deliveries(inventory: Inventory, chart: str) -> tuple[ChartDelivery, ...]:
    """The deliveries that install the chart in this cluster."""
    local_deliveries = (
        delivery
        for delivery in inventory.deliveries.items
        if delivery.kind in DELIVERERS and delivers_to_this_cluster(delivery)
    )
    return tuple(
        delivery
        for local_delivery in local_deliveries
        if (delivery := _of_chart(inventory, local_delivery, chart=chart)) is not None
    )


def _of_chart(inventory: Inventory, delivery: GitOpsDelivery, *, chart: str) -> ChartDelivery | None:
    place = chart_place(delivery.kind, delivery.spec or {}, chart=chart)
    if place is not None:
        return ChartDelivery(delivery, chart, place, writer_of(delivery))
    source = source_of(inventory, delivery) if delivery.kind == HELM_RELEASE and delivery.get("spec.chartRef") else None
    if source is None or not _names(source.get("spec.url"), chart):
        return None
    return ChartDelivery(
        delivery, chart, None, f"{source.kind} {source.namespace}/{source.name}, which names the version"
    )


_ELSEWHERE = ("valueFiles", "parameters", "fileParameters")
"""What Argo CD lays over the values: files of a repository that are not read, and single values from outside."""


@dataclass(frozen=True, slots=True)
class Values:
    """Helm values as they were given: `origin` says where they were read, `tree` holds them."""

    origin: str
    kind: str
    name: str
    namespace: str
    tree: JsonMap
    path: str = "config"
    """The path of the tree in that object, for evidence."""
    release_namespace: str = ""
    """What templates read as `.Release.Namespace`; empty if it is not known."""


def delivered_values(inventory: Inventory, chart: str) -> Iterator[Values]:
    """The values of each delivery of the chart, where they stand in it as a whole: none of one that takes values from
    other objects or files, or whose values cannot be read."""
    for chart_delivery in chart_deliveries(inventory, chart):
        delivery, found = chart_delivery.delivery, _values_of(chart_delivery)
        if found is not None and isinstance(found[0], dict):
            tree, path, home = found[0], found[1], _release_namespace(chart_delivery)
            yield Values(delivery.kind, delivery.kind, delivery.name, delivery.namespace, tree, path, home)


def _release_namespace(chart_delivery: ChartDelivery) -> str:
    """The namespace in which the tool renders the chart; empty if the delivery does not tell.

    Flux falls back on the namespace of the HelmRelease, Argo CD never on that of the Application: without a
    destination `helm template` runs without a namespace (argo-cd, `util/helm/cmd.go`).
    """
    delivery, place = chart_delivery.delivery, chart_delivery.place
    if delivery.kind == HELM_RELEASE:
        return text(delivery, "spec.targetNamespace") or delivery.namespace
    own = below(delivery.spec, (*place.at, "helm", "namespace")) if place else None
    return own if isinstance(own, str) and own else text(delivery, "spec.destination.namespace")


def _values_of(chart_delivery: ChartDelivery) -> tuple[object, str] | None:
    spec, place = chart_delivery.delivery.spec or {}, chart_delivery.place
    if chart_delivery.delivery.kind == HELM_RELEASE:
        return None if spec.get("valuesFrom") else (_or_empty(spec.get("values")), "spec.values")
    at = place.at if place else ()
    source, several = below(spec, at), spec.get("sources")
    rows = [row for row in several if isinstance(row, dict)] if isinstance(several, list) else []
    if sum(row.get("chart") == chart_delivery.chart for row in rows) > 1:  # each with values of its own
        return None
    return _argo_values(field_path(at), source) if isinstance(source, dict) else None


def _argo_values(at: str, source: dict[str, Any]) -> tuple[object, str] | None:
    """The values of the source with their path. `valuesObject` wins over the text in `values`, as in Argo CD."""
    helm = _or_empty(source.get("helm"))
    if not isinstance(helm, dict) or any(helm.get(name) for name in _ELSEWHERE):
        return None
    text = helm.get("values")
    if helm.get("valuesObject") or not text:
        return _or_empty(helm.get("valuesObject")), f"{at}.helm.valuesObject"
    return (_parsed(text), f"{at}.helm.values") if isinstance(text, str) else None


def _or_empty(given: object) -> object:
    """A map without entries where nothing is given; anything else stays what it is."""
    return {} if given is None else given


@lru_cache(maxsize=8)  # each check asks, at each hop
def _parsed(text: str) -> object:
    """The tree of a YAML text; None if it cannot be read."""
    try:
        return (read_document(text.encode(), limits=MANIFESTS) or {}) if text.strip() else {}
    except InvalidInput:
        return None


class GitSource(msgspec.Struct, frozen=True, kw_only=True):
    """The place in a Git repository that a delivery applies. `address` is `https://host/path`, without credentials;
    `branch` is empty if a tag, a commit, a range of versions or nothing is named."""

    kind: str
    namespace: str
    name: str
    address: str
    branch: str = ""
    path: str = ""

    @property
    def display_name(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


_SSH_SHORT = re.compile(r"(?:[\w.-]+@)?([A-Za-z0-9.-]+):(?!//)([\w./~-]+)", re.ASCII)
_ADDRESS = re.compile(
    r"(https|http|ssh|git)://(?:[^/@\s]*@)?([A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?/([\w./~-]+)", re.ASCII
)


def git_address(text: str) -> str:
    """The address of a repository as `https://host/path` without `.git`, however it is written; empty for other text.
    A port is kept for https addresses only."""
    if match := _ADDRESS.fullmatch(text.strip()):
        scheme, host, port, path = match.groups()
        port_text = (port or "") if scheme == "https" else ""
    elif match := _SSH_SHORT.fullmatch(text.strip()):
        (host, path), port_text = match.groups(), ""
    else:
        return ""
    path = path.strip("/").removesuffix(".git").strip("/")
    return f"https://{host.lower()}{port_text}/{path}" if path else ""


def git_sources(inventory: Inventory) -> tuple[GitSource, ...]:
    """The places in Git repositories that deliveries apply to this cluster, in the order of the deliveries."""
    here = (
        delivery
        for delivery in inventory.deliveries.items
        if delivery.kind in DELIVERERS and delivers_to_this_cluster(delivery)
    )
    return tuple(dict.fromkeys(place for delivery in here for place in _git_places(inventory, delivery)))


def _git_places(inventory: Inventory, delivery: GitOpsDelivery) -> Iterator[GitSource]:
    if delivery.kind == APPLICATION:
        several = delivery.get("spec.sources")
        sources = [delivery.get("spec.source"), *(several if isinstance(several, list) else ())]
        for source in sources:
            if isinstance(source, dict) and not source.get("chart"):
                yield from _git_place(
                    delivery, source.get("repoURL"), at=source.get("targetRevision"), path=source.get("path")
                )
        return
    git_ops_source = source_of(inventory, delivery)
    if git_ops_source is not None and git_ops_source.kind == "GitRepository":
        path = delivery.get("spec.path" if delivery.kind == KUSTOMIZATION else "spec.chart.spec.chart")
        yield from _git_place(
            delivery, git_ops_source.get("spec.url"), at=git_ops_source.get("spec.ref.branch"), path=path
        )


def _git_place(delivery: GitOpsDelivery, url: object, *, at: object, path: object) -> Iterator[GitSource]:
    address = git_address(url) if isinstance(url, str) else ""
    if address:
        branch = at if isinstance(at, str) and at != "HEAD" else ""
        folder = path.removeprefix("./").strip("/") if isinstance(path, str) else ""
        yield GitSource(
            kind=delivery.kind,
            namespace=delivery.namespace,
            name=delivery.name,
            address=address,
            branch=branch,
            path=folder,
        )
