"""Manifests and values of a repository against a release."""

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Karpdash

POOLS = """apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: old}
---
# of today
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata:
  name: general
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
"""
VALUES = """replicas: 2
karpenter:
  settings:
    aws:
      clusterName: payments
    clusterName: payments
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.chdir(tmp_path)
    Path("pools.yaml").write_text(POOLS)
    Path("values.yaml").write_text(VALUES)
    return "pools.yaml", "values.yaml"


ALPHA = "pools.yaml:1: other-generation: Provisioner old is karpenter.sh/v1alpha5, which Karpenter {} does not accept"
BETA = "pools.yaml:6: other-generation: NodePool general is karpenter.sh/v1beta1, which Karpenter {} does not accept"
CONVERT = ": karpdash convert makes its successor"
LATER = "values.yaml:6: unread-value: settings.clusterName is not read by the chart of Karpenter {}"
AWS = "values.yaml:5: unread-value: settings.aws.clusterName is not read by the chart of Karpenter {} (read up to 0.32)"


@pytest.mark.parametrize(
    ("release", "wanted"),
    [
        ("0.31.1", [
            f"{BETA.format('0.31.1')} yet",
            f"{LATER.format('0.31.1')} (read from 0.32 on); use settings.aws.clusterName",
        ]),
        ("0.37.3", [ALPHA.format("0.37.3") + CONVERT, f"{AWS.format('0.37.3')}; use settings.clusterName"]),
        ("1.0.2", [ALPHA.format("1.0.2") + CONVERT, f"{AWS.format('1.0.2')}; use settings.clusterName"]),
        ("1.4.0", [
            ALPHA.format("1.4.0") + CONVERT, BETA.format("1.4.0") + CONVERT,
            f"{AWS.format('1.4.0')}; use settings.clusterName",
        ]),
    ],
)  # fmt: skip
def test_each_line_that_the_release_does_not_accept(
    karpdash: Karpdash, repository: tuple[str, str], release: str, wanted: list[str]
) -> None:
    said = karpdash("lint", "--to", release, *repository)
    assert (said.code, said.out.splitlines(), said.err) == (1, wanted, "")


def test_what_is_accepted_is_silent(karpdash: Karpdash, repository: tuple[str, str]) -> None:
    Path("pools.yaml").write_text(POOLS.partition("---")[2])
    said = karpdash("lint", "--to", "1.0", "pools.yaml")
    assert (said.code, said.out, said.err) == (0, "", "")


def test_a_file_that_cannot_be_read_as_yaml_is_a_finding(karpdash: Karpdash, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: [1\n")
    said = karpdash("lint", "--to", "1.0", tmp_path / "x.yaml")
    assert (said.code, ": not-yaml: " in said.out) == (1, True)


@pytest.mark.parametrize("words", [("--to", "9.9", "pools.yaml"), ("--to", "1.0", "absent.yaml"), ("pools.yaml",)])
def test_wrong_usage(karpdash: Karpdash, repository: tuple[str, str], words: tuple[str, ...]) -> None:
    said = karpdash("lint", *words)
    assert (said.code, said.out) == (2, "")


OTHER_CHART = """controller:
  logLevel: 2
podSecurityContext: {fsGroup: 1000}
webhook: {enabled: true}
sidecars:
  registrar: {image: registrar}
