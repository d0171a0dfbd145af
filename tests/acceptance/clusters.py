"""The clean clusters: what somebody has who followed the guides of each release, and who did what they ask for."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from migrations_app.samples.kubernetes_objects import doc, meta, namespaces_of, server_version
from tests.acceptance import chart, cluster_crds, nodes, pools
from tests.acceptance.chart import Chart
from tests.acceptance.dumping import with_managed_fields
from tests.acceptance.pools import Place
from tests.builders.newest import NEWEST, NEWEST_MINOR

Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """How a clean cluster is made. `hop` is the next one; `api` the version in which current objects are read."""

    name: str
    version: str
    kubernetes: str
    hop: str
    namespace: str = "kube-system"
    api: str = "v1"
    webhooks: bool = False
    pod_identity: bool = False
    marks: frozenset[str] = field(default_factory=frozenset)

    @property
    def place(self) -> Place:
        return Place(cluster=self.name, version=self.version, kubernetes=self.kubernetes, api=self.api)

    @property
    def chart(self) -> Chart:
        return Chart(
            version=self.version,
            cluster=self.name,
            namespace=self.namespace,
            webhooks=self.webhooks,
            pod_identity=self.pod_identity,
        )


OLD: dict[str, Any] = {"namespace": "karpenter", "webhooks": True}
CLEAN: tuple[Clean, ...] = (
    Clean(name="alpha-028", version="0.28.1", kubernetes="1.25", hop="0.31", **OLD),
    Clean(name="alpha-030", version="0.30.0", kubernetes="1.26", hop="0.31", **OLD),
    Clean(name="alpha-031", version="0.31.5", kubernetes="1.27", hop="0.32", **OLD),
    Clean(name="finished-032", version="0.32.10", kubernetes="1.28", hop="0.33+", api="v1beta1", **OLD),
    Clean(name="beta-033", version="0.33.12", kubernetes="1.28", hop="1.0", api="v1beta1", webhooks=True),
    Clean(name="beta-036-read-as-v1", version="0.36.7", kubernetes="1.29", hop="0.33+", webhooks=True),
    Clean(name="beta-037", version="0.37.8", kubernetes="1.29", hop="1.0", webhooks=True, pod_identity=True),
    Clean(name="beta-037-read-as-beta", version="0.37.8", kubernetes="1.29", hop="1.0", api="v1beta1", webhooks=True),
    Clean(name="v1-10", version="1.0.14", kubernetes="1.30", hop="1.1+", webhooks=True, pod_identity=True),
    Clean(name="v1-13", version="1.3.8", kubernetes="1.31", hop=NEWEST_MINOR, pod_identity=True),
    Clean(name="v1-16", version="1.6.8", kubernetes="1.33", hop=NEWEST_MINOR, pod_identity=True),
    Clean(name="v1-18", version="1.8.8", kubernetes="1.33", hop=NEWEST_MINOR, pod_identity=True),
    Clean(name="v1-newest", version=NEWEST, kubernetes="1.33", hop="", pod_identity=True),
)
LAUNCHED = range(10, 14)


def find(name: str) -> Clean:
    return next(one for one in CLEAN if one.name == name)


def version_file(clean: Clean) -> Document:
    return server_version(clean.kubernetes)


@cache
def _built(name: str) -> tuple[Document, ...]:
    return tuple(_build(find(name)))


def objects(clean: Clean) -> list[Document]:
    """Every object of the cluster as the documented dump holds it; changes to them stay with the caller."""

    return with_managed_fields(copy.deepcopy(list(_built(clean.name))))


def made(clean: Clean) -> list[Document]:
    """Every object of a cluster that is not among those above: one of them at another release or in another place."""
    return with_managed_fields(_build(clean))


def _build(clean: Clean) -> list[Document]:
    place, installed = clean.place, clean.chart
    crds = cluster_crds.crds(clean.version, namespace=clean.namespace)
    alpha = place.order < (0, 32)
    make: Callable[[Place, int], list[Document]] = pools.machine if alpha else pools.claim
    own = pools.alpha_pool(place) if alpha else pools.current_pool(place)
    for number in LAUNCHED:
        own += make(place, number)
    managed = nodes.managed_nodes(clean.name, 2, kubernetes=clean.kubernetes)
    system = [one["metadata"]["name"] for one in managed]
    launched = [one["metadata"]["name"] for one in own if one["kind"] == "Node"]
    rendered = chart.objects(installed)
    controller = rendered[0]
    values = {"webhook": {"enabled": True}} if clean.webhooks and place.order >= (0, 33) else {}
    found = [
        *crds,
        *(one if one["kind"] == "Node" else cluster_crds.with_defaults(one, crds) for one in own),
        *managed,
        *rendered,
        *nodes.pods_of(controller, system),
        chart.record(installed, chart="karpenter-crd", values=values, manifest=_manifest(crds)),
        *nodes.add_ons(system, [*system, *launched]),
        *nodes.applications(launched),
        aws_auth(clean),
    ]
    return [*found, *namespaces_of(found)]


def _manifest(crds: list[Document]) -> str:
    head = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: "
    return "".join(f"---\n{head}{one['metadata']['name']}\n" for one in crds)


def aws_auth(clean: Clean) -> Document:
    """Who may join, as eksctl writes it."""
    roles = "".join(
        f"- groups:\n  - system:bootstrappers\n  - system:nodes\n  rolearn: arn:aws:iam::111122223333:role/{role}\n"
        "  username: system:node:{{EC2PrivateDNSName}}\n"
        for role in (f"KarpenterNodeRole-{clean.name}", f"eksctl-{clean.name}-nodegroup-NodeInstanceRole")
    )
    return doc("v1", "ConfigMap", metadata=meta("aws-auth", "kube-system"), data={"mapRoles": roles})
