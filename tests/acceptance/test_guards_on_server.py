"""What stands before a patch that is only right later: on a real API server it lets nothing through too early."""

from dataclasses import replace
from pathlib import Path

import pytest

from migrations_app.checks.remedies.commands import none_left
from migrations_app.checks.remedies.stored_versions import all_rewritten, only_v1_stored
from migrations_app.checks.render.lines import piped
from migrations_app.karpenter.kinds import EC2_NODE_CLASS, NODE_POOL
from tests.acceptance.clusters import find, objects
from tests.acceptance.own_objects import CLASS, POOL
from tests.acceptance.planted import FAULTS
from tests.acceptance.planting import Document, Fault, Plant, cut, every, put, without
from tests.acceptance.proofs import GUARDED, finding_of, lines_of
from tests.acceptance.real_clusters import kubeconfig_of, load, run
from tests.deploy.helm import Helm
from tests.servers.apiserver import ApiServer

MARK = "metadata/annotations/karpenter.sh~stored-version-migrated"
POOLS, CLASSES = NODE_POOL.crd_name, EC2_NODE_CLASS.crd_name
CRD = "CustomResourceDefinition"


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(Helm(tmp_path_factory.mktemp("helm")).kubectl)


def planted(fault: Fault, server: ApiServer) -> list[Document]:
    """The objects of the fault's cluster with the fault, as loaded into the server."""
    documents = objects(find(fault.on))
    fault.plant(documents)
    load(server, documents)
    return documents


def a_second_pool(marked: Plant, documents: list[Document]) -> None:
    """Beside the pool of the cluster, another one that `marked` changes."""
    (pool,) = every(documents, POOL)
    documents.append({**pool, "metadata": {**pool["metadata"], "name": "second", "uid": "second"}})
    marked(documents)


def test_a_patch_waits_for_what_has_to_be_seen_first(clean_apiserver: ApiServer, kubectl: Path, tmp_path: Path) -> None:
    documents = objects(find("v1-10"))
    put(POOL, "default", MARK, "true")(documents)
    a_second_pool(cut(POOL, "second", MARK), documents)
    put(CLASS, "default", MARK, "true")(documents)
    without("NodeClaim")(documents)
    put(CRD, POOLS, "status/storedVersions", ["v1beta1", "v1"])(documents)
    load(clean_apiserver, documents)
    kubeconfig = kubeconfig_of(clean_apiserver, tmp_path)

    def made(pipe: tuple[tuple[str, ...], ...]) -> bool:
        done = run(f"{piped(pipe)} && echo patched || true", kubectl=kubectl, kubeconfig=kubeconfig)
        return done.stdout == "patched\n"

    assert made(all_rewritten(CLASSES))
    assert not made(all_rewritten(POOLS))  # one of two lacks the mark
    assert not made(all_rewritten("nodeclaims.karpenter.sh"))  # there is none
    assert not made(all_rewritten("nosuchkind.karpenter.sh"))  # the server does not answer
    assert made(only_v1_stored(CLASSES))
    assert not made(only_v1_stored(POOLS))
    assert not made(only_v1_stored("nosuchkind.karpenter.sh"))


def test_a_provisioner_is_deleted_only_once_no_machine_is_left(
    clean_apiserver: ApiServer, kubectl: Path, tmp_path: Path
) -> None:
    """Deleting it earlier drains all of its nodes at once. An AWSNodeTemplate waits for its Provisioner in turn."""
    (fault,) = (one for one in FAULTS if one.of in GUARDED)
    planted(fault, clean_apiserver)
    kubeconfig = kubeconfig_of(clean_apiserver, tmp_path)
    (lines,) = lines_of(finding_of(fault))
    (template_lines,) = lines_of(finding_of(replace(fault, check="legacy_node_templates_gone")))
    machines, provisioners = (f"/apis/karpenter.sh/v1alpha5/{plural}" for plural in ("machines", "provisioners"))
    templates = "/apis/karpenter.k8s.aws/v1alpha1/awsnodetemplates"

    def count(path: str) -> int:
        return len(clean_apiserver.admin.items(path))

    def left(script: str = lines) -> tuple[int, int, int, int]:
        """The exit code of the script, and how many Machines, Provisioners and AWSNodeTemplates there are then."""
        done = run(f"set -euo pipefail\n{script}\necho went on", kubectl=kubectl, kubeconfig=kubeconfig)
        assert done.stdout.endswith("went on\n") == (done.returncode == 0)
        assert ("\nnot deleted: " in f"\n{done.stderr}") == (done.returncode != 0)
        return done.returncode, count(machines), count(provisioners), count(templates)

    assert left() == (1, 1, 1, 1)
    assert left(template_lines) == (1, 1, 1, 1)
    for machine in clean_apiserver.admin.items(machines):
        path = clean_apiserver.admin.path_of(machine)
        clean_apiserver.admin.patch(path, {"metadata": {"finalizers": None}})
        clean_apiserver.admin.request("DELETE", path)
    assert left() == (0, 0, 0, 1)
    assert left(template_lines) == (0, 0, 0, 0)
    for kind in ("nosuchkind.karpenter.sh", "machines.karpenter.sh"):  # only the server's own word counts
        done = run(f"{piped(none_left(kind))} && echo none || true", kubectl=kubectl, kubeconfig=kubeconfig)
        assert done.stdout == ("none\n" if kind == "machines.karpenter.sh" else "")


CHANGED: dict[str, Document] = {
    "pools_have_room": {"spec": {"limits": {"cpu": "777"}}},
    "budgets_let_nodes_go": {"spec": {"disruption": {"budgets": [{"nodes": "3"}]}}},
    "drift_not_held_off": {"spec": {"disruption": {"budgets": [{"nodes": "3"}]}}},
}
"""What somebody writes into the pool after the scan."""
WRITTEN_OVER = {fault.check: fault for fault in reversed(FAULTS) if fault.check in CHANGED}


@pytest.mark.parametrize("check", CHANGED)
def test_a_patch_of_an_old_scan_leaves_a_newer_value(
    check: str, clean_apiserver: ApiServer, kubectl: Path, tmp_path: Path
) -> None:
    fault = WRITTEN_OVER[check]
    documents = planted(fault, clean_apiserver)
    kubeconfig = kubeconfig_of(clean_apiserver, tmp_path)
    (lines,) = lines_of(finding_of(fault))
    pool = next(one for one in every(documents, POOL) if one["metadata"]["name"] == fault.object)
    path = clean_apiserver.admin.path_of(pool)
    before = clean_apiserver.admin.get(path)["spec"]
    changed = clean_apiserver.admin.patch(path, CHANGED[check])["spec"]
    done = run(lines, kubectl=kubectl, kubeconfig=kubeconfig)
    assert done.returncode != 0
    assert clean_apiserver.admin.get(path)["spec"] == changed != before
    clean_apiserver.admin.patch(path, {"spec": {key: before.get(key) for key in ("limits", "disruption")}})
    assert clean_apiserver.admin.get(path)["spec"] == before
    done = run(lines, kubectl=kubectl, kubeconfig=kubeconfig)
    assert (done.returncode, done.stderr) == (0, "")
    assert clean_apiserver.admin.get(path)["spec"] not in (before, changed)