"""
WEBHOOK = "unread-value: webhook.enabled is not read by the chart of Karpenter 1.4.0 (1.1 has no webhooks)"
CRDS_WEBHOOK = (
    "unread-value: webhook.enabled is not read by the chart of Karpenter 1.4.0"
    " (read where the CRDs hold two versions; gone at 1.1)"
)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("csi-driver/values.yaml", OTHER_CHART, []),
        ("shop/values-prod.yaml", "image: {tag: '7'}\nsettings: {theme: dark}\nwebhook: {enabled: true}\n", []),
        ("karpenter/values.yaml", "webhook: {enabled: true}\nextra: {a: b}\n", [f"karpenter/values.yaml:1: {WEBHOOK}"]),
        ("prod/values.yaml", "webhook: {enabled: true}\nreplicas: 1\n", [f"prod/values.yaml:1: {WEBHOOK}"]),
        (
            "prod/values.yaml",
            "extra: {a: b}\nwebhook: {enabled: true}\nsettings: {clusterName: shop}\n",
            [f"prod/values.yaml:2: {WEBHOOK}"],
        ),
        (
            "karpenter-crd/values.yaml",
            "webhook: {enabled: true}\n",
            [f"karpenter-crd/values.yaml:1: {CRDS_WEBHOOK}"],
        ),
    ],
)
def test_values_of_another_chart_are_not_those_of_karpenter(
    karpdash: Karpdash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str, said: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(file).parent.mkdir()
    Path(file).write_text(text)
    answer = karpdash("lint", "--to", "1.4.0", file)
    assert (answer.code, answer.out.splitlines()) == (int(bool(said)), said)


TEMPLATE = """{{- range .Values.pools }}
---
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata:
  name: {{ .name }}
{{- end }}
---
apiVersion: {{ $.Values.version }}
kind: NodePool
---
{{- if .Values.new }}
apiVersion: karpenter.sh/v1
{{- else }}
apiVersion: karpenter.sh/v1beta1
{{- end }}
kind: NodePool
---
apiVersion: "karpenter.k8s.aws/v1alpha1" # of the old nodes
kind: AWSNodeTemplate
metadata: {name: whole}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: {{ .Values.name }}}
"""
NO_NODE = "not-yaml: not YAML: did not find expected node content"
UNREAD = "not-yaml: a key is a map or a list; it looks like a template, render it first"


def test_what_a_template_states_in_plain_text_is_judged(
    karpdash: Karpdash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pools.yaml").write_text(TEMPLATE)
    lines = karpdash("lint", "--to", "1.4.0", "pools.yaml").out.splitlines()
    assert [line.partition(", which")[0] for line in lines if line.endswith(CONVERT)] == [
        "pools.yaml:3: other-generation: Provisioner of the template is karpenter.sh/v1alpha5",
        "pools.yaml:19: other-generation: AWSNodeTemplate whole is karpenter.k8s.aws/v1alpha1",
    ]
    assert next(line.partition(": ")[2] for line in lines if "not-yaml" in line) == UNREAD


def test_a_document_that_is_no_object_is_no_manifest(karpdash: Karpdash, tmp_path: Path) -> None:
    (tmp_path / "patch.yaml").write_text("- op: replace\n  path: /spec/weight\n  value: 7\n")
    (tmp_path / "list.yaml").write_text("apiVersion: v1\nkind: List\nitems: [7]\n")
    (tmp_path / "objects.yaml").write_text("- a\n- {apiVersion: karpenter.sh/v1alpha5, kind: Provisioner}\n")
    assert karpdash("lint", "--to", "1.4.0", tmp_path / "patch.yaml").code == 0
    assert karpdash("lint", "--to", "1.4.0", tmp_path / "list.yaml").code == 1
    refused = karpdash("lint", "--to", "1.4.0", tmp_path / "objects.yaml")
    assert refused.code == 1
    assert "objects.yaml:2: bad-type: the document is a list" in refused.out


def test_a_field_of_an_older_generation_in_v1_is_a_finding(
    karpdash: Karpdash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    template = "  template: {{spec: {{requirements: [], nodeClassRef: {{group: a, kind: b, name: c}}}}}}\n"
    head = (
        f"apiVersion: karpenter.sh/v1{{}}\nkind: NodePool\nmetadata: {{{{name: a}}}}\nspec:\n{template}  disruption:\n"
    )
    Path("new.yaml").write_text(f"{head.format('')}    consolidateAfter: 1m\n    expireAfter: 24h\n")
    old = f"{head.format('beta1')}    expireAfter: 24h\n"
    Path("old.yaml").write_text(old.replace("group: a, kind: b, ", ""))
    said = karpdash("lint", "--to", "1.0", "new.yaml", "old.yaml")
    what = 'v1 has no spec.disruption.expireAfter, which is "24h" here; write it as spec.template.spec.expireAfter'
    assert (said.code, said.out) == (1, f"new.yaml:8: older-field: {what}\n")


BUMPED = """apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      requirements: []
      nodeClassRef:
        name: default
"""
GROUP = "general.yaml:8: api-refuses: group is missing, and v1 requires it: karpenter.k8s.aws for an EC2NodeClass"
KIND = "general.yaml:8: api-refuses: kind is missing, and v1 requires it: such as EC2NodeClass"


@pytest.fixture
def bumped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A v1beta1 object of which only the apiVersion was changed, in a repository."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    Path("prod/pools").mkdir(parents=True)
    Path("prod/pools/general.yaml").write_text(BUMPED)
    return tmp_path


def test_a_v1_object_that_lacks_required_fields_is_a_finding(karpdash: Karpdash, bumped: Path) -> None:
    said = karpdash("lint", "--to", "1.0", "prod/pools/general.yaml")
    assert (said.code, said.out.splitlines()) == (1, [f"prod/pools/{GROUP}", f"prod/pools/{KIND}"])
    said = karpdash("lint", "--to", "1.0", bumped / "prod/pools/general.yaml")
    assert (said.code, len(said.out.splitlines())) == (1, 2)


@pytest.mark.parametrize(
    ("place", "text", "code"),
    [
        ("prod/pools/kustomization.yaml", "patches: [{path: general.yaml}]\n", 0),
        ("prod/kustomization.yml", "patchesStrategicMerge: [pools/general.yaml]\n", 0),
        ("prod/Kustomization", "resources: [../base]\npatches:\n- path: ./pools/general.yaml\n", 0),
        ("elsewhere/kustomization.yaml", "patches: [{path: ../prod/pools/general.yaml}]\n", 0),
        ("prod/kustomization.yaml", "patches: [{\n", 1),
        ("prod/kustomization.yaml", 'patches: [{path: "a\\0b"}, {path: loop}]\n', 1),
        ("prod/kustomization.yaml", "resources: [pools/general.yaml]\npatches: [{path: other.yaml}, 7]\n", 1),
        ("prod/kustomization.yaml", "patches: 7\n", 1),
        ("prod/pools/nodes.yaml", "patches: [{path: general.yaml}]\n", 1),
    ],
)
def test_a_patch_of_kustomize_may_lack_them(karpdash: Karpdash, bumped: Path, place: str, text: str, code: int) -> None:
    (bumped / place).parent.mkdir(exist_ok=True)
    (bumped / place).write_text(text)
    (bumped / "prod/loop").symlink_to("loop")
    assert karpdash("lint", "--to", "1.0", "prod/pools/general.yaml").code == code


def test_outside_of_a_repository_the_folders_above_count(karpdash: Karpdash, bumped: Path) -> None:
    (bumped / ".git").rmdir()
    (bumped / "kustomization.yaml").write_text("patches: [{path: prod/pools/general.yaml}]\n")
    assert karpdash("lint", "--to", "1.0", "prod/pools/general.yaml").code == 0


def test_kustomizations_of_another_repository_do_not_count(karpdash: Karpdash, bumped: Path) -> None:
    (bumped / "kustomization.yaml").write_text("patches: [{path: prod/pools/general.yaml}]\n")
    (bumped / "prod/.git").mkdir()
    assert karpdash("lint", "--to", "1.0", "prod/pools/general.yaml").code == 1


FLUX = """apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nodes}
spec:
  chart: {spec: {chart: CHART, version: 1.0.8}}
  values:
    logLevel: info
    webhook:
      enabled: true
