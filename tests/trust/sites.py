"""Six small clusters on real API servers for a campaign, and what the teams that own them do beside karpdash.

Each is what the guides of its release lead to, with nodes and pods that the simulator moves and budgets protect. The
server is Kubernetes 1.20, which fits no hop: that is waived before the campaign. Its CRDs keep what the simulator
writes: no field of theirs is required.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from migrations_app.simulator.generations import ALPHA, GenerationNames, KarpenterObject, current
from migrations_app.simulator.karpenter.launch import launched
from tests import upstream
from tests.acceptance import chart, cluster_crds, clusters, pools
from tests.acceptance.clusters import Clean
from tests.acceptance.real_clusters import load
from tests.servers.api_client import Document
from tests.servers.apiserver import ApiServer
from tests.servers.crds import without_rules
from tests.simulator.beside import ServerSimulator
from tests.simulator.fleet import Size, fill
from tests.simulator.http_api import HttpSimulatorApi
from tests.simulator.story import CRDS

NODES, SIZE = 3, Size(nodes=3, slots=3, apps=3, unavailable=1)
LEFT_OUT = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "CustomResourceDefinition")
OURS = ("Machine", "NodeClaim", "Deployment", "DaemonSet", "StatefulSet", "Job", "CronJob")
"""Kinds of which the clean cluster's are left out: the simulator makes nodes and pods of its own."""
KEEP = {"metadata": {"annotations": {"helm.sh/resource-policy": "keep"}}}
CONVERTED = ("nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws")
LANDINGS = ("0.32.10", "0.37.8", "1.0.14")


@dataclass(frozen=True, slots=True)
class Kind:
    """A state in which clusters are before the campaign: the clean cluster it is like, and its generations of nodes."""

    clean: Clean
    alpha: int
    current: int


KINDS: Mapping[str, Kind] = {
    "alpha": Kind(clusters.find("alpha-031"), alpha=NODES, current=0),
    "halfway": Kind(clusters.find("finished-032"), alpha=2, current=1),
    "beta": Kind(clusters.find("beta-037-read-as-beta"), alpha=0, current=NODES),
}


@dataclass(slots=True)
class Site:
    """One cluster: its server, its simulator, and where the server's audit log stood before the campaign."""

    name: str
    kind: Kind
    server: ApiServer
    simulator: ServerSimulator
    mark: int = 0
    done: list[str] = field(default_factory=list)
    """What the owners did, in order."""

    @property
    def clean(self) -> Clean:
        return self.kind.clean

    def furnish(self) -> None:
        """The cluster as it is before the campaign."""
        load(self.server, [*_documents(self.kind), *_definitions_of(self.clean.version)])
        _populate(self.server, self.kind)
        self.simulator.behaviour.drifts = True

    def release(self, version: str) -> None:
        """What `helm upgrade` leaves: every object of the chart of that release, and its record."""
        self.done.append(f"helm upgrade {version}")
        for document in chart.objects(replace(self.clean, version=version).chart):
            made = _with_drift(document, version)
            if made["kind"] not in ("Pod", "PodDisruptionBudget", *LEFT_OUT):
                self.server.admin.request("DELETE", self.server.admin.path_of(made))
                load(self.server, [made])
        if version == "1.0.14":
            self.simulator.behaviour.version = "v1"

    def convert_by(self, conversion: Document) -> None:
        """The controller with webhooks writes into its CRDs where it answers."""
        for name in CONVERTED:
            served = self.server.admin.request("GET", f"{CRDS}/{name}")
            if served.status == 200 and len(served.json()["spec"]["versions"]) > 1:
                webhook = conversion["webhook"]
                webhook |= {"clientConfig": webhook["clientConfig"] | {"service": None}}
                self.server.admin.patch(f"{CRDS}/{name}", {"spec": {"conversion": conversion | {"webhook": webhook}}})

    def keep_alpha_crds(self) -> None:
        """`kubectl annotate`: charts that leave the alpha CRDs out do not delete them."""
        self.done.append("kubectl annotate the alpha CRDs")
        for crd in self.server.admin.items(CRDS):
            if crd["metadata"]["name"].split(".")[0] in ("provisioners", "machines", "awsnodetemplates"):
                self.server.admin.patch(f"{CRDS}/{crd['metadata']['name']}", KEEP)

    def upgrade_crd_chart(self, version: str) -> None:
        """What `helm upgrade` of the chart of the CRDs leaves where its CRDs are there already: its record."""
        self.done.append(f"helm upgrade karpenter-crd {version}")
        made = replace(self.clean, version=version)
        names = [one["metadata"]["name"] for one in self.server.admin.items(CRDS)]
        head = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: "
        manifest = "".join(f"---\n{head}{name}\n" for name in names if "karpenter" in name)
        record = chart.record(made.chart, chart="karpenter-crd", values={}, manifest=manifest)
        self.server.admin.request("DELETE", self.server.admin.path_of(record))
        load(self.server, [record])

    def settings_as_values(self) -> None:
        """Helm values say what the ConfigMap of old said: the chart of the running release is installed once more."""
        self.done.append("helm upgrade with the settings as values")
        self.server.admin.request("DELETE", "/api/v1/namespaces/karpenter/configmaps/karpenter-global-settings")

    def hold_drift(self) -> None:
        """`kubectl patch`: budgets of no nodes hold drift until it is wanted."""
        self.done.append("kubectl patch the budgets of the pools")
        budgets = {"spec": {"disruption": {"budgets": [{"nodes": "0"}]}}}
        for one in self.server.admin.items("/apis/karpenter.sh/v1beta1/nodepools"):
            self.server.admin.patch(f"/apis/karpenter.sh/v1beta1/nodepools/{one['metadata']['name']}", budgets)

    def store_v1(self) -> None:
        """What the controller of 1.0 does by itself: each object is written again, then v1 alone is stored."""
        self.done.append("the controller stores v1")
        for name in CONVERTED:
            plural, _, group = name.partition(".")
            for one in self.server.admin.items(f"/apis/{group}/v1/{plural}"):
                mark = {"metadata": {"annotations": {"karpenter.sh/stored-version-migrated": "true"}}}
                self.server.admin.patch(f"/apis/{group}/v1/{plural}/{one['metadata']['name']}", mark)
            self.server.store_versions(name, ["v1"])


