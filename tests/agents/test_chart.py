"""The agent's chart, by a real helm: the same as the manifest, locked down, and refused where a value is wrong."""

from typing import Any

import pytest
import yaml

from migrations_app.cli import main
from tests.deploy.helm import AGENT_CHART, Helm, Refused
from tests.deploy.roles import roles, scan_of_agent
from tests.deploy.test_chart import missing_from
from tests.servers.apiserver import ApiServer

URL = "https://karpdash.example.com:8443"
NEEDED: dict[str, Any] = {"server": URL, "image": {"repository": "registry.example.com/karpdash", "tag": "1"}}
OWN_WAY = {"proxy": {"url": "http://proxy.example.com:3128"}, "ca": {"configMap": "company"}}
EVERYTHING = {
    "act": True,
    "releaseNamespaces": ["kube-system", "karpenter"],
    "ca": {"configMap": "company", "key": "root.pem"},
    "proxy": {"secret": "proxy", "port": 3128, "none": "10.0.0.0/8"},
    "serviceAccount": {"annotations": {"a/b": "c"}},
    "podAnnotations": {"mesh.example.org/inject": "false"},
    "podLabels": {"team": "platform", "app.kubernetes.io/name": "other"},
    "priorityClassName": "low",
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "tools", "operator": "Exists"}],
}


def rendered(helm: Helm, changed: dict[str, Any]) -> list[dict[str, Any]]:
    words = ("template", "karpdash-agent", str(AGENT_CHART), "--namespace", "karpdash")
    return [one for one in yaml.safe_load_all(helm.run(*words, values=NEEDED | changed)) if one]


def only(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (found,) = (one for one in objects if one["kind"] == kind)
    return found


def pod_of(objects: list[dict[str, Any]]) -> dict[str, Any]:
    pod: dict[str, Any] = only(objects, "Deployment")["spec"]["template"]["spec"]
    return pod


def rules_of(objects: list[dict[str, Any]]) -> list[Any]:
    return sorted((one["rules"] for one in objects if one["kind"] in ("Role", "ClusterRole")), key=str)


def unordered(pod: dict[str, Any]) -> dict[str, Any]:
    (container,) = pod["containers"]
    told = {key: value for key, value in container.items() if key != "imagePullPolicy"}
    return pod | {"containers": [told | {"command": sorted(container["command"])}]}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, ()),
        ({"act": True}, ("--act",)),
        (OWN_WAY, ("--proxy", "http://proxy.example.com:3128", "--ca-config-map", "company")),
    ],
    ids=["least", "acting", "proxy"],
)
def test_chart_and_manifest_install_the_same(
    helm: Helm, capsys: pytest.CaptureFixture[str], values: dict[str, Any], words: tuple[str, ...]
) -> None:
    asked = ("--server", URL, "--image", "registry.example.com/karpdash:1", "--print-manifest")
    assert main(["agent", *asked, *words]) == 0
    printed = list(yaml.safe_load_all(capsys.readouterr().out))
    made = rendered(helm, values)
    assert unordered(pod_of(made)) == unordered(pod_of(printed))
    assert rules_of(made) == rules_of(printed)
    spec = only(made, "NetworkPolicy")["spec"]
    assert {key: spec[key] for key in ("policyTypes", "egress")} == {
        key: only(printed, "NetworkPolicy")["spec"][key] for key in ("policyTypes", "egress")
    }
    assert [one["port"] for one in spec["egress"][0]["ports"]] == [
        53, 53, 443, 6443, 8443, *([3128] if "--proxy" in words else []),
    ]  # fmt: skip


def test_the_acting_role_is_bound_only_with_it(helm: Helm) -> None:  # A26, T18
    scan, releases = scan_of_agent()
    (act,) = (one["rules"] for one in roles("act.yaml"))
    assert rules_of(rendered(helm, {})) == sorted([scan, releases], key=str)
    acting = rendered(helm, EVERYTHING)
    assert rules_of(acting) == sorted([scan, act, releases, releases], key=str)
    assert {one["subjects"][0]["name"] for one in acting if one["kind"].endswith("Binding")} == {"karpdash-agent"}
    assert sorted(one["metadata"]["namespace"] for one in acting if one["kind"] == "Role") == [
        "karpenter", "kube-system",
    ]  # fmt: skip


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["least", "all"])
def test_the_pod_is_locked_down_and_holds_no_secret(helm: Helm, values: dict[str, Any]) -> None:  # T22, T30
    objects = rendered(helm, values)
    assert [one["kind"] for one in objects if one["kind"] in ("Secret", "ConfigMap", "Service")] == []
    pod = pod_of(objects)
    (one,) = pod["containers"]
    assert (pod["securityContext"]["runAsNonRoot"], pod["enableServiceLinks"]) == (True, False)
    assert one["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert set(one["resources"]) == {"requests", "limits"}
    assert {name for name in one if name.endswith("Probe")} == {"livenessProbe", "readinessProbe"}
    assert ("--act" in one["command"]) is bool(values)
    labels = only(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
    selected = only(objects, "Deployment")["spec"]["selector"]["matchLabels"]
    assert selected.items() <= labels.items()
    assert only(objects, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"] == selected


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"server": ""}, "server: the URL of your karpdash server"),
        ({"image": {"repository": ""}}, "image.repository"),
        ({"proxy": {"url": "http://proxy.example.com", "secret": "proxy"}}, "proxy.url is given as well"),
        ({"server": "http://karpdash.example.com"}, "specifications"),
        ({"server": "https://karpdash.example.com/?a=b"}, "specifications"),
        ({"proxy": {"url": "http://me:word@proxy.example.com"}}, "specifications"),
        ({"token": "kd_1"}, "specifications"),
        ({"image": {"digest": "latest"}}, "specifications"),
        ({"replicas": 2}, "specifications"),
        ({"networkPolicy": {"ports": [0]}}, "specifications"),
    ],
    ids=str,
)
def test_wrong_values_are_refused(helm: Helm, wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        rendered(helm, wrong)


def test_the_linter_has_nothing_to_say(helm: Helm) -> None:
    told = helm.run("lint", str(AGENT_CHART), "--strict", values=NEEDED | EVERYTHING)
    assert "1 chart(s) linted, 0 chart(s) failed" in told


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["least", "all"])
def test_the_api_server_knows_every_field(helm: Helm, clean_apiserver: ApiServer, values: dict[str, Any]) -> None:
    for name in ("karpdash", "karpenter"):
        clean_apiserver.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for one in rendered(helm, values):
        place = {"namespace": "karpdash"} if not one["kind"].startswith("Cluster") else {}
        sent = {**one, "metadata": {**place, **one["metadata"]}}
        assert list(missing_from(clean_apiserver.admin.create(sent, dryRun="All"), sent)) == [], one["kind"]
