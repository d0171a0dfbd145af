"""Values that a delivery takes from a ConfigMap or from a file beside the chart."""

import pytest

from migrations_app.checks.changes import HelmChange
from migrations_app.errors import InvalidInput
from migrations_app.readiness.pull_requests.proposal import further_files, may_hold, propose
from migrations_app.readiness.pull_requests.value_sources import GitOrigin
from tests.readiness.pull_requests.test_helm_edits import SUBJECT, a_change, values

ORIGIN = GitOrigin("https://git.example/team/infra", "main")
FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter, namespace: flux-system}
spec:
  chart:
    spec: {chart: karpenter, version: 0.31.4, sourceRef: {kind: HelmRepository, name: karpenter}}
  valuesFrom:
  - {kind: ConfigMap, name: karpenter-values}
"""
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: karpenter-values, namespace: flux-system}
data:
  values.yaml: |
    # Ask the platform team.
    settings:
      aws:
        clusterName: shop  # the name
        defaultInstanceProfile: x
    replicas: 2
"""
FILE = MAP.partition("values.yaml: |\n")[2].replace("\n    ", "\n").removeprefix("    ")
ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: karpenter, namespace: argocd}
spec:
  sources:
  - repoURL: public.ecr.aws/karpenter
    chart: karpenter
    targetRevision: v0.31.4
    helm:
      valueFiles:
      - $ours/karpenter/prod.yaml
  - repoURL: git@git.example:team/infra.git
    targetRevision: main
    ref: ours
