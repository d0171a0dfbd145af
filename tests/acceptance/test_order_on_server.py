"""What the runbook tells for drift and for alpha objects, done on a real API server with the CRDs of the release."""

import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from migrations_app.checks.remedies.crd_upgrade import keep_crds
from migrations_app.checks.remedies.successors import successor_commands
from migrations_app.checks.render import kubectl
from migrations_app.checks.shared.drift_hold import drift_hold, is_held
from migrations_app.conversion.objects import PLACEHOLDER, Options
from migrations_app.conversion.reports.report import convert_texts
from migrations_app.inventory.objects.base import Metadata
from migrations_app.inventory.objects.karpenter import CRD, NodePool
from migrations_app.karpenter.versions import release
from migrations_app.samples.karpenter_objects import ON_DEMAND, node_template, pool, provisioner
from tests import upstream
from tests.acceptance.commands import Command, commands
from tests.acceptance.real_clusters import kubeconfig_of, run
from tests.deploy.helm import Helm
from tests.servers.api_client import Client, RefusedError
from tests.servers.apiserver import ApiServer
from tests.servers.crds import without_rules

Document = dict[str, Any]
OWN = [{"nodes": "20%"}, {"nodes": "1", "schedule": "0 9 * * 1-5", "duration": "8h0m0s"}]
ALPHA = ("karpenter.sh_provisioners", "karpenter.k8s.aws_awsnodetemplates")
BETA = ("karpenter.sh_nodepools", "karpenter.k8s.aws_ec2nodeclasses")


def serve(server: ApiServer, tag: str, *names: str, version: str = "") -> None:
    """Loads these CRDs of that tag; objects are stored as `version` is, as no webhook converts here."""
    loaded = []
    for name in names:
        crd = without_rules(copy.deepcopy(upstream.crd(tag, name)))
        crd["spec"].pop("conversion", None)
        versions = [one for one in crd["spec"]["versions"] if version in ("", one["name"])]
        crd["spec"]["versions"] = [{**one, "storage": place == 0} for place, one in enumerate(versions)]
        loaded.append(crd)
    server.load_documents(loaded)


def fresh(document: Document) -> Document:
    """The object as somebody writes it: without what only a server or controller gives."""
    metadata = {key: value for key, value in document["metadata"].items() if key in ("name", "annotations", "labels")}
    return {key: value for key, value in document.items() if key != "status"} | {"metadata": metadata}


def read(admin: Client, document: Document) -> NodePool:
    return msgspec.convert(admin.get(admin.path_of(document)), NodePool)


def budgets(admin: Client, document: Document) -> object:
    return read(admin, document).get("spec.disruption.budgets")


def patch(admin: Client, document: Document, line: str) -> None:
    (told,) = commands(line)
    assert (told.verb, told.resource, told.name) == ("patch", "nodepools.karpenter.sh", document["metadata"]["name"])
    assert told.patch is not None
    admin.patch(admin.path_of(document), told.patch, how=told.how)


@pytest.mark.parametrize("own", [None, OWN])
@pytest.mark.parametrize(
    ("tag", "version", "running", "hold"),
    [
        ("v0.37.8", "v1beta1", "0.37.8", {"nodes": "0"}),
        ("v1.1.9", "v1", "1.11.2", {"nodes": "0", "reasons": ["Drifted"]}),
    ],
)
def test_a_hold_keeps_what_the_pool_has_and_is_taken_back(
    clean_apiserver: ApiServer, own: object, tag: str, version: str, running: str, hold: Document
) -> None:
    admin = clean_apiserver.admin
    serve(clean_apiserver, tag, "karpenter.sh_nodepools", version=version)
    made = pool("web", ON_DEMAND, node_class="default", version=version)
    made["spec"]["disruption"].pop("budgets", None)
    if own:
        made["spec"]["disruption"]["budgets"] = own
    admin.create(fresh(made))
    before = budgets(admin, made)
    assert before == (own or [{"nodes": "10%"}])

    told = drift_hold([read(admin, made)], release(running))
    assert told is not None
    lines = kubectl.text(told).splitlines()
    (held,) = [line for line in lines if line.startswith("kubectl patch")]
    (back,) = [line.removeprefix("# ") for line in lines if line.startswith("# kubectl patch")]
    patch(admin, made, held)
    assert budgets(admin, made) == [*(own or [{"nodes": "10%"}]), hold]
    assert is_held(read(admin, made))
    assert drift_hold([read(admin, made)], release(running)) is None
    patch(admin, made, back)
    assert budgets(admin, made) == before
    assert not is_held(read(admin, made))


