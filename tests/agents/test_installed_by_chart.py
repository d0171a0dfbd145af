"""An agent installed by its chart on a real API server: it holds that role's token, and nothing else."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from migrations_app.models.cluster import Cluster
from migrations_app.samples.karpenter_objects import machine
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig
from tests.actions.on_server import installed, plan_of, previewed, put
from tests.agents.rig import Site, agent_row, wait_for_line
from tests.agents.test_on_real_server import findings_of
from tests.builders.pods import OLD
from tests.builders.pools import a_pool, a_provisioner
from tests.deploy.helm import AGENT_CHART, Helm
from tests.installations.running import ROOT, bare_environment
from tests.servers.access import wait_for_access
from tests.servers.apiserver import ApiServer
from tests.servers.processes import Child
from tests.servers.waiting import eventually

NAME, NAMESPACE = "karpdash-agent", "karpdash"
ALIVE = "/dev/shm/karpdash-alive"


class Installed:
    """The chart's release on the server, and what a kubelet would do with its pod."""

    def __init__(self, server: ApiServer, helm: Helm, site: Site) -> None:
        self.server, self.helm, self.site = server, helm, site
        self.alive = site.folder / "alive"

    def by(self, do: str, **values: Any) -> None:
        needed = {"server": "https://karpdash.example.com", "image": {"repository": "example.com/karpdash"}}
        access = self.server.kubeconfig(self.server.admin_token)
        words = (do, NAME, str(AGENT_CHART), "--namespace", NAMESPACE)
        self.helm.run(*words, values=needed | values, kubeconfig=access)

    def container(self) -> dict[str, Any]:
        path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}"
        (found,) = self.server.admin.get(path)["spec"]["template"]["spec"]["containers"]
        return dict(found)

    def access(self, *roles: str) -> str:
        """The kubeconfig of the service account, by a token that the server gave out for it."""
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{NAME}/token"
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = self.server.admin.request("POST", path, body=asked).good()["status"]["token"]
        for role in roles:
            rules = self.server.admin.get(f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{NAMESPACE}-{NAME}-{role}")[
                "rules"
            ]
            wait_for_access(self.server.client(token), rules)
        return self.server.kubeconfig(token)

    def started(self, token: Path, kubeconfig: str) -> Child:
        """The container's own command, with the server, the files and the cluster of the test."""
        told = {"https://karpdash.example.com": self.site.url, "/var/run/karpdash/token": str(token)}
        path = self.site.folder / "access"
        path.write_text(kubeconfig)
        program, *words = (told.get(word, word).replace(ALIVE, str(self.alive)) for word in self.container()["command"])
        assert program == "karpdash"
        command = [sys.executable, "-m", "karpdash.command", *words, "--kubeconfig", str(path)]
        env = bare_environment(allow_loopback="1") | {"PYTHONPATH": str(ROOT)}
        child = Child(command, log=self.site.folder / "agent.log", env=env)
        self.site.agents.append(child)
        wait_for_line(child, "connected to")
        return child

    def probe(self, name: str) -> tuple[bool, str]:
        """Whether that probe of the container passes, and what it says."""
        program, *words = self.container()[f"{name}Probe"]["exec"]["command"]
        assert program == "python"
        command = [sys.executable, *(word.replace(ALIVE, str(self.alive)) for word in words)]
        env = bare_environment() | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        return done.returncode == 0, done.stderr.replace(str(self.alive), ALIVE)

    def touched_long_ago(self) -> None:
        """As if the time of the probe had gone by since the agent did so last."""
        before = time.time() - 121
        os.utime(self.alive, (before, before))


@pytest.fixture
def release(clean_apiserver: ApiServer, helm: Helm, site: Site) -> Installed:
    clean_apiserver.load_crds("alpha_and_beta")
    installed(clean_apiserver, "0.32.10")
    put(clean_apiserver, a_provisioner(), a_pool(version="v1beta1"), *machine(OLD, template="default"))
    clean_apiserver.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    return Installed(clean_apiserver, helm, site)


def test_it_finds_what_a_direct_scan_finds_and_refuses_to_act(release: Installed) -> None:  # A26, T18
    release.by("install")
    kubeconfig = release.access("scan")
    cluster, token = release.site.register("far-one")
    direct = Cluster.objects.get(pk=register_kubeconfig(kubeconfig.encode(), Details(name="near-one", by="ada")))
    mark = release.server.audit_mark()
    release.started(token, kubeconfig)
    assert findings_of(cluster) == findings_of(direct)
    agents = [one for one in release.server.audit_events(mark) if "serviceaccount" in one["user"]["username"]]
    assert {one["user"]["username"] for one in agents} == {f"system:serviceaccount:{NAMESPACE}:{NAME}"}
    row = previewed(cluster, "roll_nodes")
    assert (row.state, row.cause_code) == ("expired", "read_only")
    assert "its agent was installed to read only" in row.cause


def test_it_acts_when_it_was_installed_so(release: Installed) -> None:  # A26
    release.by("install")
    release.by("upgrade", act=True)
    cluster, token = release.site.register()
    release.started(token, release.access("scan", "act"))
    row = previewed(cluster, "roll_nodes")
    assert (row.state, row.cause, len(plan_of(row).steps)) == ("previewed", "", 2)
    assert agent_row(cluster).acts is True


def test_its_probes_tell_a_hang_from_a_lost_server(release: Installed) -> None:
    release.by("install")
    _, token = release.site.register()
    assert release.probe("liveness") == (False, f"{ALIVE}: cannot be read: No such file or directory\n")
    child = release.started(token, release.access("scan"))
    eventually(lambda: release.probe("readiness") == (True, ""), what="the agent to be ready")
    release.touched_long_ago()
    eventually(lambda: release.probe("liveness") == (True, ""), what="the agent to touch its file again")

    os.killpg(child.process.pid, signal.SIGSTOP)
    release.touched_long_ago()
    alive, why = release.probe("liveness")
    assert (alive, why.rpartition(" for ")[0]) == (False, f"{ALIVE}: was not touched")
    assert release.probe("readiness")[0] is False
    os.killpg(child.process.pid, signal.SIGCONT)
    eventually(lambda: release.probe("liveness") == (True, ""), what="the agent to go on")
