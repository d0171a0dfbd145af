"""The lines for Helm do what they say: run by a real helm against a real API server, on charts of our own making."""

import dataclasses
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from migrations_app.checks.changes import HelmValue
from migrations_app.checks.render import helm as renderer
from migrations_app.checks.render.helm import Upgrade, upgrade_lines
from tests.deploy.helm import Helm
from tests.servers.apiserver import ApiServer
from tests.servers.processes import environment

TEMPLATE = """apiVersion: apps/v1
kind: Deployment
metadata: {name: karpenter, namespace: {{ .Release.Namespace }}}
spec:
  selector: {matchLabels: {app: karpenter}}
  template:
    metadata: {labels: {app: karpenter}}
    spec:
      containers:
        - name: controller
          image: {{ .Values.controller.image.repository }}:{{ .Values.controller.image.tag }}
          env:
"""
VARIABLE = "            {{- with %s }}\n            - {name: %s, value: {{ . | quote }}}\n            {{- end }}\n"
OLD = (("CLUSTER_NAME", ".Values.settings.aws.clusterName"), ("ROLE", ".Values.settings.assumeRoleARN"))
NEW = (
    ("CLUSTER_NAME", ".Values.settings.clusterName"),
    ("ROLE", ".Values.settings.assumeRoleARN"),
    ("ADDED", ".Values.added"),
    ("QUEUE", ".Values.settings.queue"),
)
GIVEN = {"settings": {"aws": {"clusterName": "shop"}, "assumeRoleARN": "arn:role", "queue": "kept, $(reboot)"}}
CHANGES = (
    HelmValue("settings.aws.clusterName", why="settings.clusterName takes over"),
    HelmValue("settings.assumeRoleARN"),
    HelmValue("settings.clusterName", "\"shop $(reboot) 'x'\"", "takes over"),
)


def a_chart(folder: Path, version: str, *, variables: tuple[tuple[str, str], ...], values: dict[str, Any]) -> Path:
    """A chart named karpenter in that folder; its image tag is a default, as upstream's is."""
    chart = folder / "karpenter"
    (chart / "templates").mkdir(parents=True)
    about = {"apiVersion": "v2", "name": "karpenter", "version": version}
    (chart / "Chart.yaml").write_text(yaml.safe_dump(about))
    image = {"image": {"repository": "controller", "tag": version}}
    (chart / "values.yaml").write_text(yaml.safe_dump({"controller": image, **values}))
    text = TEMPLATE + "".join(VARIABLE % (value, name) for name, value in variables)
    (chart / "templates" / "deployment.yaml").write_text(text)
    return chart


def typed(lines: str, *, helm: Helm, work: Path) -> subprocess.CompletedProcess[str]:
    """What became of the lines in a shell that ends at the first error; kubeconfig and helm's folders lie in `work`."""
    folder = work / "work"
    folder.mkdir(exist_ok=True)
    homes = {f"HELM_{name}_HOME": str(work / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}
    path = f"{Path(helm.program).parent}:{os.environ['PATH']}"
    told = {**environment(), **homes, "PATH": path, "KUBECONFIG": str(work / "kubeconfig"), "HOME": str(work)}
    return subprocess.run(
        ["bash", "-e", "-c", lines], cwd=folder, env=told, capture_output=True, text=True, check=False
    )


def the_container(server: ApiServer) -> dict[str, Any]:
    """The only container of the Deployment that the charts make."""
    found = server.admin.get("/apis/apps/v1/namespaces/kube-system/deployments/karpenter")
    (container,) = found["spec"]["template"]["spec"]["containers"]
    return container


@pytest.mark.apiserver
def test_the_new_image_runs_what_was_removed_is_gone_and_the_rest_is_kept(
    clean_apiserver: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = a_chart(tmp_path / "old", "0.37.8", variables=OLD, values={"settings": {"aws": {}, "assumeRoleARN": ""}})
    a_chart(tmp_path / "new", "1.0.14", variables=NEW, values={"settings": {"assumeRoleARN": ""}, "added": "new"})
    helm = Helm(tmp_path)
    access = clean_apiserver.kubeconfig(clean_apiserver.admin_token)
    helm.run("install", "kp", str(old), "--namespace", "kube-system", values=GIVEN, kubeconfig=access)
    monkeypatch.setattr(renderer, "CHARTS", str(tmp_path / "new"))
    upgrade = Upgrade(
        release="kp", namespace="kube-system", chart="karpenter", version="1.0.14", changes=CHANGES, flags="--skip-crds"
    )
    done = typed(upgrade_lines(upgrade), helm=helm, work=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    container = the_container(clean_apiserver)
    assert container["image"] == "controller:1.0.14"
    assert {one["name"]: one["value"] for one in container["env"]} == {
        "CLUSTER_NAME": "shop $(reboot) 'x'",
        "ADDED": "new",
        "QUEUE": "kept, $(reboot)",
    }


@pytest.mark.apiserver
def test_a_release_that_may_not_be_there_is_installed_and_keeps_its_values_after(
    clean_apiserver: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_chart(tmp_path / "new", "1.0.14", variables=NEW, values={"settings": {"assumeRoleARN": ""}})
    helm = Helm(tmp_path)
    (tmp_path / "kubeconfig").write_text(clean_apiserver.kubeconfig(clean_apiserver.admin_token))
    monkeypatch.setattr(renderer, "CHARTS", str(tmp_path / "new"))
    upgrade = Upgrade(release="kp", namespace="kube-system", chart="karpenter", version="1.0.14", installs=True)
    for changes in ((HelmValue("settings.queue", '"kept"'),), ()):
        done = typed(upgrade_lines(dataclasses.replace(upgrade, changes=changes)), helm=helm, work=tmp_path)
        assert done.returncode == 0, done.stderr
        assert the_container(clean_apiserver)["env"] == [{"name": "QUEUE", "value": "kept"}]