"""
CHANGED = values(settings_clusterName='"shop"', settings_aws_defaultInstanceProfile="", replicas="3")


def new_files(texts: dict[str, str], change: HelmChange) -> dict[str, str]:
    return {one.path: one.new for one in propose(change, texts, subject=SUBJECT, origin=ORIGIN).files}


def refusal(texts: dict[str, str], change: HelmChange) -> str:
    with pytest.raises(InvalidInput) as refused:
        propose(change, texts, subject=SUBJECT, origin=ORIGIN)
    assert (refused.value.code, refused.value.message.endswith("; change it by hand")) == ("edit_refused", True)
    return refused.value.message


def edited(text: str, indent: str) -> str:
    """The text after CHANGED, which stands `indent` deep."""
    text = text.replace(f"{indent}    defaultInstanceProfile: x\n", f"{indent}  clusterName: shop\n")
    return text.replace("replicas: 2", "replicas: 3")


def test_a_config_map_beside_the_release_is_edited_and_its_comments_stay():
    assert new_files({"a.yaml": FLUX, "b.yaml": MAP}, a_change(values=CHANGED)) == {"b.yaml": edited(MAP, "    ")}


def test_release_and_config_map_of_one_file_are_edited_together():
    text = f"{FLUX}---\n{MAP}"
    new = new_files({"a.yaml": text}, a_change(values=CHANGED, version="0.32.10"))["a.yaml"].replace('"', "")
    assert new == edited(text, "    ").replace("version: 0.31.4", "version: v0.32.10")


@pytest.mark.parametrize("named", ["values.yaml=../values/prod.yaml", "../values/values.yaml"])
def test_a_file_that_kustomize_makes_the_config_map_of_is_edited(named):
    made = f"configMapGenerator:\n- name: karpenter-values\n  files: [{named}]\n"
    path = f"flux/{named.rpartition('=')[2]}".replace("flux/../", "")
    texts = {"flux/a.yaml": FLUX, "flux/kustomization.yaml": made}
    assert further_files(a_change(values=CHANGED), texts, origin=ORIGIN) == (path,)
    assert new_files(texts | {path: FILE}, a_change(values=CHANGED)) == {path: edited(FILE, "")}


def test_a_file_of_values_of_an_application_is_edited():
    texts = {"apps/karpenter.yaml": ARGO}
    assert further_files(a_change(values=CHANGED), texts, origin=ORIGIN) == ("karpenter/prod.yaml",)
    assert new_files(texts | {"karpenter/prod.yaml": FILE}, a_change(values=CHANGED)) == {
        "karpenter/prod.yaml": edited(FILE, "")
    }


def test_the_source_that_is_laid_over_the_others_is_edited():
    two = ARGO.replace("prod.yaml\n", "prod.yaml\n      - $ours/over.yaml\n")
    texts = {"a.yaml": two, "karpenter/prod.yaml": FILE, "over.yaml": "a: 1\nreplicas: 2\n"}
    assert new_files(texts, a_change(values=values(replicas="3"))) == {"over.yaml": "a: 1\nreplicas: 3\n"}
    found = new_files(texts, a_change(values=values(replicas="")))
    assert {path: "replicas" in text for path, text in found.items()} == {
        "karpenter/prod.yaml": False,
        "over.yaml": False,
    }


def test_what_the_release_gives_itself_is_changed_there():
    own = f"{FLUX}  values:\n    replicas: 1\n"
    assert new_files({"a.yaml": own, "b.yaml": MAP}, a_change(values=values(replicas="3"))) == {
        "a.yaml": own.replace("replicas: 1", "replicas: 3")
    }


@pytest.mark.parametrize(
    "text",
    [
        FLUX.replace("kind: ConfigMap", "kind: Secret"),
        FLUX.replace("name: karpenter-values", "name: other"),
        FLUX.replace("name: karpenter-values", "name: karpenter-values, targetPath: replicas"),
        FLUX.replace("name: karpenter-values", "name: karpenter-values, valuesKey: prod.yaml"),
    ],
)
def test_a_source_that_cannot_be_read_is_overlaid_but_nothing_is_taken_out_under_it(text):
    texts = {"a.yaml": text, "b.yaml": MAP}
    assert new_files(texts, a_change(values=values(replicas="3"))) == {"a.yaml": f"{text}  values:\n    replicas: 3\n"}
    assert refusal(texts, a_change(values=values(replicas=""))).startswith("replicas has to go, and ")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("git@git.example:team/infra.git", "git@git.example:team/other.git", "it is in another repository"),
        ("targetRevision: main", "targetRevision: v1", "it is read at v1, not at main"),
        ("$ours/karpenter/prod.yaml", "values-prod.yaml", "it comes with the chart or from an address"),
        ("$ours/karpenter/prod.yaml", "$ours/../prod.yaml", "it leaves the repository"),
    ],
)
def test_a_file_that_is_not_certainly_the_one_that_is_read_is_left_alone(old, new, why):
    assert old in ARGO
    texts = {"a.yaml": ARGO.replace(old, new), "karpenter/prod.yaml": FILE}
    assert why in refusal(texts, a_change(values=CHANGED))


@pytest.mark.parametrize("content", ["- a list\n", "a: {{ .b }}\n", "a: 1\n---\nb: 2\n"])
def test_a_file_that_holds_no_plain_map_is_refused(content):
    assert "karpenter/prod.yaml" in refusal({"a.yaml": ARGO, "karpenter/prod.yaml": content}, a_change(values=CHANGED))


def test_a_source_that_serves_another_delivery_too_is_refused():
    other = FLUX.replace("{name: karpenter, namespace", "{name: other, namespace")
    told = refusal({"a.yaml": FLUX, "b.yaml": MAP, "c.yaml": other}, a_change(values=CHANGED))
    assert told == "b.yaml gives values to HelmRelease other, too; change it by hand"
    other = ARGO.replace("{name: karpenter, namespace", "{name: other, namespace")
    told = refusal({"a.yaml": ARGO, "karpenter/prod.yaml": FILE, "c.yaml": other}, a_change(values=CHANGED))
    assert told == "karpenter/prod.yaml gives values to Application other, too; change it by hand"


def test_two_config_maps_of_that_name_are_told():
    assert "several files make it" in refusal({"a": FLUX, "b": MAP, "c": MAP}, a_change(values=CHANGED))


def test_every_file_of_yaml_may_give_values():
    assert (may_hold("a.yml", "x: 1", change=a_change()), may_hold("a.txt", "karpenter", change=a_change())) == (
        True,
        False,
    )