def told_to_make_successors() -> tuple[list[str], list[str]]:
    """The kinds that the runbook converts, and the words of the line that converts them."""
    first, convert = [line for line in successor_commands().text.splitlines() if not line.startswith("#")][:2]
    return [one.resource for one in commands(first)], convert.split()


def test_what_is_converted_on_0_32_stands_beside_what_is_there(clean_apiserver: ApiServer) -> None:
    admin = clean_apiserver.admin
    serve(clean_apiserver, "v0.32.10", *ALPHA, *BETA)
    old = [provisioner("web", ON_DEMAND, template="default"), node_template("default", cluster="test")]
    for one in old:
        admin.create(fresh(one))
    kinds, convert = told_to_make_successors()
    assert kinds == ["provisioners.karpenter.sh", "awsnodetemplates.karpenter.k8s.aws"]
    assert convert[:2] + convert[4:6] == ["karpdash", "convert", "--to", "v1beta1"]
    served = {"apiVersion": "v1", "kind": "List", "items": [admin.get(admin.path_of(one)) for one in old]}
    made = convert_texts([("alpha.yaml", yaml.safe_dump(served))], Options(to="v1beta1")).objects
    assert sorted(one["kind"] for one in made) == ["EC2NodeClass", "NodePool"]

    for one in made:
        admin.create(one)
    for one in made:
        with pytest.raises(RefusedError) as again:
            admin.create(one)
        assert again.value.status == 409
    for one in old:
        assert admin.get(admin.path_of(one))["metadata"]["name"] == one["metadata"]["name"]


def test_nothing_is_created_while_the_name_of_a_role_is_missing(
    clean_apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """v1beta1 never lets spec.role be changed, and the API server takes the placeholder for a name."""
    serve(clean_apiserver, "v0.32.10", *BETA)
    old = [provisioner("web", ON_DEMAND, template="default"), node_template("default", cluster="test")]
    made = convert_texts([("alpha.yaml", yaml.safe_dump_all(map(fresh, old)))], Options(to="v1beta1")).objects
    beta, kubeconfig = tmp_path / "beta.yaml", kubeconfig_of(clean_apiserver, tmp_path)
    beta.write_text(yaml.safe_dump_all(made))
    assert PLACEHOLDER in beta.read_text()
    lines = successor_commands().text.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("grep "))
    guarded = "\n".join(lines[start : start + 2])
    kubectl = Path(Helm(tmp_path_factory.mktemp("helm")).kubectl)

    waits = run(guarded, kubectl=kubectl, kubeconfig=kubeconfig)
    assert (waits.returncode, "created" in waits.stdout, PLACEHOLDER in waits.stdout) == (0, False, True)
    path = "/apis/karpenter.k8s.aws/v1beta1/ec2nodeclasses"
    assert clean_apiserver.admin.items(path) == []
    beta.write_text(beta.read_text().replace(PLACEHOLDER, "KarpenterNodeRole"))
    done = run(guarded, kubectl=kubectl, kubeconfig=kubeconfig)
    assert (done.returncode, done.stdout.count(" created")) == (0, 2)
    assert [one["spec"]["role"] for one in clean_apiserver.admin.items(path)] == ["KarpenterNodeRole"]


def test_the_mark_against_pruning_is_put_on_each_crd(clean_apiserver: ApiServer) -> None:
    admin = clean_apiserver.admin
    serve(clean_apiserver, "v1.1.9", *BETA, version="v1")
    names = ("nodepools.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws")
    line = keep_crds([CRD(metadata=Metadata(name=name)) for name in names]).text.splitlines()[-1]
    assert list(commands(line)) == [Command("annotate", "crd", name) for name in names]
    key, _, value = line.split()[-2].partition("=")
    for name in names:
        document = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": name},
        }
        admin.patch(admin.path_of(document), {"metadata": {"annotations": {key: value}}})
        told = admin.get(admin.path_of(document))["metadata"]["annotations"]
        assert told["argocd.argoproj.io/sync-options"] == "Prune=false"
