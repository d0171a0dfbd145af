"""The lines that keep Argo CD from deleting CRDs, run as they are printed on a real API server: each CRD of Karpenter
has the mark afterwards, beside the sync options that it had, and no other CRD is changed."""

from pathlib import Path

import pytest

from migrations_app.checks.remedies.crd_upgrade import PRUNE, keep_all_crds
from tests.acceptance.clusters import find, objects
from tests.acceptance.planting import Document, all_of, put
from tests.acceptance.real_clusters import CRD, kubeconfig_of, load, run
from tests.deploy.helm import Helm
from tests.servers.api_client import Client
from tests.servers.apiserver import ApiServer

POOLS, CLASSES = "nodepools.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws"
OPTIONS = f"metadata/annotations/{PRUNE.replace('/', '~')}"
OTHERS: tuple[tuple[str, str], ...] = (
    ("example.com", "widgets"),
    ("karpenter.example.com", "pools"),
    ("xkarpenter.sh", "pools"),
)
"""CRDs of others, with names that resemble those of Karpenter."""


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(Helm(tmp_path_factory.mktemp("helm")).kubectl)


def of_others(group: str, plural: str) -> Document:
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": plural, "singular": plural[:-1], "kind": plural[:-1].title(), "listKind": f"{plural}List"}
    spec = {"group": group, "scope": "Cluster", "names": names, "versions": [version]}
    meta = {"name": f"{plural}.{group}"}
    status = {"storedVersions": ["v1"]}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": CRD, "metadata": meta, "spec": spec, "status": status}


def sync_options(admin: Client) -> dict[str, str | None]:
    found = admin.items("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    return {one["metadata"]["name"]: one["metadata"].get("annotations", {}).get(PRUNE) for one in found}


def test_each_crd_of_karpenter_is_kept_and_no_other(clean_apiserver: ApiServer, kubectl: Path, tmp_path: Path) -> None:
    definitions = [one for one in objects(find("v1-10")) if one["kind"] == CRD]
    planted = all_of(
        put(CRD, POOLS, OPTIONS, "ServerSideApply=true, Prune=true,Replace=true"),
        put(CRD, CLASSES, OPTIONS, "Prune=false"),
    )
    planted(definitions)
    load(clean_apiserver, [*definitions, *(of_others(*names) for names in OTHERS)])
    kubeconfig = kubeconfig_of(clean_apiserver, tmp_path)
    wanted = {one["metadata"]["name"]: "Prune=false" for one in definitions}
    wanted |= {POOLS: "ServerSideApply=true,Replace=true,Prune=false"}
    assert len(wanted) >= 3

    for _again in range(2):  # the same lines once more change nothing
        done = run(keep_all_crds().text, kubectl=kubectl, kubeconfig=kubeconfig)
        assert (done.returncode, done.stderr) == (0, "")
        assert sync_options(clean_apiserver.admin) == wanted | {f"{plural}.{group}": None for group, plural in OTHERS}
