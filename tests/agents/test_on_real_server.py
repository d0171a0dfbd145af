"""Clusters that karpdash reaches through an agent alone, on a real API server with the published roles."""

import json

import msgspec
import pytest

from migrations_app.actions.changes import ObjectTarget, merge
from migrations_app.actions.request import ObjectVersion
from migrations_app.models.cluster import Cluster, ClusterAgent
from migrations_app.queries.clusters.detail import report_of
from migrations_app.samples.karpenter_objects import machine
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig
from migrations_app.use_cases.rollouts import worker
from migrations_app.use_cases.runtime.connections import connect_writer
from tests.actions.on_server import applied, carried_out, gone, installed, plan_of, previewed, put
from tests.agents.rig import Site, agent_row, scanned
from tests.builders.pods import OLD
from tests.builders.pools import a_pool, a_provisioner
from tests.deploy.roles import bound
from tests.servers.apiserver import ApiServer

REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def findings_of(cluster):
    """Every finding with its evidence and remedies, without the name of the cluster."""
    report = msgspec.to_builtins(report_of(scanned(cluster).snapshot_id))
    lines = json.dumps(report["checks"]).replace(cluster.name, "NAME")
    parts = [(one["name"], one["seen"], one["count"]) for one in report["parts"]]
    return [json.dumps(one, sort_keys=True) for one in json.loads(lines)], parts


def test_a_scan_through_an_agent_finds_what_a_direct_scan_finds(clean_apiserver: ApiServer, site: Site) -> None:
    clean_apiserver.load_crds("alpha_and_beta")
    installed(clean_apiserver, "0.32.1")
    put(clean_apiserver, a_provisioner())
    cluster, token = site.register("far-one")
    kubeconfig = bound(clean_apiserver)
    direct = Cluster.objects.get(pk=register_kubeconfig(kubeconfig.encode(), Details(name="near-one", by="ada")))
    site.connected(token, kubeconfig)
    assert findings_of(cluster) == findings_of(direct)
    row = agent_row(cluster)
    assert (row.acts, row.server, row.ca_digest) == (False, clean_apiserver.url, cluster.ca_digest)
    assert (cluster.kube_system_uid, cluster.ca_digest) == (direct.kube_system_uid, direct.ca_digest) != ("", "")


class TestActing:
    """A node of a Provisioner that no pool keeps: the action `roll_nodes` deletes it."""

    @pytest.fixture
    def server(self, clean_apiserver: ApiServer, monkeypatch: pytest.MonkeyPatch) -> ApiServer:
        monkeypatch.setattr(worker, "SLICE_SECONDS", 1.0)
        clean_apiserver.load_crds("alpha_and_beta")
        installed(clean_apiserver, "0.32.10")
        put(clean_apiserver, a_provisioner(), a_pool(version="v1beta1"), *machine(OLD, template="default"))
        return clean_apiserver

    def test_an_agent_with_the_acting_role_carries_a_rollout_out(self, server: ApiServer, site: Site) -> None:  # A26
        mark = server.audit_mark()
        cluster, token = site.register()
        site.connected(token, bound(server, acting=True), "--act")
        row = previewed(cluster, "roll_nodes")
        assert (row.state, row.cause, len(plan_of(row).steps)) == ("previewed", "", 2)
        assert plan_of(row).identity.endpoint == server.url

        def drained() -> None:
            for one in server.admin.items("/api/v1/nodes"):
                if "deletionTimestamp" in one["metadata"]:
                    owner = one["metadata"]["ownerReferences"][0]["name"]
                    paths = f"/api/v1/nodes/{one['metadata']['name']}", f"/apis/karpenter.sh/v1alpha5/machines/{owner}"
                    gone(server, *paths)

        done = carried_out(row, between=drained)
        assert (done.state, done.cause, applied(done)) == ("succeeded", "", ["s001", "s002"])
        assert server.admin.items("/api/v1/nodes") == []
        events = [one for one in server.audit_events(mark) if one["user"]["username"].startswith("karpdash-")]
        sent = [one for one in events if one["verb"] in ("patch", "delete") and "dryRun" not in one["requestURI"]]
        # A DELETE carries its dry run in the body, which this log does not hold.
        assert [one["verb"] for one in sent] == ["delete", "patch", "delete"]
        assert all(one["userAgent"].startswith("karpdash/") and "step=" in one["userAgent"] for one in sent[1:])  # K16

    def test_an_agent_without_it_changes_nothing_whatever_its_account_may(self, server: ApiServer, site: Site) -> None:
        mark = server.audit_mark()
        cluster, token = site.register()
        site.connected(token, bound(server, acting=True))
        row = previewed(cluster, "roll_nodes")
        assert (row.state, row.cause_code) == ("expired", "read_only")
        ClusterAgent.objects.update(acts=True)  # as if the server were deceived about it
        assert previewed(cluster, "roll_nodes").state == "expired"
        change = merge(ObjectTarget("", "v1", "nodes", "Node", "one"), {"metadata": {"labels": {"a": "b"}}})
        with connect_writer(cluster) as writer:
            answer = writer.send(
                change, ObjectVersion(uid="u", resource_version="1"), own={}, purpose="action=test step=1"
            )
        assert (answer.status, answer.reason) == (403, "Forbidden")
        assert answer.message == "karpdash agent: this agent was installed to read only: it does not patch nodes"
        events = [one for one in server.audit_events(mark) if one["user"]["username"].startswith("karpdash-")]
        assert {one["verb"] for one in events} <= {"get", "list", "create"}
        assert {one["requestURI"] for one in events if one["verb"] == "create"} <= {REVIEW}
