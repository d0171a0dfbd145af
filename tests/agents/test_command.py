"""`karpdash agent` as somebody types it: wrong input, and the manifest that installs it on a real API server."""

from pathlib import Path

import pytest
import yaml

from migrations_app.cli import main
from tests.deploy.roles import roles, scan_of_agent
from tests.servers.apiserver import ApiServer
from tests.servers.waiting import eventually

URL = "https://karpdash.example.com"
ACCOUNT = "system:serviceaccount:karpdash:karpdash-agent"


def manifest(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict]:
    assert (
        main(["agent", "--server", URL, "--image", "registry.example.com/karpdash:1", "--print-manifest", *words]) == 0
    )
    return list(yaml.safe_load_all(capsys.readouterr().out))


def rules_of(documents: list[dict]) -> dict[str, list[dict]]:
    return {one["metadata"]["name"]: one["rules"] for one in documents if one["kind"] in ("Role", "ClusterRole")}


def test_the_manifest_grants_the_published_roles(capsys: pytest.CaptureFixture[str]) -> None:  # T18
    scan, releases = scan_of_agent()
    (act,) = (one["rules"] for one in roles("act.yaml"))
    reading = {"karpdash-agent-scan": scan, "karpdash-agent-releases": releases}
    assert rules_of(manifest(capsys)) == reading
    assert rules_of(manifest(capsys, "--act")) == reading | {"karpdash-agent-act": act}


def test_the_pod_holds_nothing_but_its_token(capsys: pytest.CaptureFixture[str]) -> None:
    (deployment,) = (one for one in manifest(capsys) if one["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["command"] == [
        "karpdash", "agent", "--server", URL, "--token-file", "/var/run/karpdash/token",
        "--alive-file", "/dev/shm/karpdash-alive",
    ]  # fmt: skip
    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]) == (1, {"type": "Recreate"})
    assert pod["volumes"] == [
        {"name": "token", "secret": {"secretName": "karpdash-agent-token", "defaultMode": 0o440}},
        {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
    ]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True


def allowed(server: ApiServer, verb: str, group: str, resource: str) -> bool:
    spec = {"user": ACCOUNT, "resourceAttributes": {"verb": verb, "group": group, "resource": resource}}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(server.admin.request("POST", path, body=body).good()["status"].get("allowed"))


@pytest.mark.parametrize("words", [(), ("--act",)])
def test_a_real_server_takes_the_manifest(
    clean_apiserver: ApiServer, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    clean_apiserver.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karpdash"}})
    for document in manifest(capsys, *words):
        clean_apiserver.admin.create(document)
    eventually(lambda: allowed(clean_apiserver, "list", "", "nodes"), what="the role to hold")
    assert not allowed(clean_apiserver, "list", "", "secrets")
    if words:
        eventually(lambda: allowed(clean_apiserver, "delete", "", "nodes"), what="the acting role to hold")
    else:
        assert not allowed(clean_apiserver, "delete", "", "nodes")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("--server", "http://karpdash.example.com", "--print-manifest"),
            "plain http would send the token unencrypted",
        ),
        (("--server", "https://x.example.com/a b", "--print-manifest"), "is not a plain URL"),
        (("--server", URL, "--print-manifest", "--image", "a\nb"), "--image: is no name"),
        (("--server", URL, "--print-manifest", "--ca-config-map", "a: b"), "--ca-config-map: is no name"),
        (("--server", URL, "--print-manifest", "--proxy", "http://u:p@proxy.example:3128"), "--proxy: is not the URL"),
        (("--server", URL), "--token-file: is needed"),
        (("--server", URL, "--token-file", "absent"), "absent: cannot be read"),
    ],
)
def test_wrong_usage_is_told(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["agent", *words]) == 2
    assert told in capsys.readouterr().err