def place_charts(folder: Path) -> str:
    """The charts of every release that the campaign lands at; the source that names them."""
    for version in LANDINGS:
        made = folder / f"karpenter-{version}"
        (made / "crds").mkdir(parents=True)
        (made / "Chart.yaml").write_text(f"name: karpenter\nversion: {version}\nappVersion: {version}\n")
        for doc in upstream.crds(f"v{version}"):
            if version < "1.0":  # as its chart is rendered where webhooks are off; the controller writes them in later
                doc["spec"].pop("conversion", None)
            (made / "crds" / f"{doc['metadata']['name']}.yaml").write_text(yaml.safe_dump(_open(doc)))
    return "karpenter-{release}"


def _documents(kind: Kind) -> list[Document]:
    found = [
        _with_drift(one, kind.clean.version)
        for one in clusters.objects(kind.clean)
        if one["kind"] not in LEFT_OUT
        and (one["kind"] not in OURS or one["metadata"].get("name") == "karpenter")
        and not (one["kind"] == "Node" and "karpenter.sh/registered" in one["metadata"]["labels"])
    ]
    if kind.alpha and kind.current:
        found += pools.alpha_pool(kind.clean.place)
    return found


def _definitions_of(version: str) -> list[Document]:
    return [_open(one) for one in cluster_crds.crds(version, namespace=_home(version))]


def _home(version: str) -> str:
    return "karpenter" if version < "0.33" else "kube-system"


def _open(part: Any) -> Any:
    """Without rules and without required fields: the simulator leaves out what nobody here reads."""
    return _without_required(without_rules(copy.deepcopy(part)))


def _without_required(part: Any) -> Any:
    if isinstance(part, dict):
        return {
            key: _without_required(value)
            for key, value in part.items()
            if not (key == "required" and isinstance(value, list))
        }
    return [_without_required(one) for one in part] if isinstance(part, list) else part


def _with_drift(document: Document, version: str) -> Document:
    """Drift is on: in 0.32 the guide asks for it before nodes are replaced by it."""
    if document["kind"] != "Deployment" or document["metadata"]["name"] != "karpenter":
        return document
    made = copy.deepcopy(document)
    for one in made["spec"]["template"]["spec"]["containers"][0]["env"]:
        if one["name"] == "FEATURE_GATES" and version < "1.0":
            one["value"] = one["value"].replace("Drift=false", "Drift=true")
    return made


def _populate(server: ApiServer, kind: Kind) -> None:
    api = HttpSimulatorApi.of(server)
    try:
        names = [
            *_nodes(server, api, ALPHA, first=0, count=kind.alpha),
            *_nodes(server, api, current("v1beta1"), first=kind.alpha, count=kind.current),
        ]
        fill(api, SIZE, nodes=names)
    finally:
        api.close()


def _nodes(server: ApiServer, api: HttpSimulatorApi, of: GenerationNames, *, first: int, count: int) -> list[str]:
    if not count:
        return []
    (pool,) = server.admin.items(of.pools_path)
    names = [f"ip-10-20-0-{first + number}.eu-central-1.compute.internal" for number in range(count)]
    for number, name in enumerate(names):
        launched(api, KarpenterObject(of, pool | {"kind": of.pool}), name=name, number=first + number + 90_000)
    return names
