"""Registering a cluster: three ways in, a test that tells what is missing, and refusals beside their field."""

import base64
import io
import json
import tarfile
from dataclasses import replace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from migrations_app.errors import InvalidKubeconfig
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from migrations_app.readiness.rbac.roles import MissingPermission, scan_roles
from migrations_app.use_cases.clusters.registration import ConnectionTest
from tests.builders.rows import a_cluster
from tests.servers.pki import Authority
from tests.web.pages import text

pytestmark = pytest.mark.django_db
CA = base64.b64encode(Authority("shop").pem.encode()).decode()
SECRET = "not-to-be-seen-again"
KUBECONFIG = f"""
apiVersion: v1
kind: Config
current-context: shop
contexts: [{{name: shop, context: {{cluster: shop, user: scan}}}}]
clusters:
  - name: shop
    cluster: {{server: "https://10.0.0.9:6443", certificate-authority-data: {CA}}}
users: [{{name: scan, user: {{token: {SECRET}}}}}]
"""
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "u1"}}
MISSING = (MissingPermission("", "secrets"), MissingPermission("policy", "poddisruptionbudgets"))


@pytest.fixture(autouse=True)
def _sealed(settings):
    settings.ENV = replace(settings.ENV, encryption_keys=(("k1", b"k" * 32),))


@pytest.fixture
def looked(monkeypatch):
    """Stands for the one look at a cluster; holds what was asked and what is answered."""
    asked = []
    answer = {"result": ConnectionTest(reachable=True, server="https://k", kubernetes="v1.29.8-eks")}

    def look(body, *, context=""):
        asked.append((body, context))
        if isinstance(answer["result"], Exception):
            raise answer["result"]
        return answer["result"]

    monkeypatch.setattr("migrations_app.use_cases.clusters.registration.try_kubeconfig", look)
    return answer | {"asked": asked, "answer": answer}


def form(**more):
    return {"way": "paste", "kubeconfig": KUBECONFIG, "name": "shop", "do": "register"} | more


def bundle():
    held = {
        "version.json": {"gitVersion": "v1.29.8-eks"},
        "objects.json": {"apiVersion": "v1", "kind": "List", "items": [NODE]},
    }
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, document in held.items():
            body = json.dumps(document).encode()
            member = tarfile.TarInfo(name)
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return SimpleUploadedFile("shop.tar.gz", out.getvalue())


def test_a_pasted_kubeconfig_is_registered_and_scanned(ada, woken, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        answer = ada.post("/clusters/new", form(environment="prod", target="1.0"))
    row = Cluster.objects.get()
    assert answer.url == f"/clusters/{row.pk}/"
    assert (row.name, row.source, row.environment, row.target) == ("shop", "kubeconfig", "prod", "1.0")
    assert (row.server, row.created_by) == ("https://10.0.0.9:6443", "ada")
    assert woken == [Scan.objects.get().pk]
    assert "shop is registered; its first scan is on the way." in text(ada.get(answer.url))


def test_an_uploaded_kubeconfig(ada, woken):
    file = SimpleUploadedFile("config", KUBECONFIG.encode())
    ada.post("/clusters/new", form(way="file", kubeconfig="", kubeconfig_file=file))
    assert Cluster.objects.get().source == "kubeconfig"


def test_an_uploaded_bundle(ada, woken):
    ada.post("/clusters/new", form(way="bundle", kubeconfig="", bundle=bundle()))
    row = Cluster.objects.get()
    assert (row.source, row.server) == ("bundle", "")


def test_credentials_are_never_sent_back(ada, woken, looked):
    wrong_name = ada.post("/clusters/new", form(name=""))
    tested = ada.post("/clusters/new", form(do="test"))
    registered = ada.post("/clusters/new", form(), follow=True)
    changed = ada.get(f"/clusters/{Cluster.objects.get().pk}/change")
    for answer in (wrong_name, tested, registered, changed):
        assert SECRET not in answer.content.decode()
    assert SECRET.encode() not in bytes(Cluster.objects.get().sealed)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kubeconfig": ""}, "This field is required."),
        ({"way": "file"}, "This field is required."),
        ({"way": "bundle"}, "This field is required."),
        ({"name": ""}, "This field is required."),
        ({"name": "x" * 121}, "at most 120 characters"),
        ({"way": "carrier pigeon"}, "Select a valid choice"),
        ({"kubeconfig": "a: [1"}, "kubeconfig"),
        ({"kubeconfig": KUBECONFIG.replace("https", "http")}, "https"),
        ({"kubeconfig": KUBECONFIG.replace(f"token: {SECRET}", "exec: {command: id}")}, "exec"),
        ({"context": "absent"}, "absent"),
        ({"target": "9.99"}, "9.99"),
        ({"name": "bidi\u202ename"}, "printable"),
    ],
)
def test_refusals_stand_beside_the_field(ada, changes, words):
    answer = ada.post("/clusters/new", form(**changes))
    assert (answer.status_code, Cluster.objects.count()) == (422, 0)
    assert words in text(answer)


