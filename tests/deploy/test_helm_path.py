"""The Helm lines of whole runbooks, alpha to newest, run as they stand by a real helm on a real API server.

The charts are of our own making (karpenter_charts.py), and no controller makes pods here, so --wait is left out. What
is looked at after each hop is what pods would get: image, variables, account, place; and the values that Helm then has
are those that the runbook tells side by side.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from migrations_app.conversion.chart_values.trees import leaves
from migrations_app.readiness.runbook.runbook import Runbook, RunbookHop, runbook
from tests.acceptance.clusters import find, objects
from tests.acceptance.judging import judged
from tests.deploy.helm import Helm
from tests.deploy.karpenter_charts import image_of, order_of, tag_of, write_charts
from tests.servers.apiserver import ApiServer
from tests.servers.processes import environment

pytestmark = pytest.mark.apiserver
Document = dict[str, Any]
HELM = """\
#!/bin/bash
# Takes charts out of a folder in place of the registry; --wait is left out.
words=() chart= version=
while (($#)); do
  case $1 in
    --wait) ;;
    --version) version=$2; shift ;;
    oci://public.ecr.aws/karpenter/*) chart=${{1##*/}}; words+=(CHART) ;;
    *) words+=("$1") ;;
  esac
  shift
done
exec {program} "${{words[@]/#CHART/{charts}/$version/$chart}}"
"""
ALPHA_VALUES: Document = {
    "settings": {
        "aws": {
            "clusterName": "alpha-031",
            "interruptionQueueName": "shop, $(reboot) 'x'",
            "defaultInstanceProfile": "nodes",
            "assumeRoleARN": "arn:aws:iam::444455556666:role/other",
            "vmMemoryOverheadPercent": 0.05,
        },
        "featureGates": {"driftEnabled": True},
    },
    "logLevel": "debug",
    "controller": {"env": [{"name": "AWS_REGION", "value": "eu-central-1"}, {"name": "MINE", "value": "secret-1"}]},
    "serviceAccount": {"name": "scaler", "annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/r"}},
    "priorityClassName": "our-own",
    "nodeSelector": {"team.example/pool": "system"},
    "replicas": 3,
}


class Site(NamedTuple):
    """A cluster with Karpenter installed by helm, and the shell that its runbook is typed into."""

    server: ApiServer
    helm: Helm
    folder: Path
    release: str

    def typed(self, lines: str) -> subprocess.CompletedProcess[str]:
        work = self.folder / "typed"
        work.mkdir(exist_ok=True)
        homes = {f"HELM_{name}_HOME": str(self.folder / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}
        told = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "KUBECONFIG": str(self.folder / "access")}
        shell = ["bash", "-e", "-c", lines]
        env = {**environment(), **homes, **told, "HOME": str(self.folder)}
        return subprocess.run(shell, cwd=work, env=env, capture_output=True, text=True, check=False)

    def deployment(self) -> Document:
        path = "/apis/apps/v1/namespaces/karpenter/deployments"
        (found,) = self.server.admin.get(path)["items"]
        return {"apiVersion": "apps/v1", "kind": "Deployment", **found}

    def pod(self) -> Document:
        spec: Document = self.deployment()["spec"]["template"]["spec"]
        return spec

    def variables(self) -> dict[str, str]:
        return {one["name"]: one["value"] for one in self.pod()["containers"][0]["env"]}

    def values(self, release: str) -> Document:
        told = self.typed(f"helm get values {release} --namespace karpenter -o json")
        assert told.returncode == 0, told.stderr
        values: Document = json.loads(told.stdout) or {}
        return values

    def plan(self, name: str) -> Runbook:
        """The runbook of that clean cluster, with the Deployment and the records that helm has made here."""
        clean = find(name)
        kept = [one for one in objects(clean) if not _is_replaced(one)]
        records = self.server.admin.get("/api/v1/namespaces/karpenter/secrets")["items"]
        made = [{"apiVersion": "v1", "kind": "Secret", **one} for one in records]
        settings = self.server.admin.get("/api/v1/namespaces/karpenter/configmaps/karpenter-global-settings")
        (service,) = self.server.admin.get("/api/v1/namespaces/karpenter/services")["items"]
        called = {"apiVersion": "v1", "kind": "Service", **service}
        return runbook(judged(clean, [*kept, self.deployment(), called, settings, *made]))


def _is_replaced(document: Document) -> bool:
    """Whether helm makes it here; and the admission webhooks, which call the Service by the name it has there."""
    kind, name = document["kind"], document["metadata"]["name"]
    own = ("karpenter", "karpenter-global-settings")
    made = kind in ("ConfigMap", "Deployment", "Endpoints", "Service") and name in own
    return made or name.startswith("sh.helm.release.") or kind.endswith("WebhookConfiguration")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    return tmp_path


def installed(server: ApiServer, folder: Path, *, values: Document, release: str = "karpenter") -> Site:
    """Karpenter 0.31.5 and its CRDs, each by its chart, in the namespace karpenter."""
    helm = Helm(folder)
    access = folder / "access"
    access.write_text(server.kubeconfig(server.admin_token))
    access.chmod(0o600)
    (folder / "bin" / "helm").write_text(HELM.format(program=helm.program, charts=folder / "charts"))
    (folder / "bin" / "helm").chmod(0o755)
    site = Site(server, helm, folder, release)
    write_charts(folder / "charts", "0.31.5")
    (folder / "given.json").write_text(json.dumps(values))
    (folder / "none.json").write_text("{}")
    for name, chart, file in (("karpenter-crd", "karpenter-crd", "none"), (release, "karpenter", "given")):
        words = f"helm install {name} oci://public.ecr.aws/karpenter/{chart} --version v0.31.5 --namespace karpenter"
        done = site.typed(f"{words} --create-namespace -f {folder}/{file}.json")
        assert done.returncode == 0, done.stderr
    return site


def lines_of(hop: RunbookHop) -> list[str]:
    """What the stages of the hop say for Helm, in order."""
    return [one.text for stage in hop.stages for one in stage.commands if one.how == "helm"]


def take(site: Site, hop: RunbookHop) -> None:
    target_release = hop.path_hop.release
    if not (site.folder / "charts" / tag_of(target_release)).exists():
        write_charts(site.folder / "charts", target_release)
    lines = lines_of(hop)
    assert len(lines) >= 2
    for text in lines:
        done = site.typed(text)
        assert (done.returncode, done.stderr) == (0, ""), f"{text}\n{done.stderr}"


def shown(values: Document) -> dict[str, object]:
    """The values that count, without what karpdash never shows."""
    return {key: value for key, value in leaves(values).items() if key != "controller.env[MINE]"}


def told(hop: RunbookHop, release: str) -> dict[str, object]:
    (chart,) = (one for one in hop.charts if one.release == release)
    rows = [row for row in chart.rows if row.new and row.kind != "default_changed"]
    found = {row.new_key or row.key: json.loads(row.new) for row in rows}
    return {key: value for key, value in found.items() if key != "controller.env[MINE]"}


def test_alpha_to_newest_by_the_lines_of_the_runbook(clean_apiserver: ApiServer, folder: Path) -> None:
    site = installed(clean_apiserver, folder, values=ALPHA_VALUES)
    plan = site.plan("alpha-031")
    assert [hop.path_hop.release for hop in plan.hops][:4] == ["0.32.10", "0.37.8", "1.0.14", "1.1.10"]
    for hop in plan.hops:
        take(site, hop)
        target_release = hop.path_hop.release
        pod, variables = site.pod(), site.variables()
        assert pod["containers"][0]["image"] == image_of(target_release)
        assert {name: variables.get(name) for name in ("CLUSTER_NAME", "INTERRUPTION_QUEUE", "MINE")} == {
            "CLUSTER_NAME": "alpha-031",
            "INTERRUPTION_QUEUE": "shop, $(reboot) 'x'",
            "MINE": "secret-1",
        }
        assert (variables["AWS_REGION"], variables["LOG_LEVEL"]) == ("eu-central-1", "debug")
        assert variables["VM_MEMORY_OVERHEAD_PERCENT"] == "0.05"
        role = "arn:aws:iam::444455556666:role/other" if order_of(target_release) < (1, 0) else None
        assert variables.get("ASSUME_ROLE_ARN") == role
        assert ("Drift=true" in variables["FEATURE_GATES"]) == (order_of(target_release) < (1, 0))
        assert (pod["serviceAccountName"], pod["priorityClassName"]) == ("scaler", "our-own")
        assert pod["nodeSelector"]["team.example/pool"] == "system"
        assert site.deployment()["spec"]["replicas"] == 3
        assert shown(site.values("karpenter")) == told(hop, "karpenter")
        crd = site.server.admin.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.karpenter.sh")
        assert crd["metadata"]["labels"]["of"] == tag_of(target_release).removeprefix("v")


def test_the_rollback_of_the_runbook_brings_back_chart_and_values(clean_apiserver: ApiServer, folder: Path) -> None:
    """As on call: the lines are typed as they are printed, with the revision that the first one shows."""
    site = installed(clean_apiserver, folder, values=ALPHA_VALUES)
    first, second = site.plan("alpha-031").hops[:2]
    take(site, first)
    values, pod = site.values("karpenter"), site.pod()
    take(site, second)
    assert site.pod()["containers"][0]["image"] == image_of(second.path_hop.release)
    (lines,) = [stage.back_commands for stage in second.stages if stage.back_commands]
    before = tag_of(first.path_hop.release).removeprefix("v")
    for show, back in zip(lines[::2], lines[1::2], strict=True):
        history = site.typed(show)
        assert history.returncode == 0, history.stderr
        rows = [line.split() for line in history.stdout.splitlines()]
        revision = next(row[0] for row in rows if before in " ".join(row))
        done = site.typed(back.replace("REVISION", revision))
        assert (done.returncode, done.stderr) == (0, "")
    assert (site.values("karpenter"), site.pod()) == (values, pod)
    crd = site.server.admin.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.karpenter.sh")
    assert crd["metadata"]["labels"]["of"] == before


def test_an_image_named_in_the_values_becomes_that_of_each_hop(clean_apiserver: ApiServer, folder: Path) -> None:
    image = {"repository": "mirror.example.com/karpenter", "tag": "v0.31.5", "digest": "sha256:" + "5" * 64}
    values = {**ALPHA_VALUES, "controller": {"image": image}}
    site = installed(clean_apiserver, folder, values=values)
    for hop in site.plan("alpha-031").hops[:3]:
        take(site, hop)
        assert site.pod()["containers"][0]["image"] == f"mirror.example.com/karpenter:{tag_of(hop.path_hop.release)}"
        assert shown(site.values("karpenter")) == {
            key: value for key, value in told(hop, "karpenter").items() if value != ""
        }


@pytest.mark.parametrize(
    ("release", "override", "name"),
    [
        ("scaler", {}, "scaler-karpenter"),
        ("karpenter", {"fullnameOverride": "nodes"}, "nodes"),
        ("karpenter", {"nameOverride": "nodes"}, "karpenter-nodes"),
    ],
)
def test_a_renamed_release_keeps_its_name_and_is_called_by_the_crds(
    clean_apiserver: ApiServer, folder: Path, release: str, override: Document, name: str
) -> None:
    site = installed(clean_apiserver, folder, values={**ALPHA_VALUES, **override}, release=release)
    hops = site.plan("alpha-031").hops
    for hop in hops[:3]:
        take(site, hop)
        assert site.deployment()["metadata"]["name"] == name
        assert site.pod()["containers"][0]["image"] == image_of(hop.path_hop.release)
    crd = site.server.admin.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.karpenter.sh")
    service = crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"]
    assert (service["name"], service["namespace"]) == (name, "karpenter")


def test_a_release_that_is_gone_since_the_scan_stops_the_lines_and_changes_nothing(
    clean_apiserver: ApiServer, folder: Path
) -> None:
    site = installed(clean_apiserver, folder, values=ALPHA_VALUES)
    hop = site.plan("alpha-031").hops[0]
    write_charts(folder / "charts", hop.path_hop.release)
    assert site.typed("helm uninstall karpenter --namespace karpenter").returncode == 0
    done = site.typed(lines_of(hop)[-1])
    assert (done.returncode, "release: not found" in done.stderr) == (1, True)
    assert site.server.admin.get("/apis/apps/v1/namespaces/karpenter/deployments")["items"] == []
