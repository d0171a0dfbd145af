"""The real servers behave as tests that build on them believe."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest
import redis
import yaml
from playwright.sync_api import Browser

from tests import upstream
from tests.house.measures import ROOT
from tests.servers import crds, on_postgres, processes
from tests.servers.api_client import Client, RefusedError
from tests.servers.apiserver import ApiServer
from tests.servers.waiting import eventually

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1", "labels": {"a": "1"}}}
POOLS = "/apis/karpenter.sh/v1beta1/nodepools"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LIST_NODES = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "get"]}]


def pool(name: str, version: str = "v1beta1", **metadata: object) -> dict[str, object]:
    return {"apiVersion": f"karpenter.sh/{version}", "kind": "NodePool", "metadata": {"name": name, **metadata}}


def names(client: Client, path: str) -> list[str]:
    return [item["metadata"]["name"] for item in client.items(path)]


def test_the_admin_creates_applies_patches_replaces_and_deletes(clean_apiserver: ApiServer) -> None:
    admin = clean_apiserver.admin
    stored = admin.create(NODE)
    admin.apply({**NODE, "metadata": {"name": "node-1", "annotations": {"b": "2"}}})
    admin.patch("/api/v1/nodes/node-1", {"metadata": {"labels": {"c": "3"}}})
    seen = admin.get("/api/v1/nodes/node-1")["metadata"]
    assert (seen["labels"], seen["annotations"]) == ({"a": "1", "c": "3"}, {"b": "2"})
    with pytest.raises(RefusedError, match=r"^409"):
        admin.replace(stored)
    admin.delete("/api/v1/nodes/node-1")
    assert names(admin, "/api/v1/nodes") == []


def test_lists_are_read_page_after_page(clean_apiserver: ApiServer) -> None:
    wanted = [f"node-{number:03}" for number in range(7)]
    for name in wanted:
        clean_apiserver.admin.create({**NODE, "metadata": {"name": name}})
    first = clean_apiserver.admin.get("/api/v1/nodes", limit=3)
    assert [item["metadata"]["name"] for item in first["items"]] == wanted[:3]
    assert names(clean_apiserver.admin, "/api/v1/nodes") == wanted


def test_a_compacted_continue_token_answers_410(clean_apiserver: ApiServer) -> None:
    for number in range(3):
        clean_apiserver.admin.create({**NODE, "metadata": {"name": f"node-{number}"}})
    token = clean_apiserver.admin.get("/api/v1/nodes", limit=1)["metadata"]["continue"]
    clean_apiserver.admin.create({**NODE, "metadata": {"name": "node-9"}})
    clean_apiserver.compact()
    answer = clean_apiserver.admin.request("GET", "/api/v1/nodes", limit=1, **{"continue": token})
    assert (answer.status, answer.json()["reason"]) == (410, "Expired")


@pytest.mark.parametrize("set_name", crds.SETS)
def test_each_set_of_crds_serves_its_versions_and_keeps_unknown_fields(
    clean_apiserver: ApiServer, set_name: str
) -> None:
    clean_apiserver.load_crds(set_name)
    for shape in crds.SETS[set_name]:
        for version in shape.versions:
            thing = {"apiVersion": f"{shape.group}/{version}", "kind": shape.kind, "metadata": {"name": version}}
            made = clean_apiserver.admin.create({**thing, "spec": {"deep": [{"values": [""]}]}})
            assert (made["apiVersion"], made["spec"]) == (thing["apiVersion"], {"deep": [{"values": [""]}]})


def test_an_upgrade_of_the_crds_keeps_the_objects(clean_apiserver: ApiServer) -> None:
    clean_apiserver.load_crds("beta")
    clean_apiserver.admin.create(pool("default"))
    clean_apiserver.load_crds("v1_with_beta")
    after = clean_apiserver.admin.get("/apis/karpenter.sh/v1/nodepools/default")
    crd = clean_apiserver.admin.get(f"{DEFINITIONS}/nodepools.karpenter.sh")
    assert after["apiVersion"] == "karpenter.sh/v1"
    assert crd["status"]["storedVersions"] == ["v1beta1", "v1"]


def test_stored_versions_can_be_set(clean_apiserver: ApiServer) -> None:
    clean_apiserver.load_crds("v1_with_beta")
    crd = clean_apiserver.store_versions("nodepools.karpenter.sh", ["v1beta1", "v1"])
    assert crd["status"]["storedVersions"] == ["v1beta1", "v1"]


def test_a_conversion_webhook_that_is_not_there_fails_the_listing(clean_apiserver: ApiServer) -> None:
    clean_apiserver.load_crds("beta")
    clean_apiserver.admin.create(pool("default"))
    clean_apiserver.load_crds("v1_with_beta", conversion_webhook=True)
    answer = clean_apiserver.admin.request("GET", "/apis/karpenter.sh/v1/nodepools")
    assert answer.status == 500
    assert "conversion webhook" in answer.json()["message"]


def test_a_made_user_may_do_just_what_the_rules_say(clean_apiserver: ApiServer) -> None:
    user = clean_apiserver.client(clean_apiserver.make_user("reader", LIST_NODES))
    nobody = clean_apiserver.client(clean_apiserver.make_user("nobody"))
    paths = ("/api/v1/nodes", "/api/v1/pods")
    assert [user.request("GET", path).status for path in paths] == [200, 403]
    assert [nobody.request("GET", path).status for path in paths] == [403, 403]
    assert clean_apiserver.client("wrong").request("GET", paths[0]).status == 401


def test_a_client_certificate_names_user_and_groups(clean_apiserver: ApiServer) -> None:
    certificate = clean_apiserver.client_cert("ada", ["system:masters"])
    mark = clean_apiserver.audit_mark()
    clean_apiserver.client(certificate=certificate).get("/api/v1/nodes")
    users = [event["user"] for event in clean_apiserver.audit_events(mark) if event["requestURI"] == "/api/v1/nodes"]
    assert users == [{"username": "ada", "groups": ["system:masters", "system:authenticated"]}]


def test_the_kubeconfig_holds_everything_inside(apiserver: ApiServer) -> None:
    with_token = yaml.safe_load(apiserver.kubeconfig("secret"))
    certificate = apiserver.client_cert("ada")
    with_certificate = yaml.safe_load(apiserver.kubeconfig(certificate=certificate))
    assert with_token["clusters"][0]["cluster"].keys() == {"server", "certificate-authority-data"}
    assert with_token["users"] == [{"name": "test", "user": {"token": "secret"}}]
    assert with_certificate["users"][0]["user"].keys() == {"client-certificate-data", "client-key-data"}


def test_the_audit_log_tells_what_was_sent_but_no_secret(clean_apiserver: ApiServer) -> None:
    mark = clean_apiserver.audit_mark()
    clean_apiserver.admin.create(NODE)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "hidden"}}
    clean_apiserver.admin.create(secret)
    events = [event for event in clean_apiserver.audit_events(mark) if event["verb"] == "create"]
    told = [(event["objectRef"]["resource"], event["user"]["username"], "requestObject" in event) for event in events]
    assert told == [("nodes", "admin", True), ("secrets", "admin", False)]
    assert "hidden" not in str(events)


def test_a_wipe_takes_everything_back(clean_apiserver: ApiServer) -> None:
    admin, before = clean_apiserver.admin, clean_apiserver.etcd.revisions()
    clean_apiserver.load_crds("beta")
    admin.create(pool("held", finalizers=["karpenter.sh/termination"]))
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "extra"}})
    admin.patch("/api/v1/namespaces/default", {"metadata": {"labels": {"changed": "yes"}}})
    user = clean_apiserver.client(clean_apiserver.make_user("reader", LIST_NODES))
    clean_apiserver.wipe()
    left = [key for key in clean_apiserver.etcd.revisions() if key not in before]
    assert [key for key in left if "apiservices" not in key and "masterleases" not in key] == []
    assert admin.request("GET", POOLS).status == 404
    assert "changed" not in admin.get("/api/v1/namespaces/default")["metadata"].get("labels", {})
    eventually(lambda: user.request("GET", "/api/v1/nodes").status == 403, what="the right to be gone")


def identity_of(server: ApiServer) -> object:
    """The uid of the definition of NodePools; the next time it is made it has another one."""
    return server.admin.get(f"{DEFINITIONS}/nodepools.karpenter.sh")["metadata"]["uid"]


def test_definitions_that_the_next_test_loads_too_stay_and_nothing_else_does(clean_apiserver: ApiServer) -> None:
    clean_apiserver.load_crds("beta")
    first = identity_of(clean_apiserver)
    clean_apiserver.admin.create(pool("held", finalizers=["karpenter.sh/termination"]))
    clean_apiserver.wipe(leave_crds=True)
    clean_apiserver.load_crds("beta")
    assert identity_of(clean_apiserver) == first
    assert names(clean_apiserver.admin, POOLS) == []
    clean_apiserver.wipe(leave_crds=True)
    assert clean_apiserver.admin.request("GET", POOLS).status == 404


@pytest.mark.parametrize("conversion_webhook", [False, True])
def test_other_definitions_and_changed_ones_are_made_anew(clean_apiserver: ApiServer, conversion_webhook: bool) -> None:
    clean_apiserver.load_crds("v1_with_beta")
    first = identity_of(clean_apiserver)
    if not conversion_webhook:
        clean_apiserver.store_versions("nodepools.karpenter.sh", ["v1beta1", "v1"])
    clean_apiserver.wipe(leave_crds=True)
    made, *_ = clean_apiserver.load_crds("v1_with_beta", conversion_webhook=conversion_webhook)
    assert made["metadata"]["uid"] != first
    assert made["status"]["storedVersions"] == ["v1"]


@pytest.mark.parametrize("tag", upstream.crd_tags())
def test_the_real_crds_load_and_serve(clean_apiserver: ApiServer, tag: str) -> None:
    documents = upstream.crds(tag)
    loaded = clean_apiserver.load_documents(documents)
    served = [crds.groups_and_plurals([crd]) for crd in loaded]
    assert served == [crds.groups_and_plurals([document]) for document in documents]
    clean_apiserver.admin.apply(crds.without_rules(documents[0]))


def test_two_servers_of_their_own_do_not_meet(clean_apiserver: ApiServer) -> None:
    clean_apiserver.admin.create(NODE)
    other = ApiServer(audit=False)
    try:
        assert names(other.admin, "/api/v1/nodes") == []
    finally:
        other.stop()
    assert not other.folder.exists()


def test_redis_answers_with_its_password_only(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as connection:
        assert connection.set("key", "value")
        assert connection.get("key") == b"value"
    stranger = redis.Redis.from_url("redis://" + redis_url.rpartition("@")[2])
    with stranger, pytest.raises(redis.AuthenticationError):
        stranger.get("key")


def test_postgres_holds_an_empty_database(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert tables == (0,)


def test_chromium_shows_a_page_and_reaches_no_other_machine(opened: Browser) -> None:
    page = opened.new_page()
    page.set_content("<title>Karpenter</title><h1>ready</h1>")
    assert (page.title(), page.inner_text("h1")) == ("Karpenter", "ready")
    with pytest.raises(Exception, match="ERR_NAME_NOT_RESOLVED"):
        page.goto("http://example.invalid/")
    page.close()


NAMED = "import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).bind('\\0' + sys.argv[1])"


def test_a_port_is_given_out_once_and_is_none_of_those_for_connections() -> None:
    ports = [processes.free_port() for _ in range(50)]
    assert len(set(ports)) == 50
    assert max(ports) < int(processes.RANGE.read_text().split()[0])
    held = [sys.executable, "-c", NAMED, f"{processes.FOLDER_PREFIX}port-{ports[0]}"]
    assert "in use" in subprocess.run(held, capture_output=True, text=True, check=False).stderr


CHILD_OF_A_KILLED_RUN = """
import sys, time
from pathlib import Path
from tests.servers.processes import Child
child = Child(["sleep", "600"], log=Path(sys.argv[1]))
print(child.process.pid, flush=True)
time.sleep(600)
"""


def test_servers_die_with_a_killed_test_run(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD_OF_A_KILLED_RUN, str(tmp_path / "log")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        server = int(run.stdout.readline())
        run.send_signal(signal.SIGKILL)
    eventually(lambda: not _is_running(server), what="the server to end")


def _is_running(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


def test_a_server_that_ends_at_once_shows_its_log(tmp_path: Path) -> None:
    child = processes.Child(["sh", "-c", "echo no such luck; exit 3"], log=tmp_path / "log")
    with pytest.raises(RuntimeError, match="no such luck"):
        child.wait_until(lambda: False, what="it")


def test_folders_of_dead_runs_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead, ours = tmp_path / "karpdash-test-999999999-etcd-x", processes.folder("first")
    dead.mkdir()
    second = processes.folder("second")
    assert sorted(tmp_path.iterdir()) == sorted([ours, second])


@pytest.mark.parametrize(("required", "outcome"), [("1", pytest.fail.Exception), ("0", pytest.skip.Exception)])
def test_a_missing_server_skips_or_fails(
    monkeypatch: pytest.MonkeyPatch, required: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("KARPDASH_REQUIRE_SERVICES", required)
    with pytest.raises(outcome, match="no-such-server not found"):
        processes.program("no-such-server")


@pytest.mark.parametrize("address", ["198.51.100.7", "2001:db8::7"])
def test_tests_reach_no_other_machine(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as sender, pytest.raises(pytest.fail.Exception, match="loopback only"):
        sender.connect((address, 9))


def test_tests_resolve_no_names() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"example\.invalid"):
        socket.getaddrinfo("example.invalid", 443)
    assert socket.getaddrinfo("localhost", 443)
    assert socket.getaddrinfo("10.1.2.3", 443)


def test_the_second_run_finds_the_folders_with_tests() -> None:
    wanted = [f"tests/{name}" for name in on_postgres.FOLDERS if list((ROOT / "tests" / name).rglob("test_*.py"))]
    assert on_postgres.folders() == wanted


def test_the_second_run_leaves_out_what_uses_no_database(request: pytest.FixtureRequest) -> None:
    assert not on_postgres.uses_database(request.node)


@pytest.mark.django_db
def test_the_second_run_keeps_what_is_marked(request: pytest.FixtureRequest) -> None:
    assert on_postgres.uses_database(request.node)


@pytest.mark.usefixtures("db")
def test_the_second_run_keeps_what_uses_the_database(request: pytest.FixtureRequest) -> None:
    assert on_postgres.uses_database(request.node)


@pytest.mark.own_processes
def test_the_second_run_keeps_what_starts_processes_on_the_database(request: pytest.FixtureRequest) -> None:
    assert on_postgres.uses_database(request.node)


def test_proxies_do_not_reach_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "https_proxy", "No_Proxy"):
        monkeypatch.setenv(name, "elsewhere")
    assert processes.environment() == {
        name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")
    }