def test_a_broken_bundle_is_refused(ada):
    answer = ada.post("/clusters/new", form(way="bundle", bundle=SimpleUploadedFile("b.tar.gz", b"\x1f\x8bbroken")))
    assert (answer.status_code, Cluster.objects.count()) == (422, 0)


def test_too_large_a_kubeconfig_is_refused(ada):
    file = SimpleUploadedFile("config", b"#" * 300_000)
    answer = ada.post("/clusters/new", form(way="file", kubeconfig_file=file))
    assert "Larger than 256 KiB." in text(answer)


def test_a_taken_name(ada):
    a_cluster("shop")
    assert "there is a cluster named shop" in text(ada.post("/clusters/new", form()))


def test_the_connection_test_stores_nothing(ada, looked):
    answer = ada.post("/clusters/new", form(do="test", name="", context="shop"))
    assert "Connected. Kubernetes v1.29.8-eks , and every right that a scan needs." in text(answer)
    assert looked["asked"] == [(KUBECONFIG.encode(), "shop")]
    assert (Cluster.objects.count(), Scan.objects.count()) == (0, 0)


def test_the_connection_test_prints_the_missing_rule(ada, looked):
    looked["answer"]["result"] = ConnectionTest(
        reachable=True, kubernetes="v1.29.8", missing=MISSING, rule=scan_roles(MISSING)
    )
    words = text(ada.post("/clusters/new", form(do="test")))
    assert "Connected, with 2 required permissions missing." in words
    assert "It may not list secrets list poddisruptionbudgets .policy" in words
    assert "resources: [poddisruptionbudgets] verbs: [" in words


def test_no_connection_says_why(ada, looked):
    looked["answer"]["result"] = ConnectionTest(
        reachable=False, server="https://k", error="address_refused", detail="127.0.0.1 is loopback"
    )
    words = text(ada.post("/clusters/new", form(do="test")))
    assert "No connection. The address is not one that karpdash may contact." in words
    assert "address_refused: 127.0.0.1 is loopback" in words


def test_a_refused_kubeconfig_in_the_test(ada, looked):
    looked["answer"]["result"] = InvalidKubeconfig("users[0].user.exec would start a program")
    assert "Refused. users[0].user.exec would start a program" in text(ada.post("/clusters/new", form(do="test")))


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"kubeconfig": ""}, "This field is required."), ({"way": "bundle"}, "A bundle needs no connection")],
)
def test_nothing_to_test(ada, looked, changes, words):
    answer = ada.post("/clusters/new", form(do="test", **changes))
    assert (words in text(answer), looked["asked"]) == (True, [])


def test_htmx_gets_the_result_alone(ada, looked):
    answer = ada.post("/clusters/new", form(do="test"), headers={"HX-Request": "true"})
    assert ("Connected." in text(answer), "<html" in answer.content.decode()) == (True, False)


def test_the_page_prints_the_whole_rule(ada):
    html = ada.get("/clusters/new").content.decode()
    assert "nodepools" in html
    assert "kind: ClusterRole" in html


def test_connection_of_a_registered_cluster(ada, monkeypatch):
    result = ConnectionTest(reachable=True, kubernetes="v1.29.8", missing=MISSING, rule=scan_roles(MISSING))
    monkeypatch.setattr("migrations_app.use_cases.clusters.registration.try_cluster", lambda cluster_id: result)
    answer = ada.post(f"/clusters/{a_cluster('shop').pk}/connection")
    assert "Connected, with 2 required permissions missing." in text(answer)