"""
ARGO = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: nodes}
spec:
  sources:
  - {repoURL: "https://github.com/acme/infra", ref: values}
  - repoURL: public.ecr.aws
    chart: CHART
    helm:
      valuesObject:
        webhook:
          enabled: true
"""


ARGO_TEXT = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: nodes}
spec:
  source:
    repoURL: public.ecr.aws
    CHART
    helm:
      values: |
        logLevel: info
        webhook:
          enabled: true
"""
ARGO_SET = ARGO_TEXT.partition("      values")[0] + (
    "      parameters: [{name: logLevel, value: info},\n        {name: webhook.enabled, value: 'true'}]\n"
)


@pytest.mark.parametrize(
    ("text", "chart", "said"),
    [
        (FLUX, "karpenter", f"9: {WEBHOOK}"),
        (FLUX, "karpenter-crd", f"9: {CRDS_WEBHOOK}"),
        (FLUX, "cert-manager", ""),
        (FLUX.replace("helm.toolkit.fluxcd.io/v2", "example.com/v1"), "karpenter", ""),
        (FLUX.replace("values:\n", "values: text\n  other:\n"), "karpenter", ""),
        (ARGO, "karpenter/karpenter", f"12: {WEBHOOK}"),
        (ARGO, "karpenter-crd", f"12: {CRDS_WEBHOOK}"),
        (ARGO, "cert-manager", ""),
        (ARGO.replace("sources", "source"), "karpenter", ""),
        (ARGO_TEXT, "chart: karpenter", f"12: {WEBHOOK}"),
        (ARGO_TEXT, "chart: karpenter-crd", f"12: {CRDS_WEBHOOK}"),
        (ARGO_TEXT.replace("public.ecr.aws", "oci://mirror.example/aws/karpenter"), "path: .", f"12: {WEBHOOK}"),
        (ARGO_TEXT.replace("public.ecr.aws", "https://mirror.example/karpenter"), "path: .", ""),
        (ARGO_TEXT.replace("values: |", "valuesObject: {logLevel: info}\n      values: |"), "chart: karpenter", ""),
        (ARGO_TEXT.replace("enabled: true", "enabled: ["), "chart: karpenter", f"13: {NO_NODE}"),
        (ARGO_SET, "chart: karpenter", f"10: {WEBHOOK}"),
        (ARGO_SET.replace("webhook.enabled", "'webhook[0].enabled'"), "chart: karpenter", ""),
        (ARGO.partition("spec:")[0], "karpenter", ""),
    ],
)
def test_values_that_flux_and_argo_cd_give_to_a_chart(
    karpdash: Karpdash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, chart: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("delivery.yaml").write_text(text.replace("CHART", chart))
    answer = karpdash("lint", "--to", "1.4.0", "delivery.yaml")
    assert (answer.code, answer.out) == (int(bool(said)), f"delivery.yaml:{said}\n" if said else "")


def test_a_repository_is_searched_once_for_all_files(
    karpdash: Karpdash, bumped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bumped / "kustomization.yaml").write_text("patches: [{path: prod/pools/general.yaml}, {path: stage/a.yaml}]\n")
    (bumped / "stage").mkdir()
    (bumped / "stage/a.yaml").write_text(BUMPED)
    searched: list[object] = []
    walk = os.walk
    monkeypatch.setattr(os, "walk", lambda root: (searched.append(root), walk(root))[1])
    assert karpdash("lint", "--to", "1.0", "prod/pools/general.yaml", "stage/a.yaml").code == 0
    assert searched == [bumped]
