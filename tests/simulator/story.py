"""What happens to a cluster on its way beside the rollouts: releases of the controller, charts, conversion."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from migrations_app.samples.installation import Install, controller
from tests.actions import charts
from tests.actions.on_server import put
from tests.servers.apiserver import ApiServer
from tests.simulator.fleet import SPACE

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(slots=True)
class Story:
    """One cluster under way, as far as nobody does it from karpdash. `place` is the folder of charts."""

    server: ApiServer
    place: Path

    def controller(self, version: str, **env: str) -> None:
        """What `helm upgrade` does: the controller of that release, in the place of the one before."""
        (wanted,) = (
            doc for doc in controller(Install(cluster="shop", version=version, env=env), ["outside"])
            if doc["kind"] == "Deployment"
        )  # fmt: skip
        path = self.server.admin.path_of(wanted)
        if self.server.admin.request("GET", path).status == 200:
            self.server.admin.delete(path)
        put(self.server, wanted)

    def chart(self, version: str, *, converts: bool) -> str:
        """The name of a chart of that release among those that the installation may read."""
        name = f"karpenter-{version}"
        folder = self.place / name / "crds"
        folder.mkdir(parents=True, exist_ok=True)
        (folder.parent / "Chart.yaml").write_text(f"name: karpenter\nversion: {version}\nappVersion: {version}\n")
        for doc in charts.shipped(version, converts=converts):
            (folder / f"{doc['metadata']['name']}.yaml").write_bytes(msgspec.json.encode(_open(doc)))
        return name

    def convert_by(self, conversion: dict[str, Any]) -> None:
        """What a controller with webhooks does to its CRDs: it writes in where it answers."""
        for crd in self.server.admin.items(CRDS):
            if len(crd["spec"]["versions"]) > 1:
                self.server.admin.patch(f"{CRDS}/{crd['metadata']['name']}", {"spec": {"conversion": conversion}})


def _open(crd: dict[str, Any]) -> dict[str, Any]:
    """The CRD with a schema that keeps every field, and with the status apart as the real ones have it."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    rest = {"schema": schema, "subresources": {"status": {}}}
    versions = [version | rest for version in crd["spec"]["versions"]]
    return crd | {"spec": crd["spec"] | {"versions": versions}}


def rested(server: ApiServer) -> tuple[int, int]:
    """(Machines left, pods that run)"""
    machines = server.admin.request("GET", "/apis/karpenter.sh/v1alpha5/machines").json()["items"]
    return len(machines), pods(server)[0]


def pods(server: ApiServer) -> tuple[int, int]:
    """(pods that run, pods that do not)"""
    found = server.admin.items(f"/api/v1/namespaces/{SPACE}/pods")
    running = sum(one["status"]["phase"] == "Running" for one in found)
    return running, len(found) - running
