"""What README and the guides tell people to type in is typed in, on a real API server."""

import re

import pytest
import yaml

from tests.actions.on_server import installed
from tests.deploy import compose
from tests.deploy.helm import Helm
from tests.deploy.test_chart import Kubelet
from tests.docs.shell import ROOT, Shell, blocks, said

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(600)]
PAGES = ("README.md", "docs/getting-started.md", "docs/connect-a-cluster.md", "docs/deploy.md")


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    helm = Helm(tmp_path_factory.mktemp("programs"))
    return {"helm": helm.program, "kubectl": helm.kubectl}


@pytest.fixture
def shell(clean_apiserver, tmp_path, programs):
    clean_apiserver.load_crds("beta")
    installed(clean_apiserver, "0.37.8")
    return Shell(tmp_path, clean_apiserver, programs=programs)


def test_every_command_is_one_of_those_that_are_run():
    """Nobody adds a command to a page in a kind of block that no test reads."""
    kinds = {(page, kind) for page in PAGES for kind in re.findall(r"^```(\w+)$", (ROOT / page).read_text(), re.M)}
    assert {kind for _, kind in kinds} == {"sh", "yaml"}
    assert [page for page in PAGES if not blocks(page)] == []


def test_readme(shell):
    assert any("karpdash up" in text for text in said(shell, "README.md"))


def test_getting_started(shell, clean_apiserver):
    access = clean_apiserver.kubeconfig(clean_apiserver.admin_token)
    (shell.folder / "kubeconfig.yaml").write_text(access)
    answers = said(shell.with_tables(), "docs/getting-started.md")
    assert ("0.37.8" in answers[1], "0.37.8" in answers[2]) == (True, True)
    assert re.search(r"shop\s.*kubeconfig", answers[3])


def test_connect_a_cluster(shell):
    answers = said(shell.with_tables(), "docs/connect-a-cluster.md")
    assert "0.37.8" in answers[-1]
    access = yaml.safe_load((shell.folder / "karpdash.yaml").read_text())
    assert [sorted(one["user"]) for one in access["users"]] == [["token"]]
    told = shell.run("karpdash scan --kubeconfig karpdash.yaml --fail-on never -o json")
    parts = yaml.safe_load(told)["parts"]
    assert [part["name"] for part in parts if part["why"] == "forbidden"] == []


def test_deploy(shell, clean_apiserver):
    values = re.findall(r"^```yaml\n(.*?)^```", (ROOT / "docs" / "deploy.md").read_text(), re.M | re.S)
    (shell.folder / "values.yaml").write_text(values[0])
    with Kubelet(clean_apiserver):
        said(shell, "docs/deploy.md", DATABASE_PASSWORD="d4" * 12, BROKER_PASSWORD="b5" * 12)
    given = dict(line.split("=", 1) for line in (shell.folder / ".env").read_text().splitlines())
    web = compose.services(given)["web"]["environment"]
    assert (str(web["KARPDASH_HTTPS"]), web["KARPDASH_ALLOWED_HOSTS"]) == ("1", "karpdash.example.org")
    settings = {name: str(value) for name, value in web.items() if name != "KARPDASH_DATA_DIR"}
    shell.run("python -m gunicorn --check-config karpdash.wsgi", **settings)
    hosts = clean_apiserver.admin.get("/apis/networking.k8s.io/v1/namespaces/karpdash/ingresses/karpdash")["spec"][
        "tls"
    ]
    assert hosts == [{"hosts": ["karpdash.example.org"], "secretName": "karpdash-tls"}]
