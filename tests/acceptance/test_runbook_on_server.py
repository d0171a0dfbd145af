"""The lines for kubectl of a whole runbook, run as they stand on a real API server, hop by hop: afterwards the server
holds what the walk says that it holds.

What Helm and the controller do is done in their place: the CRDs of each release are loaded, and objects are written
anew as the conversion shows them. Nothing else is changed but by the printed lines.
"""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from migrations_app.checks.registry import all_checks
from migrations_app.inventory.facts.conversion_webhook import CONVERTED
from migrations_app.inventory.inventory import Inventory, track_reads
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parts import Seen
from migrations_app.karpenter.upgrade_path import path
from migrations_app.karpenter.versions import Release, minor_order, release
from migrations_app.readiness.runbook.effects.as_v1 import converted_to_v1
from migrations_app.readiness.runbook.effects.crd_upgrade import with_crds_after_upgrade
from migrations_app.readiness.runbook.effects.trees import tree_of
from migrations_app.readiness.runbook.runbook import RunbookHop, runbook
from migrations_app.readiness.runbook.walk import Walk
from migrations_app.readiness.stage import detect_running_release
from tests.acceptance import cluster_crds
from tests.acceptance.clusters import find, objects
from tests.acceptance.judging import as_list, collected, judged
from tests.acceptance.real_clusters import kubeconfig_of, load, run
from tests.deploy.helm import Helm
from tests.readiness.runbook.test_runbook_rules import changing, steps
from tests.servers.api_client import Client
from tests.servers.apiserver import ApiServer
from tests.servers.crds import without_rules

Document = dict[str, Any]
KINDS = {"NodePool": ("karpenter.sh", "nodepools"), "EC2NodeClass": ("karpenter.k8s.aws", "ec2nodeclasses")}
ENDED = ("NodeClaim", "Node")
"""Objects that only a controller lets go; here nothing holds them."""


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(Helm(tmp_path_factory.mktemp("helm")).kubectl)


def free(document: Document) -> Document:
    made = copy.deepcopy(document)
    if made["kind"] in ENDED:
        made["metadata"].pop("finalizers", None)
    return made


def lines_of(hop: RunbookHop, parts: tuple[str, ...]) -> list[str]:
    """The lines of these parts that change something, in the order of the runbook. Editors are for people, and claims
    are the controller's: none are on this server once v1 is stored."""
    found = [line for stage, _, remedy in steps(hop) if stage.part in parts for line in changing(remedy)]
    return [
        line
        for line in found
        if line.startswith("kubectl ") and not {"edit", "nodeclaims.karpenter.sh"} & {*line.split()}
    ]


def held(admin: Client, version: str) -> dict[tuple[str, str], Any]:
    """The specs that the server holds."""
    return {
        (kind, one["metadata"]["name"]): one["spec"]
        for kind, (group, plural) in KINDS.items()
        for one in admin.items(f"/apis/{group}/{version}/{plural}")
    }


def said(inventory: Inventory) -> dict[tuple[str, str], Any]:
    """The specs that the walk has reached."""
    every = [one for _, plural in KINDS.values() for one in inventory.part(plural).items]
    return {(one.kind, one.name): one.spec for one in every if isinstance(one, o.WholeObject)}


def converted(admin: Client, start: Inventory) -> list[Document]:
    """The objects of v1beta1 on the server as its webhook would show them in v1."""
    pools = [msgspec.convert(one, o.NodePool) for one in admin.items("/apis/karpenter.sh/v1beta1/nodepools")]
    items = admin.items("/apis/karpenter.k8s.aws/v1beta1/ec2nodeclasses")
    classes = [msgspec.convert(one, o.EC2NodeClass) for one in items]
    parts = {"nodepools": Seen(tuple(pools)), "ec2nodeclasses": Seen(tuple(classes)), "nodeclaims": Seen()}
    shown = converted_to_v1(with_crds_after_upgrade(replace(start, **parts), release("1.0.14"), service=None))
    trees = [tree_of(one) for one in (*shown.nodepools.items, *shown.ec2nodeclasses.items)]
    marks = [{key: one["metadata"].get(key) or {} for key in ("annotations", "labels")} for one in trees]
    return [
        {key: one[key] for key in ("kind", "apiVersion", "spec")}
        | {"metadata": {"name": one["metadata"]["name"], **mark}}
        for one, mark in zip(trees, marks, strict=True)
    ]


def land(server: ApiServer, to: Release, *, start: Inventory, before: str) -> str:
    """Loads the CRDs of the release, and from 0.37 on the objects in v1; the version that is stored then."""
    admin, fresh = server.admin, list[Document]()
    version = "v1" if minor_order(to.minor) >= (0, 37) else before
    if version != before:
        fresh = converted(admin, start)
        for group, plural in (*KINDS.values(), ("karpenter.sh", "nodeclaims")):
            for one in admin.items(f"/apis/{group}/{before}/{plural}"):
                address = f"/apis/{group}/{before}/{plural}/{one['metadata']['name']}"
                admin.patch(address, {"metadata": {"finalizers": None}})
                admin.delete(address)
    for crd in cluster_crds.crds(str(to), namespace="karpenter"):
        made = without_rules({key: crd[key] for key in ("apiVersion", "kind", "spec")})
        made["metadata"] = {"name": crd["metadata"]["name"]}
        versions = [one for one in made["spec"]["versions"] if one["name"] == version]
        made["spec"] |= {"versions": [{**one, "storage": True} for one in versions], "conversion": {"strategy": "None"}}
        if versions and made["metadata"]["name"] in CONVERTED:
            server.store_versions(made["metadata"]["name"], [versions[0]["name"]])
            server.load_documents([made])
    for one in fresh:
        admin.create(one)
    return version


@pytest.mark.parametrize("name", ["finished-032", "beta-033"])
def test_a_runbook_of_v1beta1_leads_where_the_walk_says(
    name: str, clean_apiserver: ApiServer, kubectl: Path, tmp_path: Path
) -> None:
    clean = find(name)
    documents = objects(clean)
    kubeconfig = kubeconfig_of(clean_apiserver, tmp_path)
    load(clean_apiserver, [free(one) for one in documents])
    start = collected(name, as_list(documents, kubernetes=clean.kubernetes)).inventory
    ahead = path(detect_running_release(start), kubernetes=clean.kubernetes).hops
    walk, version, ran = Walk(track_reads(start), all_checks()), "v1beta1", 0
    for hop, path_hop in zip(runbook(judged(clean, documents)).hops, ahead, strict=True):
        for parts in (("before",), ("land", "after")):
            if "land" in parts:
                version = land(clean_apiserver, path_hop.release, start=start, before=version)
            for line in lines_of(hop, parts):
                done = run(line, kubectl=kubectl, kubeconfig=kubeconfig)
                assert (done.returncode, done.stderr) == (0, ""), line
                ran += 1
        walk.hop(path_hop, last=False)
        assert held(clean_apiserver.admin, version) == said(walk.inventory), hop.path_hop.release
    assert ran >= 2
