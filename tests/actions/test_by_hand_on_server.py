"""The commands that a rollout prints, typed with a real kubectl: on another cluster than the planned one they fail."""

from pathlib import Path

import pytest

from migrations_app.actions.render import as_kubectl
from migrations_app.samples.karpenter_objects import machine
from tests.acceptance.real_clusters import run
from tests.actions.on_server import gone, installed, plan_of, previewed, put, registered
from tests.builders.pods import OLD, OTHER
from tests.builders.pools import a_pool, a_provisioner
from tests.deploy.helm import Helm

pytestmark = [pytest.mark.apiserver, pytest.mark.django_db(transaction=True)]
POOLS = "/apis/karpenter.sh/v1/nodepools"
OLD_POOL = "/apis/karpenter.sh/v1alpha5/provisioners/web"


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory):
    return Path(Helm(tmp_path_factory.mktemp("helm")).kubectl)


@pytest.fixture
def typed(server, kubectl, tmp_path):
    """Types the lines of a plan's steps one by one, and returns what failed on stderr."""
    access = tmp_path / "kubeconfig"
    access.write_text(server.kubeconfig(server.admin_token))
    access.chmod(0o600)

    def all_of(row):
        done = [run(as_kubectl(step), kubectl=kubectl, kubeconfig=access) for step in plan_of(row).steps]
        return [one.stderr for one in done if one.returncode]

    return all_of


@pytest.mark.parametrize("name", ["web", "true"])
def test_a_patch_is_for_the_planned_object(server, typed, name):  # R22
    server.load_crds("v1")
    installed(server, "1.0.14")
    put(server, a_pool(name=name))
    row = previewed(registered(server), "hold_disruption")
    gone(server, f"{POOLS}/{name}")
    (again,) = put(server, a_pool(name=name))
    (words,) = typed(row)
    assert ("uid" in words.lower(), server.admin.get(f"{POOLS}/{name}")) == (True, again), words
    assert typed(previewed(row.cluster, "hold_disruption")) == []
    assert server.admin.get(f"{POOLS}/{name}")["spec"]["disruption"]["budgets"] == [{"nodes": "0"}]


def test_a_deletion_looks_first(server, typed):  # A17, R22
    server.load_crds("alpha_and_beta")
    installed(server, "0.32.10")
    put(server, a_provisioner(), a_pool(version="v1beta1"), *machine(OLD, template="default"))
    row = previewed(registered(server), "forced_deletion", provisioners=["web"])
    said = "not sent: Provisioner web is another one now, or takes more along than was previewed\n"
    put(server, *machine(OTHER, template="default"))
    assert typed(row) == [said]
    gone(server, f"/api/v1/nodes/{OTHER.node}", OLD_POOL)
    put(server, a_provisioner())
    assert typed(row) == [said]
    assert "deletionTimestamp" not in server.admin.get(OLD_POOL)["metadata"]
    assert typed(previewed(row.cluster, "forced_deletion", provisioners=["web"])) == []
    left = server.admin.request("GET", OLD_POOL)
    assert left.status == 404 or "deletionTimestamp" in left.json()["metadata"]
