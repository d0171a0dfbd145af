"""A cluster halfway to v1beta1 of any size: Machines full of pods that budgets protect, and a NodePool beside them."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from migrations_app.clients.bundle.bundle import Bundle, open_bundle
from migrations_app.errors import Forbidden
from migrations_app.samples.cluster_builder import ClusterBuilder
from migrations_app.samples.installation import Crds, Install, controller, crds
from migrations_app.samples.karpenter_objects import (
    ON_DEMAND,
    Launched,
    machine,
    node_class,
    node_template,
    pool,
    provisioner,
)
from migrations_app.samples.kubernetes_objects import budget, containers, namespaces_of, pods_of, template, workload

Document = dict[str, Any]
SIZES = ("node.kubernetes.io/instance-type", "In", ("m6i.large", "m6i.xlarge", "m6i.2xlarge"))
ROOM = {"cpu": "7910m", "memory": "31000Mi", "pods": "58"}
ZONES = ("a", "b", "c")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """`pods` on each node; `apps` share them evenly, with a budget each that lets `away` of its pods go."""

    nodes: int = 6
    pods: int = 10
    apps: int = 3
    away: int | str = 2
    cpu: str = "350m"
    requests: bool = True
    budgets: bool = True
    seconds: int = 45
    """From a claim's creation to its Ready node, as the Machines tell."""
    limits: dict[str, str] = field(default_factory=lambda: {"cpu": "100000"})
    spec: dict[str, Any] = field(default_factory=dict)
    """Further fields of the spec of every pod."""
    gates: str = "Drift=true"
    consolidates: bool = False
    """Whether the pools replace nodes that are used too little, too; empty nodes go after 15 s either way."""

    @property
    def documents(self) -> list[Document]:
        site = ClusterBuilder("shop", "1.28")
        system = site.node_group("system", 2)
        nodes = [name for number in range(self.nodes) for name in self._machine(site, number)]
        install = Install(
            cluster="shop", version="0.32.10", helm=False, env={"CLUSTER_NAME": "shop", "FEATURE_GATES": self.gates}
        )
        site.add(
            provisioner("web", ON_DEMAND, SIZES, template="web"),
            node_template("web", cluster="shop"),
            pool("web", ON_DEMAND, SIZES, node_class="web", version="v1beta1"),
            node_class("web", cluster="shop", version="v1beta1"),
            *crds(Crds(version="0.32.10")),
            *controller(install, system),
        )
        self._limit(site.docs)
        if not self.consolidates:
            _keep_used(site.docs)
        for number in range(self.apps):
            self._app(site, number, nodes)
        return [*site.docs, *namespaces_of(site.docs)]

    def bundle(self, *, without: tuple[str, ...] = ()) -> Bundle:
        """A bundle of it; kinds in `without` are left out."""
        items = [one for one in self.documents if one["kind"] not in without]
        return open_bundle({"dump.json": msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items})})

    def _machine(self, site: ClusterBuilder, number: int) -> list[str]:
        launched = Launched(
            pool="web", number=number, cluster="shop", kubelet=site.kubelet, zone=f"eu-central-1{ZONES[number % 3]}"
        )
        claim, node = machine(launched, template="web")
        name = f"ip-10-{20 + number // 60000}-{number // 250 % 240}-{number % 250}.eu-central-1.compute.internal"
        claim["status"]["nodeName"] = node["metadata"]["name"] = name
        node["metadata"]["labels"]["kubernetes.io/hostname"] = name
        node["metadata"]["uid"] = f"00000000-0000-4000-a000-{number:012d}"
        minutes, seconds = divmod(11 + self.seconds, 60)
        for condition in claim["status"]["conditions"]:
            condition["lastTransitionTime"] = f"2026-09-14T08:{20 + minutes:02d}:{seconds:02d}Z"
        node["status"] |= {"allocatable": ROOM, "capacity": ROOM | {"cpu": "8", "memory": "32Gi"}}
        site.add(claim, node)
        return [name]

    def _limit(self, docs: list[Document]) -> None:
        for one in docs:
            if one["kind"] == "NodePool":  # the samples make uids of names: a Provisioner has the same name
                one["metadata"]["uid"] = "00000000-0000-4000-b000-000000000001"
                one["spec"]["limits"] = self.limits

    def _app(self, site: ClusterBuilder, number: int, nodes: list[str]) -> None:
        name, count = f"app-{number}", self.nodes * self.pods // self.apps
        inside = containers(name, f"shop/{name}:1")
        inside[0]["resources"] = {"requests": {"cpu": self.cpu, "memory": "256Mi"}} if self.requests else {}
        pod = template({"app": name}, {"containers": inside} | self.spec)
        space = "shop" if number < 10 else f"shop-{number // 10}"
        parent = workload("Deployment", name, namespace=space, replicas=count, pod=pod)
        placed = [nodes[(number * count + place) % len(nodes)] for place in range(count)]
        found = pods_of(parent, placed, count=count)
        for place, one in enumerate(found):
            one["metadata"]["name"] = f"{name}-{place}"
            one["metadata"]["uid"] = f"00000000-0000-4000-{number:04x}-{place:012d}"
        site.add(parent, *found)
        if self.budgets:
            healthy = self.away if isinstance(self.away, int) else 1
            site.add(budget(name, space, healthy=count, allowed=healthy, maxUnavailable=self.away))


def _keep_used(docs: list[Document]) -> None:
    """Only empty nodes go, as soon as before."""
    for one in docs:
        if one["kind"] == "NodePool":
            one["spec"]["disruption"] |= {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "15s"}
        elif one["kind"] == "Provisioner" and one["spec"].pop("consolidation", None):
            one["spec"]["ttlSecondsAfterEmpty"] = 15


class Refusing:
    """A cluster that lets some lists not be read."""

    def __init__(self, api, *plurals):
        self._api, self._plurals = api, plurals

    def __getattr__(self, name):
        return getattr(self._api, name)

    def pages(self, resource):
        if resource.plural in self._plurals:
            raise Forbidden("not allowed")
        return self._api.pages(resource)
